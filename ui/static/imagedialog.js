// An image as large as the window allows.
import { el, isolated } from './dom.js';

// enlarge shows an image in a dialog, which a click or Escape closes. An image
// that fits is enlarged by a whole number, so that its pixels stay alike. The dialog
// itself has the focus: the key that opens it must not press its button. cover, if there
// is one, draws on a canvas over the image.
export function openImageDialog({ src, alt, naturalWidth: width, naturalHeight: height }, cover) {
  const over = cover && el('canvas', { class: 'over', 'aria-hidden': 'true' });
  const image = el('img', { src, alt, load: () => cover?.(image, over) });
  const dialog = el('dialog', { class: 'large', tabindex: -1, 'aria-label': alt, 'data-testid': 'large', click: () => dialog.close(), close: () => dialog.remove() },
    el('div', { class: 'caption' }, isolated(alt, 'name'), el('span', { class: 'count' }, `${width} × ${height} pixels`),
      el('span', { class: 'acts' }, el('button', { type: 'button', class: 'plain' }, 'Close'))), el('div', { class: 'picture' }, el('div', { class: 'covered' }, image, over)));
  document.body.append(dialog);
  dialog.showModal();
  dialog.focus();
  const times = Math.min(dialog.querySelector('.picture').clientWidth / width, (innerHeight - 160) / height);
  image.classList.add('small');
  image.style.width = `${width * (times > 1 ? Math.floor(times) : times)}px`;
}
