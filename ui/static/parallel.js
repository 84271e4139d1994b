// Parallel coordinates: an axis for each dimension, a line for each run. Dragging along an axis creates a brush.
// Dragging the name of an axis moves the axis. Keys: the arrow keys move a brush, Shift resizes it, and Escape
// removes it.
import { dimensionOptions } from './dimension.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { axisLabels, valueLabel, dimensionAxis, rangeColor, svgElement } from './plotaxis.js';

const [usualWidth, height, top, bottom, side] = [1000, 300, 32, 16, 72];

const mostTicks = 8; // maximum number of labels beside an axis

/**
 * parallelPlot draws parallel coordinates of all dimensions of runs in root.
 * @param {Object} options
 * @param {function(): number} [options.width] returns the width of the drawing
 * @param {function} [options.paint] paints the lines: its arguments are the drawing, its width and height, the
 *   positions of the axes, and a function that returns the position of a run on an axis, or null. It returns the
 *   element to show. Without it, each line is an element of the drawing.
 * @param {AbortSignal} [options.signal] ends the plot
 */
export function parallelPlot(root, runs, all, { state, brushes, width: widthOf, paint, signal }) {
  let width = usualWidth;
  const metrics = [...all.keys()].filter((id) => id.startsWith('metric.') && !id.startsWith('metric.system/'));
  const judge = all.get('objective'); // the objective, which colours the lines
  const params = [...all.keys()].filter((id) => id.startsWith('param.'));
  const chosen = () =>
    state.has('axes')
      ? state
          .get('axes')
          .split('\n')
          .filter((id) => all.has(id))
      : [...params.slice(0, 5), ...(judge ? ['objective', ...metrics.slice(0, 1)] : metrics.slice(0, 2))];
  const set = (ids) => state.set({ axes: ids.join('\n') });
  state.addEventListener('change', ({ detail }) => {
    if (!detail.has('axes') && !detail.has('brush')) return;
    const { part, axis: of } = document.activeElement?.dataset ?? {};
    draw();
    if (of) plot.querySelector(`[data-part="${part}"][data-axis="${CSS.escape(of)}"]`)?.focus();
  }, { signal });
  const add = el('select', {
    name: 'axis',
    'aria-label': 'Add an axis',
    change: () => add.value && set([...chosen(), add.value]),
  });
  const plot = el('div', { class: 'across', tabindex: '0', role: 'region', 'aria-label': 'Parallel coordinates' });
  const note = el('span', { class: 'count', role: 'status' });
  root.append(
    el(
      'div',
      { class: 'strip' },
      el('h2', {}, 'Parallel coordinates'),
      add,
      judge && el('span', { class: 'count' }, `Colour: ${judge.label}`),
      note
    ),
    plot
  );

  function draw() {
    width = widthOf?.() ?? usualWidth;
    const ids = chosen();
    add.replaceChildren(
      el('option', { value: '' }, 'Add an axis'),
      ...dimensionOptions([...all.values()].filter((d) => !ids.includes(d.id)))
    );
    const gap = (width - 2 * side) / Math.max(1, ids.length - 1);
    const x = (i) => side + i * gap;
    const scales = ids.map((id) => {
      const m = dimensionAxis(all.get(id));
      return { ...m, y: (v) => height - bottom - m.at(v) * (height - top - bottom),
        value: (y) => m.value((height - bottom - y) / (height - top - bottom)) };
    });
    const lines = paint ? [] : runs.map((run, r) => {
      // The line of a run is interrupted at dimensions without a value. A value without neighbours is a dash.
      const known = (i) => all.get(ids[i])?.values[r] != null;
      const at = ids.map((id, i) => {
        if (!known(i)) return '';
        const place = `${x(i)},${scales[i].y(all.get(id).values[r])}`;
        if (known(i - 1)) return `L${place}`;
        return known(i + 1) ? `M${place}` : `M${place}m-8,0h16`;
      });
      const line = svgElement(
        'path',
        { d: at.join(''), class: `path c${run.color}${brushes.inside(r) ? '' : ' out'}`, 'data-of': run.id },
        svgElement('title', {}, document.createTextNode(run.name))
      );
      if (judge) line.style.stroke = judge.values[r] == null ? 'var(--line)' : rangeColor(judge, judge.values[r]);
      return line;
    });
    const drawing = svgElement(
      'svg',
      { viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `Parallel coordinates of ${runs.length} runs` },
      ...lines,
      ...ids.map((id, i) => axis(id, i, x(i), scales[i], () => plot.querySelector('svg')))
    );
    const countInside = () => brushes.mask(runs.length).reduce((sum, one) => sum + one, 0);
    note.textContent =
      brushes.ranges.size > 0
        ? `${count(countInside())} of ${count(runs.length)} runs inside the brushes`
        : 'Drag along an axis to select runs; drag its name to move it.';
    const list = el(
      'div',
      { class: 'strip' },
      ...ids.flatMap((id, i) => [
        isolated(all.get(id).label, 'count'),
        button('Left', id, () => swap(i, -1), i === 0),
        button('Right', id, () => swap(i, 1), i === ids.length - 1),
        button('Remove', id, () => set(ids.filter((o) => o !== id))),
      ])
    );
    const place = (a, r) => {
      const v = all.get(ids[a]).values[r];
      return v == null ? null : scales[a].y(v);
    };
    const shown = paint ? paint(drawing, { width, height, xs: ids.map((_, i) => x(i)), y: place, judge }) : drawing;
    plot.replaceChildren(shown, el('details', {}, el('summary', { class: 'count' }, 'Order of the axes'), list));
  }

  const button = (text, id, fn, disabled) =>
    el(
      'button',
      { type: 'button', class: 'plain', disabled, 'aria-label': `${text}: ${all.get(id).label}`, click: fn },
      text
    );

  function swap(i, by) {
    const ids = chosen();
    ids.splice(i + by, 0, ...ids.splice(i, 1));
    set(ids);
  }

  function axis(id, i, at, scale, drawing) {
    const d = all.get(id);
    const short = shortTitle(d.label, (width - 2 * side) / Math.max(1, chosen().length - 1));
    const ends = brushes.ranges.get(id);
    const brush = (range) => brushes.set({ [id]: range });
    // If there are only a few categories, their names are beside the axis.
    const between =
      d.texts && d.texts.length <= mostTicks
        ? d.texts
            .slice(1, -1)
            .map((text, n) =>
              svgElement(
                'text',
                { class: 'tick', x: at + 6, y: scale.y(n + 1) + 4 },
                document.createTextNode(valueLabel(d, n + 1))
              )
            )
        : [];
    const place = (event) => {
      const box = drawing().getBoundingClientRect();
      return [
        ((event.clientX - box.left) / box.width) * width,
        Math.min(height - bottom, Math.max(top, ((event.clientY - box.top) / box.height) * height)),
      ];
    };
    let start = null;
    const said = ends ? `${valueLabel(d, ends[0])} to ${valueLabel(d, ends[1])}` : 'all';
    const hit = svgElement('rect', {
      class: 'hit',
      x: at - 10,
      y: top,
      width: 20,
      height: height - top - bottom,
      tabindex: 0,
      role: 'slider',
      'data-part': 'brush',
      'data-axis': id,
      'aria-orientation': 'vertical',
      'aria-label': `Brush ${d.label}`,
      'aria-valuemin': scale.low,
      'aria-valuemax': scale.high,
      'aria-valuenow': ends?.[0] ?? scale.low,
      'aria-valuetext': said,
      pointerdown: (event) => {
        start = place(event)[1];
        hit.setPointerCapture(event.pointerId);
      },
      pointerup: (event) => {
        if (start == null) return;
        const end = place(event)[1];
        brush(
          Math.abs(end - start) < 3 ? null : [scale.value(Math.max(start, end)), scale.value(Math.min(start, end))]
        );
        start = null;
      },
      keydown: (event) => {
        const by = { ArrowUp: 0.05, ArrowDown: -0.05 }[event.key] * (scale.high - scale.low);
        if (event.key === 'Escape' || event.key === 'Delete') brush(null);
        else if (Number.isNaN(by)) return;
        else brush(movedBrush(ends, by, scale, event.shiftKey));
        event.preventDefault();
      },
    });
    const title = svgElement(
      'text',
      {
        class: 'title',
        x: at,
        y: 12,
        'text-anchor': 'middle',
        tabindex: 0,
        role: 'button',
        'data-part': 'title',
        'data-axis': id,
        'aria-label': `Axis ${short === d.label ? '' : `${short}: `}${d.label}: arrow left and right move it`,
        keydown: (event) => {
          const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (!by) return;
          event.preventDefault();
          if (i + by >= 0 && i + by < chosen().length) swap(i, by);
        },
        pointerdown: (event) => title.setPointerCapture(event.pointerId),
        pointermove: (event) => {
          if (title.hasPointerCapture(event.pointerId))
            title.parentNode.setAttribute('transform', `translate(${place(event)[0] - at} 0)`);
        },
        pointerup: (event) => {
          const ids = chosen();
          const to = Math.max(
            0,
            Math.min(
              ids.length - 1,
              Math.round((place(event)[0] - side) / ((width - 2 * side) / Math.max(1, ids.length - 1)))
            )
          );
          title.parentNode.removeAttribute('transform');
          ids.splice(to, 0, ...ids.splice(i, 1));
          set(ids);
        },
      },
      document.createTextNode(short)
    );
    const [lowest, highest] = axisLabels(d, [scale.low, scale.high]);
    return svgElement(
      'g',
      { class: 'axis' },
      svgElement('line', { x1: at, x2: at, y1: top, y2: height - bottom }),
      svgElement(
        'text',
        { x: at, y: top - 6, 'text-anchor': 'middle' },
        document.createTextNode(highest)
      ),
      svgElement(
        'text',
        { x: at, y: height - 2, 'text-anchor': 'middle' },
        document.createTextNode(lowest)
      ),
      ...between,
      title,
      ...(ends
        ? [
            svgElement('rect', {
              class: 'brush',
              x: at - 6,
              y: scale.y(ends[1]),
              width: 12,
              height: scale.y(ends[0]) - scale.y(ends[1]),
            }),
          ]
        : []),
      hit
    );
  }

  draw();
}

/** shortTitle shortens the name of an axis if axes are close to each other. The accessible name contains the result. */
const shortTitle = (label, gap) => label.slice(0, Math.max(4, Math.min(22, Math.floor(gap / 6.5))));

/**
 * movedBrush returns a brush after a key press has moved the brush or its upper end. The first key press creates
 * a brush that covers a quarter of the axis.
 * @param {?number[]} ends current brush
 * @param {number} by distance
 * @param {{low: number, high: number}} axis
 * @param {boolean} longer whether only the upper end moves
 * @returns {number[]}
 */
function movedBrush(ends, by, { low, high }, longer) {
  if (!ends) return by > 0 ? [high - (high - low) / 4, high] : [low, low + (high - low) / 4];
  if (longer) return [ends[0], Math.min(high, Math.max(ends[0], ends[1] + by))];
  const shift = Math.min(high - ends[1], Math.max(low - ends[0], by));
  return [ends[0] + shift, ends[1] + shift];
}
