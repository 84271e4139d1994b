// The page of an experiment: the table of runs beside their charts.
import { Actions } from './action.js';
import { arrange } from './arrange.js';
import { ask, later, settled } from './ask.js';
import { choose } from './choose.js';
import { el } from './dom.js';
import { showMistake } from './filter.js';
import { base } from './frame.js';
import { count } from './format.js';
import * as groups from './group.js';
import { live } from './live.js';
import { Panel } from './panel.js';
import { State } from './state.js';
import { Table } from './table.js';
import { split } from './split.js';

const drawnAtFirst = 10; // runs
const mostDrawn = 200;
const mostGroups = 50;

function workbench(root) {
  const { experiment } = root.dataset;
  const state = new State();
  const table = new Table(document.getElementById('scroll'), state, { experiment, defaults: root.dataset.columns, base });
  let others = []; // runs that are drawn though they are not at the top

  // The runs or groups at the top of the table are drawn, less those that were
  // hidden, and those that somebody asked for.
  const drawn = () => {
    const hidden = new Set(state.list('hide'));
    const grouped = Boolean(table.grouped);
    const extra = state.list('show').filter((id) => groups.isGroup(id) === grouped);
    const rows = table.first(state.number('top', drawnAtFirst)).filter((r) => !hidden.has(r.id));
    const there = new Set(rows.map((r) => r.id));
    for (const id of extra) {
      if (there.has(id)) continue;
      const row = others.find((r) => r.id === id) || (grouped && groups.row({ values: groups.values(id), rank: 0, iterations: 0 }, groups.names(table.grouped)));
      if (row) rows.push(row);
    }
    return rows.slice(0, grouped ? mostGroups : mostDrawn);
  };
  let shown = new Set();
  // A run in a group counts in its mean, if it was not left out.
  table.shown = (run) => Boolean(run) && (table.grouped && !run.group ? !state.list('hide').includes(run.id) : shown.has(run.id));

  let panel;
  let current = []; // what is drawn
  // What came with the page: the first rows and names.
  const first = JSON.parse(document.getElementById('first').textContent);
  const makePanel = () => new Panel(document.getElementById('charts'), state, {
    keys: (q, offset, limit) => ask(`experiment/${experiment}/keys`, { query: { kind: 'metric', q, offset, limit } }),
    runs: () => current,
    groups: () => ({ experiment, by: table.grouped, filter: state.get('filter'), sort: state.get('sort') || '-created',
      hide: state.list('hide').filter((id) => !groups.isGroup(id)) }),
    first: first.keys,
    gone: later(500, () => table.load(true)),
  });
  let other = false; // the same is to be drawn of other runs
  const redraw = () => {
    const before = [...shown].join(' ');
    current = drawn();
    shown = new Set(current.map((r) => r.id));
    // Curves are asked for before the table is made, which takes as long.
    if (!panel) panel = makePanel();
    else if (other || [...shown].join(' ') !== before) panel.refresh();
    other = false;
    table.render();
  };

  const fetchRuns = async (ids) => {
    const known = ids.filter((id) => /^[\w-]+$/.test(id));
    if (known.length === 0) return [];
    const query = { filter: `id in (${known.map((id) => `'${id}'`).join(', ')})`, limit: mostDrawn };
    const found = await ask(`experiment/${experiment}/iterations`, { query }).catch(() => ({}));
    return found.data || [];
  };
  const fetchOthers = async () => {
    others.push(...await fetchRuns(state.list('show').filter((id) => !others.some((r) => r.id === id))));
    redraw();
  };
  // Who comes back from a page about some runs finds them chosen.
  const pick = async (ids) => {
    for (const run of await fetchRuns(ids)) table.picked.set(run.id, run);
    table.render();
    actions.show();
  };

  const actions = new Actions(document.getElementById('selected'), table, state, root.dataset);
  const total = document.getElementById('total');
  const kind = document.getElementById('total-of');
  const field = document.getElementById('filter');
  const wrong = document.getElementById('filter-wrong');

  table.addEventListener('loaded', () => {
    total.textContent = count(table.total);
    const one = table.total === 1;
    kind.textContent = table.grouped ? (one ? 'group of runs' : 'groups of runs') : `${one ? 'run' : 'runs'}${state.has('tree') ? ' at the top' : ''}`;
    showMistake(field, wrong, null);
    document.getElementById('none')?.remove();
    if (table.total === 0 && state.get('filter')) table.scroller.append(el('p', { class: 'nothing', id: 'none' }, 'No run passes this filter.'));
    redraw();
  });
  table.addEventListener('wrong', ({ detail }) => showMistake(field, wrong, detail));
  table.addEventListener('pick', () => actions.show());
  table.addEventListener('point', ({ detail }) => panel.point(shown.has(detail) ? detail : ''));
  table.addEventListener('show', ({ detail: run }) => {
    const hide = new Set(state.list('hide'));
    const show = new Set(state.list('show'));
    if (table.shown(run)) {
      show.delete(run.id);
      hide.add(run.id);
    } else if (table.grouped && !run.group) {
      hide.delete(run.id);
    } else {
      hide.delete(run.id);
      if (!others.some((r) => r.id === run.id)) others.push(run);
      show.add(run.id);
    }
    state.set({ hide: [...hide], show: [...show] });
  });

  state.addEventListener('change', ({ detail }) => {
    if (['filter', 'sort', 'columns', 'group', 'tree'].some((n) => detail.has(n))) {
      if (field.value !== state.get('filter')) field.value = state.get('filter');
      other = true; // of groups the means may be
      table.load();
    } else {
      if (detail.has('base')) table.loadBaseline();
      if (detail.has('pin') || detail.has('base')) {
        table.heads();
        table.render(true);
      }
      if (detail.has('differences')) table.loadSame();
      if (detail.has('open')) table.refold();
    }
    if (['hide', 'show', 'top'].some((n) => detail.has(n))) {
      other ||= Boolean(table.grouped);
      fetchOthers();
    }
  });

  const filter = () => state.set({ filter: field.value.trim() || null });
  field.addEventListener('input', settled(500, filter));
  document.getElementById('filter-form').addEventListener('submit', (event) => {
    event.preventDefault();
    filter();
  });
  document.getElementById('choose').addEventListener('click', () => choose(experiment, state, table));
  root.parentElement.querySelector('.pages')?.remove();
  split(root, document.getElementById('split'), state);

  const renew = later(700, () => table.load(true));
  live(`experiment/${experiment}`, root.dataset.cursor, {
    changed: (changes) => {
      others = others.filter((r) => !changes.deleted.includes(r.id));
      for (const id of changes.deleted) table.picked.delete(id);
      if (changes.deleted.length > 0) actions.show();
      renew();
      panel.grow(changes.series);
    },
    reset: () => location.reload(),
  });
  arrange(document.getElementById('arrange'), state, root.dataset);

  table.load(false, first.rows);
  panel ??= makePanel(); // a search that can't be read has no rows
  if (state.has('show')) fetchOthers();
  if (state.has('pick')) {
    pick(state.list('pick'));
    state.set({ pick: null });
  }
}

const root = document.getElementById('workbench');
if (root) workbench(root);

// The page of an experiment without runs waits for the first one.
const waiting = document.getElementById('waiting');
if (waiting) {
  const again = () => location.reload();
  live(`experiment/${waiting.dataset.experiment}`, waiting.dataset.cursor, { changed: again, reset: again });
}
