// The dialog with saved views. A saved view is a named state of the page, visible to all readers of the experiment.
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { timeAgo } from './format.js';
import { markSaved } from './layoutchange.js';
import { fetchData } from './request.js';

/**
 * openViewDialog opens the dialog with the saved views of an experiment.
 * @param {string} experiment id of the experiment
 * @param {{create: string, update: string}} rights
 * @param {import('./state.js').State} state
 */
export function openViewDialog(experiment, rights, state) {
  const path = `experiment/${experiment}/views`;
  const params = new URLSearchParams(state.params);
  params.delete('view'); // the view with the layout
  const here = params.toString();
  const panels = state.layout;
  const list = el('ul', { class: 'views', 'aria-label': 'Views' });
  const wrong = el('p', { class: 'message', role: 'alert' });
  const name = el('input', {
    id: 'view-name',
    name: 'view-name',
    maxlength: 250,
    autocomplete: 'off',
    'data-testid': 'view-name',
  });
  const form = el(
    'form',
    { class: 'row' },
    el('label', { for: 'view-name' }, 'Save this view as'),
    name,
    el('button', { class: 'primary', 'data-testid': 'view-save' }, 'Save')
  );
  const dialog = el(
    'dialog',
    { class: 'choose', 'aria-labelledby': 'views-title', close: () => dialog.remove() },
    el('h2', { id: 'views-title' }, 'Views'),
    list,
    rights.create && form,
    wrong,
    el('button', { type: 'button', class: 'plain', click: () => dialog.close() }, 'Close')
  );

  // act requests a change, and then shows the new list or the error.
  async function act(change) {
    wrong.textContent = '';
    try {
      await change();
    } catch (error) {
      wrong.textContent = error.message;
      return;
    }
    await show();
  }

  function row(v) {
    const change = (body, method = 'PATCH') => act(() => fetchData(`view/${v.id}`, { method, body }));
    const button = (label, fn) =>
      el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${v.name}`, click: fn }, label);
    const li = el('li', { 'data-testid': 'view' });
    const link = [v.query, v.has_panels && `view=${v.id}`].filter(Boolean).join('&');
    const current =
      v.query === here &&
      (v.has_panels ? state.get('view') === v.id && state.changedLayout === undefined : !state.layout);
    const acts = [
      el(
        'a',
        {
          href: link ? `?${link}` : location.pathname,
          class: 'name',
          'aria-current': current && 'true',
        },
        isolated(v.name)
      ),
      el(
        'span',
        { class: 'count' },
        `${v.created_by ? `${v.created_by}, ` : ''}${timeAgo(Date.parse(v.updated_date))}`
      ),
      rights.update && !current && button('Overwrite', () => overwrite(v)),
      rights.update && button('Rename', () => rename(li, v, change)),
      rights.update &&
        button('Delete', () => {
          li.replaceChildren(
            el('span', { class: 'name' }, 'Delete ', isolated(v.name), '?'),
            button('Delete', () => change(undefined, 'DELETE')),
            button('Cancel', show)
          );
          li.querySelector('button').focus();
        }),
    ];
    li.append(...acts.filter(Boolean));
    return li;
  }

  const overwrite = (v) =>
    act(async () => {
      await fetchData(`view/${v.id}`, { method: 'PATCH', body: { query: here, panels: panels ?? { sections: [] } } });
      markSaved(state, v.id);
    });

  function rename(li, v, change) {
    const field = el('input', { name: 'view-rename', 'aria-label': `Name of ${v.name}`, maxlength: 250 });
    field.value = v.name;
    const save = el('form', { class: 'row' }, field, el('button', { class: 'plain' }, 'Save'));
    save.addEventListener('submit', (event) => {
      event.preventDefault();
      change({ name: field.value.trim() });
    });
    li.replaceChildren(save);
    field.select();
  }

  async function show() {
    const found = await fetchData(path).catch((error) => ({ error }));
    const rows = (found.data || []).map(row);
    if (rows.length === 0)
      rows.push(
        el(
          'li',
          { class: 'count' },
          found.error?.message ||
            'There are no saved views yet. Save the current filter, order and charts under a name, ' +
              'and everyone who can read this experiment can open them.'
        )
      );
    list.replaceChildren(...rows);
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act(async () => {
      const { id } = await fetchData(path, { body: { name: name.value.trim(), query: here, panels } });
      markSaved(state, id);
      name.value = '';
    });
  });
  document.body.append(dialog);
  dialog.showModal();
  show();
}
