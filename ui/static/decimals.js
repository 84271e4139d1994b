// Numbers in the columns of tables, aligned at the decimal point.
import { number, scientific, toNumber } from './format.js';

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
