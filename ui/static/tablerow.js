// Rows of the table of runs.
import { base } from './base.js';
import { dashClass } from './color.js';
import * as columns from './columnname.js';
import { fixedDecimals } from './decimals.js';
import { el, isolated } from './dom.js';
import { timeAgo, count, toNumber, duration, timestamp, number } from './format.js';
import { groupText } from './tablelayout.js';

const indent = 20; // pixels per level

/** runURL returns the address of a run's page. The page shows the panels of the saved view in the present address. */
function runURL(id) {
  const url = new URL(`iteration/${id}`, base);
  const view = new URLSearchParams(location.search).get('view');
  if (view) url.searchParams.set('view', view);
  return url;
}

/**
 * tableRow returns the row of a run or a group. If run is null, it returns a placeholder for a row that is not
 * loaded yet.
 * @param {import('./tablelayout.js').TableLayout} layout
 * @param {?Object} run run or group
 * @param {{index: number, depth: number}} place
 * @param {Object} state {shown, color, dash, picked, partly, open, best}; partly is whether only some runs of a group
 *   are selected; best is the column in which the run is best, or false
 * @param {?Object} baseline run with which other runs are compared
 * @returns {HTMLElement}
 */
export function tableRow(layout, run, { index, depth }, { shown, color, dash, picked, partly, open, best }, baseline) {
  const attributes = { 'aria-rowindex': index + 2, 'aria-level': layout.nests ? depth + 1 : null };
  if (!run) return el('tr', { ...attributes, class: 'empty' }, el('td', { colspan: layout.size }, '…'));
  const name = el(
    'div',
    {},
    layout.nests &&
      (run.unfolds > 0
        ? el(
            'button',
            {
              type: 'button',
              class: 'plain fold',
              'data-part': 'fold',
              'aria-expanded': String(open),
              'aria-label': `${open ? 'Collapse' : 'Expand'} ${run.name}`,
            },
            open ? '▾' : '▸'
          )
        : el('span', { class: 'fold' })),
    el('input', { type: 'checkbox', name: 'pick', 'data-part': 'pick', 'aria-label': `Select ${run.name}` }),
    el('button', {
      type: 'button',
      class: `swatch c${color}${dashClass(shown && dash)}`,
      'data-part': 'show',
      'aria-pressed': String(shown),
      'aria-label': `Draw ${run.name}`,
      title: swatchTitle(layout, run, shown),
    }),
    run.group
      ? groupLabel(run)
      : el(
          'a',
          { href: runURL(run.id), 'data-part': 'open', title: run.name },
          runName(run.name, layout.prefix)
        ),
    run.id === baseline?.id && el('span', { class: 'tag' }, 'baseline'),
    best && el('span', { class: 'tag best', 'data-testid': 'best-tag' }, 'best'),
    run.unfolds > 0 &&
      el(
        'span',
        { class: 'count' },
        run.group ? `${count(run.unfolds)} ${run.unfolds === 1 ? 'run' : 'runs'}` : `+${count(run.unfolds)}`
      )
  );
  if (depth > 0) name.style.paddingInlineStart = `${depth * indent}px`;
  Object.assign(name.querySelector('input'), { checked: picked, indeterminate: Boolean(partly) });
  const other = baseline?.id === run.id ? null : baseline;
  const chosen = layout.shown.map(({ column, digits }) =>
    run.group ? groupCell(run, column, digits) : runCell(run, column, other, best, digits)
  );
  layout.pin(chosen);
  const fixed = run.group
    ? [el('td', { colspan: layout.fixed.length - 1 })]
    : [
        el('td', {}, el('span', { class: `status ${run.status}` }, run.status)),
        el('td', { title: timestamp(run.created) }, timeAgo(run.created)),
        el('td', { class: 'number' }, duration(run.seconds)),
        el('td', { title: run.tags.join(', ') }, ...run.tags.map((t) => isolated(t, 'tag'))),
        ...(layout.hasCreators ? [el('td', {}, run.by && isolated(run.by))] : []),
      ];
  return el(
    'tr',
    {
      ...attributes,
      'data-id': run.id,
      'data-testid': run.group ? 'group' : 'run',
      class: run.group ? 'group' : picked && 'picked',
    },
    ...layout.order([el('th', { scope: 'row' }, name), ...fixed], chosen)
  );
}

