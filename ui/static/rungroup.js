// Groups of runs, as rows of the table and as curves of charts.
import { paletteSize } from './color.js';
import * as columns from './columnname.js';

/**
 * parseGroups returns the names by which runs are grouped, such as param.lr or tag, with their labels.
 * @param {string} text comma-separated names
 * @returns {{name: string, label: string}[]}
 */
export function parseGroups(text) {
  return text.split(',').map((s) => s.trim()).filter(Boolean).map((name) => (
    name === 'tag' ? { name, label: 'tag' } : { name, label: columns.parseColumns(name)[0]?.key ?? name }));
}

const missing = { tag: 'no tag' };

/**
 * groupRow returns a table row for a group. The id of the row encodes the values of the group.
 * @param {Object} group group, as the server returns it
 * @param {{name: string, label: string}[]} by
 */
export function groupRow(group, by) {
  const labels = group.values.map((v, i) => v ?? (missing[by[i]?.name] || `no ${by[i]?.label}`));
  return { ...group, id: `g:${encodeURIComponent(JSON.stringify(group.values))}`, group: true, name: labels.join(' · '),
    labels, color: group.rank % paletteSize, unfolds: group.iterations };
}

/** groupValues returns the values that a group's id encodes. */
export function groupValues(id) {
  try {
    return JSON.parse(decodeURIComponent(id.slice(2)));
  } catch {
    return [];
  }
}

/** isGroupID reports whether id belongs to a group and not to a run. */
export const isGroupID = (id) => id.startsWith('g:');
