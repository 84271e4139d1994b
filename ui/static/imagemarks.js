// Marks in images: boxes and masks. Each pixel of a mask is the number of a class.
import { base } from './base.js';
import { paletteSize } from './color.js';
import { el, isolated } from './dom.js';
import { number } from './format.js';
import { themeColors } from './paint.js';

const mostBoxes = 1000; // maximum number of boxes in an image
const leastPixels = 480; // minimum size of the canvas, so that lines and names are sharp
const maskOpacity = 0.35;

const artifacts = new Map(); // promises of artifacts' contents by id
const loadOnce = (id, fetched) => {
  if (!artifacts.has(id)) artifacts.set(id, fetched(new URL(`artifact/${id}/data`, base)).catch(() => null));
  return artifacts.get(id);
};

const boxesOf = (id) => loadOnce(id, async (url) => {
  const { box_data: all } = await (await fetch(url)).json();
  return all.slice(0, mostBoxes);
});

/**
 * maskOf returns the class of each pixel of a mask.
 * @returns {Promise<?{width: number, height: number, classes: Uint8Array}>}
 */
const maskOf = (id) =>
  loadOnce(id, async (url) => {
    const image = await createImageBitmap(await (await fetch(url)).blob(), {
      colorSpaceConversion: 'none',
      premultiplyAlpha: 'none',
    });
    const { width, height } = image;
    const pen = new OffscreenCanvas(width, height).getContext('2d');
    pen.drawImage(image, 0, 0);
    const { data } = pen.getImageData(0, 0, width, height);
    return { width, height, classes: Uint8Array.from({ length: width * height }, (_, i) => data[4 * i]) };
  });

const className = (mark, c) => mark.labels?.[c] ?? `class ${c}`;

/** isDrawn reports whether the pixels of a class are coloured. Class 0 without a name is the background. */
const isDrawn = (mark, c) => c > 0 || mark.labels?.[0] != null;

const components = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number);

async function drawMask(pen, mark, width, height) {
  const mask = await maskOf(mark.mask);
  if (!mask) return [];
  const found = new Set(mask.classes);
  const inks = themeColors().runs.map(components);
  const image = new ImageData(mask.width, mask.height);
  mask.classes.forEach((c, i) => {
    if (isDrawn(mark, c)) image.data.set([...inks[c % paletteSize], 255 * maskOpacity], 4 * i);
  });
  const layer = new OffscreenCanvas(mask.width, mask.height);
  layer.getContext('2d').putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(layer, 0, 0, width, height);
  return [...found].filter((c) => isDrawn(mark, c));
}

/** boxRectangle returns left, top, width and height of a box in canvas pixels. */
function boxRectangle({ position: p, domain }, [width, height], [naturalWidth, naturalHeight]) {
  const [x, y] = domain === 'pixel' ? [width / naturalWidth, height / naturalHeight] : [width, height];
  if (p.middle) return [(p.middle[0] - p.width / 2) * x, (p.middle[1] - p.height / 2) * y, p.width * x, p.height * y];
  return [p.minX * x, p.minY * y, (p.maxX - p.minX) * x, (p.maxY - p.minY) * y];
}

/**
 * drawBoxes draws boxes with their names and returns their classes.
 * @param {number} times canvas pixels per window pixel
 */
async function drawBoxes(pen, mark, size, natural, times) {
  const all = await boxesOf(mark.boxes) ?? [];
  const found = new Set();
  pen.lineWidth = 2 * times;
  pen.font = `600 ${11 * times}px system-ui, sans-serif`;
  for (const box of all) {
    const at = box.position ? boxRectangle(box, size, natural) : [];
    if (!at.every(Number.isFinite) || at.length === 0) continue;
    const c = Number(box.class_id) || 0;
    found.add(c);
    pen.strokeStyle = themeColors().runs[c % paletteSize];
    pen.strokeRect(...at);
    const scores = Object.values(box.scores ?? {});
    const text =
      box.box_caption || [className(mark, c), scores.length > 0 && number(scores[0])].filter(Boolean).join(' ');
    const [wide, high] = [pen.measureText(text).width + 6 * times, 15 * times];
    const [left, top] = [Math.max(0, Math.min(at[0], size[0] - wide)), Math.max(0, at[1] - high)];
    pen.fillStyle = themeColors().runs[c % paletteSize];
    pen.fillRect(left, top, wide, high);
    pen.fillStyle = themeColors().ground;
    pen.fillText(text, left + 3 * times, top + 11.5 * times);
  }
  return [...found];
}

/**
 * drawMarks draws boxes and masks on a canvas over a loaded image.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLImageElement} image
 * @param {Object[]} marks
 * @returns {Promise<Map<string, Array>>} classes and their labels, by name of the marks
 */
export async function drawMarks(canvas, image, marks) {
  const [width, height] = [image.naturalWidth, image.naturalHeight];
  const times = Math.max(1, Math.ceil(leastPixels / Math.max(width, height, 1)));
  const size = [width * times, height * times];
  Object.assign(canvas, { width: size[0], height: size[1] });
  const pen = canvas.getContext('2d');
  const thick = canvas.clientWidth > 0 ? size[0] / canvas.clientWidth : 1;
  const classes = new Map();
  for (const mark of marks) {
    const found = mark.mask
      ? await drawMask(pen, mark, ...size)
      : await drawBoxes(pen, mark, size, [width, height], thick);
    classes.set(
      mark.name,
      found.map((c) => [c, className(mark, c)])
    );
  }
  return classes;
}

/** MarkLegend is a legend with a checkbox for each name of marks and the colours of the classes. */
export class MarkLegend {
  constructor(state, shown) {
    this.state = state;
    this.classes = new Map(); // labels by name of the marks, then by class
    this.root = el('div', { class: 'marks', 'data-testid': 'marks' });
    this.shown = shown;
  }

  /** off returns the names of the hidden marks. */
  get off() {
    return new Set(this.state.get('marks').split('\n').filter(Boolean));
  }

  on(marks) {
    const { off } = this;
    return marks.filter((m) => !off.has(m.name));
  }

  /** add adds names of marks to the legend, and the classes that were drawn. */
  add(names, found = new Map()) {
    const before = JSON.stringify([...this.classes].map(([name, all]) => [name, [...all]]));
    for (const name of names) if (!this.classes.has(name)) this.classes.set(name, new Map());
    for (const [name, all] of found) for (const [c, label] of all) this.classes.get(name).set(c, label);
    if (JSON.stringify([...this.classes].map(([name, all]) => [name, [...all]])) !== before) this.show();
  }

  show() {
    const { off } = this;
    this.root.replaceChildren(
      ...[...this.classes]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([name, all]) => {
          const box = el('input', {
            type: 'checkbox',
            name: 'marks',
            value: name,
            change: () => {
              const names = this.off;
              names[box.checked ? 'delete' : 'add'](name);
              this.state.set({ marks: [...names].join('\n') || null });
            },
          });
          box.checked = !off.has(name);
          return el(
            'span',
            { class: 'mark' },
            el('label', {}, box, isolated(name)),
            ...[...all]
              .sort(([a], [b]) => a - b)
              .map(([c, label]) =>
                el(
                  'span',
                  { class: 'class' },
                  el('i', { class: `square c${c % paletteSize}`, 'aria-hidden': 'true' }),
                  isolated(label)
                )
              )
          );
        })
    );
  }
}
