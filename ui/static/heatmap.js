// A heat map of histograms over steps.
import { el } from './dom.js';
import { count, toNumber, number } from './format.js';

const [width, height] = [640, 160];

const drawn = new Set();
const redrawAll = () => { for (const draw of drawn) draw(); };
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
new MutationObserver(redrawAll).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ['data-theme'],
});

/**
 * heatmap draws histograms over steps. A darker cell means more values.
 * @param {Object} h histograms of a run, as the server returns them
 * @param {string} name
 * @param {function(number)} chose called with the step that the user clicks
 * @returns {{root: HTMLElement, mark: function(?number)}} mark marks a step. null removes the mark.
 */
export function heatmap(h, name, chose) {
  const [low, high] = [toNumber(h.low), toNumber(h.high)];
  const { steps, counts } = h;
  const bins = counts[0].length;
  // A column extends halfway to the neighbouring columns.
  const reach = steps.length > 1 ? steps.at(-1) - steps[0] : 1;
  const place = (step) => (steps.length > 1 ? (step - steps[0]) / reach : 0.5);
  const ends = steps.map((s, i) => (i + 1 < steps.length ? (place(s) + place(steps[i + 1])) / 2 : 1));
  const at = (share) => Math.max(0, ends.findIndex((end) => share <= end));

  const canvas = el('canvas', {
    width,
    height,
    role: 'img',
    'aria-label': `${name}: values from ${number(low)} to ${number(high)} over ${count(steps.length)} steps`,
  });
  const line = el('div', { class: 'mark', hidden: true });
  const said = el('output', { 'data-testid': 'heat-said' });
  const usual = h.all > steps.length ? `${count(steps.length)} of ${count(h.all)} steps` : '';
  said.textContent = usual;

  const draw = () => {
    if (!canvas.isConnected) return;
    const pen = canvas.getContext('2d');
    pen.clearRect(0, 0, width, height);
    pen.fillStyle = getComputedStyle(canvas).color;
    counts.forEach((column, i) => {
      const most = Math.max(...column);
      const from = i > 0 ? ends[i - 1] : 0;
      column.forEach((n, bin) => {
        if (n <= 0) return;
        pen.globalAlpha = 0.08 + 0.92 * Math.sqrt(n / most);
        const [x0, x1] = [Math.round(from * width), Math.round(ends[i] * width)];
        const [y0, y1] = [Math.round(height - ((bin + 1) * height) / bins), Math.round(height - (bin * height) / bins)];
        pen.fillRect(x0, y0, Math.max(1, x1 - x0), Math.max(1, y1 - y0));
      });
    });
  };
  const seen = new ResizeObserver(() => { // after the element was inserted into the page
    drawn.add(draw);
    draw();
  });
  seen.observe(canvas);

  const share = (event) => {
    const r = canvas.getBoundingClientRect();
    return [
      Math.min(1, Math.max(0, (event.clientX - r.left) / r.width)),
      Math.min(0.999, Math.max(0, (r.bottom - event.clientY) / r.height)),
    ];
  };
  canvas.addEventListener('pointermove', (event) => {
    const [x, y] = share(event);
    const i = at(x);
    const bin = Math.floor(y * bins);
    const edge = (b) => number(low + ((high - low) * b) / bins);
    const values = number(Number(counts[i][bin].toPrecision(3)));
    said.textContent = `Step ${count(steps[i])}: ${values} values from ${edge(bin)} to ${edge(bin + 1)}`;
  });
  canvas.addEventListener('pointerleave', () => { said.textContent = usual; });
  canvas.addEventListener('click', (event) => chose(steps[at(share(event)[0])]));

  const root = el('div', { class: 'heat' },
    el('div', { class: 'side-labels' }, el('span', {}, number(high)), el('span', {}, number(low))),
    el('div', { class: 'field' }, canvas, line),
    el(
      'div',
      { class: 'foot' },
      el('span', {}, `Step ${count(steps[0])}`),
      said,
      el('span', {}, steps.length > 1 ? count(steps.at(-1)) : '')
    )
  );
  return {
    root,
    mark(step) {
      line.hidden = step == null || step < steps[0] || step > steps.at(-1) || steps.length < 2;
      line.style.left = `${100 * place(step)}%`;
    },
  };
}
