// The page of a report: blocks are moved by dragging, and keep the focus when they are moved by keyboard.
import './frame.js';
import './inplace.js';

const report = () => document.getElementById('report');
const blocks = () => [...report().querySelectorAll('.report > .block[data-was]')];
let dragged = null;

const unmark = () => {
  for (const block of report().querySelectorAll('.block'))
    block.classList.remove('dragged', 'drop-before', 'drop-after');
};

/** target returns the block under the pointer, and whether the dragged block is dropped after it. */
function target(event) {
  const block = event.target.closest?.('.report > .block[data-was]');
  if (!dragged || !block) return null;
  const { top, height, left, width } = block.getBoundingClientRect();
  const half = block.classList.contains('half');
  const after = half ? event.clientX > left + width / 2 : event.clientY > top + height / 2;
  return { block, after };
}

document.addEventListener('dragstart', (event) => {
  if (!event.target.matches?.('.block-bar .handle')) return;
  dragged = event.target.closest('.block');
  dragged.classList.add('dragged');
  event.dataTransfer.effectAllowed = 'move';
  event.dataTransfer.setData('text/plain', '');
  event.dataTransfer.setDragImage(dragged, 8, 8);
});
document.addEventListener('dragover', (event) => {
  const place = target(event);
  if (!place) return;
  event.preventDefault();
  for (const block of blocks()) block.classList.remove('drop-before', 'drop-after');
  if (place.block !== dragged) place.block.classList.add(place.after ? 'drop-after' : 'drop-before');
});
document.addEventListener('drop', (event) => {
  const place = target(event);
  if (!place) return;
  event.preventDefault();
  const all = blocks();
  const from = all.indexOf(dragged);
  let to = all.indexOf(place.block) + (place.after ? 1 : 0);
  if (to > from) to -= 1;
  if (from < 0 || to === from) return;
  move(dragged, to);
});
document.addEventListener('dragend', () => {
  unmark();
  dragged = null;
});

/** move sends the form of a block with its new place. */
function move(block, to) {
  const form = block.querySelector('.block-bar form');
  for (const [name, value] of [['do', 'move'], ['to', to]]) {
    const field = document.createElement('input');
    Object.assign(field, { type: 'hidden', name, value });
    form.append(field);
  }
  form.requestSubmit();
}

// After a block was moved, its button has the focus again. The block is known by its text.
let moved = null;
document.addEventListener('submit', ({ target: form, submitter }) => {
  const block = form.closest?.('.block');
  moved = block && submitter?.name === 'do' ? { was: block.dataset.was, button: submitter.value } : null;
}, { capture: true });
document.addEventListener('htmx:after:swap', () => {
  if (!moved) return;
  const block = blocks().find((b) => b.dataset.was === moved.was);
  const button = block?.querySelector(`button[value="${moved.button}"]`);
  moved = null;
  const next = button && !button.disabled ? button : block?.querySelector('.block-bar button:not(:disabled)');
  next?.focus();
  block?.scrollIntoView({ block: 'nearest' });
});
