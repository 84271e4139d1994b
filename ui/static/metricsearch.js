// Searching the metrics of an experiment.
import { fetchData } from './request.js';

const mostMatched = 5000; // maximum number of names that a pattern matches

/**
 * metricMatcher returns a function that reports whether a metric's name matches q. q is a substring or a
 * pattern. The server evaluates patterns, because it limits their run time.
 * @param {string} experiment id of the experiment
 * @param {string} q
 * @param {boolean} pattern whether q is a regular expression
 * @returns {Promise<function(string): boolean>}
 */
export async function metricMatcher(experiment, q, pattern) {
  const part = q.toLowerCase();
  if (!pattern || !q) return (name) => name.toLowerCase().includes(part);
  const found = new Set();
  for (let offset = 0; offset < mostMatched; offset += 1000) {
    const { data, total } = await fetchData(`experiment/${experiment}/keys`, {
      query: { kind: 'metric', q, offset, limit: 1000, pattern: '1' },
    });
    for (const { key } of data) found.add(key);
    if (found.size >= total || data.length === 0) break;
  }
  return (name) => found.has(name);
}
