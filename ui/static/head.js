// Heads of the table of runs: what sorts it, and where columns are dragged.
import * as columns from './column.js';
import { el, isolated } from './dom.js';
import * as groups from './group.js';

const fixed = [
  { id: 'name', label: 'Name', sort: 'name', width: 196 },
  { id: 'status', label: 'Status', sort: 'status', width: 100 },
  { id: 'created', label: 'Created', sort: '-created', width: 116 },
  { id: 'duration', label: 'Duration', sort: 'duration', width: 80, numeric: true },
  { id: 'tags', label: 'Tags', sort: 'tag', width: 104 },
];

export const fixedColumns = fixed.length;

// makeHeads makes the heads of the columns that are chosen, pinned ones first.
export function makeHeads(table) {
  table.chosen = table.columns.filter((c) => c.kind !== 'param' || !table.same.has(c.key));
  if (table.grouped) table.chosen.sort((a, b) => (a.kind === 'param') - (b.kind === 'param')); // they have means of metrics
  const pinned = new Set(columns.parse(table.state.get('pin')).map(columns.write));
  const isPinned = (c) => pinned.has(columns.write(c));
  table.chosen.sort((a, b) => isPinned(b) - isPinned(a));
  table.pins = table.chosen.filter(isPinned).length;
  const usual = table.grouped ? 'name' : '-created';
  const sort = table.state.get('sort') || usual;
  const head = (label, name, width, numeric, title, index) => {
    const [up, down] = name.startsWith('-') ? [name.slice(1), name] : [name, `-${name}`];
    const order = { [up]: 'ascending', [down]: 'descending' }[sort];
    const arrow = { ascending: ' ↑', descending: ' ↓' }[order] || '';
    const next = order === 'ascending' ? down : order === 'descending' ? up : name;
    const column = el('col');
    column.style.width = `${width}px`;
    const th = el('th', { scope: 'col', class: numeric && 'number', 'aria-sort': order, draggable: index != null && 'true' },
      el('button', { type: 'button', title: `Sort by ${title}`, click: () => table.state.set({ sort: next === usual ? null : next }) }, isolated(label), arrow));
    if (index != null) draggable(table, th, index);
    return { column, th, width };
  };
  const first = table.grouped ? groups.names(table.grouped).map((g) => g.label).join(' · ') : 'Name';
  const beside = table.state.has('base') ? 64 : 0; // what the baseline adds: a word, and differences
  const all = fixed.map((c, i) => head(i ? c.label : first, c.sort, i ? c.width : Math.min(c.width + beside + (table.nests ? 56 : 0), Math.max(196, innerWidth / 2)), c.numeric, (i ? c.label : first).toLowerCase()));
  const chosen = [];
  for (const c of table.chosen) {
    const label = c.stat ? `${c.key} ${c.stat}` : c.key;
    const name = columns.write(c);
    chosen.push(head(label, name, table.grouped && c.kind === 'metric' ? 152 : fitting(label, c) + (c.kind === 'metric' ? beside : 0), c.kind === 'metric', label, table.columns.findIndex((o) => columns.write(o) === name)));
  }
  table.lefts = chosen.slice(0, table.pins).reduce((lefts, { width }) => [...lefts, lefts.at(-1) + width], [all[0].width]);
  table.pin(chosen.map((h) => h.th));
  table.order(all, chosen);
  table.group.replaceChildren(...all.map((h) => h.column));
  table.head.replaceChildren(...all.map((h) => h.th));
}

// fitting is the width of a column whose head can mostly be read.
const fitting = (label, { kind }) => Math.min(160, Math.max(kind === 'param' ? 72 : 88, 28 + 7 * label.length));

// draggable lets a column be dropped on another one, in whose place it goes.
function draggable(table, th, index) {
  th.addEventListener('dragstart', (event) => event.dataTransfer.setData('text/plain', String(index)));
  th.addEventListener('dragover', (event) => event.preventDefault());
  th.addEventListener('drop', (event) => {
    event.preventDefault();
    const from = Number(event.dataTransfer.getData('text/plain'));
    const all = table.columns;
    if (!Number.isInteger(from) || !all[from]) return;
    all.splice(index, 0, ...all.splice(from, 1));
    table.state.set({ columns: all.map(columns.write).join(', ') });
  });
}
