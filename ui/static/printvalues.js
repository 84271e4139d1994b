// Bars, scatter plots and histograms for print.
import { paletteSize } from './color.js';
import { roundTicks } from './curvemath.js';
import { count, number, tickLabels } from './format.js';
import { fitText, textWidth } from './helvetica.js';
import { axisLabels, dimensionAxis } from './plotaxis.js';
import { drawAxes, lightColors, makeLegend } from './printfigure.js';
import { bins, binPlace, sorted } from './valuepanel.js';

const mostNamed = 60; // runs in the legend
const mostRows = 40; // bars with names; more bars are drawn without names
const manyDots = 1500; // number above which dots are small

/**
 * drawValues draws the content of a panel for print. Drawn runs have their colours and are in the legend.
 * @param {typeof import('./svgpen.js').SvgPen} Pen
 * @param {Object} figure as from valueFigure
 * @param {{width: number, size: number}} options width in millimetres, and font size in points
 */
export function drawValues(Pen, figure, { width: mm, size }) {
  const page = { Pen, width: (mm / 25.4) * 72, wide: mm > 120, size, colors: lightColors() };
  page.color = (run) => (run ? page.colors.runs[run.color % paletteSize] : page.colors.edge);
  if (figure.type === 'bar') return figure.known > mostRows ? drawProfile(page, figure) : drawRows(page, figure);
  return figure.type === 'scatter' ? drawDots(page, figure) : drawHistogram(page, figure);
}

const square = (x, y, w, h) => [[x, y], [x + w, y], [x + w, y + h], [x, y + h]];

/** entries returns the legend: the drawn runs unless named is set, the others, and whether runs are missing. */
function entries({ color, size }, { drawn, shown, titles, known, runs, total }, named = false) {
  const lit = [...drawn].filter(([i]) => shown[i]);
  const others = known - lit.length;
  const sample = (run) => (pen, x, y, w) =>
    pen.area(square(x + w / 2 - 0.4 * size, y - 0.4 * size, 0.8 * size, 0.8 * size), { color: color(run) });
  return [
    ...(named ? [] : lit.slice(0, mostNamed).map(([i, run]) => ({ text: titles[i], sample: sample(run) }))),
    ...(!named && lit.length > mostNamed ? [{ text: `and ${lit.length - mostNamed} more` }] : []),
    ...(others > 0 ? [{ text: `${count(others)} ${lit.length > 0 ? 'other ' : ''}runs`, sample: sample(null) }] : []),
    ...(runs < total ? [{ text: `The newest ${count(runs)} of ${count(total)} runs` }] : []),
  ];
}

/** drawPlot draws a plot with axes. draw draws the content with functions for places, and the axes above it. */
function drawPlot(page, figure, { vertical, across, xlabel, ylabel, x, y }, draw) {
  const { Pen, width, wide, size, colors } = page;
  const legend = makeLegend(entries(page, figure), width, size);
  const top = 0.6 * size;
  const bottom = top + width * (wide ? 0.4 : 0.62);
  const left = 1.9 * size + Math.max(...vertical.map((t) => textWidth(t.text, size)), size);
  const right = width - Math.max(4, size);
  const pen = new Pen(width, bottom + 3 * size + legend.height + 0.6 * size);
  const px = (v) => left + x(v) * (right - left);
  const py = (v) => bottom - y(v) * (bottom - top);
  drawAxes(pen, { left, right, top, bottom, vertical, across, px, py, xlabel, ylabel, size, colors });
  draw(pen, px, py, bottom);
  legend.draw(pen, bottom + 3 * size, { size, color: colors.text });
  return pen;
}

const ticks = (values, texts) => values.map((at, i) => ({ at, text: texts[i] }));
const padded = (axis) => (v) => 0.03 + 0.94 * axis.at(v);

function drawDots(page, figure) {
  const { names, dims, shown, drawn, known } = figure;
  const [dx, dy] = dims;
  const [mx, my] = dims.map(dimensionAxis);
  const [across, up] = [mx.ticks(page.wide ? 8 : 4), my.ticks(5)];
  const axes = {
    vertical: ticks(up, axisLabels(dy, up)),
    across: ticks(across, axisLabels(dx, across)),
    xlabel: names[0],
    ylabel: names[1],
    x: padded(mx),
    y: padded(my),
  };
  return drawPlot(page, figure, axes, (pen, px, py) => {
    const place = (i) => [px(dx.values[i]), py(dy.values[i])];
    const others = [...shown.keys()].filter((i) => shown[i] && !drawn.has(i));
    const few = known <= manyDots;
    pen.dots(others.map(place), { color: page.colors.edge, radius: few ? 1.5 : 0.8, alpha: few ? 0.7 : 0.4 });
    for (const [i, run] of drawn)
      if (shown[i]) pen.dots([place(i)], { color: page.color(run), radius: 2.2 });
  });
}

