// The selection in the table of runs.
import { fetchData } from './request.js';

const mostByID = 200; // runs that are selected one by one

/**
 * Selection is the selection in the table of runs: single runs, or all runs that pass a filter except some.
 */
export class Selection {
  constructor() {
    this.last = null; // place of the row that was clicked last
    this.clear();
  }

  clear() {
    this.runs = new Map(); // by id
    this.all = null; // {filter, total, but}: all runs that pass filter, except the ids in but
    this.whole = false; // all runs that pass the filter are selected
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
   * range selects or deselects the rows from the last one that was clicked to index.
   * @param {number} index
   * @param {boolean} on
   * @param {function(number): ?Object} at returns a row if it is loaded
   */
  range(index, on, at) {
    if (this.last == null) return;
    for (let i = Math.min(index, this.last); i <= Math.max(index, this.last); i += 1) {
      const run = at(i);
      if (run && !run.group) this.set(run, on);
    }
  }

  /** update replaces a run in the selection by its newer state. */
  update(run) {
    if (this.runs.has(run.id)) this.runs.set(run.id, run);
  }

  /**
   * tableLoaded takes over the filter and the total of the loaded table. A selection by another filter is
   * cleared.
   */
  tableLoaded(filter, total) {
    if (this.all && this.all.filter !== filter) this.clear();
    if (this.all && total != null) this.all.total = total;
  }

  /**
   * selectAll selects all runs that pass a filter. Up to 200 are selected by id, which allows more actions;
   * more are selected by the filter.
   */
  async selectAll(experiment, { filter, sort }) {
    const found = await fetchData(`experiment/${experiment}/iterations`, { query: { filter, sort, limit: mostByID } });
    this.clear();
    if (found.total > found.data.length) this.all = { filter, total: found.total, but: new Set() };
    else for (const run of found.data) this.runs.set(run.id, run);
    this.whole = true;
  }

  /** stored returns a selection by filter in a form that restore accepts, null for other selections. */
  get stored() {
    return this.all && { ...this.all, but: [...this.all.but] };
  }

  restore({ filter, total, but }) {
    this.clear();
    this.all = { filter, total, but: new Set(but) };
    this.whole = but.length === 0;
  }

  /** filter returns the filter that exactly the selected runs pass. */
  get filter() {
    const { filter, but } = this.all;
    const out = but.size > 0 && `not id in (${[...but].map((id) => `'${id}'`).join(', ')})`;
    return [filter && out ? `(${filter})` : filter, out].filter(Boolean).join(' and ');
  }
}
