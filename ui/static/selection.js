// What is selected in the table of runs: some of them, or all that pass a filter
// but some.
import { ask } from './ask.js';

const few = 200; // runs that are selected one by one

export class Selection {
  constructor() {
    this.clear();
  }

  clear() {
    this.runs = new Map(); // by id
    this.all = null; // {filter, total, but} when it is all but these ids
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

  // renew takes in what has become of a run.
  renew(run) {
    if (this.runs.has(run.id)) this.runs.set(run.id, run);
  }

  // asked is told what the table shows now.
  asked(filter, total) {
    if (this.all && this.all.filter !== filter) this.clear();
    if (this.all && total != null) this.all.total = total;
  }

  // fill selects all that pass a filter, in sight or not: few by their ids, which
  // more can be done with, and many by the filter.
  async fill(experiment, { filter, sort }) {
    const found = await ask(`experiment/${experiment}/iterations`, { query: { filter, sort, limit: few } });
    this.clear();
    if (found.total > found.data.length) this.all = { filter, total: found.total, but: new Set() };
    else for (const run of found.data) this.runs.set(run.id, run);
    this.whole = true;
  }

  // stored is what is selected by a filter, null otherwise; restore selects it again.
  get stored() {
    return this.all && { ...this.all, but: [...this.all.but] };
  }

  restore({ filter, total, but }) {
    this.clear();
    this.all = { filter, total, but: new Set(but) };
    this.whole = but.length === 0;
  }

  // filter is the filter that what is selected passes, and nothing else.
  get filter() {
    const { filter, but } = this.all;
    const out = but.size > 0 && `not id in (${[...but].map((id) => `'${id}'`).join(', ')})`;
    return [filter && out ? `(${filter})` : filter, out].filter(Boolean).join(' and ');
  }
}
