// Drawing figures for print as SVG.
import { fontFamily } from './helvetica.js';
import { svgElement } from './plotaxis.js';

const short = (v) => Number(v.toFixed(1)); // a tenth of a point is finer than a printer

/** SvgPen draws lines, areas and texts. Lengths are in points. The origin is at the top left. */
export class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height });
    this.root = svgElement('svg', {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${short(width)} ${short(height)}`,
      width: `${short((width / 72) * 25.4)}mm`,
      height: `${short((height / 72) * 25.4)}mm`,
      'font-family': fontFamily,
    });
    this.place = this.root;
    this.area([[0, 0], [width, 0], [width, height], [0, height]], { color: '#ffffff' });
  }

  /** clip calls draw, and shows only the part of its drawing that is inside the rectangle. */
  clip(x, y, width, height, draw) {
    const inner = svgElement('svg', { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` });
    this.root.append(inner);
    this.place = inner;
    draw();
    this.place = this.root;
  }

  path(points, close) {
    return points.map(([x, y], i) => `${i ? 'L' : 'M'}${short(x)} ${short(y)}`).join('') + (close ? 'Z' : '');
  }

  line(points, { color, width, dash = [], alpha = 1 }) {
    if (points.length < 2) return;
    this.place.append(
      svgElement('path', {
        d: this.path(points),
        fill: 'none',
        stroke: color,
        'stroke-width': width,
        'stroke-linejoin': 'round',
        'stroke-dasharray': dash.length > 0 && dash.join(' '),
        'stroke-opacity': alpha < 1 && alpha,
      })
    );
  }

  area(points, { color, alpha = 1 }) {
    if (points.length < 3) return;
    const d = this.path(points, true);
    this.place.append(svgElement('path', { d, fill: color, 'fill-opacity': alpha < 1 && alpha }));
  }

  /** dots draws dots of equal size. */
  dots(points, { color, radius, alpha = 1 }) {
    if (points.length === 0) return;
    this.place.append(
      svgElement('path', {
        d: points.map(([x, y]) => `M${short(x)} ${short(y)}h0`).join(''),
        fill: 'none',
        stroke: color,
        'stroke-width': short(2 * radius),
        'stroke-linecap': 'round',
        'stroke-opacity': alpha < 1 && alpha,
      })
    );
  }

  /** text draws a text. anchor is start, middle or end; up rotates the text by 90 degrees. */
  text(x, y, text, { size, color, anchor = 'start', up = false }) {
    this.place.append(
      svgElement(
        'text',
        {
          x: short(x),
          y: short(y),
          'font-size': size,
          fill: color,
          'text-anchor': anchor !== 'start' && anchor,
          transform: up && `rotate(-90 ${short(x)} ${short(y)})`,
        },
        text
      )
    );
  }

  /** blob returns the drawing as a file. */
  async blob() {
    return new Blob([new XMLSerializer().serializeToString(this.root)], { type: 'image/svg+xml' });
  }
}
