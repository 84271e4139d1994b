// A chart: the curves of one metric.
import { dashClass } from './color.js';
import { visibleRange, needsOwnTicks, extremeTicks, nearestIndex, hasValueAt, padRange, smooth } from './curvemath.js';
import { el, isolated } from './dom.js';
import { count, toNumber, duration, number, tickLabels } from './format.js';
import { themeColors, paintCurves, paintMark, themedCharts } from './paint.js';

const mostInTip = 14; // maximum number of runs in a tooltip
const tipGap = 16; // pixels between the cursor and the tooltip
const manyCurves = 8; // number of curves above which bands are fainter
const diagonalDrag = 24; // minimum pixels of a drag that also selects a range of the other axis
const minute = 60_000;
const hour = 60 * minute;
const timeSteps = [1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 30_000, minute, 5 * minute, 10 * minute, 30 * minute,
  hour, 2 * hour, 6 * hour, 12 * hour, 24 * hour, 48 * hour, 168 * hour, 720 * hour];

const mostValue = Number.MAX_VALUE / 4; // the size of a larger range would be infinite

/**
 * axisWidth returns the width for the labels of the Y axis. The minimum width is sufficient for most labels, so most
 * charts are aligned.
 */
const axisWidth = (_, labels) => Math.max(40, 14 + 7 * Math.max(0, ...(labels || []).map((l) => l?.length || 0)));

/**
 * Chart is the chart of a metric. uPlot draws axes, cursor and selection. This class paints the curves, because the
 * steps of runs differ. After draw, left is the number of points that a logarithmic axis cannot show, beyond is the
 * number of runs that exceed the visible range, and none is set if nothing is visible.
 */
export class Chart {
  /**
   * @param {HTMLElement} box
   * @param {string} key name of the metric
   * @param {number} height pixels
   * @param {Object} on callbacks: hover(x, chart), and zoom({x, y}), called with the new range of each changed axis, or
   *   null for the full range
   */
  constructor(box, key, height, on) {
    Object.assign(this, { box, key, height, on });
    this.curves = [];
    this.view = null;
    this.tip = el('div', { class: 'tip', role: 'status', hidden: true });
    themedCharts.add(this);
    this.resize = new ResizeObserver(() => {
      if (this.plot && this.box.clientWidth > 0 && this.box.clientWidth !== this.plot.width) {
        this.plot.setSize({ width: this.box.clientWidth, height: this.height });
      }
    });
    this.resize.observe(box);
    box.tabIndex = 0;
    box.addEventListener('keydown', (event) => this.handleKey(event));
    // Browsers also send these events when elements move under the pointer.
    box.addEventListener('pointermove', ({ movementX, movementY }) => {
      if (movementX || movementY) this.pointed = true;
    });
    box.addEventListener('pointerleave', () => this.leave());
    box.addEventListener('blur', () => this.leave());
  }

