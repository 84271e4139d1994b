// The layout of the table of runs: the columns, their order and their widths.
import * as columns from './columnname.js';
import { fixedDecimals, commonDecimals } from './decimals.js';
import { count } from './format.js';

const fixed = [
  { name: 'name', label: 'Name', sort: 'name', width: 196 },
  { name: 'status', label: 'Status', sort: 'status', width: 112 },
  { name: 'created', label: 'Created', sort: '-created', width: 124 },
  { name: 'duration', label: 'Duration', sort: 'duration', width: 88, numeric: true },
  { name: 'tags', label: 'Tags', sort: 'tag', width: 112 },
];
const creator = { name: 'created_by', label: 'By', sort: 'created_by', width: 96 };

const lessIsBetter = new RegExp(
  'loss|err|perplexity|ppl|mse|mae|mape|nll|bpc|wer|cer\\b|fid\\b|cost|regret|latency|entropy|distance|diverg' +
    '|(^|[/_.-])kl',
  'i'
);

const padding = 26; // horizontal padding of a cell in pixels
const boldFactor = 1.15; // the best value is bold, which is wider
const arrowWidth = 14; // width of the arrow in the sorted column's header
const nameControls = 62; // width of the checkbox and the colour field
const mostFitting = { param: 320, summary: 320, metric: 200, head: 160 };
const [leastWidth, mostWidth] = [48, 1000];
const prefixShare = 0.75; // minimum share of names with a common prefix

/**
 * parseWidths returns the widths of columns that the user has set, by name.
 * @param {string} text lines of a name, a tab and pixels
 * @returns {Map<string, number>}
 */
export const parseWidths = (text) =>
  new Map(
    text
      .split('\n')
      .map((line) => line.split('\t'))
      .filter(([, width]) => width > 0)
      .map(([name, width]) => [name, Math.max(leastWidth, Math.min(mostWidth, Number(width)))])
  );

/** changeWidth returns text with a new width for a column. 0 removes the width. */
export function changeWidth(text, name, width) {
  const all = parseWidths(text);
  if (width) all.set(name, width);
  else all.delete(name);
  return [...all].map((pair) => pair.join('\t')).join('\n');
}

let pen = null;

/** textWidth returns the width of a text in the table in pixels. */
function textWidth(text) {
  if (!pen) {
    pen = document.createElement('canvas').getContext('2d');
    pen.font = `14px ${getComputedStyle(document.body).fontFamily}`;
  }
  return Math.ceil(pen.measureText(text).width);
}

/**
 * groupDecimals returns the number of decimals for the means of groups and their standard deviations. The median of the
 * deviations gets two significant digits. The result is null if the values get as many decimals as they need.
 * @param {(?{mean: ?number, sd: ?number})[]} values
 * @returns {?number}
 */
function groupDecimals(values) {
  const deviations = values.map((s) => s?.sd).filter((sd) => sd > 0).sort((a, b) => a - b);
  if (deviations.length === 0) return commonDecimals(values.map((s) => s?.mean));
  const median = deviations[Math.floor((deviations.length - 1) / 2)];
  const places = 1 - Math.floor(Math.log10(median));
  return places > 0 && places <= 6 ? places : null;
}

/**
 * groupText returns the mean of a group, its standard deviation and the number of runs as texts.
 * @param {?{mean: ?number, sd: ?number, n: number}} s
 * @param {?number} places
 * @returns {string[]}
 */
export function groupText(s, places) {
  if (!s) return [];
  const sd = s.sd == null ? null : Number(s.sd.toPrecision(2));
  return [
    s.mean == null ? 'too large' : fixedDecimals(s.mean, places),
    sd == null ? '' : ` ± ${places ? fixedDecimals(sd, places) : sd}`,
    ` n=${count(s.n)}`,
  ];
}

/** fittingWidth returns the width that fits the cells of a column and most of the column's header. */
function fittingWidth(label, column, rows, places, best) {
  const text = (row) =>
    column.kind !== 'metric'
      ? (columns.columnValue(row, column) ?? '').slice(0, 60)
      : row.group
        ? groupText(columns.columnValue(row, column), places).join('')
        : fixedDecimals(columns.columnValue(row, column), places);
  const cells = Math.max(0, ...rows.map((row) => textWidth(text(row)) * (row.id === best ? boldFactor : 1)));
  return Math.max(
    leastWidth,
    Math.min(mostFitting[column.kind], Math.ceil(cells) + padding),
    Math.min(mostFitting.head, padding + arrowWidth + textWidth(label))
  );
}

/**
 * commonPrefix returns the prefix that most names share. It ends at the end of a word or before a number. If the
 * prefix is short, commonPrefix returns "".
 */
