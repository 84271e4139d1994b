// The comparison of runs: their curves, and how parameters and metrics go
// together.
import { ask } from './ask.js';
import { own } from './column.js';
import { el } from './dom.js';
import { Panel } from './panel.js';
import { parallel } from './parallel.js';
import { scatter } from './scatter.js';
import { State } from './state.js';

const state = new State();
const names = [...document.querySelectorAll('.compare [data-metric]')].map((tr) => tr.dataset.metric);
const box = document.getElementById('differences');
const show = () => { box.checked = state.has('differences'); };
show();
state.addEventListener('change', show);
box.addEventListener('change', () => state.set({ differences: box.checked ? '1' : null }));

const query = new URLSearchParams();
for (const id of state.params.getAll('i')) query.append('i', id);
const { runs } = await ask(`compare?${query}`);

new Panel(document.getElementById('charts'), state, {
  runs: () => runs,
  keys: async (q, offset, limit) => {
    const all = names.filter((k) => k.toLowerCase().includes(q.toLowerCase()));
    return { data: all.slice(offset, offset + limit).map((key) => ({ key })), total: all.length };
  },
});

// rank says how likely it is that a metric is what runs are compared for: one that
// is named like an objective, first where it was held out, and none of the machine.
function rank(key) {
  if (key.startsWith('system/')) return 3;
  if (!/loss|acc|err|auc|f1|score|precision|recall|reward|return|perplexity|bleu|rouge|iou|map|mae|mse/i.test(key)) return 2;
  return /val|test|eval|dev/i.test(key) ? 0 : 1;
}

// What runs can be set on an axis by: parameters that differ, and metrics, those
// first that matter most. Values are numbers where all of them are, and else the
// places in a list of texts.
function dimensions() {
  const all = new Map();
  const add = (id, label, of) => {
    const values = runs.map(of);
    const known = values.filter((v) => v != null);
    if (new Set(known).size < 2) return;
    const numbers = known.every((v) => String(v).trim() !== '' && Number.isFinite(Number(v)));
    const texts = numbers ? null : [...new Set(known.map(String))].sort();
    all.set(id, { id, label, texts, values: values.map((v) => {
      if (v == null) return null;
      const n = texts ? texts.indexOf(String(v)) : Number(v);
      return Number.isFinite(n) ? n : null;
    }) });
  };
  for (const key of new Set(runs.flatMap((r) => Object.keys(r.params)))) add(`param.${key}`, key, (r) => own(r.params, key));
  for (const key of names.toSorted((a, b) => rank(a) - rank(b))) {
    add(`metric.${key}`, key, (r) => {
      const v = own(r.metrics, key);
      return typeof v === 'string' ? null : v; // what is no number has no place
    });
  }
  return all;
}

const all = dimensions();
const root = document.getElementById('plots');
if (all.size >= 2) {
  for (const plot of [parallel, scatter]) {
    const part = el('div');
    root.append(part);
    plot(part, runs, all, state);
  }
}
