// Making drawings.
import { number } from './format.js';

// svg makes an element of a drawing; attributes that are functions listen.
export function svg(name, attributes = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') e.addEventListener(key, value);
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

// reach is the range of a dimension, never empty.
function reach(d) {
  const known = d.values.filter((v) => v != null);
  const low = Math.min(...known);
  const high = Math.max(...known);
  return low < high ? [low, high] : [low - 1, high + 1];
}

// steep is how many times the smallest value the largest one is, from where on
// an axis is logarithmic: rates are mostly tried in powers of ten.
const steep = 100;

// measure is an axis of a dimension: at is the place of a value, of 0 to 1, and
// value what is at a place.
export function measure(d) {
  const [low, high] = reach(d);
  const log = !d.texts && low > 0 && high / low >= steep;
  const [f, back] = log ? [Math.log, Math.exp] : [Number, Number];
  const span = f(high) - f(low);
  return { low, high, at: (v) => (f(v) - f(low)) / span, value: (t) => Math.min(high, Math.max(low, back(f(low) + t * span))) };
}

// label writes a value of a dimension.
export const label = (d, v) => (d.texts ? (d.texts[Math.round(v)] ?? '').slice(0, 24) : number(v));
