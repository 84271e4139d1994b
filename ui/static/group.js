// Groups of runs, as rows of the table and as curves of charts.
import { palette } from './color.js';
import * as columns from './column.js';

// names returns the names that runs are grouped by: param.lr, tag.
export function names(text) {
  return text.split(',').map((s) => s.trim()).filter(Boolean).map((name) => (
    name === 'tag' ? { name, label: 'tag' } : { name, label: columns.parse(name)[0]?.key ?? name }));
}

const missing = { tag: 'no tag' };

// row returns a row for a group. Its id names its values, and is one word.
export function row(group, by) {
  const labels = group.values.map((v, i) => v ?? (missing[by[i]?.name] || `no ${by[i]?.label}`));
  return { ...group, id: `g:${encodeURIComponent(JSON.stringify(group.values))}`, group: true, name: labels.join(' · '),
    labels, color: group.rank % palette, unfolds: group.iterations };
}

// values returns the values in the id of a group.
export function values(id) {
  try {
    return JSON.parse(decodeURIComponent(id.slice(2)));
  } catch {
    return [];
  }
}

export const isGroup = (id) => id.startsWith('g:');
