// The page of an experiment: the table of runs beside their charts.
import { base } from './base.js';
import { parseColors, assignColors, runDashes } from './color.js';
import * as columns from './columnname.js';
import { el } from './dom.js';
import { earlyCurves } from './early.js';
import { showFilterError, showEmptyTable } from './filter.js';
import { count } from './format.js';
import './frame.js';
import { followChanges } from './live.js';
import { saveOnLeave, restoreOnReturn } from './pagestate.js';
import { Panel } from './panel.js';
import { fetchData } from './request.js';
import * as groups from './rungroup.js';
import { filterWithout } from './selection.js';
import { enableSplitter } from './splitter.js';
import { State } from './state.js';
import { Table } from './table.js';
import { fillTableBar } from './tablebar.js';
import { debounce, latestOnly, throttle } from './timing.js';

const drawnAtFirst = 10; // number of drawn runs by default
const mostDrawn = 200;
const drawChoices = [1, 5, 10, 20, 50, 100, mostDrawn]; // choices for the number of drawn runs
const mostGroups = 50;
const mostInReport = 30; // rows of a table

function workbench(root) {
  const { experiment } = root.dataset;
  const state = new State();
  const table = new Table(document.getElementById('scroll'), state, {
    experiment,
    defaults: root.dataset.columns,
    wide: root.dataset.wide,
    objective: root.dataset.objective,
    order: root.dataset.order,
  });
  let others = []; // drawn runs that are not at the top of the table

  const mostRows = () => (table.grouped ? mostGroups : mostDrawn);
  table.top = () => Math.min(state.number('top', drawnAtFirst), mostRows());
  // drawn returns the runs to draw: the first rows of the table, except hidden runs, and runs that the user has added.
  const drawn = () => {
    const hidden = new Set(state.list('hide'));
    const grouped = Boolean(table.grouped);
    const extra = state.list('show').filter((id) => groups.isGroupID(id) === grouped);
    const rows = table.topRows().filter((r) => !hidden.has(r.id));
    const there = new Set(rows.map((r) => r.id));
    for (const id of extra) {
      if (there.has(id)) continue;
      const row =
        others.find((r) => r.id === id) ||
        (grouped &&
          groups.groupRow(
            { values: groups.groupValues(id), rank: 0, iterations: 0 },
            groups.parseGroups(table.grouped)
          ));
      if (row) rows.push(row);
    }
    return rows.slice(0, mostRows());
  };
  let shown = new Set();
  // The mean of a group includes all its runs that are not hidden.
  table.shown = (run) =>
    Boolean(run) && (table.grouped && !run.group ? !state.list('hide').includes(run.id) : shown.has(run.id));

  let panel;
  let current = []; // drawn runs or groups
  let colors = new Map(); // colours of runs that are or were drawn, by id
  const given = () => parseColors(state.list('colors'));
  table.color = (run) => given().get(run.id) ?? colors.get(run.id) ?? run.color;
  table.dash = (run) => current.find((r) => r.id === run.id)?.dash ?? 0;
  const amount = el('select', {
    name: 'top',
    'aria-label': 'Runs to draw from the top of the table',
    change: () => state.set({ top: Number(amount.value) === drawnAtFirst ? null : amount.value }),
  });
  const drawnOf = el('span', { class: 'visually-hidden', role: 'status', 'data-testid': 'drawn-of' });
  const control = () => {
    const top = state.number('top', drawnAtFirst);
    amount.replaceChildren(
      ...[...new Set([...drawChoices, top])]
        .sort((a, b) => a - b)
        .map((n) => el('option', { value: n, selected: n === top }, `Show top ${n}`))
    );
    const nested = state.has('tree') && !table.grouped; // total does not include child runs
    const [one, many] = table.grouped ? ['group', 'groups'] : ['run', 'runs'];
    const total = nested ? current.length : table.total;
    const ofTotal = nested ? '' : ` of ${count(total)}`;
    drawnOf.textContent = `${count(current.length)}${ofTotal} ${total === 1 ? one : many} drawn`;
    amount.title = drawnOf.textContent;
  };
  // The page includes the first rows and the first names of metrics.
  const first = JSON.parse(document.getElementById('first').textContent);
  state.savedLayout = first.panels ?? null;
  // The right side shows charts, media or an analysis.
  let media;
  let analyse;
  const shownPart = () => ['analyse', 'media'].find((name) => state.has(name)) ?? 'charts';
  const showAnalyse = async () => {
    const { Analyse } = await import('./analyse.js');
    if (!analyse) {
      const section = el('section', {
        class: 'analyse scroll',
        id: 'analyse',
        'aria-label': 'Analyse',
        'data-testid': 'analyse',
        tabindex: '0',
      });
      document.getElementById('charts').append(section);
      analyse = new Analyse(section, state, { experiment, filter: () => table.asked.filter ?? '' });
    }
    if (state.has('analyse')) await analyse.load();
  };
  const showMedia = throttle(50, async () => {
    const charts = document.getElementById('charts');
    const part = shownPart();
    charts.classList.toggle('shows-media', part === 'media');
    charts.classList.toggle('shows-analyse', part === 'analyse');
    for (const button of shows.children) button.setAttribute('aria-pressed', String(button.name === part));
    if (part === 'analyse') await showAnalyse();
    if (part !== 'media') return;
    const { Media } = await import('./media.js');
    if (!media) {
      const section = el('section', {
        class: 'media scroll',
        id: 'media',
        'aria-label': 'Media',
        'data-testid': 'media',
      });
      charts.append(section);
      media = new Media(section, state, { experiment, runs: () => current.filter((r) => !r.group) });
    }
    await media.load();
  });
  const shows = el(
    'span',
    { class: 'shows', role: 'group', 'aria-label': 'What is drawn' },
    ...['charts', 'media', 'analyse'].map((name) =>
      el(
        'button',
        {
          type: 'button',
          name,
          'data-testid': `show-${name}`,
          'aria-pressed': String(name === 'charts'),
          click: () =>
            state.set({ media: name === 'media' ? '1' : null, analyse: name === 'analyse' ? '1' : null }),
        },
        { charts: 'Charts', media: 'Media', analyse: 'Analyse' }[name]
      )
    )
  );
  const makePanel = () =>
    new Panel(document.getElementById('charts'), state, {
      keys: (q, offset, limit, pattern) =>
        fetchData(`experiment/${experiment}/keys`, {
          query: { kind: 'metric', q, offset, limit, pattern: pattern ? '1' : '' },
        }),
      runs: () => current,
      scope: () => table.asked.filter ?? '',
      drawn: () => {
        if (current.length === 0) return { experiment, wrong: 'No runs are drawn.' };
        const { filter, sort } = table.asked;
        const chosen = ['hide', 'show', 'tree'].some((name) => state.has(name));
        if (table.grouped) {
          // Hidden runs are left out of the means.
          const hidden = state.list('hide').filter((id) => !groups.isGroupID(id));
          return {
            experiment,
            group: table.grouped,
            filter: filterWithout(filter, hidden),
            sort,
            runs: current.length,
            ...(chosen && { values: current.map((r) => r.values) }),
          };
        }
        if (chosen) return { experiment, iterations: current.map((r) => r.id) };
        return { experiment, filter, sort, runs: current.length };
      },
      groups: () => ({
        experiment,
        by: table.grouped,
        filter: table.asked.filter,
        sort: table.asked.sort || table.order,
        hide: state.list('hide').filter((id) => !groups.isGroupID(id)),
      }),
      first: first.keys,
      experiment,
      noView: first.no_view,
      saveView: async () => (await import('./viewdialog.js')).openViewDialog(experiment, root.dataset, state),
      early: earlyCurves(),
      lead: [shows, amount, drawnOf],
      idle: () => (table.mistake ? ' ' : table.total === 0 && 'There is nothing to draw.'),
      gone: throttle(500, () => table.load(true)),
    });
  let other = false; // whether curves must be requested again
  const redraw = () => {
    const before = [...shown].join(' ');
    const firstTime = !panel;
    const rows = drawn();
    // A run keeps its colour while it is not drawn.
    colors = new Map([...colors, ...assignColors(rows, colors, given())]);
    const dashes = runDashes(rows.map((r) => colors.get(r.id)));
    current = rows.map((r, i) => ({ ...r, color: colors.get(r.id), dash: dashes[i] }));
    shown = new Set(current.map((r) => r.id));
    control();
    // Curves are requested before the table is rendered, so that the server works while the table is rendered.
    document.getElementById('charts').classList.toggle('none', current.length === 0);
    if (!panel) panel = makePanel();
    else if (other || [...shown].join(' ') !== before) panel.refresh();
    if (firstTime || [...shown].join(' ') !== before || (other && media)) showMedia();
    other = false;
    table.render();
  };

  const fetchRuns = async (ids) => {
    const known = ids.filter((id) => /^[\w-]+$/.test(id));
    if (known.length === 0) return [];
    const query = { filter: `id in (${known.map((id) => `'${id}'`).join(', ')})`, limit: mostDrawn };
    const found = await fetchData(`experiment/${experiment}/iterations`, { query }).catch(() => ({}));
    return found.data || [];
  };
  const fetchOthers = async () => {
    others.push(...await fetchRuns(state.list('show').filter((id) => !others.some((r) => r.id === id))));
    redraw();
  };
  // pick restores a selection of runs when the user returns from a page about them.
  const pick = async (ids) => {
    for (const run of await fetchRuns(ids)) table.picked.set(run, true);
    table.render();
    act();
  };

  let actions;
  const act = async () => {
    if (!actions && table.picked.size === 0) return;
    const { Actions } = await import('./action.js');
    actions ||= new Actions(document.getElementById('selected'), table, state, root.dataset);
    actions.show();
  };
  const total = document.getElementById('total');
  const kind = document.getElementById('total-of');
  const field = document.getElementById('filter');
  const wrong = document.getElementById('filter-wrong');

  const files = ['csv', 'latex', 'markdown'].map((id) => document.getElementById(id));
  const nothing = document.getElementById('nothing');
  const clear = (event) => {
    event.preventDefault();
    state.set({ filter: null });
    field.focus();
  };

  // judge requests the best run that passes the filter.
  const best = document.getElementById('best');
  const askBest = latestOnly(fetchData);
  const judge = throttle(300, async () => {
    const found = await askBest(`experiment/${experiment}/best`, { query: { filter: table.asked.filter } }).catch(
      () => null
    );
    if (!found) return;
    best.hidden = !found.best;
    if (found.best) best.href = new URL(`iteration/${found.best.id}`, base);
    table.setBest(found.best?.id);
  });
  if (best && !best.hidden) table.best = best.pathname.split('/').at(-1);
  let judged = state.get('filter'); // the filter that the best run passes

  table.addEventListener('loaded', ({ detail }) => {
    if (best && table.asked.filter !== judged) judge();
    judged = table.asked.filter;
    document.getElementById('counted').hidden = false;
    total.textContent = count(table.total);
    const one = table.total === 1;
    kind.textContent = table.grouped
      ? one
        ? 'group of runs'
        : 'groups of runs'
      : `${one ? 'run' : 'runs'}${table.asked.tree ? ' at the top level' : ''}`;
    if (!table.mistake) showFilterError(field, wrong, null);
    if (detail && 'total' in detail) showEmptyTable(nothing, table.total === 0 && detail.nothing, clear);
    table.scroller.hidden = nothing.childElementCount > 0;
    const { by, filter, sort } = table.asked;
    for (const file of files)
      file.search = new URLSearchParams({
        filter,
        sort: by ? sort || '' : sort || table.order,
        columns: table.layout.chosen.map(columns.formatColumn).join(', '),
        ...(by && { group: by }),
      });
    if (table.picked.size === 0 || table.picked.all) act();
    redraw();
    if (state.has('analyse')) showAnalyse();
  });
  table.addEventListener('wrong', ({ detail }) => showFilterError(field, wrong, detail));
  table.addEventListener('pick', act);
  table.addEventListener('point', ({ detail }) => {
    panel.highlightRun(shown.has(detail) ? detail : '');
    analyse?.highlight(detail);
  });
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
      if (field.value.trim() !== state.get('filter')) field.value = state.get('filter');
      other = true; // means of groups might have changed
      table.load();
    } else {
      if (detail.has('base') || detail.has('differences')) table.loadDifferences();
      if (detail.has('pin') || detail.has('base') || detail.has('widths')) {
        table.updateHeads();
        table.render(true);
      }
      if (detail.has('open')) table.refold();
    }
    if (detail.has('media') || detail.has('analyse')) showMedia();
    if (detail.has('colors')) {
      other = true; // the runs are the same, but their colours have changed
      redraw();
    }
    if (['hide', 'show', 'top'].some((n) => detail.has(n))) {
      other ||= Boolean(table.grouped);
      fetchOthers();
    }
  });

  const filter = () => state.set({ filter: field.value.trim() || null });
  // The filter is not applied while completions are shown, because it is incomplete.
  field.addEventListener('input', debounce(500, () => field.ariaExpanded !== 'true' && filter()));
  field.addEventListener('change', filter);
  document.getElementById('filter-form').addEventListener('submit', (event) => {
    event.preventDefault();
    filter();
  });
  document
    .getElementById('choose')
    .addEventListener('click', async () =>
      (await import('./columndialog.js')).openColumnDialog(experiment, state, table)
    );
  // Completion is loaded when the field gets the focus.
  let completing;
  const completion = async ({ type }) => {
    completing ||= import('./completion.js').then(({ enableCompletion }) => enableCompletion(field, experiment));
    const offer = await completing;
    if (type !== 'focus') offer();
  };
  for (const name of ['focus', 'click', 'input']) field.addEventListener(name, completion, { once: true });
  if (document.activeElement === field) completion({ type: 'focus' });
  root.parentElement.querySelector('.pages')?.remove();
  enableSplitter(root, document.getElementById('split'), state);

  const renew = throttle(700, () => {
    table.load(true);
    if (media && state.has('media')) showMedia();
  });
  followChanges(`experiment/${experiment}`, root.dataset.cursor, {
    changed: (changes) => {
      others = others.filter((r) => !changes.deleted.includes(r.id));
      for (const id of changes.deleted) table.picked.runs.delete(id);
      if (changes.deleted.length > 0) act();
      renew();
      analyse?.renew();
      if (best) judge();
      panel.markGrown(changes.series);
    },
    reset: () => location.reload(),
  });
  fillTableBar(document.getElementById('arrange'), state, root.dataset, () => {
    const { by, filter, sort } = table.asked;
    return {
      kind: 'table',
      experiment,
      group: by,
      filter,
      sort: sort || (by ? '' : table.order),
      columns: table.layout.chosen.map(columns.formatColumn).join(', '),
      runs: Math.min(table.total, mostInReport),
    };
  });

  table.load(false, first.rows);
  // The user might have changed the field before this script was loaded.
  if (field.value.trim() !== state.get('filter')) field.dispatchEvent(new Event('input'));
  if (!panel) redraw(); // an invalid filter yields no rows
  if (state.has('show')) fetchOthers();
  const charts = () => document.querySelector('#charts > .scroll');
  const before = restoreOnReturn();
  if (before) {
    table.scroller.scrollTop = before.rows;
    if (charts()) charts().scrollTop = before.charts;
    if (before.picked.length > 0) pick(before.picked);
    else if (before.all) table.picked.restore(before.all);
    act();
  }
  saveOnLeave(() => ({
    rows: table.scroller.scrollTop,
    charts: charts()?.scrollTop ?? 0,
    picked: [...table.picked.runs.keys()].slice(0, mostDrawn),
    all: table.picked.stored,
  }));
  if (state.has('pick')) {
    pick(state.list('pick'));
    state.set({ pick: null });
  }
}

const root = document.getElementById('workbench');
if (root) workbench(root);

// The page of an experiment without runs waits for the first run.
const waiting = document.getElementById('waiting');
if (waiting) {
  const again = () => location.reload();
  followChanges(`experiment/${waiting.dataset.experiment}`, waiting.dataset.cursor, { changed: again, reset: again });
}
