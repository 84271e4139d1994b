// Making drawings.
import { paletteSize } from './color.js';
import { roundTicks } from './curvemath.js';
import { number } from './format.js';

// svg makes an element of a drawing; attributes that are functions listen.
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

// reach returns the range of a dimension, never empty.
function dimensionRange(d) {
  const known = d.values.filter((v) => v != null);
  const low = Math.min(...known);
  const high = Math.max(...known);
  return low < high ? [low, high] : [low - 1, high + 1];
}

// steep is the ratio of the largest to the smallest value from which an axis is
// logarithmic: rates are mostly tried in powers of ten.
const logRatio = 100;

// measure is an axis of a dimension: at is the place of a value, of 0 to 1, and
// value what is at a place; ticks returns about so many values to name on it.
export function dimensionAxis(d) {
  const [low, high] = dimensionRange(d);
  const log = !d.texts && low > 0 && high / low >= logRatio;
  const [f, back] = log ? [Math.log, Math.exp] : [Number, Number];
  const span = f(high) - f(low);
  const ticks = (n) => (d.texts ? categoryTicks(d.texts, n) : log ? logTicks(low, high) : roundTicks(low, high, n));
  return { low, high, ends: [low, high], ticks, at: (v) => (f(v) - f(low)) / span, value: (t) => Math.min(high, Math.max(low, back(f(low) + t * span))) };
}

// categories returns the places of all categories, or of so many of them.
function categoryTicks(texts, n) {
  const each = Math.ceil(texts.length / (2 * n));
  return texts.map((_, i) => i).filter((i) => i % each === 0);
}

// powers returns the powers of ten in a range, with 2 and 5 times these where they are few.
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 2.5 ? [1, 3] : [1, 2, 5];
  const all = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1) all.push(...steps.map((s) => Number(`${s}e${e}`)));
  return all.filter((v) => v >= low && v <= high);
}

// shade goes from the colour of one end of a dimension to that of the other.
export const rangeColor = (d, v) => `color-mix(in oklab, var(--run-1) ${Math.round(100 * dimensionAxis(d).at(v))}%, var(--run-0))`;

// tone is the colour of a value: categories have one each.
export const valueColor = (d, v) => (d.texts ? `var(--run-${Math.round(v) % paletteSize})` : rangeColor(d, v));

// label writes a value of a dimension.
export const valueLabel = (d, v) => (d.texts ? (d.texts[Math.round(v)] ?? '').slice(0, 24) : number(v));
