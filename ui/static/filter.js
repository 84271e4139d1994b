// Messages about the filter: syntax errors, and the reason why no run matches.
import { el } from './dom.js';

/**
 * showEmptyTable shows why the table is empty.
 * @param {HTMLElement} place
 * @param {?{text: string, hints: string[]}} nothing null if the table is not empty
 * @param {function(Event)} clear removes the filter
 */
export function showEmptyTable(place, nothing, clear) {
  const all = new URL(location);
  all.searchParams.delete('filter');
  place.replaceChildren(
    ...(nothing
      ? [
          el(
            'p',
            {},
            nothing.text,
            ' ',
            el('a', { href: all, 'data-testid': 'clear-filter', click: clear }, 'Clear the filter')
          ),
          ...nothing.hints.map((hint) => el('p', {}, hint)),
        ]
      : [])
  );
}

/**
 * showFilterError shows an error below the filter field, and marks the position that the message names.
 * @param {HTMLInputElement} field
 * @param {HTMLElement} place
 * @param {?{field: string, message: string}} mistake null removes the message
 */
export function showFilterError(field, place, mistake) {
  if (!mistake) {
    field.removeAttribute('aria-invalid');
    place.replaceChildren();
    return;
  }
  if (mistake.field !== 'filter') {
    place.replaceChildren(el('p', {}, mistake.message));
    return;
  }
  field.setAttribute('aria-invalid', 'true');
  const at = /at character (\d+)/.exec(mistake.message);
  const parts = [el('p', {}, mistake.message)];
  if (at) {
    const text = [...field.value];
    const start = Number(at[1]) - 1;
    let end = start + 1;
    while (end < text.length && /[\p{L}\p{N}_.]/u.test(text[start]) && /[\p{L}\p{N}_./-]/u.test(text[end])) end += 1;
    parts.unshift(el('pre', { 'aria-hidden': 'true' }, text.slice(0, start).join(''),
      el('mark', {}, text.slice(start, end).join('') || ' '), text.slice(end).join('')));
  }
  place.replaceChildren(...parts);
}
