// SVG elements and axes for plots of runs.
import { paletteSize } from './color.js';
import { roundTicks } from './curvemath.js';
import { number, tickLabels } from './format.js';

/** svgElement returns a new SVG element. Attributes that are functions become event listeners. */
export function svgElement(name, attributes = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') e.addEventListener(key, value);
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

/** dimensionRange returns the smallest and the largest value of a dimension. If they are equal, it widens the range. */
function dimensionRange(d) {
  const known = d.values.filter((v) => v != null);
  const low = Math.min(...known);
  const high = Math.max(...known);
  return low < high ? [low, high] : [low - 1, high + 1];
}

/**
 * logRatio is the ratio of the largest to the smallest value above which an axis is logarithmic. Learning rates
 * are usually tried in powers of ten.
 */
const logRatio = 100;

/**
 * dimensionAxis returns the axis of a dimension. at maps a value to a position from 0 to 1, value is its
 * inverse, and ticks returns about n values to label.
 * @returns {{low: number, high: number, ends: number[], ticks: function(number): number[], at:
 *   function(number): number, value: function(number): number}}
 */
export function dimensionAxis(d) {
  const [low, high] = dimensionRange(d);
  const log = !d.texts && low > 0 && high / low >= logRatio;
  const [f, back] = log ? [Math.log, Math.exp] : [Number, Number];
  const span = f(high) - f(low);
  const ticks = (n) => (d.texts ? categoryTicks(d.texts, n) : log ? logTicks(low, high) : roundTicks(low, high, n));
  return {
    low,
    high,
    ends: [low, high],
    ticks,
    at: (v) => (f(v) - f(low)) / span,
    value: (t) => Math.min(high, Math.max(low, back(f(low) + t * span))),
  };
}

/** categoryTicks returns the indexes of all categories, or of about n categories if there are many. */
function categoryTicks(texts, n) {
  const each = Math.ceil(texts.length / (2 * n));
  return texts.map((_, i) => i).filter((i) => i % each === 0);
}

/** logTicks returns the powers of ten in a range, and, if the range is small, also multiples of them. */
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 2.5 ? [1, 3] : [1, 2, 5];
  const all = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1)
    all.push(...steps.map((s) => Number(`${s}e${e}`)));
  return all.filter((v) => v >= low && v <= high);
}

/** rangeColor returns the colour of a value on the gradient of a dimension. */
export const rangeColor = (d, v) =>
  `color-mix(in oklab, var(--run-1) ${Math.round(100 * dimensionAxis(d).at(v))}%, var(--run-0))`;

/** valueColor returns the colour of a value. Each category has a colour from the palette. */
export const valueColor = (d, v) => (d.texts ? `var(--run-${Math.round(v) % paletteSize})` : rangeColor(d, v));

/** valueLabel formats a value of a dimension. */
export const valueLabel = (d, v) => (d.texts ? (d.texts[Math.round(v)] ?? '').slice(0, 24) : number(v));

/** axisLabels formats the ticks of a dimension's axis. No label repeats. */
export const axisLabels = (d, ticks) => (d.texts ? ticks.map((v) => valueLabel(d, v)) : tickLabels(ticks));
