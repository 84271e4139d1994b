// Rows of the table of runs.
import * as columns from './column.js';
import { el, isolated } from './dom.js';
import { ago, count, double, duration, exact, number } from './format.js';

const indent = 20; // pixels for each level

// row makes the row of a run or a group. table has what is chosen and known.
export function row(table, run, index, depth) {
  const attributes = { 'aria-rowindex': index + 2, 'aria-level': table.nests ? depth + 1 : null };
  if (!run) return el('tr', { ...attributes, class: 'empty' }, el('td', { colspan: table.width }, '…'));
  const shown = table.shown(run);
  const picked = table.picked.has(run.id);
  const open = run.unfolds > 0 && table.isOpen(run);
  const name = el('div', {},
    table.nests && (run.unfolds > 0
      ? el('button', { type: 'button', class: 'plain fold', 'data-part': 'fold', 'aria-expanded': String(open),
        'aria-label': `${open ? 'Fold' : 'Unfold'} ${run.name}` }, open ? '▾' : '▸')
      : el('span', { class: 'fold' })),
    !run.group && el('input', { type: 'checkbox', name: 'pick', 'data-part': 'pick', 'aria-label': `Select ${run.name}` }),
    el('button', { type: 'button', class: `swatch c${run.color}`, 'data-part': 'show', 'aria-pressed': String(shown), 'aria-label': `Draw ${run.name}`, title: title(table, run, shown) }),
    run.group ? label(run) : el('a', { href: new URL(`iteration/${run.id}`, table.base), 'data-part': 'open', title: run.name }, isolated(run.name)),
    run.id === table.baseline?.id && el('span', { class: 'tag' }, 'baseline'),
    run.unfolds > 0 && el('span', { class: 'count' }, run.group ? `${count(run.unfolds)} ${run.unfolds === 1 ? 'run' : 'runs'}` : `+${count(run.unfolds)}`));
  if (depth > 0) name.style.paddingInlineStart = `${depth * indent}px`;
  if (name.querySelector('input')) name.querySelector('input').checked = picked;
  const chosen = table.chosen.map((c) => (run.group ? spread(run, c) : cell(table, run, c)));
  table.pin(chosen);
  const fixed = run.group
    ? [el('td', { colspan: 4 })]
    : [el('td', {}, el('span', { class: `status ${run.status}` }, run.status)),
      el('td', { title: exact(run.created) }, ago(run.created)),
      el('td', { class: 'number' }, duration(run.seconds)),
      el('td', { title: run.tags.join(', ') }, ...run.tags.map((t) => isolated(t, 'tag')))];
  return el('tr', { ...attributes, 'data-id': run.id, 'data-testid': run.group ? 'group' : 'run', class: run.group ? 'group' : picked && 'picked' },
    ...table.order([el('th', { scope: 'row' }, name), ...fixed], chosen));
}

function title(table, run, shown) {
  if (table.grouped && !run.group) return shown ? 'Leave out of the mean in the charts' : 'Count in the mean in the charts';
  return shown ? 'Hide in the charts' : 'Draw in the charts';
}

const label = (group) => el('span', { class: 'name', title: group.name },
  ...group.labels.flatMap((text, i) => [i > 0 && ' · ', el('bdi', { class: group.values[i] == null && 'count' }, text)]).filter(Boolean));

// spread is the mean of a group ± the standard deviation, and of how many runs.
function spread(group, column) {
  if (column.kind === 'param') return el('td');
  const s = columns.value(group, column);
  if (!s) return el('td', { class: 'number' });
  const mean = s.mean == null ? 'beyond a double' : number(s.mean);
  // A mean has no more digits than its deviation lends it.
  const digits = s.sd > 0 ? 1 - Math.floor(Math.log10(s.sd)) : -1;
  const short = s.mean != null && digits >= 0 && digits <= 8 ? s.mean.toFixed(digits) : mean;
  return el('td', { class: 'number', title: `mean ${mean}${s.sd == null ? '' : `\nstandard deviation ${number(s.sd)}`}\nof ${count(s.n)} of ${count(group.iterations)} runs` },
    short, s.sd != null && ` ± ${Number(s.sd.toPrecision(2))}`, el('small', {}, ` n=${count(s.n)}`));
}

function cell(table, run, column) {
  const v = columns.value(run, column);
  const other = table.baseline && table.baseline.id !== run.id ? table.baseline : null;
  if (column.kind === 'param') {
    return el('td', { title: v, class: other && columns.value(other, column) !== v && 'differs' }, v == null ? '' : isolated(v.slice(0, 200)));
  }
  const td = el('td', { class: 'number', 'data-metric': column.key, 'data-part': v != null && columns.write(column), tabindex: v != null && -1 }, number(v));
  const base = other && columns.value(other, column);
  const by = double(v) - double(base);
  if (v != null && base != null && Number.isFinite(by)) td.append(el('small', {}, ` ${by < 0 ? '−' : '+'}${number(Math.abs(by))}`));
  return td;
}

// press unfolds and folds the row that has the focus, and goes from row to row and
// along one.
export function press(table, event) {
  const tr = event.target.closest('tr');
  const run = table.rows.get(tr?.dataset.place)?.run;
  if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
  const fold = { ArrowRight: true, ArrowLeft: false }[event.key];
  const parts = [...tr.querySelectorAll('[data-part]')];
  const beside = fold != null && parts[parts.indexOf(event.target) + (fold ? 1 : -1)];
  const next = { ArrowDown: tr.nextElementSibling, ArrowUp: tr.previousElementSibling }[event.key];
  if (fold != null && run.unfolds > 0 && table.nests) {
    table.toggle(run, fold);
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
