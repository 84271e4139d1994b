// Differences between the runs of a table: the baseline run, and the parameters that differ.
import { fetchData } from './request.js';
import { latestOnly } from './timing.js';

/**
 * Differences loads the baseline run and the names of parameters that have the same value in all runs, if the
 * address requests them. It calls changed when either has changed.
 */
export class Differences {
  constructor(experiment, state, changed) {
    Object.assign(this, { experiment, state, changed });
    this.baseline = null; // a run
    this.same = new Set(); // names of parameters
    this.askSame = latestOnly(fetchData);
    this.askBaseline = latestOnly(fetchData);
  }

  /** loadSame requests the names of parameters that have the same value in all runs. */
  async loadSame(params) {
    const keys = this.state.has('differences') ? params : [];
    if (keys.length === 0) {
      this.found([]);
      return;
    }
    const query = new URLSearchParams(keys.map((k) => ['key', k]));
    query.set('filter', this.state.get('filter'));
    const found = await this.askSame(`experiment/${this.experiment}/same?${query}`).catch(() => ({}));
    if (found.same && this.state.has('differences')) this.found(found.same);
  }

  found(same) {
    if (same.join('\n') === [...this.same].join('\n')) return;
    this.same = new Set(same);
    this.changed();
  }

  /** loadBaseline requests the baseline run with its values in the columns. */
  async loadBaseline(columns) {
    const id = this.state.get('base');
    if (!id) {
      this.baseline = null;
      return;
    }
    const query = { filter: `id = '${id.replaceAll(/[^\w-]/g, '')}'`, columns };
    const found = await this.askBaseline(`experiment/${this.experiment}/iterations`, { query }).catch(() => ({}));
    if (id !== this.state.get('base')) return;
    this.baseline = found.data?.[0] || null;
    this.changed();
  }
}
