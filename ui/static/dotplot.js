// A plot of runs as dots, with curves and marks above and below them.
import { svgElement } from './plotaxis.js';
import { layered, paintDots, nearestDot, dotMark } from './runcanvas.js';

export const margin = { left: 60, right: 12, top: 12, bottom: 40 };

/**
 * dotPlot returns a plot of runs.
 * @param {Object} options
 * @param {number} options.width
 * @param {number} options.height
 * @param {number} options.n number of runs
 * @param {function(number): ?number[]} options.at place of a run
 * @param {function(number): string} options.color
 * @param {Uint8Array} options.inside
 * @param {{at: number, text: string, minor: boolean}[]} options.xticks
 * @param {{at: number, text: string}[]} options.yticks
 * @param {string} options.xlabel
 * @param {string} options.ylabel
 * @param {string} options.label description of the plot
 * @param {Element[]} options.under SVG elements below the labels
 * @param {Element[]} options.over
 * @param {import('./runcanvas.js').Pointer} options.pointer
 * @param {function(number): string[]} options.words lines about a run
 */
export function dotPlot(o) {
  const { width, height } = o;
  const bottom = height - margin.bottom;
  const right = width - margin.right;
  const text = (x, y, anchor, words, cls) =>
    svgElement('text', { x, y, 'text-anchor': anchor, class: cls }, document.createTextNode(words));
  const line = (x1, y1, x2, y2, cls) => svgElement('line', { x1, y1, x2, y2, class: cls });
  const drawing = svgElement(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': o.label },
    ...o.under,
    svgElement(
      'g',
      { class: 'axis' },
      ...o.yticks.flatMap(({ at, text: words }) => [
        line(margin.left, at, right, at, 'grid-line'),
        text(margin.left - 6, at + 4, 'end', words, 'tick'),
      ]),
      ...o.xticks.map(({ at, text: words }) => text(at, bottom + 16, 'middle', words, 'tick')),
      line(margin.left, bottom, right, bottom),
      line(margin.left, margin.top, margin.left, bottom)
    ),
    text((margin.left + right) / 2, height - 6, 'middle', o.xlabel, 'title'),
    svgElement(
      'text',
      { transform: `translate(11 ${(margin.top + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle', class: 'title' },
      document.createTextNode(o.ylabel)
    ),
    ...o.over
  );
  const { box, ctx } = layered(drawing, width, height);
  paintDots(ctx, o.n, o.at, o.color, o.inside);
  o.pointer.follow(
    box,
    (x, y) => nearestDot(o.n, o.at, o.inside, x, y),
    (i) => dotMark(o.at(i)),
    o.words
  );
  return box;
}

/** spaced returns the ticks whose labels do not overlap. */
export function spaced(ticks, width = 6.5) {
  let end = -Infinity;
  return [...ticks]
    .sort((a, b) => a.at - b.at)
    .filter(({ at, text }) => {
      const half = (text.length * width) / 2;
      if (at - half < end + 4) return false;
      end = at + half;
      return true;
    });
}
