// A dialog in which the user searches and chooses one of many names.
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { debounce } from './timing.js';

/**
 * openNameDialog opens a dialog in which the user searches and chooses one of many names. The arrow keys move
 * through the list.
 * @param {string} title
 * @param {function(string): Promise<{names: {name: string, hint: string}[], total: number}>} find returns
 *   matching names
 * @param {function(Object)} chosen called with the chosen element of names
 */
export function openNameDialog(title, find, chosen) {
  const list = el('ul', { 'aria-label': 'Names' });
  const search = el('input', {
    type: 'search',
    name: 'pick-name',
    placeholder: 'Search by name',
    'aria-label': 'Search by name',
    'data-testid': 'pick-name',
    autocomplete: 'off',
  });
  const dialog = el(
    'dialog',
    { class: 'find', 'aria-label': title, 'data-testid': 'pick', close: () => dialog.remove() },
    el('h2', {}, title),
    el(
      'form',
      {
        submit: (event) => {
          event.preventDefault();
          list.querySelector('button')?.click();
        },
      },
      search
    ),
    list
  );
  const take = (n) => {
    dialog.close();
    chosen(n);
  };
  async function show() {
    const q = search.value;
    const found = await find(q).catch((error) => ({ error }));
    if (q !== search.value) return;
    const rows = (found.names || []).map((n) =>
      el(
        'li',
        {},
        el(
          'button',
          { type: 'button', class: 'plain', click: () => take(n) },
          isolated(n.name),
          n.hint && el('span', { class: 'count' }, n.hint)
        )
      )
    );
    const more = found.total - rows.length;
    if (more > 0) rows.push(el('li', { class: 'count' }, `and ${count(more)} more: type part of a name to find them`));
    if (rows.length === 0) rows.push(el('li', { class: 'count' }, found.error?.message || 'No names match.'));
    list.replaceChildren(...rows);
  }
  search.addEventListener('input', debounce(150, show));
  dialog.addEventListener('keydown', (event) => {
    const buttons = [...list.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === 'ArrowDown') (buttons[at + 1] || buttons[at])?.focus();
    else if (event.key === 'ArrowUp') (buttons[at - 1] || search).focus();
    else return;
    event.preventDefault();
  });
  document.body.append(dialog);
  dialog.showModal();
  show();
}

/**
 * openMetricDialog opens a dialog in which the user chooses a metric.
 * @param {string} title
 * @param {function} keys returns metrics, like options.keys of Panel
 * @param {function(string)} chosen called with the name of the metric
 */
export function openMetricDialog(title, keys, chosen) {
  const find = async (q) => {
    const found = await keys(q, 0, 50);
    return { total: found.total, names: found.data.map(({ key }) => ({ name: key })) };
  };
  openNameDialog(title, find, ({ name }) => chosen(name));
}
