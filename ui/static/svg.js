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
export function reach(d) {
  const known = d.values.filter((v) => v != null);
  const low = Math.min(...known);
  const high = Math.max(...known);
  return low < high ? [low, high] : [low - 1, high + 1];
}

// label writes a value of a dimension.
export const label = (d, v) => (d.texts ? (d.texts[Math.round(v)] ?? '').slice(0, 24) : number(v));
