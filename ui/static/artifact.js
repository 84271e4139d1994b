// The pages of artifacts: uploads, the images of a run, and copying a hash.
import { base } from './base.js';
import { copyText } from './clipboard.js';
import './record.js';

// The upload script is loaded when the user is about to choose or drop files.
for (const form of document.querySelectorAll('[data-uploads]')) {
  let loading;
  const begin = async ({ type }) => {
    loading ||= import('./upload.js').then(({ enableUploads }) => enableUploads(form));
    const take = await loading;
    if (type === 'change') take();
  };
  for (const name of ['pointerenter', 'focusin', 'dragenter', 'change'])
    form.addEventListener(name, begin, { once: true });
}

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  await copyText(button.dataset.copy);
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
});

// fit enlarges small images, such as samples of a dataset, by an integer factor.
function fit(image) {
  const { naturalWidth: width, naturalHeight: height } = image;
  const times = width > 0 ? Math.ceil(200 / Math.max(width, height)) : 1;
  image.classList.toggle('small', times > 1);
  image.style.width = times > 1 ? `${times * width}px` : '';
}
document.addEventListener('load', ({ target }) => { if (target.closest?.('.picture .open')) fit(target); }, true);
for (const image of document.querySelectorAll('.picture .open img')) fit(image);

document.addEventListener('click', async (event) => {
  const image = event.target.closest('.picture .open')?.firstElementChild;
  if (!image || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { openImageDialog } = await import('./imagedialog.js');
  openImageDialog(image);
});

// A slider selects one image of a run by its index.
document.addEventListener('input', (event) => {
  const slider = event.target.closest('[data-images]');
  if (!slider) return;
  const images = JSON.parse(slider.dataset.images);
  const at = Number(slider.value);
  const { id, name, step } = images[at];
  const figure = slider.closest('figure');
  const path = (i) => new URL(`artifact/${images[i].id}`, base);
  const image = figure.querySelector('img');
  image.src = new URL(`artifact/${id}/data`, base);
  image.parentElement.href = image.src;
  image.alt = name;
  slider.setAttribute('aria-valuetext', step);
  figure.querySelector('output').textContent = step;
  figure.querySelector('.place').textContent = at + 1;
  const link = figure.querySelector('.at');
  link.href = path(at);
  link.firstElementChild.textContent = name;
  // The summary line names the visible image.
  const line = slider.closest('details.artifact')?.querySelector('summary');
  if (line) {
    const { size, bytes, hash, created } = images[at];
    const put = (selector, text, title) => Object.assign(line.querySelector(selector), { textContent: text, title });
    put('.name', name, '');
    const thumbnail = line.querySelector('.thumbnail');
    if (thumbnail) thumbnail.src = image.src;
    put('.number', size, bytes);
    put('code', hash.slice(0, 8), `SHA-256: ${hash}`);
    put('time', created.text, created.exact).dateTime = created.machine;
  }
  // The text below the image describes only the artifact of this page.
  const body = slider.closest('.artifact-body');
  for (const part of body.querySelectorAll(':scope > :not(.preview)')) part.hidden = body.id !== `artifact-${id}`;
  for (const [rel, by] of [['prev', -1], ['next', 1]]) {
    const other = figure.querySelector(`[rel="${rel}"]`);
    other.hidden = !images[at + by];
    if (images[at + by]) other.href = path(at + by);
  }
});
