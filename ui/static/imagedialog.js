// An image in a dialog, as large as the window allows.
import { el, isolated } from './dom.js';

/**
 * openImageDialog shows an image as large as the window allows. A click or Escape closes the dialog. A small
 * image is enlarged by an integer factor, so that its pixels keep their shape. The dialog itself gets the focus,
 * because the key that opened the dialog would press a focused button.
 * @param {HTMLImageElement} image
 * @param {function(HTMLImageElement, HTMLCanvasElement)} [cover] draws on a canvas over the image
 * @param {function()} [report] adds the image to a report
 */
export function openImageDialog({ src, alt, naturalWidth: width, naturalHeight: height }, cover, report) {
  const over = cover && el('canvas', { class: 'over', 'aria-hidden': 'true' });
  const image = el('img', { src, alt, load: () => cover?.(image, over) });
  const dialog = el(
    'dialog',
    {
      class: 'large',
      tabindex: -1,
      'aria-label': alt,
      'data-testid': 'large',
      click: () => dialog.close(),
      close: () => dialog.remove(),
    },
    el(
      'div',
      { class: 'caption' },
      isolated(alt, 'name'),
      el('span', { class: 'count' }, `${width} × ${height} pixels`),
      el(
        'span',
        { class: 'acts' },
        report && el('button', { type: 'button', class: 'plain', click: report }, 'Report'),
        el('button', { type: 'button', class: 'plain' }, 'Close')
      )
    ),
    el('div', { class: 'picture' }, el('div', { class: 'covered' }, image, over))
  );
  document.body.append(dialog);
  dialog.showModal();
  dialog.focus();
  const times = Math.min(dialog.querySelector('.picture').clientWidth / width, (innerHeight - 160) / height);
  image.classList.add('small');
  image.style.width = `${width * (times > 1 ? Math.floor(times) : times)}px`;
}
