// The page of a table: widths of columns, enlarged images, and controls that apply themselves.
import { el } from './dom.js';
import './frame.js';

const root = document.getElementById('logged');
const table = root.querySelector('table.grid');
const narrowest = 40; // pixels
const widest = 1200;

// The address holds the width of each resized column as "PIXELS NAME".
const widths = new Map(
  new URLSearchParams(location.search).getAll('w').flatMap((text) => {
    const [, pixels, name] = /^(\d{1,4}) (.*)$/s.exec(text) ?? [];
    return pixels ? [[name, clamp(Number(pixels))]] : [];
  })
);

function clamp(pixels) {
  return Math.round(Math.max(narrowest, Math.min(widest, pixels)));
}

/** withWidths returns an address of this page with the current widths of the columns. */
function withWidths(address) {
  const url = new URL(address, location.href);
  url.searchParams.delete('w');
  for (const [name, pixels] of widths) url.searchParams.append('w', `${pixels} ${name}`);
  return url;
}

/** setWidth sets the width of a column. */
function setWidth(th, pixels) {
  const width = clamp(pixels);
  widths.set(th.dataset.column, width);
  show(th, width);
  history.replaceState(history.state, '', withWidths(location.href));
}

function show(th, width) {
  th.classList.add('sized');
  const at = [...th.parentElement.children].indexOf(th);
  for (const row of table.rows) {
    const cell = row.cells[at];
    Object.assign(cell.style, { width: `${width}px`, minWidth: `${width}px`, maxWidth: `${width}px` });
  }
  th.querySelector('.edge').setAttribute('aria-valuenow', width);
}

for (const th of table?.querySelectorAll('th[data-column]') ?? []) {
  const edge = el('span', {
    class: 'edge',
    role: 'separator',
    tabindex: 0,
    'aria-orientation': 'vertical',
    'aria-label': `Width of ${th.dataset.column}`,
    'aria-valuemin': narrowest,
    'aria-valuemax': widest,
    'aria-valuenow': Math.round(th.offsetWidth),
    'data-testid': 'edge',
    keydown: (event) => {
      const by = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
      if (!by) return;
      event.preventDefault();
      setWidth(th, th.offsetWidth + by);
    },
    pointerdown: (event) => {
      event.preventDefault();
      edge.setPointerCapture(event.pointerId);
      const from = event.clientX - th.offsetWidth;
      const move = (e) => setWidth(th, e.clientX - from);
      edge.addEventListener('pointermove', move);
      const end = () => edge.removeEventListener('pointermove', move);
      for (const name of ['pointerup', 'pointercancel']) edge.addEventListener(name, end, { once: true });
    },
  });
  th.append(edge);
  if (widths.has(th.dataset.column)) show(th, widths.get(th.dataset.column));
}

// Links and forms keep the widths.
root.addEventListener('click', (event) => {
  const link = event.target.closest('a[href]');
  if (link && new URL(link.href).pathname === location.pathname) link.href = withWidths(link.href);
});
root.addEventListener('submit', ({ target: form }) => {
  for (const field of form.querySelectorAll('[name="w"]')) field.remove();
  for (const [name, pixels] of widths)
    form.append(el('input', { type: 'hidden', name: 'w', value: `${pixels} ${name}` }));
  // An empty filter does not belong into the address.
  const column = form.elements.fc;
  const added = column instanceof RadioNodeList ? column[column.length - 1] : column;
  if (added?.value === '') for (const field of form.querySelectorAll('.adds > *')) field.disabled = true;
});
for (const field of root.querySelectorAll('[name="group"], .scopes [name="key"]'))
  field.addEventListener('change', () => field.form.requestSubmit());

// Small images are enlarged without blur.
const small = (image) => image.classList.toggle('small', Math.max(image.naturalWidth, image.naturalHeight) <= 96);
root.addEventListener('load', ({ target }) => { if (target.matches?.('.picture img')) small(target); }, true);
for (const image of root.querySelectorAll('.picture img')) if (image.complete) small(image);

let stylesLoaded;
root.addEventListener('click', async (event) => {
  const link = event.target.closest('.picture');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  // The dialog needs styles that the page does not load before.
  stylesLoaded ??= new Promise((done) => {
    const href = document.querySelector('meta[name="media-styles"]').content;
    document.head.append(el('link', { rel: 'stylesheet', href, load: done, error: done }));
  });
  const [{ openImageDialog }] = await Promise.all([import('./imagedialog.js'), stylesLoaded]);
  const image = link.querySelector('img');
  const { artifact, caption } = link.dataset;
  openImageDialog(image, {
    caption,
    report: async () => {
      const { openReportDialog } = await import('./reportdialog.js');
      const name = image.alt;
      const { experiment } = root.dataset;
      openReportDialog({ kind: 'image', experiment, artifact, caption: caption || name }, { name });
    },
    neighbour: (by) => {
      const all = [...root.querySelectorAll('.picture')];
      return all[all.indexOf(link) + by];
    },
  });
});
