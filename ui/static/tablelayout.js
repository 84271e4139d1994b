// The columns of the table of runs: their selection, order and widths.
import * as columns from './columnname.js';
import { fixedDecimals, commonDecimals } from './format.js';

const fixed = [
  { name: 'name', label: 'Name', sort: 'name', width: 196 },
  { name: 'status', label: 'Status', sort: 'status', width: 100 },
  { name: 'created', label: 'Created', sort: '-created', width: 116 },
  { name: 'duration', label: 'Duration', sort: 'duration', width: 80, numeric: true },
  { name: 'tags', label: 'Tags', sort: 'tag', width: 104 },
];

const lessIsBetter = /loss|err|perplexity|ppl|mse|mae|mape|nll|bpc|wer|cer\b|fid\b|cost|regret|latency|entropy|distance|diverg|(^|[/_.-])kl/i;

const padding = 26; // of a cell, with some room
const boldFactor = 1.15; // times as wide: the best value is bold
const arrowWidth = 14; // of the column that the rows are sorted by
const nameControls = 62; // the box and the colour
const mostFitting = { param: 320, metric: 200, head: 160 };
const [leastWidth, mostWidth] = [48, 1000];
const prefixShare = 0.75; // of the names, which begin alike

// readWidths reads the widths of columns that somebody has chosen, by name, from lines of a name
// and pixels.
export const parseWidths = (text) => new Map(text.split('\n').map((line) => line.split('\t'))
  .filter(([, width]) => width > 0).map(([name, width]) => [name, Math.max(leastWidth, Math.min(mostWidth, Number(width)))]));

// resized returns these lines with another width of a column, 0 for the one that suits its contents.
export function changeWidth(text, name, width) {
  const all = parseWidths(text);
  if (width) all.set(name, width);
  else all.delete(name);
  return [...all].map((pair) => pair.join('\t')).join('\n');
}

let pen = null;

// wide returns the width of a text in the table, in pixels.
function textWidth(text) {
  if (!pen) {
    pen = document.createElement('canvas').getContext('2d');
    pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  }
  return Math.ceil(pen.measureText(text).width);
}

// fitting returns the width of a column in which its cells fit, and most of its head.
function fittingWidth(label, column, rows, places, best) {
  const text = (row) => (column.kind === 'param' ? (columns.columnValue(row, column) ?? '').slice(0, 60) : fixedDecimals(columns.columnValue(row, column), places));
  const cells = Math.max(0, ...rows.map((row) => textWidth(text(row)) * (row.id === best ? boldFactor : 1)));
  return Math.max(leastWidth, Math.min(mostFitting[column.kind], Math.ceil(cells) + padding), Math.min(mostFitting.head, padding + arrowWidth + textWidth(label)));
}

// common returns what most names begin with, up to the end of a word or before a number; "" if that is
// too short to be in the way.
export function commonPrefix(names) {
  const shared = new Map(); // how many names begin so
  for (const name of names) {
    for (const { index, 0: mark } of name.matchAll(/[-_/:= ]|(?<!\d)\./g)) {
      const start = name.slice(0, index + mark.length);
      if (start.length >= 8) shared.set(start, (shared.get(start) ?? 0) + 1);
    }
  }
  const most = [...shared].filter(([, n]) => n > 1 && n >= prefixShare * names.length).map(([start]) => start);
  return most.sort((x, y) => y.length - x.length)[0] ?? '';
}

const bestTag = 52; // pixels of the mark of the best run beside the name

// Layout holds the fixed columns, and of the chosen ones those that are shown, pinned
// ones first. Each has {name, label, sort, width, numeric}, where sort is the order
// that the first click on its head asks for; a chosen one has its column, its
// place among all that are chosen, and the digits of its numbers, too.
export class TableLayout {
  // by are the names that runs are grouped by; same the parameters that are left out; nests reports whether rows
  // unfold, compared whether there is a baseline; usual is the order of runs where the address has none. best is
  // the id of the run that is marked as the best. rows are some rows that the widths must fit; widths are those
  // that somebody has chosen, by name.
  constructor({ chosen, same, by, pinned, nests, compared, usual, rows, widths, best }) {
    const pins = new Set(pinned.map(columns.formatColumn));
    const beside = compared ? 64 : 0; // pixels for the differences from the baseline
    const shown = chosen.map((column, place) => {
      const { kind, key, stat } = column;
      const name = columns.formatColumn(column);
      const metric = kind === 'metric';
      const label = stat ? `${key} ${stat}` : key;
      // The best value comes first: losses and errors should be small, other metrics large.
      const most = metric && (stat === 'count' || !lessIsBetter.test(key));
      const places = metric && !by ? commonDecimals(rows.map((row) => columns.columnValue(row, column))) : null;
      return { name, label, column, place, digits: places, numeric: metric, sort: most ? `-${name}` : name,
        width: widths.get(name) ?? (by && metric ? 152 : fittingWidth(label, column, by ? [] : rows, places, best) + (metric ? beside : 0)), pinned: pins.has(name) };
    }).filter(({ column }) => column.kind !== 'param' || !same.has(column.key));
    // Groups have means of metrics.
    if (by) shown.sort((a, b) => (a.column.kind === 'param') - (b.column.kind === 'param'));
    this.shown = shown.sort((a, b) => b.pinned - a.pinned);
    this.pins = shown.filter((c) => c.pinned).length;
    this.grouped = Boolean(by);
    this.nests = nests;
    this.usual = by ? 'name' : usual;
    const [first, ...others] = fixed.map((c) => ({ ...c, width: widths.get(c.name) ?? c.width }));
    this.prefix = by ? '' : commonPrefix(rows.map((r) => r.name));
    const named = Math.min(420, Math.max(first.width, nameControls + padding + Math.max(0, ...rows.map((r) => textWidth(r.name.slice(0, 80)) + (r.id === best ? bestTag : 0)))));
    this.fixed = [{ ...first, label: by ? by.map((g) => g.label).join(' · ') : first.label,
      width: widths.get('name') ?? Math.min(named + beside + (nests ? 56 : 0), innerWidth < 700 ? innerWidth / 2.4 : Math.max(first.width, innerWidth / 4)) }, ...others];
    this.lefts = this.shown.slice(0, this.pins).reduce((lefts, { width }) => [...lefts, lefts.at(-1) + width], [this.fixed[0].width]);
  }

  // chosen are the columns that are shown.
  get chosen() {
    return this.shown.map((c) => c.column);
  }

  get size() {
    return this.fixed.length + this.shown.length;
  }

  // pin keeps the cells of the pinned columns in sight beside the name.
  pin(cells) {
    cells.slice(0, this.pins).forEach((td, i) => {
      td.classList.add('pinned');
      td.style.left = `${this.lefts[i]}px`;
    });
  }

  // order places the cells of chosen columns among the fixed ones: pinned ones
  // beside the name, the others after the status. Groups have no status.
  order(cells, chosen) {
    const beside = this.grouped ? chosen.length : this.pins;
    const [name, status, ...others] = cells;
    return [name, ...chosen.slice(0, beside), status, ...chosen.slice(beside), ...others];
  }
}
