// An image in a dialog, as large as the window allows.
import { el, isolated } from './dom.js';

/**
 * openImageDialog shows an image as large as the window allows. A click or Escape closes the dialog. A small
 * image is enlarged by an integer factor, so that its pixels keep their shape. The dialog itself gets the focus,
 * because the key that opened the dialog would press a focused button.
 * @param {HTMLImageElement} image
 * @param {Object} [options]
 * @param {string} [options.caption]
 * @param {function(HTMLImageElement, HTMLCanvasElement)} [options.cover] draws on a canvas over the image
 * @param {function()} [options.report] adds the image to a report
 * @param {function(number): ?HTMLElement} [options.neighbour] returns the link that opens the previous or the next
 *     image; its argument is -1 or 1
 */
export function openImageDialog({ src, alt }, { caption, cover, report, neighbour } = {}) {
  const over = cover && el('canvas', { class: 'over', 'aria-hidden': 'true' });
  const size = el('span', { class: 'count' });
  const picture = el('div', { class: 'picture' });
  const load = () => {
    const { naturalWidth: width, naturalHeight: height } = image;
    const times = Math.min(picture.clientWidth / width, (innerHeight - 160) / height);
    image.classList.add('small');
    image.style.width = `${width * (times > 1 ? Math.floor(times) : times)}px`;
    size.textContent = `${width} × ${height} pixels`;
    cover?.(image, over);
  };
  const image = el('img', { src, alt, load });
  picture.append(el('div', { class: 'covered' }, image, over));
  const move = (by, event) => {
    event.stopPropagation();
    const to = neighbour(by);
    if (!to) return;
    event.preventDefault();
    dialog.close();
    to.click();
  };
  const arrow = (by, label, text) =>
    neighbour?.(by) &&
    el('button', { type: 'button', class: 'plain', 'aria-label': label, click: (event) => move(by, event) }, text);
  const dialog = el(
    'dialog',
    {
      class: 'large',
      tabindex: -1,
      'aria-label': alt,
      'data-testid': 'large',
      click: () => dialog.close(),
      close: () => dialog.remove(),
      keydown: (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by && neighbour) move(by, event);
      },
    },
    el(
      'div',
      { class: 'caption' },
      isolated(alt, 'name'),
      size,
      el(
        'span',
        { class: 'acts' },
        arrow(-1, 'Previous image', '←'),
        arrow(1, 'Next image', '→'),
        report && el('button', { type: 'button', class: 'plain', click: report }, 'Report'),
        el('button', { type: 'button', class: 'plain' }, 'Close')
      )
    ),
    caption && el('p', { class: 'said', 'data-testid': 'large-caption' }, isolated(caption)),
    picture
  );
  document.body.append(dialog);
  dialog.showModal();
  dialog.focus();
}
