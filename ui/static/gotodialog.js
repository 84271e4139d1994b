// The dialog that finds a project, an experiment, a model or a run by name.
import { base } from './base.js';
import { el, isolated } from './dom.js';
import { fetchData } from './request.js';
import { debounce } from './timing.js';

/** openGoToDialog opens the dialog that searches projects, experiments, models and runs by name. */
export function openGoToDialog() {
  if (document.querySelector('dialog[open]')) return;
  let found = [];
  let at = 0;
  const list = el('ul', { role: 'listbox', id: 'found', 'aria-label': 'Found' });
  const field = el('input', {
    type: 'search',
    name: 'find',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'found',
    placeholder: 'Go to a project, an experiment, a model or a run',
    'aria-label': 'Name',
    autocomplete: 'off',
    'data-testid': 'find-name',
  });
  const dialog = el('dialog', { class: 'find', 'aria-label': 'Go to', close: () => dialog.remove() }, field, list);
  const go = (f) => location.assign(new URL(`${f.kind}/${f.id}`, base));

  function select(n) {
    at = Math.max(0, Math.min(found.length - 1, n));
    [...list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === at)));
    const li = list.children[at];
    if (!li) return;
    field.setAttribute('aria-activedescendant', li.id);
    li.scrollIntoView({ block: 'nearest' });
  }

  async function search() {
    const q = field.value;
    const answer = await fetchData('find', { query: { q } }).catch((error) => ({ error }));
    if (q !== field.value) return;
    found = answer.found || [];
    const kinds = { iteration: 'run' };
    list.replaceChildren(
      ...found.map((f, i) =>
        el(
          'li',
          { role: 'option', id: `found-${i}`, click: () => go(f) },
          isolated(f.name),
          el('span', { class: 'count' }, kinds[f.kind] || f.kind, f.in && ` in ${f.in}`)
        )
      )
    );
    if (found.length === 0) list.append(el('li', { class: 'count' }, answer.error?.message || 'No names match.'));
    select(0);
  }

  field.addEventListener('input', debounce(120, search));
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') select(at + 1);
    else if (event.key === 'ArrowUp') select(at - 1);
    else if (event.key === 'Enter' && found[at]) go(found[at]);
    else return;
    event.preventDefault();
  });
  document.body.append(dialog);
  dialog.showModal();
  search();
}
