// Header cells of the table of runs. They sort the table and move and resize columns.
import { el, isolated } from './dom.js';

/**
 * columnHeads returns two lists: the header cells, which sort the table and move and resize columns, and the
 * elements that set the columns' widths.
 * @param {import('./tablelayout.js').TableLayout} layout
 * @param {Object} options
 * @param {string} options.sort current order of the table
 * @param {HTMLElement} options.every checkbox that selects all rows
 * @param {function(?string)} options.sorted called with the new order, null for the default
 * @param {function(number, number)} options.moved called with the old and the new position of a column that
 *   was dragged
 * @param {function(string, ?number)} options.sized called with the name and the width of a resized column;
 *   the width is null after a double click
 * @returns {{cells: HTMLElement[], widths: HTMLElement[]}}
 */
export function columnHeads(layout, { sort, every, sorted, moved, sized }) {
  const widths = new Map(layout.order(layout.fixed, layout.shown).map(({ name, width }) => {
    const column = el('col');
    column.style.width = `${width}px`;
    return [name, column];
  }));
  const head = ({ name, label, sort: first, numeric, place, width }) => {
    const [up, down] = first.startsWith('-') ? [first.slice(1), first] : [first, `-${first}`];
    const order = { [up]: 'ascending', [down]: 'descending' }[sort || layout.usual];
    const arrow = { ascending: ' ↑', descending: ' ↓' }[order] || '';
    const next = order === 'ascending' ? down : order === 'descending' ? up : first;
    const chosen = place != null;
    const th = el(
      'th',
      { scope: 'col', class: numeric && 'number', 'aria-sort': order, draggable: chosen && 'true' },
      name === 'name' && every,
      el(
        'button',
        {
          type: 'button',
          title: `Sort by ${chosen ? label : label.toLowerCase()}`,
          click: () => sorted(next === layout.usual ? null : next),
        },
        isolated(label),
        arrow
      ),
      resizeHandle(name, width, widths.get(name), sized)
    );
    if (chosen) makeDraggable(th, place, moved);
    return th;
  };
  const chosen = layout.shown.map(head);
  layout.pin(chosen);
  const cells = layout.order(layout.fixed.map(head), chosen);
  return { cells, widths: [...widths.values()] };
}

/**
 * resizeHandle returns the element at the right edge of a header cell. Dragging it resizes the column.
 */
function resizeHandle(name, width, column, sized) {
  let start = null;
  let now = width;
  const handle = el('span', { class: 'edge', 'aria-hidden': 'true', 'data-column': name,
    pointerdown: (event) => {
      start = event.clientX;
      handle.setPointerCapture(event.pointerId);
      event.preventDefault();
    },
    pointermove: (event) => {
      if (start == null) return;
      now = Math.max(40, Math.round(width + event.clientX - start));
      column.style.width = `${now}px`;
    },
    pointerup: () => {
      start = null;
      if (now !== width) sized(name, now);
    },
    dblclick: () => sized(name, null),
    // The header cell itself is also draggable.
    dragstart: (event) => event.preventDefault() });
  return handle;
}

/** makeDraggable makes a header cell draggable. If it is dropped on another cell, it takes that cell's position. */
function makeDraggable(th, place, moved) {
  th.addEventListener('dragstart', (event) => event.dataTransfer.setData('text/plain', String(place)));
  th.addEventListener('dragover', (event) => event.preventDefault());
  th.addEventListener('drop', (event) => {
    event.preventDefault();
    const from = Number.parseInt(event.dataTransfer.getData('text/plain'), 10);
    if (from >= 0) moved(from, place);
  });
}
