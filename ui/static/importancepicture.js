// The picture of one parameter: the runs as dots, the fitted curve, and the range of the best values.
import { enableSelection } from './brush.js';
import { el, isolated } from './dom.js';
import { dotPlot, margin, spaced } from './dotplot.js';
import { count, number } from './format.js';
import { themeColors } from './paint.js';
import { paletteSize } from './color.js';
import { dimensionAxis, svgElement } from './plotaxis.js';
import { resultAxis } from './resultaxis.js';

const stripWidth = 56; // width of the strip for a text beside a range of numbers
const height = 250;
const pad = 8;

const collator = new Intl.Collator('en', { numeric: true });

/** textsOf returns the distinct texts of a parameter in the order of their colours. */
export const textsOf = (param) => [...new Set(param.texts.filter((v) => v != null))].sort(collator.compare);

const toNumber = (v) => {
  if (typeof v === 'number') return v;
  return typeof v === 'string' && v.trim() !== '' && Number.isFinite(Number(v)) ? Number(v) : null;
};

/**
 * parameterAxis returns the place of the values of a parameter: a range for numbers, and strips for texts and
 * missing values.
 */
function parameterAxis(param, row, width) {
  const values = param.numbers ?? param.texts;
  const numbers = values.map(toNumber);
  const known = numbers.filter((v) => v != null);
  const names = row.curve.map((p) => p.value).filter((v) => v && toNumber(v) == null);
  const texts = values.some((v) => v != null && toNumber(v) == null);
  const strips = texts ? [...names] : [];
  const rest = values.some((v) => v != null && toNumber(v) == null && !names.includes(v));
  if (texts && names.length === 0)
    strips.push(...[...new Set(values.filter((v) => v != null && toNumber(v) == null))].slice(0, 13));
  if (rest && names.length > 0) strips.push('other');
  strips.sort((a, b) => (a === 'other') - (b === 'other') || collator.compare(a, b)); // as the values of a brush
  if (values.some((v) => v == null)) strips.push('none');
  const inner = width - margin.left - margin.right;
  const each =
    known.length === 0
      ? inner / Math.max(1, strips.length)
      : Math.min(stripWidth, inner / 2 / Math.max(1, strips.length));
  const wide = inner - each * strips.length;
  const axis = known.length > 0 ? dimensionAxis({ texts: null, values: known }) : null;
  const px = (v) => margin.left + pad + axis.at(v) * (wide - 2 * pad);
  const strip = (text) => {
    let n = strips.indexOf(text);
    if (n < 0) n = strips.indexOf('other');
    return n < 0 ? null : margin.left + wide + (n + 0.5) * each;
  };
  const place = (v) => {
    const n = toNumber(v);
    if (n != null && axis) return px(n);
    return strip(v == null || v === '' ? 'none' : v);
  };
  const fits = Math.max(3, Math.floor(each / 6.5));
  const short = (text) => (text.length > fits ? `${text.slice(0, fits - 1)}…` : text);
  return {
    values,
    axis,
    // The value at a place of the range of numbers.
    value: (px) => axis.value(Math.max(0, Math.min(1, (px - margin.left - pad) / (wide - 2 * pad)))),
    each,
    strips,
    place,
    // A run without a number has a fixed place within its strip.
    at: (i) => {
      const n = numbers[i];
      if (n != null && axis) return px(n);
      const x = place(values[i]);
      return x == null ? null : x + (((i * 0.6180339887) % 1) - 0.5) * each * 0.5;
    },
    ticks: [
      ...(axis ? spaced(axis.ticks(8).map((v) => ({ at: px(v), text: number(v) }))) : []),
      ...strips.map((text) => ({ at: strip(text), text: short(text) })),
    ],
  };
}

/** levelOf returns a function that returns the index of a run's level, or -1. */
function levelOf(row, columns) {
  const other = row.with && columns.params.find((p) => p.name === row.with);
  if (!other || row.lines.length === 0) return null;
  const values = other.numbers ?? other.texts;
  const numeric = row.numbers;
  const ends =
    numeric &&
    row.lines.map((l, n) =>
      n + 1 < row.lines.length ? (Number(l.to) + Number(row.lines[n + 1].from)) / 2 : Infinity
    );
  return (i) => {
    if (!numeric) return row.lines.findIndex((l) => l.from === values[i]);
    const v = toNumber(values[i]);
    return v == null ? -1 : ends.findIndex((end) => v <= end);
  };
}

/** levelColors returns the index of the colour of each level. A text value has the same colour in all pictures. */
function levelColors(row, columns) {
  const other = columns.params.find((p) => p.name === row.with);
  const texts = !row.numbers && other?.texts ? textsOf(other) : null;
  return row.lines.map((l, n) => (texts ? texts.indexOf(l.from) : n) % paletteSize);
}

const finite = (v) => Number.isFinite(Number(v));

