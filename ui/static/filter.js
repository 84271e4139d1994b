// Mistakes of a search, marked where they are.
import { el } from './dom.js';

// showNothing shows why a table is empty; null means that it is not. clear
// removes the filter.
export function showEmptyTable(place, nothing, clear) {
  const all = new URL(location);
  all.searchParams.delete('filter');
  place.replaceChildren(...(nothing ? [
    el('p', {}, nothing.text, ' ', el('a', { href: all, 'data-testid': 'clear-filter', click: clear }, 'Clear the filter')),
    ...nothing.hints.map((hint) => el('p', {}, hint))] : []));
}

// showMistake shows below a field what is wrong with it, and marks the place
// that the message names. null removes the message.
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
