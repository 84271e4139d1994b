// The selection in the table of runs.
import { fetchData } from './request.js';

const mostByID = 200; // maximum number of runs that are selected by id or as a group

/**
 * Selection is the selection in the table of runs: individual runs, or all runs that pass a filter with exceptions.
 */
export class Selection {
  constructor() {
    this.last = null; // index of the last clicked row
    this.clear();
  }

  clear() {
    this.runs = new Map(); // selected runs by id
    this.groups = new Map(); // ids of the runs of groups, by group id; only groups that were selected
    this.all = null; // {filter, total, but}: all runs that pass filter, except runs with ids in but
    this.whole = false; // whether all runs that pass the filter are selected
  }

  get size() {
    return this.all ? this.all.total - this.all.but.size : this.runs.size;
  }

  has(id) {
    return this.all ? !this.all.but.has(id) : this.runs.has(id);
  }

  set(run, on) {
    this.whole &&= on;
    if (this.all) this.all.but[on ? 'delete' : 'add'](run.id);
    else if (on) this.runs.set(run.id, run);
    else this.runs.delete(run.id);
  }

  /**
   * range selects or deselects the rows from the last clicked row to index.
   * @param {number} index
   * @param {boolean} on
   * @param {function(number): ?Object} at returns the row at an index, or null if it is not loaded
   */
  range(index, on, at) {
    if (this.last == null) return;
    for (let i = Math.min(index, this.last); i <= Math.max(index, this.last); i += 1) {
      const run = at(i);
      if (run && !run.group) this.set(run, on);
    }
  }

  /**
   * setGroup selects or deselects the runs of a group.
   * @param {string} experiment
   * @param {{id: string, values: (?string)[]}} group
   * @param {boolean} on
   * @param {{filter: string, by: string}} query filter and groups of the table
   */
  async setGroup(experiment, group, on, { filter, by }) {
    const query = { filter, group: by, values: JSON.stringify(group.values), limit: mostByID };
    const { data, total } = await fetchData(`experiment/${experiment}/iterations`, { query });
    if (total > mostByID)
      throw new Error(`The group has ${total} runs, and at most ${mostByID} can be selected together. Use the filter.`);
    for (const run of data) this.set(run, on);
    this.groups.set(group.id, data.map((run) => run.id));
  }

  /** partOf returns whether "all", "some" or "none" of a group's runs are selected. */
  partOf(group) {
    const ids = this.groups.get(group.id) ?? [];
    const selected = ids.filter((id) => this.has(id)).length;
    if (this.whole || (selected > 0 && selected === ids.length)) return 'all';
    return selected > 0 ? 'some' : 'none';
  }

  /** update replaces a selected run with its newer state. */
  update(run) {
    if (this.runs.has(run.id)) this.runs.set(run.id, run);
  }

  /**
   * tableLoaded records the filter and the total of the loaded table. If the selection is based on a different
   * filter, it is cleared.
   */
  tableLoaded(filter, total) {
    if (this.all && this.all.filter !== filter) this.clear();
    if (this.all && total != null) this.all.total = total;
  }

  /**
   * selectAll selects all runs that pass a filter. Up to 200 runs are selected by id, which allows more actions.
   * If there are more runs, the filter becomes the selection.
   */
  async selectAll(experiment, { filter, sort }) {
    const found = await fetchData(`experiment/${experiment}/iterations`, { query: { filter, sort, limit: mostByID } });
    this.clear();
    if (found.total > found.data.length) this.all = { filter, total: found.total, but: new Set() };
    else for (const run of found.data) this.runs.set(run.id, run);
    this.whole = true;
  }

  /** stored returns a selection by filter in a form that restore accepts. It returns null for other selections. */
  get stored() {
    return this.all && { ...this.all, but: [...this.all.but] };
  }

  restore({ filter, total, but }) {
    this.clear();
    this.all = { filter, total, but: new Set(but) };
    this.whole = but.length === 0;
  }

  /** filter returns a filter that only the selected runs pass. */
  get filter() {
    return filterWithout(this.all.filter, [...this.all.but]);
  }
}

/** filterWithout returns the filter of the runs that pass a filter, except the runs with the given ids. */
export function filterWithout(filter, ids) {
  const out = ids.length > 0 && `not id in (${ids.map((id) => `'${id}'`).join(', ')})`;
  return [filter && out ? `(${filter})` : filter, out].filter(Boolean).join(' and ');
}
