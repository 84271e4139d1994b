// Groups of runs, as rows of the table and as curves of charts.
import { paletteSize } from './color.js';
import * as columns from './columnname.js';

// names returns the names that runs are grouped by: param.lr, tag.
export function parseGroups(text) {
  return text.split(',').map((s) => s.trim()).filter(Boolean).map((name) => (
    name === 'tag' ? { name, label: 'tag' } : { name, label: columns.parseColumns(name)[0]?.key ?? name }));
}

const missing = { tag: 'no tag' };

// row returns a row for a group. Its id names its values, and is one word.
export function groupRow(group, by) {
  const labels = group.values.map((v, i) => v ?? (missing[by[i]?.name] || `no ${by[i]?.label}`));
  return { ...group, id: `g:${encodeURIComponent(JSON.stringify(group.values))}`, group: true, name: labels.join(' · '),
    labels, color: group.rank % paletteSize, unfolds: group.iterations };
}

// values returns the values in the id of a group.
export function groupValues(id) {
  try {
    return JSON.parse(decodeURIComponent(id.slice(2)));
  } catch {
    return [];
  }
}

export const isGroupID = (id) => id.startsWith('g:');
