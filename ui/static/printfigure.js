// Figures of charts for print, with a legend, in light colours.
import { paletteSize } from './color.js';
import { needsOwnTicks, extremeTicks, roundTicks } from './curvemath.js';
import { el, saveFile } from './dom.js';
import { tickLabels } from './format.js';
import { fitText, textWidth } from './helvetica.js';
import { lineStyle, nonFiniteMarks } from './paint.js';

const mostNamed = 60; // curves in the legend
const pixelsPerPoint = 600 / 72; // of PNG files

/** widths are the widths of figures in millimetres: a column of a paper with two columns, and a whole page. */
export const widths = [85, 180];

/** lightColors returns the colours of the light theme as plain colours. */
export function lightColors() {
  const box = el('span', { class: 'probe' });
  box.style.colorScheme = 'light';
  document.body.append(box);
  const read = (name) => {
    box.style.color = `var(${name})`;
    return getComputedStyle(box).color;
  };
  const runs = Array.from({ length: paletteSize }, (_, i) => read(`--run-${i}`));
  const colors = { text: read('--text'), line: read('--line'), edge: read('--edge'), runs };
  box.remove();
  return colors;
}

const units = [
  ['s', 1000, 180_000],
  ['min', 60_000, 3 * 3_600_000],
  ['h', 3_600_000, 72 * 3_600_000],
  ['d', 86_400_000],
];
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** logTicks returns the powers of ten in a range, or round numbers if there are less than two. */
function logTicks(low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (last - first < 1) return roundTicks(low, high, 4).filter((v) => v > 0);
  const every = Math.ceil((last - first + 1) / 7);
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, i) => Number(`1e${first + i * every}`));
}

/** ticksOf returns the ticks of an axis, {at, text}. */
function ticksOf([low, high], log, n) {
  const values = needsOwnTicks([low, high], log)
    ? extremeTicks(low, high, log)
    : log ? logTicks(low, high) : roundTicks(low, high, n);
  const labels = tickLabels(values);
  return values.map((at, i) => ({ at, text: labels[i] }));
}

/** timeTicks returns ticks at round times. */
function timeTicks(low, high, n) {
  const day = 86_400_000;
  const step =
    timeSteps.map((s) => s * 1000).find((s) => (high - low) / s <= n) ?? Math.ceil((high - low) / day / n) * day;
  const zone = new Date(low).getTimezoneOffset() * 60_000;
  const all = [];
  for (let at = Math.ceil((low - zone) / step) * step + zone; at <= high && all.length < 20; at += step) {
    const text = new Date(at - zone).toISOString();
    all.push({ at, text: step >= day ? text.slice(5, 10) : text.slice(11, step < 60_000 ? 19 : 16) });
  }
  return all;
}

/** horizontal returns the ticks and the label of the X axis. */
function horizontal(chart, n) {
  const { x, logx, against } = chart.view;
  if (x === 'time') return { ticks: timeTicks(...chart.x, n), label: 'Time' };
  if (x !== 'relative') return { ticks: ticksOf(chart.x, logx, n), label: x === 'metric' ? against : 'Step' };
  const [unit, size] = units.find(([, , until]) => !(chart.x[1] >= until));
  const ticks = ticksOf(chart.x.map((v) => v / size), logx, n);
  return { ticks: ticks.map(({ at, text }) => ({ at: at * size, text })), label: `Time since the start (${unit})` };
}

/**
 * makeLegend returns a legend with as many columns as fit.
 * @param {{text: string, sample: (function(Object, number, number, number)|undefined)}[]} entries sample draws a line
 *   or a mark; its arguments are the pen, the left end, the middle and the width of the place
 */
export function makeLegend(entries, width, size) {
  const place = 2.2 * size;
  const longest = Math.min(width - place - 2 * size, Math.max(...entries.map((e) => textWidth(e.text, size)), size));
  const entry = longest + place + 2 * size;
  const columns = Math.max(1, Math.min(entries.length, Math.floor(width / entry)));
  const row = 1.35 * size;
  return {
    height: Math.ceil(entries.length / columns) * row,
    draw: (pen, top, style) =>
      entries.forEach(({ text, sample }, i) => {
        const x = (i % columns) * entry + 0.5 * size;
        const y = top + (Math.floor(i / columns) + 0.8) * row;
        sample?.(pen, x, y - 0.3 * size, 1.7 * size);
        pen.text(sample ? x + place : x, y, fitText(text, size, longest), style);
      }),
  };
}

