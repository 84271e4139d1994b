// Dimensions of runs that an axis can show: parameters that differ between runs, and metrics.
import { ownValue } from './columnname.js';
import { el } from './dom.js';

const collator = new Intl.Collator('en', { numeric: true });

/**
 * dimensions returns the dimensions that an axis can show: parameters that differ between runs, the objective,
 * and metrics. A dimension has {id, label, group, texts, values}, with values in the order of runs. If all
 * values are numbers, values contains the numbers. Otherwise values contains indexes into texts.
 * @param {Object[]} runs
 * @param {string[]} names metrics, in the order to show
 * @param {Object} found
 * @param {string} found.objective name of the objective
 * @param {number[]} found.best best values of the objective, by run
 * @param {Object} [found.extremes] {min, max} of each metric, by run
 * @returns {Map<string, Object>} dimensions by id
 */
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
  const number = (v) => (typeof v === 'string' ? null : v); // NaN and infinities have no place on an axis
  for (const key of new Set(runs.flatMap((r) => Object.keys(r.params))))
    add(`param.${key}`, key, 'Parameters', (r) => ownValue(r.params, key));
  // The objective's best values precede the last values of metrics.
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

/** dimensionOptions returns the options of a select element, grouped by the dimensions' groups. */
export function dimensionOptions(dimensions) {
  const groups = new Map();
  for (const d of dimensions) {
    if (!groups.has(d.group)) groups.set(d.group, el('optgroup', { label: d.group }));
    groups.get(d.group).append(el('option', { value: d.id }, d.label));
  }
  return [...groups.values()];
}
