// The scatter plot of two dimensions.
import { enableSelection } from './brush.js';
import { dimensionOptions } from './dimension.js';
import { el, isolated } from './dom.js';
import { axisLabels, valueLabel, dimensionAxis, rangeColor, svgElement, valueColor } from './plotaxis.js';

const [usualWidth, height, left, bottom, top, right] = [1000, 360, 72, 44, 28, 24];
const plotPadding = 8; // space between the outermost runs and the ends of an axis
const mostCategories = 24; // maximum number of categories in the legend

/**
 * scatterPlot draws two dimensions as position and a third dimension as colour. Dragging over runs selects them.
 * @param {HTMLElement} root
 * @param {Object[]} runs
 * @param {Map<string, Object>} all dimensions by id
 * @param {Object} options
 * @param {import('./state.js').State} options.state
 * @param {import('./brush.js').Brushes} options.brushes
 * @param {function(string): Promise<string>} options.judged called with the metric on the Y axis, or with '' for
 *   the objective; it returns the metric's most important parameter, which is the default X axis
 * @param {function(): number} [options.width] returns the width of the drawing
 * @param {function(): string} [options.color] returns the dimension of the default colour
 * @param {function} [options.paint] paints the dots: its arguments are the drawing, its width and height, a
 *   function that returns the place of a run, or null, and the dimension of the colour. It returns the element to
 *   show. Without it, each dot is an element of the drawing.
 * @param {AbortSignal} [options.signal] ends the plot
 */
