// The dialog that finds records by name, parameters, metrics, tags, notes, and the actions of the page.
import './dialogstyle.js';
import { base } from './base.js';
import { formatColumn, kindNames } from './columnname.js';
import { el, isolated } from './dom.js';
import { pageActions } from './pageaction.js';
import { fetchData } from './request.js';
import { debounce } from './timing.js';

const keysRequested = 20;
const mostKeys = 3;
const kinds = { iteration: 'run', collection: 'artifact' };

/** quoteText writes a text in the filter language. */
const quoteText = (text) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

/** experimentOfPage returns the id of the experiment that the page shows, or undefined. */
const experimentOfPage = () =>
  document.getElementById('workbench')?.dataset.experiment ?? document.getElementById('iteration')?.dataset.experiment;

/** openExperiment opens an experiment with the given part of its state. Other state of an open experiment stays. */
function openExperiment(id, changes) {
  const url = new URL(`experiment/${id}`, base);
  if (url.pathname === location.pathname) url.search = location.search;
  for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, value);
  location.assign(url);
}

/** writeFilter adds a name to the filter of the experiment for the user to complete. */
function writeFilter(experiment, column) {
  const field = document.getElementById('filter');
  if (!field || !document.getElementById('workbench')) {
    openExperiment(experiment, { sort: column });
    return;
  }
  const before = field.value.trim();
  field.focus();
  field.value = `${before}${before && ' and '}${column} `;
  field.setSelectionRange(field.value.length, field.value.length);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** keyOffers returns what can be done with the name of a metric, parameter or text on the page of an experiment. */
function keyOffers(experiment, { kind, key }) {
  const column = formatColumn({ kind, key, stat: '' });
  const hint = kindNames[kind];
  const offers = [
    { name: column, hint: `${hint}: sort the runs`, go: () => openExperiment(experiment, { sort: column }) },
    { name: column, hint: `${hint}: filter the runs`, go: () => writeFilter(experiment, column) },
  ];
  return document.getElementById('workbench') ? offers : offers.slice(0, 1);
}

/** bestKeys returns the keys that match a text best: equal names first, then names that begin with it. */
function bestKeys(keys, q) {
  const lower = q.toLowerCase();
  const rank = ({ kind, key }) => {
    const name = key.toLowerCase();
    return (name === lower ? 0 : name.startsWith(lower) ? 2 : 4) + (kind === 'param' ? 0 : 1);
  };
  return keys.sort((a, b) => rank(a) - rank(b)).slice(0, mostKeys);
}

/** openGoToDialog opens the dialog that searches records, parameters, metrics, tags, notes and actions. */
export function openGoToDialog() {
  if (document.querySelector('dialog[open]')) return;
  let found = [];
  let at = 0;
  const experiment = experimentOfPage();
  const actions = pageActions();
  const list = el('ul', { role: 'listbox', id: 'found', 'aria-label': 'Found' });
  const field = el('input', {
    type: 'search',
    name: 'find',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'found',
    placeholder: 'Go to a record, a parameter, a tag, a note or an action',
    'aria-label': 'Name',
    autocomplete: 'off',
    'data-testid': 'find-name',
  });
  const dialog = el('dialog', { class: 'find', 'aria-label': 'Go to', close: () => dialog.remove() }, field, list);

  function go(f) {
    dialog.close();
    f.go();
  }

  function select(n) {
    at = Math.max(0, Math.min(found.length - 1, n));
    [...list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === at)));
    const li = list.children[at];
    if (!li) return;
    field.setAttribute('aria-activedescendant', li.id);
    li.scrollIntoView({ block: 'nearest' });
  }

  const record = (f) => ({
    name: f.name,
    hint: `${kinds[f.kind] || f.kind}${f.in && ` in ${f.in}`}`,
    go: () => location.assign(new URL(`${f.kind}/${f.id}`, base)),
  });
  const text = (f) =>
    f.kind === 'tag'
      ? {
          name: f.name,
          hint: `tag in ${f.in}`,
          go: () => openExperiment(f.id, { filter: `tag = ${quoteText(f.name)}` }),
        }
      : {
          name: f.text,
          hint: `note of ${f.name} in ${f.in}`,
          go: () => location.assign(new URL(`iteration/${f.id}`, base)),
        };

  async function search() {
    const q = field.value.trim();
    const [answer, keys] = await Promise.all([
      fetchData('find', { query: { q } }).catch((error) => ({ error })),
      experiment && q
        ? fetchData(`experiment/${experiment}/keys`, { query: { q, limit: keysRequested } }).catch(() => ({ data: [] }))
        : { data: [] },
    ]);
    if (q !== field.value.trim()) return;
    const [exact, others] = actions(q);
    found = [
      ...exact,
      ...bestKeys(keys.data, q).flatMap((k) => keyOffers(experiment, k)),
      ...(answer.found ?? []).map(record),
      ...others,
      ...(answer.texts ?? []).map(text),
    ];
    list.replaceChildren(
      ...found.map((f, i) =>
        el(
          'li',
          { role: 'option', id: `found-${i}`, click: () => go(f) },
          isolated(f.name),
          el('span', { class: 'count' }, f.hint)
        )
      )
    );
    if (found.length === 0) list.append(el('li', { class: 'count' }, answer.error?.message || 'Nothing matches.'));
    else if (answer.error) list.append(el('li', { class: 'count' }, answer.error.message));
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
