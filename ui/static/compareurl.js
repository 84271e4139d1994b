// Addresses of comparisons.
import { base } from './base.js';

const mostFullIDs = 10; // maximum number of runs with full ids
const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-([0-9a-f]{12})$/;

/**
 * compareURL returns the address of the page that compares the given runs. If there are many runs, the address
 * contains the last 48 bits of each id in base64, which keeps it short.
 * @param {string} experiment id of the experiment
 * @param {string[]} ids ids of the runs
 * @returns {URL}
 */
export function compareURL(experiment, ids) {
  const url = new URL('compare', base);
  const ends = ids.map((id) => idPattern.exec(id)?.[1]);
  if (ids.length <= mostFullIDs || ends.includes(undefined) || new Set(ends).size < ids.length) {
    for (const id of ids) url.searchParams.append('i', id);
    return url;
  }
  const short = ends.map((end) =>
    btoa(String.fromCharCode(...end.match(/../g).map((byte) => Number.parseInt(byte, 16))))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
  );
  url.searchParams.set('of', experiment);
  url.searchParams.set('runs', short.join('.'));
  return url;
}
