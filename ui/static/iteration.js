// The page of a run: its charts, and what makes its tables easier to use.
import { ask, later } from './ask.js';
import { copy } from './copy.js';
import { count, number } from './format.js';
import { live } from './live.js';
import { Panel } from './panel.js';
import { State } from './state.js';

const { iteration, color, name, cursor } = document.getElementById('iteration').dataset;
const run = { id: iteration, name, color: Number(color) };
let summary = ask(`iteration/${iteration}/summary`);

const panel = new Panel(document.getElementById('charts'), new State(), {
  runs: () => [run],
  keys: async (q, offset, limit) => {
    const part = q.toLowerCase();
    const all = Object.keys((await summary).metrics).filter((k) => k.toLowerCase().includes(part)).sort();
    return { data: all.slice(offset, offset + limit).map((key) => ({ key })), total: all.length };
  },
});

const table = document.querySelector('#metrics tbody');

// renew brings the table of metrics up to date.
async function update() {
  const { metrics } = await (summary = ask(`iteration/${iteration}/summary`));
  for (const [key, m] of Object.entries(metrics)) {
    const row = table?.querySelector(`[data-metric="${CSS.escape(key)}"]`);
    if (!row) continue;
    const cells = [[m.last, m.last_step], [m.min, m.min_step], [m.max, m.max_step], [m.mean]];
    cells.forEach(([value, step], i) => {
      row.children[i + 1].textContent = number(value);
      if (step != null) row.children[i + 1].title = `step ${count(step)}`;
    });
    row.children[5].textContent = count(m.count);
  }
}
const renew = later(700, () => update().catch((error) => { document.getElementById('problem').textContent = error.message; }));

// Nobody's typing is thrown away for a newer state of the page.
const editing = () => document.querySelector('details.edit[open], details.artifact[open], .uploads li, dialog[open]');

live(`iteration/${iteration}`, cursor, {
  changed: (changes) => {
    if (changes.series.length > 0) {
      renew();
      panel.grow(changes.series);
    }
    const now = changes.iterations.find((i) => i.id === iteration);
    const { status } = document.getElementById('run').dataset;
    const ended = now && (now.status === 'RUNNING') !== ['running', 'lost'].includes(status);
    const first = changes.series.length > 0 && !table;
    if ((ended || first) && !editing()) location.reload();
  },
  reset: () => { if (!editing()) location.reload(); },
});

for (const field of document.querySelectorAll('[data-filters]')) {
  const rows = document.querySelectorAll(`#${field.dataset.filters} tbody tr`);
  field.addEventListener('input', () => {
    const part = field.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(part);
  });
}

for (const button of document.querySelectorAll('[data-copies]')) {
  button.addEventListener('click', async () => {
    const rows = [...document.querySelectorAll(`#${button.dataset.copies} tbody tr:not([hidden])`)];
    const text = JSON.stringify(Object.fromEntries(rows.map((r) => [r.children[0].innerText, r.children[1].innerText])), null, 2);
    await copy(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}
