// The page that compares runs: their curves, and the relation between parameters and metrics.
import { Brushes } from './brush.js';
import { assignColors, dashClass, runDashes } from './color.js';
import { compareURL } from './compareurl.js';
import { dimensions } from './dimension.js';
import { el } from './dom.js';
import { count } from './format.js';
import './frame.js';
import { importanceTable } from './importance.js';
import { metricMatcher } from './metricsearch.js';
import { Panel } from './panel.js';
import { parallelPlot } from './parallel.js';
import { fetchData } from './request.js';
import { scatterPlot } from './scatter.js';
import { State } from './state.js';
import { throttle } from './timing.js';

const state = new State();
const { experiment } = document.getElementById('compare').dataset;
const names = [...document.querySelectorAll('.compare [data-metric]')].map((tr) => tr.dataset.metric);
const box = document.getElementById('differences');
const show = () => { box.checked = state.has('differences'); };
show();
state.addEventListener('change', show);
box.addEventListener('change', () => state.set({ differences: box.checked ? '1' : null }));

// The address contains the ids of the runs, or a filter of an experiment.
const query = new URLSearchParams(
  [...state.params].filter(([name]) => ['i', 'of', 'runs', 'experiment', 'filter', 'sort'].includes(name))
);
const found = await fetchData(`compare?${query}`);
const { runs } = found;
const colors = assignColors(runs);
const dashes = runDashes(runs.map((run) => colors.get(run.id)));
for (const [i, run] of runs.entries()) Object.assign(run, { color: colors.get(run.id), dash: dashes[i] });
for (const dot of document.querySelectorAll('.compare [data-run]'))
  dot.className = `dot c${colors.get(dot.dataset.run)}${dashClass(runs.find((r) => r.id === dot.dataset.run)?.dash)}`;

const all = dimensions(runs, names, found);
const brushes = new Brushes(state, all);
const selected = () => (brushes.ranges.size > 0 ? runs.filter((_, r) => brushes.inside(r)) : runs);

const panel = new Panel(document.getElementById('charts'), state, {
  experiment,
  runs: selected,
  scope: () => `id in (${selected().map((run) => `'${run.id}'`).join(', ')})`,
  drawn: () => ({ experiment, iterations: selected().map((run) => run.id) }),
  keys: async (q, offset, limit, pattern) => {
    const some = names.filter(await metricMatcher(experiment, q, pattern));
    const { definitions = {} } = found;
    const data = some.slice(offset, offset + limit).map((key) => ({ key, definition: definitions[key] }));
    return { data, total: some.length };
  },
  idle: () => 'No run has values inside all brushes.',
});

// The difference of two runs or groups can be added to a report.
const difference = document.querySelector('[data-testid="difference"]');
difference?.querySelector('.lead').append(
  el(
    'button',
    {
      type: 'button',
      class: 'plain to-report',
      'aria-label': 'Report: difference',
      click: async () => {
        const [a, b] = [difference.dataset.a, difference.dataset.b].map((ids) => ids.split(' '));
        const { openReportDialog } = await import('./reportdialog.js');
        openReportDialog({ kind: 'difference', experiment, a, b }, { name: 'Difference of the runs' });
      },
    },
    'Report'
  )
);

// Media are loaded after the charts.
let media;
const showMedia = throttle(200, async () => {
  const { Media } = await import('./media.js');
  const section = document.getElementById('media');
  media ||= new Media(section, state, {
    experiment,
    runs: selected,
    found: (n) => {
      section.hidden = n === 0 && brushes.ranges.size === 0;
    },
  });
  await media.load();
});
showMedia();

// Brushes select runs in all plots, in the charts and in the table.
const said = document.getElementById('brushed');
function select() {
  const some = selected();
  const inside = new Set(some.map((run) => run.id));
  const out = runs.map((run) => !inside.has(run.id));
  for (const tr of document.querySelectorAll('.compare tr:not(.title)')) {
    [...tr.children].slice(1).forEach((cell, r) => cell.classList.toggle('out', out[r]));
  }
  said.hidden = brushes.ranges.size === 0;
  const url = compareURL(
    experiment,
    some.map((run) => run.id)
  );
  said.replaceChildren(
    `${count(some.length)} of ${count(runs.length)} runs inside the brushes`,
    el(
      'button',
      { type: 'button', class: 'plain', 'data-testid': 'clear-brushes', click: () => brushes.clear() },
      'Clear'
    ),
    some.length > 1 && some.length < runs.length
      ? el('a', { href: url, 'data-testid': 'compare-these' }, 'Compare these')
      : ''
  );
}
state.addEventListener('change', ({ detail }) => {
  if (!detail.has('brush')) return;
  select();
  panel.refresh();
  showMedia();
});
select();

// The run under the pointer is highlighted in all plots, charts and rows.
document.addEventListener('pointerover', ({ target }) => {
  const id = target.closest('[data-of]')?.dataset.of ?? '';
  if (panel.highlight === id) return;
  panel.highlightRun(id);
  for (const e of document.querySelectorAll('.plots .lit')) e.classList.remove('lit');
  if (id) for (const e of document.querySelectorAll(`.plots [data-of="${CSS.escape(id)}"]`)) e.classList.add('lit');
});

// showImportance shows the importance of parameters for the metric on the Y axis, measured on the compared runs.
const showImportance = importanceTable(document.getElementById('matters'), experiment,
  state.has('experiment') ? state.get('filter') : `id in (${runs.map((r) => `'${r.id}'`).join(', ')})`);

const root = document.getElementById('plots');
if (all.size >= 2) {
  for (const plot of [parallelPlot, scatterPlot]) {
    const part = el('div');
    root.append(part);
    plot(part, runs, all, { state, brushes, judged: showImportance });
  }
}
