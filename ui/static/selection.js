// The selection in the table of runs: some runs, or all that pass a filter
// except some.
import { fetchData } from './request.js';

const mostByID = 200; // runs that are selected one by one

export class Selection {
  constructor() {
    this.last = null; // place of the row that was clicked last
    this.clear();
  }

  clear() {
    this.runs = new Map(); // by id
    this.all = null; // {filter, total, but} for all that pass filter except the ids in but
    this.whole = false; // nothing that passes the filter is left out
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

  // range selects or deselects the rows from the last one that was clicked to another one; at(i)
  // is a row, if it is known.
  range(index, on, at) {
    if (this.last == null) return;
    for (let i = Math.min(index, this.last); i <= Math.max(index, this.last); i += 1) {
      const run = at(i);
      if (run && !run.group) this.set(run, on);
    }
  }

  // renew updates a run in the selection.
  update(run) {
    if (this.runs.has(run.id)) this.runs.set(run.id, run);
  }

  // asked is called with the filter and the total that the table shows now.
  tableLoaded(filter, total) {
    if (this.all && this.all.filter !== filter) this.clear();
    if (this.all && total != null) this.all.total = total;
  }

  // fill selects all runs that pass a filter, in sight or not: few by their ids,
  // which allow more actions, and many by the filter.
  async selectAll(experiment, { filter, sort }) {
    const found = await fetchData(`experiment/${experiment}/iterations`, { query: { filter, sort, limit: mostByID } });
    this.clear();
    if (found.total > found.data.length) this.all = { filter, total: found.total, but: new Set() };
    else for (const run of found.data) this.runs.set(run.id, run);
    this.whole = true;
  }

  // stored is the selection by a filter, null otherwise; restore restores it.
  get stored() {
    return this.all && { ...this.all, but: [...this.all.but] };
  }

  restore({ filter, total, but }) {
    this.clear();
    this.all = { filter, total, but: new Set(but) };
    this.whole = but.length === 0;
  }

  // filter is the filter that exactly the selected runs pass.
  get filter() {
    const { filter, but } = this.all;
    const out = but.size > 0 && `not id in (${[...but].map((id) => `'${id}'`).join(', ')})`;
    return [filter && out ? `(${filter})` : filter, out].filter(Boolean).join(' and ');
  }
}
