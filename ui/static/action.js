// The bar with the actions on the selected runs.
import { base } from './base.js';
import { paletteSize } from './color.js';
import { compareURL } from './compareurl.js';
import { el } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';

const mostCompared = 200;
const tooMany = `Up to ${mostCompared} runs can be compared at once`;

/** Actions is the bar with the actions on the selected runs. */
export class Actions {
  constructor(bar, table, state, rights) {
    Object.assign(this, { bar, table, state, rights });
  }

  show() {
    const { state, table: { picked } } = this;
    this.bar.hidden = picked.size === 0;
    if (picked.size === 0) return;
    const button = (label, fn, disabled, title) =>
      el(
        'button',
        {
          type: 'button',
          class: 'plain',
          'data-testid': `do-${label.toLowerCase().replaceAll(' ', '-')}`,
          disabled,
          title,
          click: fn,
        },
        label
      );
    const clear = button('Clear', () => this.table.pickAll(false));
    if (picked.all) {
      this.bar.replaceChildren(...this.filterButtons(button), clear);
      return;
    }
    const runs = [...picked.runs.values()];
    const ids = runs.map((r) => r.id);
    const drawn = (name, other) => () => {
      const gone = new Set(ids);
      state.set({
        [name]: [...new Set([...state.list(name), ...ids])],
        [other]: state.list(other).filter((id) => !gone.has(id)),
      });
    };
    // If all runs that pass the filter are selected, the address contains the filter. So the address is short,
    // and it includes runs that pass the filter later.
    const compare = () => {
      const { filter, sort } = this.table.asked;
      if (!picked.whole) return page('compare')();
      const url = new URL('compare', base);
      for (const [name, value] of Object.entries({ experiment: this.table.experiment, filter, sort }))
        if (value) url.searchParams.set(name, value);
      return location.assign(url);
    };
    const page = (path) => () => {
      const url = path === 'compare' ? compareURL(this.table.experiment, ids) : new URL(path, base);
      if (path !== 'compare') {
        for (const id of ids) url.searchParams.append('i', id);
        url.searchParams.set('table', state.params); // the page links back to a table with these columns
      }
      if (path === 'compare' && state.has('view')) url.searchParams.set('view', state.get('view'));
      location.assign(url);
    };
    const baseline = state.get('base') === ids[0];
    this.bar.replaceChildren(
      ...[
        el('span', { class: 'count' }, `${count(runs.length)} selected`),
        runs.length === 1 && this.table.objective
          ? button(
            'Compare with best',
            () => location.assign(new URL(`iteration/${ids[0]}/best`, base)),
            false,
            'What changed since the best run of the experiment'
          )
          : button(
            'Compare',
            compare,
            runs.length < 2 || runs.length > mostCompared,
            runs.length > mostCompared && tooMany
          ),
        button('Draw', drawn('show', 'hide')),
        button('Hide', drawn('hide', 'show')),
        button('Colour', () => this.showColors(ids)),
        runs.length === 1 &&
          button(baseline ? 'Clear baseline' : 'Baseline', () => state.set({ base: baseline ? null : ids[0] })),
        (this.rights.create || this.rights.delete) && button('Tag', () => this.showTagForm(ids)),
        this.rights.update && button('Status', page('change')),
        this.rights.delete && button('Delete', page('delete')),
        clear,
      ].filter(Boolean)
    );
  }

  /**
   * filterButtons returns the buttons for runs that are selected by a filter. The buttons lead to a separate page,
   * which shows how many runs currently pass the filter.
   */
  filterButtons(button) {
    const { picked, experiment } = this.table;
    const page = (part) => () => {
      const url = new URL(`experiment/${experiment}/change`, base);
      if (picked.filter) url.searchParams.set('filter', picked.filter);
      url.hash = part;
      location.assign(url);
    };
    const { rights } = this;
    return [el('span', { class: 'count' }, `${count(picked.size)} selected`),
      button('Compare', null, true, tooMany),
      (rights.create || rights.delete) && button('Tag', page('tag')),
      rights.update && button('Status', page('status')),
      rights.delete && button('Delete', page('sure'))].filter(Boolean);
  }

  /** showColors shows the curve colours in the bar. A click on a colour sets it for all selected runs. */
  showColors(ids) {
    const give = (color) => {
      const others = this.state.list('colors').filter((word) => !ids.includes(word.slice(0, word.lastIndexOf('.'))));
      this.state.set({ colors: color == null ? others : [...others, ...ids.map((id) => `${id}.${color}`)] });
    };
    const all = Array.from({ length: paletteSize }, (_, n) =>
      el('button', {
        type: 'button',
        class: `swatch c${n}`,
        'aria-pressed': 'true',
        'aria-label': `Colour ${n + 1}`,
        click: () => give(n),
      })
    );
    this.bar.replaceChildren(
      el('span', { class: 'count' }, `${count(ids.length)} selected`),
      el('span', { class: 'palette' }, ...all),
      el('button', { type: 'button', class: 'plain', click: () => give(null) }, 'Automatic'),
      el('button', { type: 'button', class: 'plain', click: () => this.show() }, 'Done')
    );
    all[0].focus();
  }

  /** showTagForm shows a form in the bar. The form adds a tag to all selected runs, or removes it. */
  showTagForm(ids) {
    const known = [...new Set([...this.table.picked.runs.values()].flatMap((r) => r.tags))].sort();
    const field = el('input', {
      name: 'tag',
      maxlength: 250,
      placeholder: 'Tag',
      'aria-label': `Tag for ${count(ids.length)} runs`,
      list: 'tags-known',
      autocomplete: 'off',
      'data-testid': 'tag',
    });
    const said = el('span', { class: 'count', role: 'status', 'data-testid': 'tagged' });
    const act = async (attach) => {
      try {
        const { changed } = await fetchData('tags', { body: { iterations: ids, value: field.value, attach } });
        said.textContent = attach
          ? `Added to ${count(changed)} ${changed === 1 ? 'run' : 'runs'}`
          : `Removed from ${count(changed)} ${changed === 1 ? 'run' : 'runs'}`;
        field.value = '';
        this.table.load(true);
      } catch (error) {
        said.textContent = error.message;
      }
      field.focus();
    };
    const form = el(
      'form',
      { class: 'row' },
      field,
      el('datalist', { id: 'tags-known' }, ...known.map((t) => el('option', { value: t }))),
      this.rights.create && el('button', { class: 'plain', 'data-testid': 'tag-add' }, 'Add tag'),
      this.rights.delete &&
        el(
          'button',
          { type: 'button', class: 'plain', 'data-testid': 'tag-off', click: () => act(false) },
          'Remove tag'
        ),
      el('button', { type: 'button', class: 'plain', click: () => this.show() }, 'Done'),
      said
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      act(Boolean(this.rights.create));
    });
    this.bar.replaceChildren(el('span', { class: 'count' }, `${count(ids.length)} selected`), form);
    field.focus();
  }
}
