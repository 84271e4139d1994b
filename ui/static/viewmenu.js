// The menu with the less common controls of a bar.
import { el } from './dom.js';

/**
 * viewMenu returns a menu named View. A click outside of it, and Escape, close it.
 * @param {string} id
 * @param {HTMLElement[]} controls
 */
export function viewMenu(id, ...controls) {
  const box = el('div', {}, ...controls);
  const head = el('summary', { class: 'button', 'data-testid': id }, 'View');
  const menu = el('details', { class: 'view-menu' }, head, box);
  menu.addEventListener('toggle', () => {
    box.classList.remove('rightward');
    box.classList.toggle('rightward', box.getBoundingClientRect().left < 0);
  });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    head.focus();
  });
  document.addEventListener('pointerdown', ({ target }) => {
    if (!menu.contains(target)) menu.open = false;
  });
  return menu;
}
