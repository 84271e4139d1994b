// Completion of the filter: fields, names of parameters and metrics, statuses and values.
import { statistics, formatColumn } from './columnname.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';
import { debounce } from './timing.js';

const fields = [
  ['param.', 'a parameter'],
  ['metric.', 'a metric'],
  ['summary.', 'a text of the summary'],
  ['tag', ''],
  ['name', ''],
  ['status', ''],
  ['created', 'a time, such as > 2 weeks'],
  ['ended', 'a time'],
  ['last_seen', 'a time'],
  ['duration', "seconds, or '1h30m'"],
  ['id', ''],
  ['created_by', 'a user name'],
];
// The offered times are relative to the search.
const times = [
  ['1h', 'an hour ago'],
  ['today', 'midnight in UTC'],
  ['yesterday', 'midnight in UTC'],
  ['1d', 'a day ago'],
  ['2 weeks', 'two weeks ago'],
];
const statuses = ['running', 'succeeded', 'failed', 'killed', 'lost'];
// This expression matches text after which the value of a parameter or a tag is expected.
const beforeValue = new RegExp(
  '(?:(?:\\b(param|summary)\\.|(?<![\\p{L}\\p{N}_./-]))(?:`((?:[^`]|``)+)`|([\\p{L}_][\\p{L}\\p{N}_./-]*)))' +
    '\\s*(?:!?=|~|contains|in\\s*\\((?:[^()]*,)?)\\s*$',
  'iu'
);
const mostOffers = 12;
const namesRequested = 100; // the server returns names that begin with the word first

/**
 * wordAtCursor returns the incomplete word at the end of text: a name, a status, or the value of a parameter or
 * tag. It returns null if no such word can be at that position.
 * @param {string} text text of the filter up to the cursor
 * @returns {?{start: number, word: string, status?: boolean, value?: Object}}
 */