/**
 * importancePicture draws the picture of a parameter in root.
 * @param {HTMLElement} root
 * @param {Object} row row of the analysis
 * @param {Object} data {analysis, columns, result: values of the metric by run, inside, pointer, brushes}
 */
export function importancePicture(root, row, { analysis, columns, result, inside, pointer, brushes }) {
  const param = columns.params.find((p) => p.name === row.name);
  if (!param) return;
  const width = Math.max(280, Math.round(root.clientWidth) || 560);
  const x = parameterAxis(param, row, width);
  const y = resultAxis(result, analysis.goal);
  const bottom = height - margin.bottom;
  const py = (v) => bottom - pad - y.at(v) * (bottom - margin.top - 2 * pad);
  const level = levelOf(row, columns);
  const shades = levelColors(row, columns);
  const theme = themeColors();
  const color = level
    ? (i) => (level(i) < 0 ? theme.line : theme.runs[shades[level(i)]])
    : () => theme.runs[5];
  const places = result.map((v, i) => {
    const across = v == null ? null : x.at(i);
    return across == null ? null : [across, py(v)];
  });
  const points = (curve) =>
    curve
      .filter((p) => toNumber(p.value) != null && finite(p.mean) && x.axis)
      .map((p) => ({
        x: x.place(p.value),
        mean: py(p.mean),
        low: finite(p.low) ? py(p.low) : null,
        high: finite(p.high) ? py(p.high) : null,
      }));
  const over = [];
  const path = (curve, cls) => {
    const all = points(curve);
    if (all.length < 2) return;
    const band = all.filter((p) => p.low != null && p.high != null);
    const there = band.map((p, n) => `${n ? 'L' : 'M'}${p.x},${p.high}`).join('');
    const back = band.reverse().map((p) => `L${p.x},${p.low}`).join('');
    over.push(svgElement('path', { d: `${there}${back}Z`, class: `band ${cls}` }));
    const means = all.map((p, n) => `${n ? 'L' : 'M'}${p.x},${p.mean}`).join('');
    over.push(svgElement('path', { d: means, class: `fit ${cls}`, 'data-testid': 'fit' }));
  };
  // Text values have a mark with an interval instead of a curve.
  const marks = (curve, cls, shift, shape) => {
    for (const p of curve) {
      if (x.axis && toNumber(p.value) != null) continue;
      const at = x.place(p.value);
      if (at == null || !finite(p.mean) || !p.value) continue;
      const m = py(p.mean);
      if (finite(p.low) && finite(p.high))
        over.push(
          svgElement('line', {
            x1: at + shift,
            x2: at + shift,
            y1: py(p.low),
            y2: py(p.high),
            class: `whisker ${cls}`,
          })
        );
      const d = shape === 'tuned' ? `M${at + shift},${m - 6}l6,6l-6,6l-6,-6Z` : `M${at + shift - 7},${m}h14`;
      over.push(svgElement('path', { d, class: `mark ${shape} ${cls}`, 'data-testid': 'mark' }));
    }
  };
  const under = [];
  const region = (best) => {
    const [from, to] = [x.place(best.from), x.place(best.to)];
    return [Math.min(from, to) - 2, Math.max(from, to) + 2];
  };
  if (row.lines.length > 0) {
    row.lines.forEach((l, n) => {
      const cls = `c${shades[n]}`;
      path(l.curve, cls);
      marks(l.curve, cls, (n - (row.lines.length - 1) / 2) * Math.min(10, x.each / 8), 'mean');
      if (!l.best || !x.axis) return;
      const [from, to] = region(l.best);
      const at = bottom - 3 - 5 * n;
      over.push(svgElement('line', { x1: from, x2: to, y1: at, y2: at, class: `best-line ${cls}` }));
    });
  } else {
    path(row.curve, 'c0');
    marks(row.curve, 'c0', row.tuned.length > 0 ? -9 : 0, 'mean');
    marks(row.tuned, 'c3', 9, 'tuned');
    if (row.best && x.axis) {
      const [from, to] = region(row.best);
      under.push(
        svgElement('rect', {
          x: from,
          y: margin.top,
          width: to - from,
          height: bottom - margin.top,
          class: 'region',
          'data-testid': 'region',
        })
      );
    }
  }
  if (row.winner && x.place(row.winner) != null)
    under.push(
      svgElement('rect', {
        x: x.place(row.winner) - x.each / 2 + 2,
        y: margin.top,
        width: x.each - 4,
        height: bottom - margin.top,
        class: 'region',
      })
    );
  const rows = [margin.top, bottom];
  const range = (from, to, more) =>
    svgElement('rect', { x: from, y: rows[0], width: to - from, height: rows[1] - rows[0], class: 'brush', ...more });
  const chosen = range(0, 0, { visibility: 'hidden' });
  const dimension = brushes.all.get(`param.${row.name}`);
  const brushed = dimension && brushedRange(brushes.ranges.get(dimension.id), dimension, x);
  if (brushed) over.push(range(brushed[0], brushed[1], { 'data-testid': 'brushed-range' }));
  over.push(chosen);
  const box = dotPlot({
    width,
    height,
    n: result.length,
    at: (i) => places[i],
    color,
    inside,
    xticks: x.ticks,
    yticks: y.ticks.map((t) => ({ at: bottom - pad - t.at * (bottom - margin.top - 2 * pad), text: t.text })),
    xlabel: row.name.slice(0, 60),
    ylabel: analysis.label.slice(0, 30),
    label: [
      `${analysis.label} over ${row.name} of ${count(result.length)} runs.`,
      ...row.words,
      ...row.levels,
    ].join(' '),
    under,
    over,
    pointer,
    words: (i) => [`${row.name}: ${x.values[i] ?? 'none'}`, `${analysis.label}: ${number(result[i])}`],
  });
  if (dimension)
    enableSelection(
      box.querySelector('svg'),
      chosen,
      (from, top, to) => brushes.set({ [dimension.id]: valuesBetween(from, to, dimension, x) }),
      rows
    );
  root.replaceChildren(box, legend(row, y.beyond, x, shades), curveTable(row, analysis));
}

