// The metrics of an experiment that a search finds.
import { fetchData } from './request.js';

const mostMatched = 5000; // names of an experiment that a pattern selects from

// matching returns a function that reports whether a name has q in it, or matches it as a
// pattern. The server reads patterns, so that none takes long.
export async function metricMatcher(experiment, q, pattern) {
  const part = q.toLowerCase();
  if (!pattern || !q) return (name) => name.toLowerCase().includes(part);
  const found = new Set();
  for (let offset = 0; offset < mostMatched; offset += 1000) {
    const { data, total } = await fetchData(`experiment/${experiment}/keys`, { query: { kind: 'metric', q, offset, limit: 1000, pattern: '1' } });
    for (const { key } of data) found.add(key);
    if (found.size >= total || data.length === 0) break;
  }
  return (name) => found.has(name);
}