/**
 * drawAxes draws axes with their labels.
 * @param {Object} pen
 * @param {Object} axes vertical and across are ticks, {at, text}; px and py return the place of a tick
 */
export function drawAxes(pen, { left, right, top, bottom, vertical, across, px, py, xlabel, ylabel, size, colors }) {
  const text = { size, color: colors.text };
  for (const t of vertical) {
    pen.line([[left, py(t.at)], [right, py(t.at)]], { color: colors.line, width: 0.5 });
    pen.text(left - 0.4 * size, py(t.at) + 0.35 * size, t.text, { ...text, anchor: 'end' });
  }
  let end = -Infinity;
  for (const t of across) {
    const half = textWidth(t.text, size) / 2;
    const at = px(t.at);
    pen.line([[at, bottom], [at, bottom + 2]], { color: colors.edge, width: 0.5 });
    if (at - half < end + 3) continue; // the labels would overlap
    end = at + half;
    pen.text(Math.min(at, pen.width - half), bottom + 1.3 * size, t.text, { ...text, anchor: 'middle' });
  }
  pen.line([[left, top], [left, bottom], [right, bottom]], { color: colors.edge, width: 0.5 });
  const label = fitText(xlabel, size, right - left);
  pen.text((left + right) / 2, bottom + 2.5 * size, label, { ...text, anchor: 'middle' });
  pen.text(size, (top + bottom) / 2, fitText(ylabel, size, bottom - top), { ...text, anchor: 'middle', up: true });
}

/** markNames explain the marks of values that are not finite. */
const markNames = new Map([
  ['nan', 'NaN (not a number)'],
  ['up', 'Infinity'],
  ['down', '-Infinity'],
]);

/** drawMark draws the mark of a value that is not finite around the point (x, y): a cross or a triangle. */
function drawMark(pen, kind, x, y, r, style) {
  if (kind === 'nan') {
    pen.line([[x - r, y - r], [x + r, y + r]], style);
    pen.line([[x - r, y + r], [x + r, y - r]], style);
    return;
  }
  const tip = kind === 'up' ? -r : r;
  pen.area([[x, y + tip], [x + r, y - tip], [x - r, y - tip]], style);
}

/**
 * drawFigure draws a chart for print.
 * @param {typeof import('./svgpen.js').SvgPen} Pen
 * @param {import('./chart.js').Chart} chart
 * @param {string} key label of the Y axis
 * @param {{width: number, size: number}} options width in millimetres, and font size in points
 */
