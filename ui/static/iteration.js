// The page of a run: its charts, and all of it as the run goes on.
import { ask, later, reach, typed } from './ask.js';
import { copy } from './copy.js';
import { live } from './live.js';
import { Panel } from './panel.js';
import { State } from './state.js';

const { iteration, color, name, cursor } = document.getElementById('iteration').dataset;
const run = { id: iteration, name, color: Number(color) };
const summary = () => ask(`iteration/${iteration}/summary`);

const panel = new Panel(document.getElementById('charts'), new State(), {
  runs: () => [run],
  keys: async (q, offset, limit) => {
    const part = q.toLowerCase();
    const all = Object.keys((await summary()).metrics).filter((k) => k.toLowerCase().includes(part)).sort();
    return { data: all.slice(offset, offset + limit).map((key) => ({ key })), total: all.length };
  },
});

// update asks for the page again and takes in what has changed. Elements stay, and with
// them what is opened, where the focus is, and how far it is scrolled.
async function update() {
  const url = new URL(location.href);
  if (document.getElementById('environment')) url.searchParams.set('known', '1');
  const answer = await reach(url, { headers: { 'HX-Request': 'true', 'HX-Target': '#iteration', 'HX-Current-URL': location.href } });
  const text = await answer.text();
  const problem = document.getElementById('problem');
  if (!answer.ok) {
    problem.innerHTML = text; // written by the server to be put there
    return;
  }
  const root = document.getElementById('iteration');
  // Nobody's typing is thrown away for a newer state of the page.
  const edits = root.querySelector('.edits');
  edits.toggleAttribute('hx-morph-skip', Boolean(edits.querySelector('[open]')));
  for (const details of edits.children) details.toggleAttribute('hx-morph-skip', typed(details));
  await htmx.swap({ text, target: root, sourceElement: root, swap: 'outerMorph' });
  for (const field of document.querySelectorAll('[data-filters]')) filter(field);
}

let updating = false;
let again = false;
const renew = later(700, async () => {
  again = true;
  if (updating) return;
  updating = true;
  while (again) {
    again = false;
    await update().catch((error) => { document.getElementById('problem').textContent = error.message; });
  }
  updating = false;
});

live(`iteration/${iteration}`, cursor, {
  changed: ({ series }) => {
    renew();
    panel.grow(series);
  },
  reset: async () => {
    renew();
    const { metrics } = await summary();
    panel.grow(Object.keys(metrics).map((key) => ({ iteration_id: iteration, key })));
  },
});

// A form that was closed shows what it was kept from showing.
document.addEventListener('toggle', ({ target }) => {
  if (!target.open && target.matches('#run details.edit') && target.closest('.edits[hx-morph-skip]')) renew();
}, true);

function filter(field) {
  const part = field.value.toLowerCase();
  for (const row of document.querySelectorAll(`#${field.dataset.filters} tbody tr`)) row.hidden = !row.textContent.toLowerCase().includes(part);
}
document.addEventListener('input', ({ target }) => {
  if (target.dataset.filters) filter(target);
});

document.addEventListener('click', async ({ target }) => {
  const id = target.dataset.copies;
  if (!id) return;
  const rows = [...document.querySelectorAll(`#${id} tbody tr:not([hidden])`)];
  await copy(JSON.stringify(Object.fromEntries(rows.map((r) => [r.children[0].innerText, r.children[1].innerText])), null, 2));
  target.textContent = 'Copied';
  setTimeout(() => { target.textContent = 'Copy'; }, 2000);
});
