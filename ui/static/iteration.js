// The page of a run: its charts, and requests for updates while the run is running.
import './artifact.js';
import { copyText } from './clipboard.js';
import { timeAgo } from './format.js';
import { followChanges } from './live.js';
import { metricMatcher } from './metricsearch.js';
import { Panel } from './panel.js';
import { fetchData } from './request.js';
import { State } from './state.js';
import { throttle } from './timing.js';

const { iteration, experiment, color, name, cursor } = document.getElementById('iteration').dataset;
const run = { id: iteration, name, color: Number(color) };
const summary = (query = '') => fetchData(`iteration/${iteration}/summary${query}`);

const state = new State();
const panel = new Panel(document.getElementById('charts'), state, {
  experiment,
  runs: () => [run],
  scope: () => `id in ('${iteration}')`,
  mark: () => Number(document.getElementById('diagnosis')?.dataset.step || NaN) || null,
  drawn: () => ({ experiment, iterations: [iteration] }),
  keys: async (q, offset, limit, pattern) => {
    const named = await metricMatcher(experiment, q, pattern);
    // The table lists the most interesting metrics first. It does not contain new metrics yet.
    const places = new Map(
      [...document.querySelectorAll('#metrics [data-metric]')].map((tr, i) => [tr.dataset.metric, i])
    );
    const place = (k) => places.get(k) ?? places.size;
    const { metrics, definitions = {} } = await summary();
    const all = Object.keys(metrics).filter(named).sort((a, b) => place(a) - place(b));
    const data = all.slice(offset, offset + limit).map((key) => ({ key, definition: definitions[key] }));
    return { data, total: all.length };
  },
});

// Media are loaded after the charts.
let media;
const showMedia = throttle(200, async () => {
  if (!Number(document.getElementById('iteration').dataset.artifacts)) return;
  const { Media } = await import('./media.js');
  const section = document.getElementById('media');
  media ||= new Media(section, state, {
    runs: () => [run],
    found: (n) => {
      const came = section.hidden && n > 0;
      section.hidden = n === 0;
      document.querySelector('[data-testid="to-media"]').hidden = n === 0;
      // The section was still hidden when the browser scrolled to the fragment.
      if (came && location.hash === '#media') section.scrollIntoView();
    },
  });
  await media.load();
});
showMedia();

/** updates returns the functions that update the page. Their script is loaded when the run changes. */
let loading;
const updates = () => {
  loading ??= import('./iterationupdate.js').then(({ pageUpdates }) =>
    pageUpdates(iteration, () => {
      for (const field of document.querySelectorAll('[data-filters]')) filter(field);
      showMedia();
    }));
  return loading;
};
const renew = async () => (await updates()).renew();

// Keep the age of a stop request current.
setInterval(() => {
  const time = document.querySelector('[data-testid="stop-asked"] time');
  if (time) time.textContent = timeAgo(Date.parse(time.dateTime));
}, 5000);

// The page is requested to update the run's duration and last-seen time.
const renewSometimes = throttle(60_000, renew);

// The console script is loaded when the console becomes visible. It requests new lines only while it is visible.
const printing = document.getElementById('console');
let output;
let near = false;
let next; // number of printed lines if some are not shown yet
async function follow() {
  if (!near) return;
  output ||= import('./console.js').then(({ showConsole }) => showConsole(iteration));
  const { grow } = await output;
  if (next !== undefined) grow(next);
  next = undefined;
}
new IntersectionObserver((entries) => {
  near = entries.at(-1).isIntersecting;
  follow();
}, { rootMargin: '400px' }).observe(printing);
function grown(line = null) {
  next = line;
  if (line) printing.hidden = false;
  follow();
}

followChanges(`iteration/${iteration}`, cursor, {
  changed: ({ iterations, deleted, series, console: printedNow = [] }) => {
    for (const line of printedNow) grown(line.next);
    if (printedNow.length > 0) {
      document.querySelector('[data-testid="to-console"]').hidden = false;
      if (iterations.length + deleted.length + series.length === 0) {
        renewSometimes();
        return;
      }
    }
    const known = new Set([...document.querySelectorAll('#metrics [data-metric]')].map((tr) => tr.dataset.metric));
    const lost = document.querySelector('#run .status.lost'); // the run has sent points, so it is not lost
    if (
      lost ||
      iterations.length + deleted.length > 0 ||
      series.length === 0 ||
      series.some((s) => s.last_step == null || !(known.has(s.key) || document.getElementById('metrics-left')))
    )
      renew();
    else renewSometimes();
    if (series.length > 0) updates().then(({ retell }) => retell(series.map((s) => s.key)));
    panel.markGrown(series);
  },
  reset: async () => {
    renew();
    grown();
    const { metrics } = await summary();
    panel.markGrown(Object.keys(metrics).map((key) => ({ iteration_id: iteration, key })));
  },
});

// The charts of system metrics are collapsed until the user opens them by a link or a click.
function unfold() {
  const group = document.getElementById(location.hash.slice(1));
  if (group instanceof HTMLDetailsElement) group.open = true;
}
addEventListener('hashchange', unfold);
document.addEventListener('click', (event) => {
  if (event.target.closest('.sections a[href="#system"]')) unfold();
});

// The page is not updated while a form is open. It is updated when the form is closed.
document.addEventListener('toggle', ({ target }) => {
  if (!target.open && target.matches('#run details.edit') && target.closest('.edits[hx-morph-skip]')) renew();
}, true);

function filter(field) {
  const part = field.value.toLowerCase();
  const list = document.getElementById(field.dataset.filters);
  for (const row of list.querySelectorAll('tbody tr')) row.hidden = !row.textContent.toLowerCase().includes(part);
  const more = list.querySelector('details.more');
  if (part && more) more.open = true; // a folded row might match
}
document.addEventListener('input', ({ target }) => {
  if (target.dataset.filters) filter(target);
});
// The user might have typed text before this script was loaded.
for (const field of document.querySelectorAll('[data-filters]')) filter(field);

document.addEventListener('click', async ({ target }) => {
  const id = target.dataset.copies;
  if (!id) return;
  const rows = [...document.querySelectorAll(`#${id} tbody tr:not([hidden])`)];
  await copyText(
    JSON.stringify(Object.fromEntries(rows.map((r) => [r.children[0].innerText, r.children[1].innerText])), null, 2)
  );
  target.textContent = 'Copied';
  setTimeout(() => { target.textContent = 'Copy'; }, 2000);
});