/**
 * valuesBetween returns the lowest and the highest value of a dimension whose runs are between two places, or null. If
 * all values are numbers, it returns the values at the places.
 */
function valuesBetween(from, to, dimension, x) {
  if (!dimension.texts) return [x.value(from), x.value(to)];
  const isInside = (value) => x.place(value) >= from && x.place(value) <= to;
  const some = dimension.values.filter((v, i) => v != null && isInside(x.values[i]));
  return some.length > 0 ? [Math.min(...some), Math.max(...some)] : null;
}

/** brushedRange returns the places of both ends of a range, or null. */
function brushedRange(range, dimension, x) {
  if (!range) return null;
  if (!dimension.texts) return range.map((v) => x.place(v));
  const places = dimension.values
    .map((v, i) => (v != null && v >= range[0] && v <= range[1] ? x.place(x.values[i]) : null))
    .filter((at) => at != null);
  const half = x.axis ? 4 : x.each / 2;
  return places.length > 0 ? [Math.min(...places) - half, Math.max(...places) + half] : null;
}

function legend(row, beyond, x, shades) {
  const item = (cls, words) => el('li', {}, el('i', { class: `dot ${cls}` }), isolated(words));
  const items = row.lines.map((l, n) => {
    const said = row.levels.find((text) => text.startsWith(`${l.label}: `));
    return item(`c${shades[n]}`, said ?? l.label);
  });
  if (row.lines.length === 0 && row.curve.length > 0 && x.axis) items.push(item('c0', 'Fitted curve with 95% band'));
  if (row.lines.length === 0 && row.curve.length > 0 && !x.axis) items.push(item('c0', 'Mean with 95% interval'));
  if (row.lines.length === 0 && row.tuned.length > 0) items.push(item('c3', 'When the other parameters are tuned'));
  if (row.lines.length === 0 && (row.best || row.winner))
    items.push(item('region', row.best ? 'Not clearly worse than the best' : 'Best when tuned'));
  if (row.lines.some((l) => l.best) && x.axis)
    items.push(el('li', { class: 'count' }, 'Bars at the bottom: not clearly worse than the best'));
  if (beyond > 0)
    items.push(
      el('li', { class: 'count' }, `${count(beyond)} ${beyond === 1 ? 'run is' : 'runs are'} beyond the axis`)
    );
  return el('ul', { class: 'legend', 'aria-label': 'Legend' }, ...items);
}

/** curveTable returns the points of the curves as a table. */
function curveTable(row, analysis) {
  const parts =
    row.lines.length > 0
      ? row.lines.map((l) => [l.label, l.curve])
      : [
          ['', row.curve],
          ['tuned', row.tuned],
        ];
  const rows = parts.flatMap(([label, curve]) =>
    curve.map((p) =>
      el(
        'tr',
        {},
        el(
          'th',
          { scope: 'row' },
          isolated(p.value ? (toNumber(p.value) == null ? p.value : number(Number(p.value))) : 'other or none'),
          label && el('span', { class: 'count' }, ` ${label}`)
        ),
        el('td', { class: 'number' }, number(toNumber(p.mean) ?? p.mean)),
        el('td', { class: 'number' }, `${number(toNumber(p.low) ?? p.low)} to ${number(toNumber(p.high) ?? p.high)}`),
        el('td', { class: 'number' }, count(p.runs))
      )
    )
  );
  if (rows.length === 0) return '';
  return el(
    'details',
    {},
    el('summary', { class: 'count' }, 'Table'),
    el(
      'div',
      { class: 'across', tabindex: '0', role: 'region', 'aria-label': `Fitted values of ${row.name}` },
      el(
        'table',
        { class: 'grid' },
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            ...[row.name, analysis.label, '95% interval', 'Runs'].map((text, n) =>
              el('th', { scope: 'col', class: n > 0 && 'number' }, text)
            )
          )
        ),
        el('tbody', {}, ...rows)
      )
    )
  );
}