export function scatterPlot(root, runs, all, { state, brushes, judged, width: widthOf, color, paint, signal }) {
  let width = usualWidth;
  const ids = [...all.keys()];
  const metric = all.has('objective')
    ? 'objective'
    : ids.slice(1).find((id) => id.startsWith('metric.') && !id.startsWith('metric.system/')) || ids[1];
  let first = ids.find((id) => id !== metric);
  const choose = (name, title, none) =>
    el(
      'select',
      {
        name,
        'aria-label': title,
        change: ({ target: { value } }) =>
          state.set({ [name]: value || (color && name === 'sc' ? 'run' : null) }),
      },
      none && el('option', { value: '' }, 'Run'),
      ...dimensionOptions(all.values())
    );
  const fields = { sx: choose('sx', 'X'), sy: choose('sy', 'Y'), sc: choose('sc', 'Colour by', true) };
  const plot = el('div', { class: 'across', tabindex: '0', role: 'region', 'aria-label': 'Scatter plot' });
  const legend = el('ul', { class: 'legend', 'aria-label': 'Colours' });
  root.append(
    el(
      'div',
      { class: 'strip' },
      el('h2', {}, 'Scatter plot'),
      el('label', {}, 'X', fields.sx),
      el('label', {}, 'Y', fields.sy),
      el('label', {}, 'Colour', fields.sc)
    ),
    plot,
    legend
  );
  state.addEventListener(
    'change',
    ({ detail }) => ['sx', 'sy', 'sc', 'brush'].some((name) => detail.has(name)) && draw(),
    { signal }
  );

  async function rank(d) {
    if (d.group === 'Parameters') return;
    const most = await judged(d.id.startsWith('metric.') ? d.label : d.id === 'objective' ? '' : d.id.slice(4));
    const id = `param.${most}`;
    if (state.has('sx') || !all.has(id) || first === id) return;
    first = id;
    draw();
  }

  function draw() {
    width = widthOf?.() ?? usualWidth;
    const of = (name, otherwise) => (all.has(state.get(name)) ? state.get(name) : otherwise);
    fields.sx.value = of('sx', first);
    fields.sy.value = of('sy', metric);
    fields.sc.value = state.has('sc') ? of('sc', '') : (color?.() ?? '');
    const [dx, dy, dc] = [all.get(fields.sx.value), all.get(fields.sy.value), all.get(fields.sc.value)];
    const [mx, my] = [dimensionAxis(dx), dimensionAxis(dy)];
    const [wide, high] = [width - left - right - 2 * plotPadding, height - bottom - top - 2 * plotPadding];
    const px = (v) => left + plotPadding + mx.at(v) * wide;
    const py = (v) => height - bottom - plotPadding - my.at(v) * high;
    const said = (d, i) => `${d.label} ${d.values[i] == null ? '' : valueLabel(d, d.values[i])}`;
    const spots = paint ? [] : runs.map((run, i) => {
      if (dx.values[i] == null || dy.values[i] == null) return '';
      const spot = svgElement(
        'circle',
        {
          class: `spot c${run.color}${brushes.inside(i) ? '' : ' out'}`,
          'data-of': run.id,
          cx: px(dx.values[i]),
          cy: py(dy.values[i]),
          r: 5,
        },
        svgElement(
          'title',
          {},
          document.createTextNode([run.name, said(dx, i), said(dy, i), dc && said(dc, i)].filter(Boolean).join('\n'))
        )
      );
      if (dc) spot.style.fill = dc.values[i] == null ? 'var(--line)' : valueColor(dc, dc.values[i]);
      return spot;
    });
    const text = (x, y, anchor, words, cls) =>
      svgElement('text', { x, y, 'text-anchor': anchor, class: cls }, document.createTextNode(words));
    const line = (x1, y1, x2, y2, cls) => svgElement('line', { x1, y1, x2, y2, class: cls });
    const base = height - bottom;
    const [across, up] = [mx.ticks(8), my.ticks(5)];
    const [acrossLabels, upLabels] = [axisLabels(dx, across), axisLabels(dy, up)];
    const chosen = svgElement('rect', { class: 'brush', visibility: 'hidden' });
    const drawing = svgElement(
      'svg',
      {
        viewBox: `0 0 ${width} ${height}`,
        role: 'img',
        'aria-label': `${dy.label} over ${dx.label} of ${runs.length} runs`,
      },
      svgElement(
        'g',
        { class: 'axis' },
        ...across.flatMap((v, i) => [
          line(px(v), top, px(v), base, 'grid-line'),
          text(px(v), base + 16, 'middle', acrossLabels[i], 'tick'),
        ]),
        ...up.flatMap((v, i) => [
          line(left, py(v), width - right, py(v), 'grid-line'),
          text(left - 8, py(v) + 4, 'end', upLabels[i], 'tick'),
        ]),
        line(left, base, width - right, base),
        line(left, top, left, base)
      ),
      text((left + width) / 2, height - 6, 'middle', dx.label, 'title'),
      text(8, 14, 'start', dy.label, 'title'),
      ...spots.filter(Boolean),
      chosen
    );
    enableSelection(drawing, chosen, (x1, y1, x2, y2) => {
      const value = (m, t) => m.value(Math.max(0, Math.min(1, t)));
      const across = [x1, x2].map((x) => value(mx, (x - left - plotPadding) / wide));
      const up = [y2, y1].map((y) => value(my, (base - plotPadding - y) / high));
      brushes.set({ [dx.id]: across, [dy.id]: up });
    });
    const place = (i) => (dx.values[i] == null || dy.values[i] == null ? null : [px(dx.values[i]), py(dy.values[i])]);
    plot.replaceChildren(paint ? paint(drawing, { width, height, at: place, dx, dy, dc }) : drawing);
    legend.replaceChildren(...legendItems(dc));
    rank(dy);
  }

  draw();
}

/** legendItems returns the legend for the colours of a dimension: its categories, or both ends of its range. */
function legendItems(d) {
  if (!d) return [];
  const item = (color, words) => {
    const dot = el('i', { class: 'dot' });
    dot.style.background = color;
    return el('li', {}, dot, isolated(words));
  };
  const title = el('li', { class: 'count' }, isolated(d.label));
  if (!d.texts) return [title, ...dimensionAxis(d).ends.map((v) => item(rangeColor(d, v), valueLabel(d, v)))];
  const rest = d.texts.length - mostCategories;
  return [
    title,
    ...d.texts.slice(0, mostCategories).map((_, i) => item(valueColor(d, i), valueLabel(d, i))),
    ...(rest > 0 ? [el('li', { class: 'count' }, `and ${rest} more`)] : []),
  ];
}
