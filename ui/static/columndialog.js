// The dialog that selects the columns of a table.
import * as columns from './columnname.js';
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';
import { debounce } from './timing.js';

/**
 * openColumnDialog opens the dialog that selects the columns of the table. Changes take effect at once.
 * @param {string} experiment id of the experiment
 * @param {import('./state.js').State} state
 * @param {import('./table.js').Table} table
 */
export function openColumnDialog(experiment, state, table) {
  const chosen = el('ul', { class: 'chosen', 'aria-label': 'Chosen columns' });
  const found = el('ul', { class: 'found', 'aria-label': 'Names' });
  const search = el('input', {
    type: 'search',
    name: 'key',
    placeholder: 'Search names',
    'aria-label': 'Search parameters, metrics and texts',
    'data-testid': 'column-search',
  });
  const set = (all) => {
    state.set({ columns: all.map(columns.formatColumn).join(', ') });
    show();
  };
  const at = (name) => table.columns.findIndex((c) => columns.formatColumn(c) === name);
  const button = (label, name, fn, disabled) =>
    el('button', { type: 'button', class: 'plain', 'aria-label': `${label} ${name}`, disabled, click: fn }, label);

  function show() {
    const all = table.columns;
    chosen.replaceChildren(
      ...all.map((c, i) => {
        const name = columns.formatColumn(c);
        const move = (by) => {
          const next = [...all];
          next.splice(i + by, 0, ...next.splice(i, 1));
          set(next);
        };
        const stat =
          c.kind === 'metric' &&
          el(
            'select',
            {
              name: 'statistic',
              'aria-label': `Statistic of ${c.key}`,
              change: (event) => {
                set(
                  all.map((o) =>
                    o === c ? { ...c, stat: event.target.value === 'last' ? '' : event.target.value } : o
                  )
                );
              },
            },
            ...columns.statistics.map((s) => el('option', { value: s, selected: s === (c.stat || 'last') }, s))
          );
        const pinned = columns.parseColumns(state.get('pin'));
        const others = pinned.filter((p) => columns.formatColumn(p) !== name);
        const pin = el(
          'button',
          {
            type: 'button',
            class: 'plain',
            'aria-label': `Pin ${name}`,
            'aria-pressed': String(others.length < pinned.length),
            click: () => {
              state.set({
                pin:
                  (others.length < pinned.length ? others : [...pinned, c]).map(columns.formatColumn).join(', ') ||
                  null,
              });
              show();
            },
          },
          'Pin'
        );
        return el(
          'li',
          {},
          isolated(c.key, 'name'),
          stat,
          pin,
          button('Up', name, () => move(-1), i === 0),
          button('Down', name, () => move(1), i === all.length - 1),
          button('Remove', name, () => set(all.filter((o) => o !== c)))
        );
      })
    );
    for (const box of found.querySelectorAll('input')) box.checked = at(box.value) >= 0;
  }

  async function list() {
    const q = search.value;
    const keys = await fetchData(`experiment/${experiment}/keys`, { query: { q, limit: 100 } }).catch((error) => ({
      error,
    }));
    if (q !== search.value) return;
    if (keys.error) {
      found.replaceChildren(el('li', {}, keys.error.message));
      return;
    }
    const rows = keys.data.map((k) => {
      const column = { kind: k.kind, key: k.key, stat: '' };
      const box = el('input', { type: 'checkbox', name: 'column', value: columns.formatColumn(column), change: () => {
        const i = at(box.value);
        set(i < 0 ? [...table.columns, column] : table.columns.filter((_, o) => o !== i));
      } });
      return el('li', {}, el('label', {}, box, isolated(k.key, 'name'),
        el('span', { class: 'count' }, `${columns.kindNames[k.kind]} of ${count(k.iterations)}`)));
    });
    if (keys.total > keys.data.length)
      rows.push(
        el(
          'li',
          { class: 'count' },
          `and ${count(keys.total - keys.data.length)} more: type part of a name to find them`
        )
      );
    if (rows.length === 0) rows.push(el('li', { class: 'count' }, 'No names match.'));
    found.replaceChildren(...rows);
    show();
  }

  search.addEventListener('input', debounce(200, list));
  const dialog = el('dialog', { class: 'choose', 'aria-labelledby': 'choose-title', close: () => dialog.remove() },
    el('h2', { id: 'choose-title' }, 'Columns'), search, el('div', { class: 'halves' }, found, chosen),
    el('button', { type: 'button', class: 'primary', click: () => dialog.close() }, 'Done'));
  document.body.append(dialog);
  dialog.showModal();
  list();
  show();
}