const nameTail = 14; // characters at the end of a shortened name

/**
 * runName returns the element of a name. If the cell is too narrow, the name is shortened in the middle. The
 * prefix that most names share is dimmed.
 */
function runName(name, usual) {
  const prefix = name.startsWith(usual) ? usual : '';
  if (!prefix && name.length <= 2 * nameTail) return isolated(name);
  const rest = name.slice(prefix.length);
  const part = (cls, text) => el('span', { class: cls }, text);
  return el(
    'bdi',
    { class: 'parts' },
    prefix && part('prefix', prefix),
    rest &&
      el(
        'span',
        { class: 'rest' },
        rest.length > nameTail && part('start', rest.slice(0, -nameTail)),
        part('end', rest.slice(-nameTail))
      )
  );
}

function swatchTitle(layout, run, shown) {
  if (layout.grouped && !run.group)
    return shown ? 'Exclude from the mean in the charts' : 'Include in the mean in the charts';
  return shown ? 'Hide in the charts' : 'Draw in the charts';
}

const groupLabel = (group) =>
  el(
    'span',
    { class: 'name', title: group.name },
    ...group.labels
      .flatMap((text, i) => [i > 0 && ' · ', el('bdi', { class: group.values[i] == null && 'count' }, text)])
      .filter(Boolean)
  );

/** groupCell returns the cell with the mean of a group, its standard deviation and the number of runs. */
function groupCell(group, column, digits) {
  if (column.kind !== 'metric') return el('td');
  const s = columns.columnValue(group, column);
  if (!s) return el('td', { class: 'number' });
  const mean = s.mean == null ? 'too large' : number(s.mean);
  const [short, spread, size] = groupText(s, digits);
  const deviation = s.sd == null ? '' : `\nstandard deviation ${number(s.sd)}`;
  return el(
    'td',
    { class: 'number', title: `mean ${mean}${deviation}\nof ${count(s.n)} of ${count(group.iterations)} runs` },
    short,
    spread,
    el('small', {}, size)
  );
}

/**
 * runCell returns the cell of a run in a column.
 * @param {?Object} other baseline
 * @param {string|false} best column in which the run is the best
 * @param {?number} digits decimals to show; null shows as many as needed
 */
function runCell(run, column, other, best, digits) {
  const v = columns.columnValue(run, column);
  if (column.kind !== 'metric') {
    return el(
      'td',
      { title: v, class: other && columns.columnValue(other, column) !== v && 'differs' },
      v == null ? '' : isolated(v.slice(0, 200))
    );
  }
  const td = el(
    'td',
    {
      class: best === columns.formatColumn(column) ? 'number best' : 'number',
      'data-metric': column.key,
      'data-part': v != null && columns.formatColumn(column),
      tabindex: v != null && -1,
    },
    fixedDecimals(v, digits)
  );
  const base = other && columns.columnValue(other, column);
  const by = toNumber(v) - toNumber(base);
  if (v != null && base != null && Number.isFinite(by))
    td.append(el('small', {}, ` ${by < 0 ? '−' : '+'}${number(Math.abs(by))}`));
  return td;
}

/**
 * handleRowKey moves the focus between rows and cells by keyboard, and expands or collapses rows.
 * @param {KeyboardEvent} event
 * @param {Object} run
 * @param {false|function(boolean)} unfold called with true to expand the row and false to collapse it
 */
export function handleRowKey(event, run, unfold) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const tr = event.target.closest('tr');
  const fold = { ArrowRight: true, ArrowLeft: false }[event.key];
  const parts = [...tr.querySelectorAll('[data-part]')];
  const beside = fold != null && parts[parts.indexOf(event.target) + (fold ? 1 : -1)];
  const next = { ArrowDown: tr.nextElementSibling, ArrowUp: tr.previousElementSibling }[event.key];
  if (fold != null && unfold && run.unfolds > 0) {
    unfold(fold);
  } else if (beside) {
    beside.focus();
  } else if (next) {
    const { part } = event.target.dataset;
    (next.querySelector(`[data-part="${part}"]`) || next.querySelector('[data-part]'))?.focus();
  } else {
    return;
  }
  event.preventDefault();
}
