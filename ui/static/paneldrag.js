// Dragging panels and sections.

const least = 4; // pixels until a movement is a drag
const edge = 48; // pixels at the ends of the window within which dragging scrolls

/**
 * startDrag lets the user drag a panel or a section by a handle. Escape cancels the drag.
 * @param {HTMLElement} handle
 * @param {Object} options
 * @param {import('./panel.js').Panel} options.panel
 * @param {string} options.of 'panel' or 'section'
 * @param {function} options.done called with the new place: {section, at} of a panel, or the index of a section
 */
export function startDrag(handle, { panel, of, done }) {
  let from = null;
  let place = null;
  let marked = null;
  const mark = (element, name) => {
    marked?.classList.remove('drop-before', 'drop-after', 'drop-into');
    marked = element;
    element?.classList.add(name);
  };
  const end = () => {
    from?.root?.classList.remove('dragged');
    from = null;
    mark(null);
  };
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault(); // no text is selected
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    from = { x: event.clientX, y: event.clientY };
  });
  handle.addEventListener('pointermove', (event) => {
    if (!from) return;
    const { clientX: x, clientY: y } = event;
    if (!from.root && Math.hypot(x - from.x, y - from.y) < least) return;
    from.root = handle.closest('figure, .section-controls');
    from.root.classList.add('dragged');
    scrollAtEdge(panel.scroller, y);
    place = (of === 'panel' ? panelPlace : sectionPlace)(panel, from.root, x, y, mark);
  });
  handle.addEventListener('pointerup', () => {
    const to = from?.root && place;
    end();
    if (to || to === 0) done(to);
    place = null;
  });
  handle.addEventListener('pointercancel', end);
  handle.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') end();
  });
}

function scrollAtEdge(scroller, y) {
  const { top, bottom } = scroller.getBoundingClientRect();
  if (y < Math.max(0, top) + edge) scroller.scrollBy(0, -12);
  else if (y > Math.min(innerHeight, bottom) - edge) scroller.scrollBy(0, 12);
}

/** panelPlace returns the place of a section that is under the pointer, and marks it. */
function panelPlace(panel, root, x, y, mark) {
  const found = document.elementsFromPoint(x, y);
  const details = found.find((e) => e.matches('.groups > details'));
  const figure = found.find((e) => e.matches('.groups figure'));
  if (!details?.section || figure === root) {
    mark(null);
    return null;
  }
  const { section } = details;
  const figures = [...details.querySelectorAll('figure')];
  if (!figure) {
    mark(details, 'drop-into');
    return { section, at: figures.length };
  }
  const box = figure.getBoundingClientRect();
  const single = box.width > details.clientWidth * 0.7; // figures are below each other
  const after = single ? y > box.top + box.height / 2 : x > box.left + box.width / 2;
  mark(figure, after ? 'drop-after' : 'drop-before');
  return { section, at: figures.indexOf(figure) + (after ? 1 : 0) };
}

/** sectionPlace returns the index of the section under the pointer, and marks the section. */
function sectionPlace(panel, root, x, y, mark) {
  const found = document.elementsFromPoint(x, y);
  const controls = found
    .map((e) => (e.matches('.groups > details') ? e.previousElementSibling : e))
    .find((e) => e?.matches('.section-controls'));
  if (!controls || controls === root) {
    mark(null);
    return null;
  }
  const [at, to] = [root, controls].map((e) => Number(e.dataset.section));
  mark(controls, to > at ? 'drop-after' : 'drop-before');
  return to;
}
