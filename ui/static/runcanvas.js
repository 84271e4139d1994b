// Painting many runs on a canvas below an SVG drawing, and finding the run under the pointer.
import { base } from './base.js';
import { paletteSize } from './color.js';
import { el } from './dom.js';
import { themeColors } from './paint.js';
import { dimensionAxis, svgElement } from './plotaxis.js';

const shades = 24; // number of colours of a gradient
const many = 1500; // number of runs above which dots and lines are small and transparent

/** layered puts a canvas below an SVG drawing of the same size. It returns the element and the canvas context. */
export function layered(drawing, width, height) {
  const canvas = el('canvas', { 'aria-hidden': 'true' });
  drawing.setAttribute('width', width);
  drawing.setAttribute('height', height);
  const scale = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const ctx = canvas.getContext('2d');
  ctx.scale(scale, scale);
  return { box: el('div', { class: 'layers' }, canvas, drawing), ctx };
}

const parts = (color) => (color.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number);

/**
 * runColors returns the colour of each run by a dimension, or by run if the dimension is unknown. Runs without a
 * value have the colour of lines.
 * @returns {function(number): string}
 */
export function runColors(d, colors) {
  const theme = themeColors();
  if (!d) return (i) => theme.runs[colors[i] % paletteSize];
  if (d.texts) return (i) => (d.values[i] == null ? theme.line : theme.runs[d.values[i] % paletteSize]);
  const axis = dimensionAxis(d);
  const [from, to] = [parts(theme.runs[0]), parts(theme.runs[1])];
  const all = Array.from({ length: shades }, (_, n) => {
    const t = n / (shades - 1);
    return `rgb(${from.map((v, k) => Math.round(v + (to[k] - v) * t)).join(' ')})`;
  });
  return (i) =>
    d.values[i] == null
      ? theme.line
      : all[Math.max(0, Math.min(shades - 1, Math.round(axis.at(d.values[i]) * (shades - 1))))];
}

/** batches groups the runs inside and outside of the brushes by colour. Runs outside come first. */
function batches(n, color, inside, there) {
  const all = new Map();
  for (let i = 0; i < n; i += 1) {
    if (!there(i)) continue;
    const key = `${inside[i] ? 1 : 0}${color(i)}`;
    if (!all.has(key)) all.set(key, { color: key.slice(1), inside: Boolean(inside[i]), runs: [] });
    all.get(key).runs.push(i);
  }
  return [...all.values()].sort((a, b) => a.inside - b.inside);
}

/** paintDots paints a dot for each of n runs. at returns the place of a run, or null. */
export function paintDots(ctx, n, at, color, inside) {
  const radius = n > many ? 1.75 : 3;
  for (const batch of batches(n, color, inside, (i) => at(i) !== null)) {
    ctx.globalAlpha = batch.inside ? (n > many ? 0.4 : 0.7) : 0.1;
    ctx.fillStyle = batch.color;
    ctx.beginPath();
    for (const i of batch.runs) {
      const [x, y] = at(i);
      ctx.moveTo(x + radius, y);
      ctx.arc(x, y, radius, 0, 7);
    }
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

/**
 * paintLines paints a line for each of n runs over the axes at the positions xs. y returns the position of a run on
 * an axis, or null.
 */
export function paintLines(ctx, n, xs, y, color, inside) {
  ctx.lineJoin = 'round';
  for (const batch of batches(n, color, inside, () => true)) {
    ctx.globalAlpha = batch.inside ? (n > many ? 0.25 : 0.6) : n > many ? 0.02 : 0.08;
    ctx.strokeStyle = batch.color;
    ctx.lineWidth = n > many ? 0.75 : 1.25;
    // A single path for many lines would be slow, because browsers merge the lines of a path.
    for (let from = 0; from < batch.runs.length; from += 50) {
      ctx.beginPath();
      for (const i of batch.runs.slice(from, from + 50)) {
        let pen = false;
        for (let a = 0; a < xs.length; a += 1) {
          const at = y(a, i);
          if (at === null) pen = false;
          else if (pen) ctx.lineTo(xs[a], at);
          else ctx.moveTo(xs[a], at);
          pen = at !== null;
        }
      }
      ctx.stroke();
    }
  }
  ctx.globalAlpha = 1;
}

/** Pointer holds the run under the pointer. All pictures highlight it. */
export class Pointer {
  constructor(names, ids) {
    Object.assign(this, { names, ids, lit: -1 });
    this.pictures = new Set();
    this.tip = el('div', { class: 'tip', hidden: true });
  }

  /** light highlights a run in all pictures. -1 highlights none. */
  light(i) {
    if (i === this.lit) return;
    this.lit = i;
    for (const picture of this.pictures) picture(i);
  }

  /**
   * follow highlights and names the run under the pointer. A click opens it.
   * @param {HTMLElement} box
   * @param {function(number, number): number} nearest returns the run at a place of the drawing, or -1
   * @param {function(number): Element} mark returns the highlight of a run, or null
   * @param {function(number): string[]} words lines about a run
   */
  follow(box, nearest, mark, words) {
    const drawing = box.querySelector('svg');
    let lit = null;
    const picture = (i) => {
      if (!drawing.isConnected) {
        this.pictures.delete(picture);
        return;
      }
      lit?.remove();
      lit = i < 0 ? null : mark(i);
      if (lit) drawing.append(lit);
    };
    this.pictures.add(picture);
    const at = (event) => {
      const place = drawing.getBoundingClientRect();
      const view = drawing.viewBox.baseVal;
      return nearest(
        ((event.clientX - place.left) / place.width) * view.width,
        ((event.clientY - place.top) / place.height) * view.height
      );
    };
    let down = null;
    box.addEventListener('pointermove', (event) => {
      const i = event.buttons ? -1 : at(event);
      this.light(i);
      box.classList.toggle('on-run', i >= 0);
      this.tip.hidden = i < 0;
      if (i < 0) return;
      this.tip.replaceChildren(
        el('p', { class: 'who' }, el('bdi', {}, this.names[i])),
        ...words(i).map((text) => el('div', {}, el('bdi', {}, text)))
      );
      if (!this.tip.isConnected) document.body.append(this.tip);
      const left = Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
      const top = Math.min(event.clientY + 14, innerHeight - this.tip.offsetHeight - 8);
      this.tip.style.left = `${Math.max(8, left)}px`;
      this.tip.style.top = `${Math.max(8, top)}px`;
    });
    box.addEventListener('pointerleave', () => {
      this.light(-1);
      this.tip.hidden = true;
    });
    box.addEventListener('pointerdown', (event) => { down = [event.clientX, event.clientY]; }, { capture: true });
    box.addEventListener('click', (event) => {
      if (event.detail === 0 || !down || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const i = at(event);
      if (i < 0) return;
      const url = new URL(`iteration/${this.ids[i]}`, base);
      if (event.ctrlKey || event.metaKey) open(url, '_blank');
      else location.assign(url);
    });
  }
}

/** nearestDot returns the run whose dot is nearest to a place, or -1 if no dot is near. */
export function nearestDot(n, at, inside, x, y) {
  let [best, near] = [-1, 12 ** 2];
  for (let i = 0; i < n; i += 1) {
    const place = inside[i] ? at(i) : null;
    if (!place) continue;
    const d = (place[0] - x) ** 2 + (place[1] - y) ** 2;
    if (d < near) [best, near] = [i, d];
  }
  return best;
}

/** dotMark returns a ring around a dot. */
export const dotMark = (place) =>
  place && svgElement('circle', { class: 'lit-dot', cx: place[0], cy: place[1], r: 6 });