export function wordAtCursor(text) {
  let quote = '';
  let open = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (quote && quote !== '`' && text[i] === '\\') i += 1;
    else if (quote) quote = text[i] === quote ? '' : quote;
    else if ('\'"`'.includes(text[i])) [quote, open] = [text[i], i];
  }
  const isText = quote === "'" || quote === '"';
  const start = isText
    ? open
    : text.length -
      /[\p{L}\p{N}_./-]*$/u.exec(quote ? text.slice(0, open) : text)[0].length -
      (quote ? text.length - open : 0);
  const before = text.slice(0, start);
  const word = text.slice(start);
  if (/\bstatus\s*(!?=|in\s*\([^()]*)\s*$/i.test(before))
    return { start, word: word.replace(/^['"]/, ''), status: true };
  const value = beforeValue.exec(before);
  if (/\b(created|ended|last_seen)\s*[<>]=?\s*$/i.test(before)) return isText ? null : { start, word, time: true };
  if (value) {
    const kind = value[1]?.toLowerCase() ?? 'param';
    const name = value[2]?.replaceAll('``', '`') ?? value[3];
    return {
      start,
      word: word.replace(/^['"]/, ''),
      value: /^tag$/i.test(name) && !value[1] && !value[2] ? { tag: true } : { [kind]: name },
    };
  }
  return !isText && /(^|\(|\b(and|or|not))\s*$/i.test(before) ? { start, word } : null;
}

/** quoteValue writes a value in the filter language. */
const quoteValue = (value) =>
  /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)
    ? value
    : `'${value.replaceAll(/['\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}'`;

/**
 * completions returns the completions of a word.
 * @returns {Promise<{text: string, label: string, hint: string}[]>}
 */
async function completions({ word, status, time, value }, experiment) {
  const lower = word.toLowerCase();
  if (value) {
    const { values } = await fetchData(`experiment/${experiment}/values`, { query: { ...value, q: word } });
    return values.map((v) => ({ text: quoteValue(v.value), label: v.value, hint: `of ${count(v.iterations)}` }));
  }
  if (time)
    return times
      .filter(([text]) => text.startsWith(lower))
      .map(([text, hint]) => ({ text, label: text, hint }));
  if (status) return statuses.filter((s) => s.startsWith(lower)).map((s) => ({ text: `'${s}'`, label: s }));
  const [, kind, rest] = /^(?:(param|metric|summary)\.)?(.*)$/is.exec(word);
  const plain = fields
    .filter(([name]) => !kind && name.startsWith(lower))
    .map(([name, hint]) => ({ text: name, label: name, hint }));
  if (!word) return plain;
  const q = rest.replace(/^`/, '').replaceAll('``', '`');
  const names = async (part) =>
    (
      await fetchData(`experiment/${experiment}/keys`, {
        query: { q: part, kind: kind?.toLowerCase(), limit: namesRequested },
      })
    ).data;
  const begins = (k) => k.key.toLowerCase().startsWith(q.toLowerCase());
  const found = (await names(q)).sort((a, b) => begins(b) - begins(a));
  const all = found.map((k) => ({
    text: formatColumn({ ...k, stat: '' }),
    label: formatColumn({ ...k, stat: '' }),
    hint: k.iterations === 1 ? '1 run' : `${count(k.iterations)} runs`,
  }));
  const [, key, stat] = /^(.+)\.(\w*)$/s.exec(q.replace(/`(?=\.\w*$)/, '')) || [];
  if (key && kind?.toLowerCase() === 'metric' && (await names(key)).some((k) => k.key === key)) {
    all.unshift(
      ...statistics
        .filter((s) => s.startsWith(stat.toLowerCase()))
        .map((s) => formatColumn({ kind: 'metric', key, stat: s }))
        .map((text) => ({ text, label: text }))
    );
  }
  return [...plain, ...all];
}

/**
 * enableCompletion makes a filter field offer completions at the cursor. The arrow keys move through the list.
 * Enter and Tab insert the selected completion. If none is selected, Tab inserts the first completion. Escape
 * closes the list.
 * @param {HTMLInputElement} field
 * @param {string} experiment id of the experiment
 * @returns {function()} function that shows the completions
 */
export function enableCompletion(field, experiment) {
  const list = el('ul', {
    role: 'listbox',
    id: 'offers',
    class: 'offers',
    'aria-label': 'Suggestions',
    'data-testid': 'offers',
    hidden: true,
  });
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': 'offers',
    'aria-expanded': 'false',
  }))
    field.setAttribute(name, value);
  field.after(list);
  let shown = [];
  let at = -1;
  let start = 0;

  function select(n) {
    at = n;
    [...list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === at)));
    list.children[at]?.scrollIntoView({ block: 'nearest' });
    if (at < 0) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', `offer-${at}`);
  }

  function put(all) {
    shown = all.slice(0, mostOffers);
    list.replaceChildren(
      ...shown.map((o, i) =>
        el(
          'li',
          { role: 'option', id: `offer-${i}`, click: () => take(o) },
          isolated(o.label, 'name'),
          o.hint && el('span', { class: 'count' }, o.hint)
        )
      )
    );
    list.hidden = shown.length === 0;
    field.setAttribute('aria-expanded', String(!list.hidden));
    select(-1);
    if (list.hidden) return;
    const pen = document.createElement('canvas').getContext('2d');
    const style = getComputedStyle(field);
    pen.font = style.font;
    const left =
      pen.measureText(field.value.slice(0, start)).width + Number.parseFloat(style.paddingLeft) - field.scrollLeft;
    list.style.left = `${Math.max(0, Math.min(left, field.offsetWidth - list.offsetWidth))}px`;
  }

  function take(offer) {
    field.setRangeText(offer.text + (offer.text.endsWith('.') ? '' : ' '), start, field.selectionStart, 'end');
    put([]);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }

  async function offer() {
    const text = field.value.slice(0, field.selectionStart);
    const word = field.selectionStart === field.selectionEnd && wordAtCursor(text);
    const all = word ? await completions(word, experiment).catch(() => []) : []; // the names are not needed for typing
    if (document.activeElement !== field || text !== field.value.slice(0, field.selectionStart)) return;
    start = word ? word.start : 0;
    put(all.filter((o) => o.text !== text.slice(start)));
  }

  field.addEventListener('input', debounce(120, offer));
  field.addEventListener('click', offer);
  field.addEventListener('blur', () => put([]));
  list.addEventListener('pointerdown', (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener('mousedown', (event) => event.preventDefault());
  field.addEventListener('keydown', (event) => {
    const open = !list.hidden;
    if (event.key === 'ArrowDown' && !open) offer();
    else if (!open) return;
    else if (event.key === 'ArrowDown') select((at + 1) % shown.length);
    else if (event.key === 'ArrowUp') select(at <= 0 ? shown.length - 1 : at - 1);
    else if ((event.key === 'Enter' || event.key === 'Tab') && at >= 0) take(shown[at]);
    else if (event.key === 'Tab' && !event.shiftKey && field.selectionStart > start) take(shown[0]);
    else if (event.key === 'Escape') put([]);
    else return;
    event.preventDefault();
  });
  return offer;
}
