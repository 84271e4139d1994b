// The charts of a page.
import { Chart } from './chart.js';
import * as options from './chartoption.js';
import { Curves } from './curves.js';
import { el, isolated } from './dom.js';
import { count, pointCount, round, toNumber } from './format.js';
import { groupBySplit } from './metricsplit.js';
import { PanelBar } from './panelbar.js';
import { throttle } from './timing.js';

const keysAtOnce = 60;
const systemGroup = 'system'; // this group is collapsed by default
const firstCharts = 6; // charts that are loaded before the browser reports which are visible
const [normalHeight, largeHeight] = [176, 360]; // heights of charts

/** Panel shows a chart for each metric, in groups. A chart is drawn when it becomes visible. */
export class Panel {
  /**
   * @param {HTMLElement} root
   * @param {import('./state.js').State} state
   * @param {Object} options
   * @param {function(string, number, number, boolean): Promise<{data: Object[], total: number}>} options.keys
   *   returns metrics, most interesting first; its arguments are a part of their name or a pattern, offset,
   *   limit, and whether the first is a pattern
   * @param {function(): Object[]} options.runs returns the runs to draw, {id, name, color}, or groups with
   *   their values
   * @param {function(): Object} options.groups returns the query of the groups
   * @param {?Object} options.first first page of the keys
   * @param {?{path: string, request: Object}} options.early curves that the browser requested while it loaded
   *   the scripts
   * @param {HTMLElement[]} [options.lead] elements at the beginning of the bar
   * @param {function()} options.gone called when a run was deleted
   * @param {function(): string} options.idle returns the reason why no run is drawn, if there is one
   * @param {function(): ?number} options.mark returns the step that charts over steps mark, if there is one
   * @param {function(): Object} options.drawn returns the runs for a report, as an argument of openReportDialog
   */
  constructor(root, state, { keys, runs, groups, first, early, lead = [], gone, idle, mark, drawn }) {
    Object.assign(this, { root, state, keys, runs, first, idle, mark, drawn });
    this.figures = new Map(); // figures by key
    this.companions = new Map(); // metrics that other figures draw, by key
    this.highlight = '';
    this.curves = new Curves({
      runs,
      groups,
      early,
      gone,
      view: (key) => this.view(key),
      of: (key) => this.figureOf(key),
      show: (f) => this.show(f),
      renew: () => this.renew(),
    });
    this.bar = new PanelBar(state, {
      lead,
      keys,
      view: () => this.view(),
      fit: () => this.resetZoom(),
      fits: () => !this.zoomed && ![...this.options.values()].some((o) => o.low != null),
    });
    this.note = el('p', { class: 'count', 'data-testid': 'drawn' });
    this.wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'pattern-wrong' });
    this.places = el('div', { class: 'groups' });
    root.replaceChildren(
      this.bar.root,
      el('div', { class: 'scroll' }, this.bar.finding, this.wrong, this.note, this.places)
    );
    this.seen = new IntersectionObserver((entries) => this.setInSight(entries), { rootMargin: '200px' });
    this.listen();
    this.listMetrics();
  }

  get zoomed() {
    return this.state.has('zoom') || this.state.has('zooms');
  }

  /** resetZoom resets the zoom of all charts. */
  resetZoom() {
    const all = new Map([...this.options].map(([key, o]) => [key, { ...o, low: null, high: null }]));
    this.state.set({ zoom: null, zooms: null, charts: options.formatChartOptions(all) || null });
  }

  /** options returns the options of individual charts by metric. */
  get options() {
    const text = this.state.get('charts');
    if (this.read?.text !== text) this.read = { text, all: options.parseChartOptions(text) };
    return this.read.all;
  }

  /** pins returns the metrics of the pinned charts, which come first. */
  get pins() {
    return this.state.get('pins').split('\n').filter(Boolean);
  }

  pin(key) {
    const { pins } = this;
    const others = pins.filter((k) => k !== key);
    this.state.set({ pins: (others.length < pins.length ? others : [...pins, key]).join('\n') || null });
  }

  /** together returns the additional metrics of charts, by the chart's own metric. */
  get together() {
    const all = this.state.has('together') ? groupBySplit(this.names) : new Map();
    const taken = new Set([...all.values()].flat());
    for (const [key, { others }] of this.options) {
      if (others.length === 0 || taken.has(key)) continue;
      all.set(
        key,
        [...new Set([...(all.get(key) || []), ...others])].filter((other) => !all.has(other) && other !== key)
      );
      for (const other of others) taken.add(other);
    }
    return all;
  }

  listen() {
    // Charts are drawn before the page is printed. The browser's menu prints at once, so it prints only charts that are
    // already drawn, and the others are requested.
    addEventListener('keydown', async (event) => {
      if (event.key !== 'p' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      (await import('./printing.js')).print(this);
    });
    addEventListener('beforeprint', async () => (await import('./printing.js')).request(this));
    this.state.addEventListener('change', ({ detail }) => {
      this.bar.show();
      const any = (...names) => names.some((n) => detail.has(n));
      if (any('m') || (any('pattern') && this.state.has('m'))) this.listMetrics();
      else if (any('together', 'pins') || (any('charts') && JSON.stringify([...this.together]) !== this.arranged))
        this.arrangeFigures();
      if (any('charts')) this.setSizes();
      if (any('logy', 'smooth', 'trim', 'charts')) this.paint();
      if (any('x', 'logx', 'zoom', 'zooms', 'charts') || (any('smooth') && this.zoomed)) this.refresh();
      if (this.dialog?.open) this.dialog.show();
      this.big?.update();
    });
  }

  /**
   * zoomName returns the name under which the address holds the zoom of a chart. Steps of system metrics are
   * sample numbers, so the charts of system metrics have a separate zoom.
   */
  zoomName(key) {
    return key.startsWith(`${systemGroup}/`) && !this.state.has('x') ? 'zooms' : 'zoom';
  }

  view(key = '') {
    const { state } = this;
    const [from, to] = state.get(this.zoomName(key), '~').split('~').map(Number.parseFloat);
    const zoomed = Number.isFinite(from) && Number.isFinite(to) && from < to;
    const x = state.get('x');
    const against = x.startsWith('metric:') ? x.slice('metric:'.length) : '';
    const o = this.options.get(key) ?? {};
    const log = (scale, all) => (scale ? scale === 'log' : state.has(all));
    return {
      x: against ? 'metric' : ['relative', 'time'].includes(x) ? x : 'step',
      against,
      logx: log(o.x, 'logx'),
      logy: log(o.y, 'logy'),
      smooth: o.smooth ?? Math.min(state.number('smooth', 0), 0.999),
      outliers: outlierMode(state.get('trim')),
      from: zoomed ? from : null,
      to: zoomed ? to : null,
      low: o.low ?? null,
      high: o.high ?? null,
      highlight: this.highlight,
      mark: (!key.startsWith(`${systemGroup}/`) && this.mark?.()) || null,
    };
  }

  /**
   * listMetrics requests the names of the metrics and creates a figure for each.
   * @param {boolean} [more] whether to add the next page
   */
  async listMetrics(more = false) {
    const asked = () => `${this.state.get('m')} ${this.state.has('pattern')}`;
    const before = asked();
    const offset = more ? this.listed : 0;
    let found = this.first;
    this.first = null;
    let wrong = '';
    if (!found) {
      try {
        found = await this.keys(this.state.get('m'), offset, keysAtOnce, this.state.has('pattern'));
      } catch (error) {
        wrong = error.message;
      }
    }
    if (before !== asked()) return; // the search has changed
    this.bar.search.setAttribute('aria-invalid', String(Boolean(wrong)));
    this.wrong.textContent = wrong;
    if (wrong) return;
    this.listed = offset + found.data.length;
    if (!more) this.names = [];
    this.names.push(...found.data.map((k) => k.key));
    this.total = found.total;
    this.arrangeFigures();
  }

  /** arrangeFigures puts the figures into their groups. Existing figures are reused. */
  arrangeFigures() {
    const groups = new Map();
    this.bar.pairing.hidden = groupBySplit(this.names).size === 0;
    const paired = this.together;
    this.arranged = JSON.stringify([...paired]);
    const inside = new Set([...paired.values()].flat());
    const part = this.state.get('m').toLowerCase();
    const sought =
      this.state.has('pattern') && part ? (key) => this.names.includes(key) : (key) => key.toLowerCase().includes(part);
    const pinned = this.pins.filter((key) => !inside.has(key) && sought(key));
    const charts = [...pinned, ...this.names.filter((key) => !inside.has(key) && !pinned.includes(key))];
    for (const key of charts.slice(pinned.length)) {
      const slash = key.indexOf('/');
      const group = slash > 0 ? key.slice(0, slash) : '';
      groups.set(group, [...(groups.get(group) || []), key]);
    }
    for (const [key, f] of this.figures) {
      if (!charts.includes(key)) this.removeFigure(key, f);
    }
    const folded = new Set(this.state.get('fold', systemGroup).split('\n').filter(Boolean));
    this.companions.clear();
    for (const key of charts) this.setCompanions(this.figure(key), paired.get(key) || []);
    const focused = document.activeElement;
    const all = [...groups].map(([group, keys]) => ({
      name: group || 'Others',
      keys,
      title: groups.size > 1 || group ? isolated(group || 'Others') : 'Metrics',
    }));
    if (pinned.length > 0) all.unshift({ name: '', keys: pinned, title: 'Pinned' });
    const parts = all.map(({ name, keys, title }) => {
      const details = el(
        'details',
        { open: !name || !folded.has(name), 'data-pinned': !name, id: name === systemGroup && systemGroup },
        el('summary', {}, title, el('span', { class: 'count' }, String(keys.length))),
        el('div', { class: 'figures' }, ...keys.map((k) => this.figure(k).root)));
      details.addEventListener('toggle', () => {
        if (!name) return;
        if (details.open) folded.delete(name);
        else folded.add(name);
        const text = [...folded].join('\n');
        this.state.set({ fold: text === systemGroup ? null : text });
      });
      return details;
    });
    const rest = this.total - this.listed;
    if (rest > 0)
      parts.push(
        el(
          'button',
          { type: 'button', class: 'plain', click: () => this.listMetrics(true) },
          `Show more metrics (${count(rest)} left)`
        )
      );
    if (parts.length === 0)
      parts.push(
        el('p', { class: 'nothing' }, this.state.get('m') ? 'No metrics match.' : 'No metrics have been logged yet.')
      );
    this.places.replaceChildren(...parts);
    for (const [key, f] of this.figures) f.pinned.setAttribute('aria-pressed', String(pinned.includes(key)));
    this.setSizes();
    if (this.places.contains(focused)) focused.focus({ preventScroll: true });
    this.requestFirst();
  }

  figure(key) {
    if (this.figures.has(key)) return this.figures.get(key);
    const f = { key, others: [], curves: new Map(), dirty: new Set(), inSight: false };
    f.points = el('span', { class: 'count', 'data-testid': 'points' });
    f.ends = el('span', { class: 'count ends', 'data-testid': 'ends' });
    f.beyond = el('span', { class: 'beyond', 'data-testid': 'beyond' });
    f.box = el('div', { class: 'plot' });
    const act = (label, fn) =>
      el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${key}`, click: fn }, label);
    f.with = el('span', { class: 'count', 'data-testid': 'with' });
    f.root = el(
      'figure',
      { 'data-key': key, 'data-testid': 'chart' },
      el(
        'figcaption',
        {},
        isolated(key, 'name'),
        f.with,
        f.points,
        el(
          'span',
          { class: 'acts' },
          (f.pinned = act('Pin', () => this.pin(key))),
          act('Options', () => this.openOptions(key)),
          act('Enlarge', () => this.enlarge(key))
        ),
        f.ends,
        f.beyond
      ),
      f.box
    );
    f.chart = new Chart(f.box, key, normalHeight, this.chartCallbacks(key));
    this.figures.set(key, f);
    this.seen.observe(f.root);
    return f;
  }

  /** openOptions opens the dialog with the options of a chart. */
  async openOptions(key) {
    (await import('./figureaction.js')).openOptions(this, key);
  }

  /** setSizes applies the selected size to each chart. */
  setSizes() {
    for (const [key, f] of this.figures) {
      const wide = this.options.get(key)?.size === 'large';
      f.root.classList.toggle('large', wide);
      f.chart.setHeight(wide ? largeHeight : normalHeight);
    }
  }

  /** setCompanions sets the additional metrics that a figure draws. */
  setCompanions(f, keys) {
    const before = f.others || [];
    f.others = keys.map((key) => before.find((o) => o.key === key) || companionOf(f, key));
    for (const o of f.others) if (!f.large) this.companions.set(o.key, o);
    f.with?.replaceChildren(
      ...f.others.map((o, i) =>
        el(
          'span',
          {},
          ' and ',
          el('i', { class: `dash ${dashes[i % dashes.length].split(' ')[0]}`, 'aria-hidden': 'true' }),
          isolated(o.key),
          ` (${dashes[i % dashes.length]})`
        )
      )
    );
    if (before.map((o) => o.key).join('\n') !== keys.join('\n') && f.inSight) this.curves.request(f);
  }

  /** figureOf returns the figure with the curves of a metric. The enlarged figure is ignored. */
  figureOf(key) {
    return this.figures.get(key) || this.companions.get(key);
  }

  chartCallbacks(key) {
    return {
      zoom: ({ x, y }) => {
        const changes = {};
        if (x !== undefined) changes[this.zoomName(key)] = x && x.join('~');
        if (y !== undefined)
          changes.charts = options.changeChartOptions(this.state.get('charts'), key, {
            low: y?.[0] ?? null,
            high: y?.[1] ?? null,
          });
        this.state.set(changes);
      },
      hover: (x, source) => {
        for (const f of this.figures.values()) {
          if (f.inSight && f.chart !== source && this.zoomName(f.key) === this.zoomName(key)) f.chart.showCursor(x);
        }
      },
    };
  }

  /**
   * requestFirst requests the first charts at once. The browser reports which charts are visible only after it
   * has painted the page.
   */
  requestFirst() {
    this.note.textContent = this.noteText();
    for (const f of [...this.figures.values()].slice(0, firstCharts)) {
      if (f.inSight || f.root.closest('details')?.open === false) continue;
      f.inSight = true; // assumed until the browser reports which are visible
      this.curves.request(f);
    }
    this.curves.requestMissing();
  }

  removeFigure(key, f) {
    this.seen.unobserve(f.root);
    f.chart.remove();
    this.figures.delete(key);
  }

  setInSight(entries) {
    for (const entry of entries) {
      const f = this.figures.get(entry.target.dataset.key);
      if (!f) continue;
      f.visible = entry.isIntersecting;
      f.inSight = f.visible;
      if (f.inSight) this.curves.request(f);
      if (f.inSight) f.chart.highlightCurve(this.highlight);
    }
  }

  /** refresh requests curves again if the visible charts need other or finer curves. */
  refresh() {
    this.note.textContent = this.noteText();
    for (const f of this.figures.values()) if (f.inSight) this.curves.request(f);
    if (this.big) this.curves.request(this.big);
  }

  noteText() {
    const runs = this.runs();
    if (runs.length === 0)
      return this.idle?.() || 'No runs are drawn. To draw a run, click the colour before its name.';
    if (!runs[0].group) return '';
    const { most } = this.curves;
    const first = runs.some((r) => r.iterations > most)
      ? `, over the first ${count(most)} of its runs in the order of the table`
      : '';
    return `Each curve is the mean of a group${first}; the band around it is ± one standard deviation.`;
  }

  paint() {
    for (const f of [...this.figures.values(), this.big]) {
      if (f?.inSight && f.chart.view) this.show(f);
    }
  }

  highlightRun(id) {
    if (this.highlight === id) return;
    this.highlight = id;
    for (const f of [...this.figures.values(), this.big]) if (f?.inSight) f.chart.highlightCurve(id);
  }

  /** markGrown marks curves whose series have new points. */
  markGrown(series) {
    for (const s of series) {
      for (const f of [
        this.figureOf(s.key),
        ...[this.big, ...(this.big?.others || [])].filter((b) => b?.key === s.key),
      ])
        f?.dirty.add(s.iteration_id).add('group');
    }
    if (series.some((s) => !this.figureOf(s.key)) && (this.names || []).length >= (this.total || 0)) this.relist();
    this.curves.renewLater();
  }

  relist = throttle(2000, () => this.listMetrics());

  renew = throttle(1000, () => this.refresh());

  show(f) {
    if (f.main) {
      this.show(f.main);
      return;
    }
    const curves = [];
    let drawn = 0;
    let all = 0;
    for (const run of this.runs()) {
      for (const [metric, one] of [f, ...f.others].entries()) {
        const c = one.curves.get(run.id);
        if (!c || c.x.length === 0) continue;
        curves.push({
          ...c,
          id: run.id,
          name: f.others.length > 0 ? `${run.name} · ${one.key}` : run.name,
          color: run.color,
          dash: f.others.length > 0 ? metric : run.dash, // dashes distinguish the metrics if there are several
        });
        drawn += c.x.length;
        all += c.count;
      }
    }
    const view = this.view(f.key);
    f.chart.draw(curves, view);
    const { left, none, beyond } = f.chart;
    if (f.outside !== beyond) {
      f.outside = beyond;
      const [one, many] = curves[0]?.n ? ['group goes', 'groups go'] : ['run goes', 'runs go'];
      f.beyond.replaceChildren(
        ...(beyond
          ? [
              `${count(beyond)} ${beyond === 1 ? one : many} beyond this range`,
              el('button', { type: 'button', class: 'plain', click: () => this.state.set({ trim: 'no' }) }, 'Show all'),
            ]
          : [])
      );
    }
    f.root.dataset.drawn = curves.length;
    // A point that represents several points shows their minimum and maximum.
    let text =
      left > 0 ? `${count(drawn - left)} of ${pointCount(all)}, ${count(left)} at or below 0` : pointCount(all);
    if (none && left === 0 && view.from != null)
      text = `no points between ${f.chart.formatX(view.from)} and ${f.chart.formatX(view.to)}`;
    else if (none && left === 0)
      text = view.against
        ? `no steps with ${view.against}`
        : `no points${this.state.get('tree') ? ' in the runs drawn' : ''}`;
    f.points.title =
      left === 0 && drawn < all
        ? `Drawn as ${count(drawn)} points, which keep the minimum and maximum of the points between them`
        : '';
    f.points.textContent = text;
    const ends =
      none || left > 0 || view.from != null || view.against
        ? ''
        : endsText(curves, (at) => f.chart.formatX(at), view.x);
    f.ends.textContent = ends;
    f.points.classList.toggle('visually-hidden', ends !== '');
    f.ends.title = ends && `${ends}, ${text}`;
    f.legend?.(curves);
    // A chart without points shows a message instead of axes.
    if (none) f.box.dataset.none = text;
    else delete f.box.dataset.none;
  }

  /** enlarge shows a chart in a dialog, with more points than on the page. */
  async enlarge(key) {
    (await import('./figureaction.js')).enlarge(this, key);
  }
}

/**
 * endsText describes the last and the best value of a chart's curves. For several runs it names the best run. It
 * returns '' if there is nothing to say.
 * @param {Object[]} curves
 * @param {function(number): string} format formats a position on the X axis
 * @param {string} axis as view.x
 */
function endsText(curves, format, axis) {
  const value = (v, x, word = 'at') => `${round(v)} ${word} ${axis === 'step' ? 'step ' : ''}${format(x)}`;
  let best = null;
  for (const c of curves) {
    if (!c.better || c.n) continue;
    const sign = c.better === 'smaller' ? 1 : -1;
    const bounds = c.better === 'smaller' ? c.low : c.high;
    c.y.forEach((y, i) => {
      const v = toNumber(bounds?.[i] ?? y); // a point that represents several points has their bounds
      if (Number.isFinite(v) && !(best && sign * v >= sign * best.v))
        best = { v, x: c.x[i], name: c.name, near: c.behind?.[i] > 1 };
    });
  }
  const found = best && `best ${value(best.v, best.x, best.near ? 'near' : 'at')}`;
  if (curves.length > 1) return best ? `${found} · ${best.name}` : '';
  if (curves.length === 0 || curves[0].n) return '';
  const [c] = curves;
  const last = value(c.y.at(-1), c.x.at(-1));
  if (best && best.x === c.x.at(-1)) return `last and best ${last}`;
  return found ? `last ${last} · ${found}` : `last ${last}`;
}

/** outlierMode returns the setting for outliers in the address: 'ignore', 'show', or '' for the default. */
const outlierMode = (trim) => (trim === 'no' ? 'show' : trim && 'ignore');

/** companionOf returns the object that holds the curves of an additional metric in the figure main. */
function companionOf(main, key) {
  return {
    key,
    main,
    others: [],
    curves: new Map(),
    dirty: new Set(),
    points: main.points,
    get inSight() {
      return main.inSight;
    },
  };
}

/** dashes are the names of the line styles for all metrics of a chart after the first. */
const dashes = ['dashed', 'dotted', 'long dashes'];
