// What can be done with the runs that are selected.
import { el } from './dom.js';
import { base } from './frame.js';
import { count } from './format.js';

export class Actions {
  constructor(bar, table, state, rights) {
    Object.assign(this, { bar, table, state, rights });
  }

  show() {
    const runs = [...this.table.picked.values()];
    this.bar.hidden = runs.length === 0;
    if (runs.length === 0) return;
    const ids = runs.map((r) => r.id);
    const { state } = this;
    const button = (label, fn, disabled) => el('button', { type: 'button', class: 'plain', 'data-testid': `do-${label.toLowerCase()}`, disabled, click: fn }, label);
    const drawn = (name, other) => () => {
      const gone = new Set(ids);
      state.set({ [name]: [...new Set([...state.list(name), ...ids])], [other]: state.list(other).filter((id) => !gone.has(id)) });
    };
    const page = (path) => () => {
      const url = new URL(path, base);
      for (const id of ids) url.searchParams.append('i', id);
      location.assign(url);
    };
    const baseline = state.get('base') === ids[0];
    this.bar.replaceChildren(...[el('span', { class: 'count' }, `${count(runs.length)} selected`),
      button('Compare', page('compare'), runs.length < 2),
      button('Draw', drawn('show', 'hide')),
      button('Hide', drawn('hide', 'show')),
      runs.length === 1 && button(baseline ? 'No baseline' : 'Baseline', () => state.set({ base: baseline ? null : ids[0] })),
      (this.rights.update || this.rights.create) && button('Change', page('change')),
      this.rights.delete && button('Delete', page('delete')),
      button('Clear', () => {
        this.table.picked.clear();
        this.table.render();
        this.show();
      })].filter(Boolean));
  }
}
