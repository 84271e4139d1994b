// Formatting numbers and times.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = (n) => plain.format(n);
export const pointCount = (n) => `${count(n)} ${n === 1 ? 'point' : 'points'}`;

/**
 * number formats a value with five significant digits. Integers below ten million are written in full. NaN and
 * infinities are strings in JSON. number.go formats values in the same way.
 * @param {number|string|null} v
 * @returns {string}
 */
export const number = (v) => withDigits(v, 5);

/** round formats a value with four significant digits, for texts with little space. */
export const round = (v) => withDigits(v, 4);

/** scientific formats a value with an exponent and up to the given number of significant digits. */
export const scientific = (v, digits) => v.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e');

function withDigits(v, digits) {
  if (v == null) return '';
  const size = Math.abs(v);
  if (!Number.isFinite(v) || (Number.isInteger(v) && size < 1e7)) return String(v);
  if (size < 1e-4 || size >= 1e7) return scientific(v, digits);
  return String(Number(v.toPrecision(digits)));
}

const mostTickDigits = 8; // maximum number of significant digits of an axis label

/**
 * tickLabels formats the values of an axis, in ascending order, so that no label repeats. If eight digits are
 * not enough, the first value has up to 15 digits, and the other labels are distances from it. number.go formats
 * ticks in the same way.
 * @param {number[]} values
 * @returns {string[]}
 */
export function tickLabels(values) {
  for (let digits = 5; digits <= mostTickDigits; digits += 1) {
    const labels = values.map((v) => withDigits(v, digits));
    if (labels.every((label, i) => i === 0 || label !== labels[i - 1])) return labels;
  }
  return values.map((v, i) => (i === 0 ? withDigits(v, 15) : `+${withDigits(v - values[0], 3)}`));
}

/** toNumber converts a value from the server to a number. In JSON, NaN and infinities are strings. */
export const toNumber = (v) => (typeof v === 'string' ? Number(v) : v);

const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];

/** duration formats seconds in the two largest units. Below ten seconds, it uses two significant digits. */
export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size < 10) return `${Number(seconds.toPrecision(2))}s`;
  const s = Math.round(size);
  const at = units.findIndex(([, of]) => s >= of);
  const [name, of] = units[at];
  const [smaller, part] = units[at + 1] ?? ['', s + 1];
  const rest = Math.floor((s % of) / part);
  return `${seconds < 0 ? '-' : ''}${Math.floor(s / of)}${name}${rest > 0 ? ` ${rest}${smaller}` : ''}`;
}

const relativeTime = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const spans = [['year', 31536000], ['month', 2592000], ['day', 86400], ['hour', 3600], ['minute', 60]];

/**
 * timeAgo formats the time that has passed since a point in time.
 * @param {number} ms Unix milliseconds
 */
export function timeAgo(ms) {
  const s = (ms - Date.now()) / 1000;
  for (const [unit, size] of spans) {
    if (Math.abs(s) >= size) return relativeTime.format(Math.trunc(s / size), unit);
  }
  return 'just now';
}

export const timestamp = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** bytes formats a size as the server does. */
export function bytes(n) {
  const at = n < 1 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log2(n) / 10));
  const value = n / 1024 ** at;
  return `${at > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${sizes[at]}`;
}