  remove() {
    themedCharts.delete(this);
    this.resize.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  /**
   * draw shows curves.
   * @param {Object[]} curves {id, name, color, dash, x, y, low, high, count, total, behind, before}. The mean
   *   of a group also has n and runs. A curve over a metric also has step.
   * @param {Object} view {x, against, logx, logy, smooth, outliers, from, to, low, high, highlight, mark}; against
   *   is the metric on the X axis if x is 'metric', mark is a step with a vertical line
   */
  draw(curves, view) {
    this.layer = null;
    this.view = view;
    this.curves = curves.map((c) => {
      const drawn = { ...c, y: c.y.map(toNumber) };
      return { ...drawn, line: smooth(drawn, view.smooth) };
    });
    this.setRanges();
    const axes = [
      view.x,
      view.against,
      view.logx,
      view.logy,
      needsOwnTicks(this.x, view.logx),
      needsOwnTicks(this.y, view.logy),
    ].join(' ');
    const same = this.plot && this.axes === axes;
    this.axes = axes;
    if (same) this.plot.setData(this.axisData());
    else this.rebuild();
    const runs = new Set(curves.map((c) => c.id)).size;
    const label = `${this.key} of ${runs} ${runs === 1 ? 'run' : 'runs'}`;
    this.box.setAttribute('role', 'group');
    this.box.setAttribute('aria-label', label);
  }

  setRanges() {
    const { x: axis, from, to, logx, logy, outliers } = this.view;
    let first = Infinity;
    let last = -Infinity;
    for (const c of this.curves) {
      // Steps and times are sorted; the values of a metric are not.
      const xs = axis === 'metric' ? c.x : [logx ? c.x.find((x) => x > 0) : c.x[0], c.x[c.x.length - 1]];
      for (const x of xs) {
        if (x == null || (logx && x <= 0)) continue;
        first = Math.min(first, x);
        last = Math.max(last, x);
      }
    }
    if (!(first <= last)) [first, last] = [logx ? 1 : 0, 10];
    // A single value is placed in the middle of the axis.
    const aside = axis === 'step' ? 0.5 : axis === 'metric' ? Math.abs(first) / 10 || 1 : 1000;
    if (first === last) [first, last] = logx ? [first / 2, first * 2] : [first - aside, first + aside];
    this.x = from == null ? [first, last] : [logx ? Math.max(from, first) : from, to];
    if (!(this.x[0] < this.x[1])) this.x = [first, last];
    const found = visibleRange(this.curves, this.x[0], this.x[1], { outliers, positive: logy });
    this.y = padRange(
      found?.range.map((v) => Math.max(-mostValue, Math.min(mostValue, v))) || (logy ? [1, 10] : [0, 1]),
      logy
    );
    const { low, high } = this.view;
    const chosen = low != null && (!logy || high > 0);
    this.beyond = chosen ? 0 : found?.beyond ?? 0;
    if (chosen) this.y = [logy && low <= 0 ? Math.min(this.y[0], high / 10) : low, high];
    this.left = 0;
    this.none = true;
    for (const c of this.curves) {
      c.x.forEach((x, i) => {
        const out = (logx && x <= 0) || (logy && Number.isFinite(c.y[i]) && c.y[i] <= 0);
        if (out) this.left += 1;
        else if (x >= this.x[0] && x <= this.x[1]) this.none = false;
      });
    }
  }

  axisData() {
    return [this.x, this.y];
  }

  /** highlightCurve highlights a curve and dims all others. '' removes the highlight. */
  highlightCurve(id) {
    if (!this.view || this.view.highlight === id) return;
    this.view.highlight = id;
    this.plot?.redraw(false, false);
  }

  rebuild() {
    if (!this.view) return;
    this.layer = null;
    this.plot?.destroy();
    const { text, line } = themeColors();
    const { x, logx, logy } = this.view;
    const axis = (log, ends, more) => {
      const filter = log ? powersOfTen : (_, splits) => splits;
      return {
        stroke: text,
        font: '12px system-ui, sans-serif',
        grid: { stroke: line, width: 1, filter },
        ticks: { stroke: line, width: 1, size: 4, filter },
        ...more,
        ...(needsOwnTicks(ends, log) && {
          incrs: (_, i, min, max) => [Math.max(5, max - min)],
          splits: (_, i, min, max) => extremeTicks(min, max, log),
          filter: (_, splits) => splits,
        }),
      };
    };
    const horizontal = axis(logx, this.x, { size: 28, space: 48, values: (_, splits) => tickTexts(splits) });
    if (x === 'time') delete horizontal.values;
    if (x === 'relative') {
      horizontal.values = (_, splits) => durationTexts(splits);
      horizontal.incrs = timeSteps;
    } else if (x === 'step') {
      horizontal.values = (_, splits) => tickTexts(splits.map((v) => (Number.isInteger(v) ? v : null)));
    }
    this.plot = new uPlot({
      width: this.box.clientWidth || 320,
      height: this.height,
      ms: 1,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: x === 'time', distr: logx ? 3 : 1, range: () => this.x },
        y: { distr: logy ? 3 : 1, range: () => this.y },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [horizontal, axis(logy, this.y, { size: axisWidth, space: 28, values: (_, splits) => tickTexts(splits) })],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: true, uni: diagonalDrag, setScale: false },
        bind: { dblclick: () => () => this.on.zoom({ x: null, y: null }) } },
      hooks: {
        draw: [() => this.paint()],
        setCursor: [(u) => this.hover(u)],
        setSelect: [(u) => this.select(u)],
      },
    }, this.axisData(), this.box);
    this.box.append(this.tip);
    const canvas = this.box.querySelector('canvas');
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', this.key);
  }

  /** select zooms to the range that the user selected by dragging, along one or both axes. */
  select(u) {
    const { left, width, top, height } = u.select;
    const { clientWidth, clientHeight } = u.over;
    if (width < 4 || height < 4) return;
    const ends = {};
    if (width < clientWidth - 1) ends.x = this.roundRange(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
    if (height < clientHeight - 1) ends.y = [top + height, top].map((at) => Number(u.posToVal(at, 'y').toPrecision(5)));
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.hideTip();
    if (ends.x || ends.y) this.on.zoom(ends);
  }

  /**
   * roundRange rounds a range. Ranges of steps and times are rounded to integers, ranges of a metric to the
   * digits that its axis shows.
   */
  roundRange(from, to) {
    return this.view.x !== 'metric'
      ? [Math.floor(from), Math.ceil(to)]
      : [from, to].map((at) => Number(at.toPrecision(6)));
  }

  /** setHeight changes the height of the chart. */
  setHeight(height) {
    if (this.height === height) return;
    this.height = height;
    this.plot?.setSize({ width: this.box.clientWidth || 320, height });
  }

  /**
   * paint draws all curves once on a separate layer. So when one of hundreds of curves is highlighted, the others are
   * not repainted.
   */
  paint() {
    const u = this.plot ?? null;
    if (!u) return;
    const { ctx } = u;
    const { width, height } = ctx.canvas;
    if (!this.layer || this.layer.width !== width || this.layer.height !== height) {
      this.layer = el('canvas', { width, height });
      paintCurves(this.layer.getContext('2d'), u, this.curves, this.view, this.curves.length > manyCurves);
    }
    const lit = this.curves.filter((c) => c.id === this.view.highlight);
    ctx.save();
    ctx.globalAlpha = this.view.highlight ? 0.2 : 1;
    ctx.drawImage(this.layer, 0, 0);
    ctx.restore();
    paintCurves(ctx, u, lit, this.view, this.curves.length > manyCurves);
    if (this.view.mark != null && this.view.x === 'step') paintMark(ctx, u, this.view.mark);
  }

  /** hideTip hides the tooltip until the pointer moves in the chart, even if new curves are drawn. */
  hideTip() {
    this.pointed = false;
    this.tip.hidden = true;
  }

  hover(u) {
    const { left, top } = u.cursor;
    if (left == null || left < 0 || !this.pointed) {
      this.tip.hidden = true;
      return;
    }
    const x = u.posToVal(left, 'x');
    this.on.hover(x, this);
    this.showTip(x, left, top);
  }

  /**
   * showCursor shows the position of another chart's cursor in this chart.
   * @param {?number} x
   */
  showCursor(x) {
    const u = this.plot;
    if (!u) return;
    const left = x == null ? -10 : u.valToPos(x, 'x');
    u.setCursor({ left: left >= 0 && left <= u.over.clientWidth ? left : -10, top: 0 }, false);
    this.hideTip();
  }

  leave() {
    this.hideTip();
    this.on.hover(null, this);
  }

  showTip(x, left, top) {
    const found = [];
    for (const c of this.curves) {
      if (!hasValueAt(c.x, x, this.view.x !== 'metric')) continue;
      const i = nearestIndex(c.x, x, this.view.x !== 'metric');
      found.push({ c, i, at: c.x[i], raw: c.y[i], value: c.line[i] });
    }
    const rank = (v) => (Number.isNaN(v) ? -Infinity : v);
    found.sort((a, b) => rank(b.value) - rank(a.value));
    const u = this.plot;
    const under = u.posToVal(top, 'y');
    const closest = found.reduce(
      (best, f) => (!best || Math.abs(f.value - under) < Math.abs(best.value - under) ? f : best),
      null
    );
    const start = Math.max(0, Math.min(found.indexOf(closest) - (mostInTip >> 1), found.length - mostInTip));
    const smoothed = this.view.smooth > 0;
    const places = new Set(found.map((f) => this.pointLabel(f)));
    const [same] = places.size === 1 ? places : [];
    const rows = found.slice(start, start + mostInTip).map((f) => el('tr', { class: f === closest && 'closest' },
      el('td', {}, el('i', { class: `dot c${f.c.color}${dashClass(f.c.dash)}` })), el('td', { class: 'who' }, f.c.name),
      smoothed && el('td', { class: 'number' }, number(f.value)),
      el('td', { class: 'number' }, number(f.raw), f.c.n && deviationText(f)),
      f.c.n && el('td', { class: 'number where' }, `n=${count(f.c.n[f.i])}`),
      !same && el('td', { class: 'number where' }, this.pointLabel(f))));
    const rest = found.length - rows.length;
    const head =
      smoothed &&
      el(
        'thead',
        {},
        el('tr', {}, ...['', '', 'smoothed', 'value'].map((name) => el('td', { class: 'number' }, name)))
      );
    const metrics = new Set(this.curves.map((c) => c.key ?? this.key));
    this.tip.replaceChildren(
      metrics.size === 1 ? el('p', { class: 'metric' }, isolated([...metrics][0])) : '',
      same ? el('p', { class: 'where' }, same) : '',
      el('table', {}, head, el('tbody', {}, ...rows)),
      rest > 0 ? el('p', {}, `and ${rest} more`) : ''
    );
    this.tip.hidden = rows.length === 0;
    this.placeTip(left, top);
  }

  /**
   * placeTip puts the tooltip beside the cursor if it fits into the chart. Otherwise the tooltip is placed below or
   * above the chart, so that it covers neither the curves nor a neighbouring chart.
   */
  placeTip(left, top) {
    const over = this.plot.over.getBoundingClientRect();
    const box = this.box.getBoundingClientRect();
    const { width, height } = this.tip.getBoundingClientRect();
    const inside = [over.left + left + tipGap, over.left + left - tipGap - width].find(
      (x) => x >= box.left && x + width <= box.right
    );
    let y = over.top + top - height / 2;
    if (inside === undefined)
      y = over.bottom + tipGap + height <= innerHeight ? over.bottom + tipGap : over.top - tipGap - height;
    const x = inside ?? Math.min(box.left, innerWidth - width - 8);
    this.tip.style.left = `${Math.max(8, x)}px`;
    this.tip.style.top = `${Math.max(8, Math.min(y, innerHeight - height - 8))}px`;
  }

  pointLabel({ c, i, at }) {
    if (this.view.x === 'step') return `step ${this.formatX(at)}`;
    return c.step ? `${this.formatX(at)} at step ${count(c.step[i])}` : this.formatX(at);
  }

  /** formatX formats a value of the X axis. */
  formatX(at) {
    if (this.view.x === 'metric') return number(at);
    if (this.view.x === 'relative') return duration(at / 1000);
    return this.view.x === 'time' ? new Date(at).toLocaleString() : count(at);
  }

  /** handleKey moves the cursor and zooms by keyboard. */
  handleKey(event) {
    const u = this.plot;
    if (!u || event.target !== this.box) return;
    this.pointed = true;
    const wide = u.over.clientWidth;
    const left = u.cursor.left >= 0 ? u.cursor.left : wide / 2;
    const moves = { ArrowLeft: -wide / 50, ArrowRight: wide / 50 };
    if (event.key in moves) {
      u.setCursor({ left: Math.max(0, Math.min(wide, left + moves[event.key])), top: u.over.clientHeight / 2 });
    } else if (event.key === '+' || event.key === '-') {
      const reach = event.key === '+' ? wide / 4 : wide;
      this.on.zoom({ x: this.roundRange(u.posToVal(left - reach, 'x'), u.posToVal(left + reach, 'x')) });
    } else if (event.key === '0') {
      this.on.zoom({ x: null, y: null });
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** deviationText returns the standard deviation at a point of a group's mean as text. */
const deviationText = ({ c, i }) =>
  c.high[i] == null ? '' : ` ± ${number(Number(((toNumber(c.high[i]) - toNumber(c.low[i])) / 2).toPrecision(2)))}`;

/** tickTexts returns the labels of an axis. A position that is null has no label. */
function tickTexts(splits) {
  const labels = tickLabels(splits.filter((v) => v != null));
  return splits.map((v) => (v == null ? '' : labels.shift()));
}

/** durationTexts returns the labels of an axis of milliseconds. */
function durationTexts(splits) {
  const texts = splits.map((v) => (v == null ? null : duration(v / 1000)));
  const repeats = texts.some((text, i) => i > 0 && text != null && text === texts[i - 1]);
  return repeats ? tickTexts(splits.map((v) => v && v / 1000)).map((text) => text && `${text}s`) : texts;
}

/**
 * powersOfTen removes the grid lines of a logarithmic axis that are not at powers of ten, if at least two lines remain.
 */
function powersOfTen(u, splits) {
  const whole = (v) => v > 0 && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;
  return splits.filter(whole).length > 1 ? splits.map((v) => (whole(v) ? v : null)) : splits;
}