function drawHistogram(page, figure) {
  const { names, dims, shown, drawn } = figure;
  const [d] = dims;
  const all = bins(d);
  const most = Math.max(...all.map((b) => b.n));
  const up = roundTicks(0, most, 4).filter(Number.isInteger);
  const named = d.texts || all.length === 1;
  const [low, high] = named ? [] : [all[0].from, all.at(-1).to];
  const round = named ? [] : roundTicks(low, high, page.wide ? 8 : 4).filter((v) => v >= low && v <= high);
  const axes = {
    vertical: ticks(up, up.map(count)),
    across: named
      ? all.map((b, i) => ({ at: i + 0.5, text: b.label.slice(0, 16) }))
      : ticks(round.map((v) => binPlace(d, all, v)), tickLabels(round)),
    xlabel: names[0],
    ylabel: 'Runs',
    x: (v) => v / all.length,
    y: (v) => v / most,
  };
  return drawPlot(page, figure, axes, (pen, px, py, bottom) => {
    all.forEach((b, i) => {
      const [from, to] = [px(i) + 0.5, px(i + 1) - 0.5];
      pen.area(square(from, py(b.n), to - from, bottom - py(b.n)), { color: page.colors.edge, alpha: 0.6 });
    });
    for (const [i, run] of drawn) {
      if (!shown[i]) continue;
      const x = px(binPlace(d, all, d.values[i]));
      pen.line([[x, bottom], [x, bottom - page.size]], { color: page.color(run), width: 1.5 });
    }
  });
}

/** range returns the ends of an axis of bars, which includes 0. */
function range(values) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  return low < high ? [low, high] : [low, low + 1];
}

/** drawProfile draws many bars side by side, the largest first, without names. */
function drawProfile(page, figure) {
  const { names, dims, drawn } = figure;
  const order = sorted(figure).filter((i) => !dims[0].texts && dims[0].values[i] != null);
  const [low, high] = range(order.map((i) => dims[0].values[i]));
  const up = roundTicks(low, high, 5);
  const axes = {
    vertical: ticks(up, tickLabels(up)),
    across: [],
    xlabel: 'Runs, the largest first',
    ylabel: names[0],
    x: (v) => v / order.length,
    y: (v) => (v - low) / (high - low),
  };
  return drawPlot(page, figure, axes, (pen, px, py) => {
    const edge = [[px(0), py(0)]];
    order.forEach((i, n) => {
      const y = py(dims[0].values[i]);
      edge.push([px(n), y], [px(n + 1), y]);
    });
    pen.area([...edge, [px(order.length), py(0)]], { color: page.colors.edge, alpha: 0.6 });
    order.forEach((i, n) => {
      const run = drawn.get(i);
      if (!run) return;
      const wide = Math.max(0.8, (px(n + 1) - px(n)) * 0.8);
      const [x, y] = [px(n + 0.5) - wide / 2, py(dims[0].values[i])];
      pen.area(square(x, y, wide, py(0) - y), { color: page.color(run) });
    });
  });
}

/** drawRows draws a row for each run: its name, a bar and the value. */
function drawRows(page, figure) {
  const { Pen, width, size, colors } = page;
  const { names, titles, raw, dims, drawn } = figure;
  const order = sorted(figure);
  const row = 1.5 * size;
  const legend = makeLegend(entries(page, figure, true), width, size);
  const top = 2 * size;
  const bottom = top + order.length * row;
  const pen = new Pen(width, bottom + legend.height + 1.2 * size);
  const text = { size, color: colors.text };
  const words = order.map((i) => number(raw[0][i]));
  const left = Math.min(width * 0.35, Math.max(...order.map((i) => textWidth(titles[i], size)))) + size;
  const right = width - Math.max(...words.map((w) => textWidth(w, size))) - 1.5 * size;
  const [low, high] = range(dims[0].texts ? [] : dims[0].values.filter((v) => v != null));
  const px = (v) => left + ((v - low) / (high - low)) * (right - left);
  pen.text(left, 1.2 * size, fitText(names[0], size, width - left), text);
  order.forEach((i, n) => {
    const y = top + n * row;
    pen.text(left - 0.6 * size, y + 1.05 * size, fitText(titles[i], size, left - size), { ...text, anchor: 'end' });
    pen.text(width - 0.5 * size, y + 1.05 * size, words[n], { ...text, anchor: 'end' });
    const value = dims[0].texts ? null : dims[0].values[i];
    if (value == null) return;
    const [from, to] = [px(Math.min(0, value)), px(Math.max(0, value))];
    const wide = Math.max(0.3, to - from);
    pen.area(square(from, y + 0.2 * size, wide, row - 0.4 * size), { color: page.color(drawn.get(i)) });
  });
  pen.line([[px(0), top], [px(0), bottom]], { color: colors.edge, width: 0.5 });
  legend.draw(pen, bottom + 0.4 * size, text);
  return pen;
}
