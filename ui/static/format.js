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

const scientific = (v, digits) => v.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e');

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

const mostFixed = 8; // maximum number of digits of a value with a fixed number of decimals
const mostRatio = 100; // if a value differs from the median by a larger factor, its decimals are not needed
const tolerance = 0.005; // relative error up to which a value gets the decimals of its column

/**
 * commonDecimals returns the number of decimals for all values of a column, so that the decimal points are aligned. The
 * median gets up to five significant digits. The result is null if the values have no decimals, or if the median is
 * very small or large. number.go chooses decimals in the same way.
 * @param {(number|string|null)[]} values
 * @returns {?number}
 */
export function commonDecimals(values) {
  const known = values.map(toNumber).filter((v) => Number.isFinite(v) && v !== 0);
  const sizes = known.map(Math.abs).sort((a, b) => a - b);
  const median = sizes[Math.floor((sizes.length - 1) / 2)];
  if (sizes.length === 0 || median < 1e-4 || median >= 1e5) return null;
  const needed = known
    .filter((v) => Math.abs(v) <= median * mostRatio && Math.abs(v) >= median / mostRatio)
    .map(number)
    .map((text) => (text.includes('e') ? 0 : (text.split('.')[1]?.length ?? 0)));
  return Math.max(0, Math.min(4 - Number(median.toExponential().split('e')[1]), Math.max(...needed))) || null;
}

/**
 * fixedDecimals formats a value with the given number of decimals, or with as many as it needs if that is null. A
 * value that is too small or too large for these decimals gets an exponent.
 */
export function fixedDecimals(v, places) {
  const value = toNumber(v);
  if (!places || !Number.isFinite(value)) return number(v);
  const fixed = value.toFixed(places);
  const size = Math.abs(value);
  if (size < 10 ** (mostFixed - places) && Math.abs(Number(fixed) - value) <= tolerance * size) return fixed;
  return scientific(value, 5);
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
