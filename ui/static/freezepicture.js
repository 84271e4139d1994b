// Pictures of the Analyse tab as SVG files that need no style sheet, in light colours.
import { el } from './dom.js';
import { fontFamily } from './helvetica.js';
import { svgElement } from './plotaxis.js';
import { openReportDialog } from './reportdialog.js';

const longest = 10_000; // milliseconds to wait for a picture in light colours
const copied = [
  'fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linejoin', 'opacity',
  'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'paint-order',
];
const row = 18; // height of a row of the legend
const frame = () => new Promise((done) => { requestAnimationFrame(done); });

/** frozen returns a picture, and the legend below it, as SVG. box contains a canvas below a drawing. */
function frozen(box) {
  const [canvas, drawing] = [box.querySelector('canvas'), box.querySelector('svg')];
  const { width, height } = drawing.viewBox.baseVal;
  const legend = [...(box.parentElement.querySelector('.legend')?.children ?? [])];
  const copy = drawing.cloneNode(true);
  const from = [drawing, ...drawing.querySelectorAll('*')];
  const gone = [];
  [copy, ...copy.querySelectorAll('*')].forEach((e, i) => {
    const style = getComputedStyle(from[i]);
    if (style.display === 'none' || style.visibility === 'hidden') gone.push(e);
    for (const name of copied) e.setAttribute(name, style.getPropertyValue(name));
    for (const name of e.getAttributeNames())
      if (/^(class|style|tabindex|role|data-.*|aria-.*)$/.test(name)) e.removeAttribute(name);
  });
  for (const e of gone) e.remove();
  const whole = height + row * legend.length + (legend.length > 0 ? 8 : 0);
  for (const [name, value] of Object.entries({
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height: whole,
    viewBox: `0 0 ${width} ${whole}`,
    'font-family': fontFamily,
  }))
    copy.setAttribute(name, value);
  copy.prepend(
    svgElement('rect', { width, height: whole, fill: '#ffffff', stroke: 'none' }),
    svgElement('image', { href: canvas.toDataURL(), width, height })
  );
  legend.forEach((li, i) => {
    const y = height + 8 + row * (i + 0.7);
    const dot = li.querySelector('.dot');
    const text = svgElement('text', { x: 24, y, 'font-size': 12, fill: getComputedStyle(li).color, stroke: 'none' });
    text.append(li.textContent);
    const fill = dot && getComputedStyle(dot).backgroundColor;
    if (dot) copy.append(svgElement('rect', { x: 8, y: y - 9, width: 10, height: 10, fill, stroke: 'none' }));
    copy.append(text);
  });
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' });
}

/**
 * inLight calls fn with the page in the light theme.
 * @param {function(): ?Element} find returns the picture, which is drawn again when the theme changes
 */
async function inLight(find, fn) {
  const { documentElement: root } = document;
  const before = root.dataset.theme;
  const dark = before === 'dark' || (before !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  if (!dark) return fn(find());
  const old = find();
  root.dataset.theme = 'light';
  try {
    const end = performance.now() + longest;
    do await frame(); while ((!find() || find() === old) && performance.now() < end);
    await frame();
    return fn(find());
  } finally {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
  }
}

/**
 * reportButton returns a button that adds a picture to a report.
 * @param {string} experiment
 * @param {string} name
 * @param {function(): ?Element} find returns the present picture
 * @param {function(): Object} [item] returns the picture as a live item of a report
 */
export const reportButton = (experiment, name, find, item) =>
  el(
    'button',
    {
      type: 'button',
      class: 'plain to-report',
      'aria-label': `Report: ${name}`,
      click: () =>
        openReportDialog(item ? { experiment, ...item() } : { experiment }, {
          name,
          live: Boolean(item),
          wrong: find() ? '' : 'There is no picture to add.',
          picture: () => inLight(find, frozen),
        }),
    },
    'Report'
  );