export function commonPrefix(names) {
  const shared = new Map(); // number of names by prefix
  for (const name of names) {
    for (const { index, 0: mark } of name.matchAll(/[-_/:= ]|(?<!\d)\./g)) {
      const start = name.slice(0, index + mark.length);
      if (start.length >= 8) shared.set(start, (shared.get(start) ?? 0) + 1);
    }
  }
  const most = [...shared].filter(([, n]) => n > 1 && n >= prefixShare * names.length).map(([start]) => start);
  return most.sort((x, y) => y.length - x.length)[0] ?? '';
}

const bestTag = 52; // width of the best run's tag

/**
 * TableLayout holds the columns of the table: fixed columns and visible selected columns. Pinned columns come
 * first. A column has {name, label, sort, width, numeric}. sort is the order after the first click on the
 * column's header. A selected column also has column, its place among all selected columns, and decimals, the number of
 * decimals to show.
 */
export class TableLayout {
  /**
   * @param {Object} options
   * @param {Object[]} options.chosen selected columns
   * @param {Set<string>} options.same parameters whose columns are omitted
   * @param {Object[]} options.by names by which runs are grouped
   * @param {Object[]} options.pinned pinned columns
   * @param {boolean} options.nests whether rows can be expanded
   * @param {boolean} options.compared whether there is a baseline
   * @param {string} options.usual default order of runs
   * @param {Object[]} options.rows rows that the widths must fit
   * @param {Map<string, number>} options.widths widths that the user has set, by name
   * @param {string} options.best id of the best run
   */
  constructor({ chosen, same, by, pinned, nests, compared, usual, rows, widths, best }) {
    const pins = new Set(pinned.map(columns.formatColumn));
    const beside = compared ? 64 : 0; // pixels for the difference from the baseline
    const shown = chosen
      .map((column, place) => {
        const { kind, key, stat } = column;
        const name = columns.formatColumn(column);
        const metric = kind === 'metric';
        const label = stat ? `${key} ${stat}` : key;
        // The first click sorts the best values to the top: small losses and errors, large values of other metrics.
        const most = metric && (stat === 'count' || !lessIsBetter.test(key));
        const values = metric ? rows.map((row) => columns.columnValue(row, column)) : [];
        const places = by ? groupDecimals(values) : commonDecimals(values);
        return {
          name,
          label,
          column,
          place,
          digits: places,
          numeric: metric,
          sort: most ? `-${name}` : name,
          width:
            widths.get(name) ??
            fittingWidth(label, column, by && !metric ? [] : rows, places, best) + (metric ? beside : 0),
          pinned: pins.has(name),
        };
      })
      .filter(({ column }) => column.kind !== 'param' || !same.has(column.key));
    // Groups have values only in columns of metrics, so these columns come first.
    if (by) shown.sort((a, b) => (a.column.kind !== 'metric') - (b.column.kind !== 'metric'));
    this.shown = shown.sort((a, b) => b.pinned - a.pinned);
    this.pins = shown.filter((c) => c.pinned).length;
    this.grouped = Boolean(by);
    this.hasCreators = rows.some((row) => row.by);
    this.nests = nests;
    this.usual = by ? 'name' : usual;
    const [first, ...others] = [...fixed, ...(this.hasCreators ? [creator] : [])].map((c) => ({
      ...c,
      width: widths.get(c.name) ?? c.width,
    }));
    this.prefix = by ? '' : commonPrefix(rows.map((r) => r.name));
    const named = Math.min(
      420,
      Math.max(
        first.width,
        nameControls +
          padding +
          Math.max(0, ...rows.map((r) => textWidth(r.name.slice(0, 80)) + (r.id === best ? bestTag : 0)))
      )
    );
    this.fixed = [
      {
        ...first,
        label: by ? by.map((g) => g.label).join(' · ') : first.label,
        width:
          widths.get('name') ??
          Math.min(
            named + beside + (nests ? 56 : 0),
            innerWidth < 700 ? innerWidth / 2.4 : Math.max(first.width, innerWidth / 4)
          ),
      },
      ...others,
    ];
    this.lefts = this.shown
      .slice(0, this.pins)
      .reduce((lefts, { width }) => [...lefts, lefts.at(-1) + width], [this.fixed[0].width]);
  }

  /** chosen returns the visible selected columns. */
  get chosen() {
    return this.shown.map((c) => c.column);
  }

  get size() {
    return this.fixed.length + this.shown.length;
  }

  /** pin makes the cells of pinned columns stay visible beside the name. */
  pin(cells) {
    cells.slice(0, this.pins).forEach((td, i) => {
      td.classList.add('pinned');
      td.style.left = `${this.lefts[i]}px`;
    });
  }

  /**
   * order returns all cells of a row in their order. Pinned columns are beside the name, other columns after the
   * status. Groups have no status.
   */
  order(cells, chosen) {
    const beside = this.grouped ? chosen.length : this.pins;
    const [name, status, ...others] = cells;
    return [name, ...chosen.slice(0, beside), status, ...chosen.slice(beside), ...others];
  }
}
