// The script of every page: keyboard shortcuts and dialogs.
import { base } from './base.js';

const typing = (element) => element.closest('input, textarea, select, [contenteditable]');

const places = { p: '' };
let waiting = false;

/** openGoToDialog opens the dialog that finds records by name. Its script is loaded when it is first needed. */
const openGoToDialog = async () => (await import('./gotodialog.js')).openGoToDialog();

/** open shows a dialog of the page. It does nothing if a dialog is already open. */
function open(id) {
  const dialog = document.getElementById(id);
  if (dialog && !document.querySelector('dialog[open]')) dialog.showModal();
}

document.addEventListener('click', (event) => {
  const opener = event.target.closest('[data-opens]');
  if (opener) open(opener.dataset.opens);
  // A click outside of a dialog closes it.
  if (event.target instanceof HTMLDialogElement) event.target.close();
});

document.addEventListener('click', (event) => {
  if (event.target.closest('[data-finds]')) openGoToDialog();
});

document.addEventListener('keydown', (event) => {
  // In a search field, Escape would clear the text before it closes the dialog.
  if (event.key === 'Escape' && event.target.type === 'search') event.target.closest('dialog')?.close();
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k' && document.querySelector('[data-finds]')) {
    event.preventDefault();
    openGoToDialog();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (waiting) {
    waiting = false;
    if (event.key in places) location.href = new URL(places[event.key], base);
    return;
  }
  switch (event.key) {
    case '?':
      open('help');
      break;
    case 'g':
      waiting = true;
      return;
    case '/':
      (document.getElementById('filter') || document.querySelector('input[type="search"]'))?.focus();
      break;
    case 'm':
      document.getElementById('metric-search')?.focus();
      break;
    default:
      return;
  }
  event.preventDefault();
});
