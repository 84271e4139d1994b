// The controls that save a figure for print.
import { el } from './dom.js';

const labelled = (label, field) => el('label', {}, label, field);

/**
 * saveControls returns the fields for the size of a figure and a button for each format.
 * @param {string[]} formats such as SVG
 * @param {function(string, {width: number, size: number})} save saves the figure; the width is in millimetres, the
 *   font size in points
 */
export function saveControls(formats, save) {
  const width = el(
    'select',
    { name: 'figure-width' },
    el('option', { value: 85 }, '85 mm (one column)'),
    el('option', { value: 180 }, '180 mm (two columns)')
  );
  const size = el(
    'select',
    { name: 'figure-font' },
    ...[6, 7, 8, 9, 10, 12].map((n) => el('option', { value: n, selected: n === 8 }, `${n} pt`))
  );
  const act = (format) => save(format.toLowerCase(), { width: Number(width.value), size: Number(size.value) });
  return [
    labelled('Width ', width),
    labelled('Font ', size),
    ...formats.map((format) => el('button', { type: 'button', class: 'plain', click: () => act(format) }, format)),
  ];
}

/** openSaveDialog opens a dialog that saves a figure, as for saveControls. */
export function openSaveDialog(title, formats, save) {
  const dialog = el(
    'dialog',
    {
      class: 'choose options',
      'aria-labelledby': 'figure-save-title',
      'data-testid': 'figure-save',
      close: () => dialog.remove(),
    },
    el('h2', { id: 'figure-save-title' }, 'Save ', el('bdi', {}, title)),
    el('div', { class: 'row' }, el('span', { class: 'label' }, 'Save as'), ...saveControls(formats, save)),
    el('div', { class: 'row' }, el('button', { type: 'button', class: 'primary', click: () => dialog.close() }, 'Done'))
  );
  document.body.append(dialog);
  dialog.showModal();
}
