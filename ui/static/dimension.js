// The dimensions of runs that an axis can show: parameters that differ, and
// metrics.
import { ownValue } from './columnname.js';
import { el } from './dom.js';

const collator = new Intl.Collator('en', { numeric: true });

// dimensions returns {id, label, group, texts, values} by id, the metrics in the order of names. Values are by
// run: numbers where all of them are, and else the places in texts. objective is what the runs are judged by, with
// best, their values; extremes are the smallest and largest values of metrics, {key: {min, max}}, by run.
export function dimensions(runs, names, { objective, best, extremes = {} }) {
  const all = new Map();
  const add = (id, label, group, of) => {
    const values = runs.map(of);
    const known = values.filter((v) => v != null);
    if (new Set(known).size < 2) return;
    const numbers = known.every((v) => String(v).trim() !== '' && Number.isFinite(Number(v)));
    const texts = numbers ? null : [...new Set(known.map(String))].sort(collator.compare);
    all.set(id, { id, label, group, texts, values: values.map((v) => {
      if (v == null) return null;
      const n = texts ? texts.indexOf(String(v)) : Number(v);
      return Number.isFinite(n) ? n : null;
    }) });
  };
  const number = (v) => (typeof v === 'string' ? null : v); // a value that is not a number has no place
  for (const key of new Set(runs.flatMap((r) => Object.keys(r.params)))) add(`param.${key}`, key, 'Parameters', (r) => ownValue(r.params, key));
  // The best value of each run comes before the last ones.
  if (objective) add('objective', objective, 'Objective', (r, i) => best[i]);
  for (const key of names) add(`metric.${key}`, key, 'Metrics, last values', (r) => number(ownValue(r.metrics, key)));
  for (const [stat, group] of [['min', 'Metrics, minimum'], ['max', 'Metrics, maximum']]) {
    for (const key of names) {
      const values = ownValue(extremes, key)?.[stat];
      if (values) add(`${stat}.${key}`, `${key} ${stat}`, group, (r, i) => number(values[i]));
    }
  }
  return all;
}

// choices returns options of a select for dimensions, in their groups.
export function dimensionOptions(dimensions) {
  const groups = new Map();
  for (const d of dimensions) {
    if (!groups.has(d.group)) groups.set(d.group, el('optgroup', { label: d.group }));
    groups.get(d.group).append(el('option', { value: d.id }, d.label));
  }
  return [...groups.values()];
}