export function drawFigure(Pen, chart, key, { width: mm, size }) {
  const width = (mm / 25.4) * 72;
  const colors = lightColors();
  const { view } = chart;
  const thin = mm > 120 ? 1 : 0.8;
  const plotHeight = width * (mm > 120 ? 0.4 : 0.62);
  const top = 0.6 * size;
  const bottom = top + plotHeight;
  const vertical = ticksOf(chart.y, view.logy, 5);
  const left = 1.9 * size + Math.max(...vertical.map((t) => textWidth(t.text, size)), size);
  const right = width - Math.max(4, size);
  const scale = (log, [low, high], from, to) => {
    const f = log ? Math.log10 : Number;
    const far = 20 * width;
    return (v) => Math.max(-far, Math.min(far, from + ((f(v) - f(low)) / (f(high) - f(low))) * (to - from)));
  };
  const px = scale(view.logx, chart.x, left, right);
  const py = scale(view.logy, chart.y, bottom, top);
  const color = (c) => colors.runs[c.color % paletteSize];
  const dash = (c) => lineStyle(c.dash).map((n) => n * 0.7);
  const radius = 0.3 * size;
  const [first, last] = chart.x;
  const marks = chart.curves.map((c) =>
    nonFiniteMarks(c, px, 3 * radius).filter(({ at }) => at >= first && at <= last && !(view.logx && at <= 0)));
  const kinds = new Set(marks.flat().map((m) => m.kind));

  const more = chart.curves.length - mostNamed;
  const legend = makeLegend(
    [
      ...chart.curves.slice(0, mostNamed).map((c) => ({
        text: c.name,
        sample: (pen, x, y, w) => pen.line([[x, y], [x + w, y]], { color: color(c), width: 1.5 * thin, dash: dash(c) }),
      })),
      ...(more > 0 ? [{ text: `and ${more} more` }] : []),
      ...[...markNames].filter(([kind]) => kinds.has(kind)).map(([kind, words]) => ({
        text: words,
        sample: (pen, x, y, w) => drawMark(pen, kind, x + w / 2, y, radius, { color: colors.text, width: thin }),
      })),
    ],
    width,
    size
  );
  const pen = new Pen(width, bottom + 3 * size + legend.height + 0.6 * size);
  const across = horizontal(chart, mm > 120 ? 8 : 4);
  drawAxes(pen, {
    left, right, top, bottom, vertical, across: across.ticks, px, py, xlabel: across.label, ylabel: key, size, colors,
  });

  const drawable = (x, y) => Number.isFinite(y) && !(view.logx && x <= 0) && !(view.logy && y <= 0);
  pen.clip(left, top, right - left, plotHeight, () => {
    for (const c of chart.curves) {
      if (c.low) {
        const known = [...c.x.keys()].filter((i) => c.low[i] != null && drawable(c.x[i], c.low[i]));
        const edge = [
          ...known.map((i) => [px(c.x[i]), py(c.high[i])]),
          ...known.reverse().map((i) => [px(c.x[i]), py(c.low[i])]),
        ];
        pen.area(edge, { color: color(c), alpha: 0.18 });
      }
      const style = { color: color(c), width: thin, dash: dash(c) };
      if (c.line !== c.y) drawLine(pen, c.x, c.y, px, py, drawable, { ...style, width: thin / 2, alpha: 0.25 });
      drawLine(pen, c.x, c.line, px, py, drawable, style);
    }
  });
  // Marks at the ends of the X axis are not clipped.
  chart.curves.forEach((c, i) => {
    for (const { x, kind } of marks[i]) {
      const y = kind === 'up' ? top + radius : bottom - (kind === 'nan' ? 2 : 1) * radius;
      drawMark(pen, kind, x, y, radius, { color: color(c), width: thin });
    }
  });
  legend.draw(pen, bottom + 3 * size, { size, color: colors.text });
  return pen;
}

/** drawLine draws a line with gaps. A point without neighbours is a dot. */
function drawLine(pen, xs, ys, px, py, drawable, style) {
  let part = [];
  const end = () => {
    if (part.length === 1) {
      const [[x, y]] = part;
      const r = 1.2;
      const round = Array.from({ length: 12 }, (_, i) => [
        x + r * Math.cos((i * Math.PI) / 6),
        y + r * Math.sin((i * Math.PI) / 6),
      ]);
      pen.area(round, { color: style.color, alpha: style.alpha });
    }
    pen.line(part, style);
    part = [];
  };
  for (const [i, x] of xs.entries()) {
    if (drawable(x, ys[i])) part.push([px(x), py(ys[i])]);
    else end();
  }
  end();
}

/** saveFigure downloads a chart for print as svg, pdf or png. */
export const saveFigure = (format, chart, key, options) =>
  savePen(format, key, (Pen) => drawFigure(Pen, chart, key, options));

/**
 * savePen downloads a drawing as svg, pdf or png.
 * @param {string} name name of the file
 * @param {function(Object): Object} draw draws with a class of pens and returns the pen
 */
export async function savePen(format, name, draw) {
  if (format === 'pdf') {
    const { PdfPen } = await import('./pdfpen.js');
    saveFile(await draw(PdfPen).blob(), `${name}.pdf`);
    return;
  }
  const { SvgPen } = await import('./svgpen.js');
  const pen = draw(SvgPen);
  const blob = await pen.blob();
  saveFile(format === 'svg' ? blob : await raster(blob, pen.width, pen.height), `${name}.${format}`);
}

/** raster returns an SVG file as PNG. */
async function raster(svg, width, height) {
  const image = el('img');
  // The content security policy allows data: URLs of images, but no blob: URLs.
  image.src = `data:image/svg+xml,${encodeURIComponent(await svg.text())}`;
  await image.decode();
  const [w, h] = [width, height].map((length) => Math.round(length * pixelsPerPoint));
  const canvas = el('canvas', { width: w, height: h });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done); });
}
