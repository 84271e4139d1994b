// The axis of results. A few diverged runs do not determine its range.
import { number } from './format.js';
import { dimensionAxis } from './plotaxis.js';

const wide = 4; // a result is off the axis if its distance from the quartiles exceeds this many interquartile ranges
const ratio = 100;

/**
 * resultAxis returns an axis for results. Bad results that are far from most results are off the axis. at maps a value
 * to a position, clamped to the range from 0 to 1.
 * @param {?number[]} values null for an unknown result
 * @param {string} goal
 * @returns {{at: function(number): number, ticks: {at: number, text: string}[], beyond: number}}
 */
export function resultAxis(values, goal) {
  const known = values.filter((v) => v != null).sort((a, b) => a - b);
  if (known.length === 0) return { at: () => 0.5, ticks: [], beyond: 0 };
  let [low, high] = [known[0], known.at(-1)];
  const log = low > 0 && high / low >= ratio;
  const f = log ? Math.log : Number;
  const at = (share) => f(known[Math.floor(share * (known.length - 1))]);
  const [first, third] = [at(0.25), at(0.75)];
  const reach = wide * (third - first);
  if (reach > 0 && goal !== 'maximize' && f(high) > third + reach)
    high = known.findLast((v) => f(v) <= third + reach) ?? high;
  if (reach > 0 && goal !== 'minimize' && f(low) < first - reach)
    low = known.find((v) => f(v) >= first - reach) ?? low;
  const axis = dimensionAxis({ texts: null, values: [low, high] });
  const clamp = (v) => Math.min(axis.high, Math.max(axis.low, v));
  return {
    at: (v) => axis.at(clamp(v)),
    ticks: axis.ticks(5).map((v) => ({ at: axis.at(v), text: number(v) })),
    beyond: known.filter((v) => v < low || v > high).length,
  };
}
