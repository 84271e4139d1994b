// Painting the curves of a chart on a canvas, in the colours of the theme.
import { paletteSize } from './color.js';
import { el } from './dom.js';

const dashes = [[], [6, 4], [2, 3], [12, 4]]; // line styles of the metrics of a chart, or of its runs

/** lineStyle returns the dashes of a line. 0 is a solid line. */
export const lineStyle = (dash) => dashes[dash ? 1 + ((dash - 1) % (dashes.length - 1)) : 0];

const mostPixels = 1e6; // pixels

/**
 * resolveColors returns the values of CSS variables as plain colours. A canvas does not support light-dark().
 */
function resolveColors(names) {
  const probes = names.map((name) => {
    const probe = el('span', { class: 'probe' });
    probe.style.color = `var(${name})`;
    return probe;
  });
  document.body.append(...probes);
  const all = probes.map((probe) => getComputedStyle(probe).color);
  for (const probe of probes) probe.remove();
  return all;
}

let theme = null;
/** themedCharts holds the charts that are redrawn when the theme changes. */
export const themedCharts = new Set();

/** themeColors returns the theme's colours in a form that a canvas supports. */
export function themeColors() {
  if (!theme) {
    const [text, line, ground, ...runs] = resolveColors([
      '--muted',
      '--line',
      '--ground',
      ...Array.from({ length: paletteSize }, (_, i) => `--run-${i}`),
    ]);
    theme = { text, line, ground, runs };
  }
  return theme;
}

function rebuildCharts() {
  theme = null;
  for (const chart of themedCharts) chart.rebuild();
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', rebuildCharts);
new MutationObserver(rebuildCharts).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ['data-theme'],
});

/**
 * paintCurves draws curves on a canvas that covers the plot.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Object} u uPlot
 * @param {Object[]} curves
 * @param {Object} view as in Chart
 * @param {boolean} faint whether bands are faint, because there are many curves
 */
export function paintCurves(ctx, u, curves, view, faint) {
  const { left, top, width, height } = u.bbox;
  const at = (name, log, start, length) => {
    const { min, max } = u.scales[name];
    const f = log ? Math.log10 : (v) => v;
    const scale = length / (f(max) - f(min));
    // A canvas does not draw lines to points that are too far away.
    return (v) => Math.max(-mostPixels, Math.min(mostPixels, start + (f(v) - f(min)) * scale));
  };
  const px = at('x', view.logx, left, width);
  const py = at('y', view.logy, top + height, -height);
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.lineJoin = 'round';
  const { highlight } = view;
  const drawable = (x, y) => Number.isFinite(y) && !(view.logx && x <= 0) && !(view.logy && y <= 0);
  const dots = [];
  for (const c of curves) {
    const color = themeColors().runs[c.color % paletteSize];
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    if (c.low) paintBand(ctx, c, px, py, drawable, faint);
    const smoothed = c.line !== c.y;
    ctx.setLineDash(lineStyle(c.dash).map((n) => n * devicePixelRatio));
    if (smoothed) paintLine(ctx, c.x, c.y, px, py, drawable, 0.25, 1);
    const alone = paintLine(ctx, c.x, c.line, px, py, drawable, 1, c.id === highlight ? 2.25 : 1.5);
    ctx.setLineDash([]);
    dots.push(...alone.map((at) => [color, ...at]));
    paintNonFinite(ctx, c, px, [top, top + height]);
  }
  ctx.restore();
  // Dots at the edge of the plot are not clipped.
  ctx.globalAlpha = 1;
  for (const [color, x, y] of dots) {
    if (x < left - 1 || x > left + width + 1 || y < top - 1 || y > top + height + 1) continue;
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.arc(x, y, 2.5 * devicePixelRatio, 0, 7);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

/** paintMark draws a vertical line at a step. */
export function paintMark(ctx, u, step) {
  const { min, max } = u.scales.x;
  if (!(step >= min && step <= max)) return;
  const { top, height } = u.bbox;
  const x = Math.round(u.valToPos(step, 'x', true));
  ctx.save();
  ctx.strokeStyle = themeColors().text;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4, 4].map((n) => n * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, top + height);
  ctx.stroke();
  ctx.restore();
}

/** paintLine draws a line. It returns the positions of points that have no neighbour. */
function paintLine(ctx, xs, ys, px, py, drawable, alpha, width) {
  const alone = [];
  ctx.globalAlpha = alpha;
  ctx.lineWidth = width * devicePixelRatio;
  ctx.beginPath();
  let pen = false;
  for (let i = 0; i < xs.length; i += 1) {
    const seen = drawable(xs[i], ys[i]);
    if (seen && pen) ctx.lineTo(px(xs[i]), py(ys[i]));
    else if (seen) ctx.moveTo(px(xs[i]), py(ys[i]));
    if (seen && !pen && !drawable(xs[i + 1], ys[i + 1])) alone.push([px(xs[i]), py(ys[i])]);
    pen = seen;
  }
  ctx.stroke();
  return alone;
}

/** paintBand fills the area between the minima and the maxima of a curve. */
function paintBand(ctx, c, px, py, drawable, faint) {
  ctx.globalAlpha = faint ? 0.1 : 0.18;
  ctx.beginPath();
  const known = [...c.x.keys()].filter((i) => c.low[i] != null && drawable(c.x[i], c.low[i]));
  known.forEach((i, n) => ctx[n ? 'lineTo' : 'moveTo'](px(c.x[i]), py(c.high[i])));
  known.reverse().forEach((i) => ctx.lineTo(px(c.x[i]), py(c.low[i])));
  ctx.fill();
}

/** paintNonFinite draws a cross for each NaN, and a triangle at the edge for each infinity. */
function paintNonFinite(ctx, c, px, [top, bottom]) {
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  const r = 3.5 * devicePixelRatio;
  for (const { x, kind } of nonFiniteMarks(c, px, 3 * r)) {
    ctx.beginPath();
    if (kind === 'nan') {
      const y = bottom - 2 * r;
      ctx.moveTo(x - r, y - r);
      ctx.lineTo(x + r, y + r);
      ctx.moveTo(x - r, y + r);
      ctx.lineTo(x + r, y - r);
      ctx.stroke();
      continue;
    }
    const [tip, foot] = kind === 'up' ? [top + 1, top + 2 * r] : [bottom - 1, bottom - 2 * r];
    ctx.moveTo(x, tip);
    ctx.lineTo(x + r, foot);
    ctx.lineTo(x - r, foot);
    ctx.fill();
  }
}

/**
 * nonFiniteMarks returns the places of the values of a curve that are NaN or infinite. One mark represents
 * neighbouring ones.
 * @param {Object} c
 * @param {function(number): number} px returns the place of a value of the X axis
 * @param {number} gap smallest distance of marks of a kind
 * @returns {{at: number, x: number, kind: string}[]} kind is nan, up or down
 */
export function nonFiniteMarks(c, px, gap) {
  const all = [];
  let last = { x: -Infinity };
  c.y.forEach((v, i) => {
    if (Number.isFinite(v) || v == null) return;
    const x = px(c.x[i]);
    if (Object.is(last.v, v) && x - last.x < gap) return;
    last = { v, x };
    all.push({ at: c.x[i], x, kind: Number.isNaN(v) ? 'nan' : v > 0 ? 'up' : 'down' });
  });
  return all;
}
