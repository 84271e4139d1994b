// The charts of a page.
import { Chart } from './chart.js';
import * as options from './chartoption.js';
import { Curves } from './curves.js';
import { el, isolated } from './dom.js';
import { count, pointCount, round, toNumber } from './format.js';
import { groupBySplit } from './metricsplit.js';
import { PanelBar } from './panelbar.js';
import { panelID, sectionOf } from './panelid.js';
import { throttle } from './timing.js';

const keysAtOnce = 60;
const systemGroup = 'system'; // this group is collapsed by default
const firstCharts = 6; // charts that are loaded before the browser reports which are visible
const [normalHeight, largeHeight] = [176, 360]; // heights of charts
const sizes = ['medium', 'wide', 'large']; // sizes of charts other than the default

/** defaultSections returns the sections of metrics without a layout, as described in layout.js. */
function defaultSections(keys) {
  const all = Map.groupBy(keys, sectionOf);
  return [...all].map(([prefix, some]) => ({
    name: '',
    prefix,
    panels: some.map((key) => ({ type: 'metric', metrics: [key] })),
  }));
}

/** contentOf returns a text that is equal for panels that have the same figure. */
const contentOf = (panel) => JSON.stringify({ ...panel, metrics: panel.metrics?.[0] });

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
   * @param {?function} options.early as for Curves
   * @param {HTMLElement[]} [options.lead] elements at the beginning of the bar
   * @param {function()} options.gone called when a run was deleted
   * @param {function(): string} options.idle returns the reason why no run is drawn, if there is one
   * @param {function(): ?number} options.mark returns the step that charts over steps mark, if there is one
   * @param {function(): Object} options.drawn returns the runs for a report, as an argument of openReportDialog
   * @param {string} options.experiment id of the experiment
   * @param {function(): string} options.scope returns the filter of all runs, drawn or not, for panels without curves
   * @param {function()} [options.saveView] opens the dialog with the saved views. Without it, the user can't change
   *   the layout.
   * @param {boolean} [options.noView] whether the saved view in the address does not exist
   */
  constructor(root, state, options) {
    const { keys, runs, groups, first, early, lead = [], gone, idle, mark, drawn } = options;
    const { experiment, scope, saveView, noView } = options;
    Object.assign(this, { root, state, keys, runs, first, idle, mark, drawn, experiment, scope, saveView, noView });
    this.figures = new Map(); // figures by id: the metric, or the id of a panel
    this.highlight = '';
    this.defined = new Map(); // definitions of metrics by name
    this.curves = new Curves({
      runs,
      groups,
      early,
      gone,
      view: (id) => this.view(id),
      of: (key) => this.drawing().find((f) => f.key === key),
      show: (f) => this.show(f),
      renew: () => this.renew(),
    });
    this.bar = new PanelBar(state, {
      lead,
      keys,
      defined: this.defined,
      view: () => this.view(),
      fit: () => this.resetZoom(),
      fits: () => !this.zoomed && ![...this.options.values()].some((o) => o.low != null),
      arrange: saveView && (() => this.toggleArranger()),
    });
    this.note = el('p', { class: 'count', 'data-testid': 'drawn' });
    this.wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'pattern-wrong' });
    this.places = el('div', { class: 'groups' });
    this.changed = el('p', { class: 'changed', 'data-testid': 'layout-changed' });
    this.scroller = el(
      'div',
      { class: 'scroll' },
      this.bar.finding,
      this.wrong,
      this.note,
      this.changed,
      this.places
    );
    root.replaceChildren(this.bar.root, this.scroller);
    this.seen = new IntersectionObserver((entries) => this.setInSight(entries), { rootMargin: '200px' });
    this.listen();
    if (state.layout || state.changedLayout !== undefined || state.has('view')) this.loadLayout();
    else this.listMetrics();
  }

  /** loadLayout loads the script for layouts, and then shows the metrics. */
  async loadLayout() {
    this.layouts = await import('./layout.js');
    await this.layouts.begin(this);
    this.listMetrics();
  }

  /** toggleArranger shows or hides the controls that change the layout. */
  async toggleArranger() {
    const { Arranger } = await import('./arrange.js');
    this.layouts ??= await import('./layout.js');
    this.arranger ??= new Arranger(this);
    this.arranger.toggle();
  }

  get zoomed() {
    return ['zoom', 'zooms', 'zoomd'].some((name) => this.state.has(name));
  }

  /** resetZoom resets the zoom of all charts. */
  resetZoom() {
    const all = new Map([...this.options].map(([key, o]) => [key, { ...o, low: null, high: null }]));
    this.state.set({ zoom: null, zooms: null, zoomd: null, charts: options.formatChartOptions(all) || null });
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
      else if (
        any('together', 'pins', 'layout') ||
        (any('charts') && JSON.stringify([...this.together]) !== this.arranged)
      )
        this.arrangeFigures();
      if (any('charts')) this.setSizes();
      if (any('logy', 'smooth', 'trim', 'charts')) this.paint();
      if (any('x', 'logx', 'zoom', 'zooms', 'zoomd', 'charts') || (any('smooth') && this.zoomed)) this.refresh();
      if (this.dialog?.open) this.dialog.show();
      this.big?.update();
    });
  }

  /**
   * zoomName returns the name under which the address holds the zoom of a chart. Steps of system metrics are
   * sample numbers, so the charts of system metrics have a separate zoom, and so have charts over the metric that the
   * script has defined as their X axis.
   */
  zoomName(key) {
    if (this.definedAxis(key)) return 'zoomd';
    return key.startsWith(`${systemGroup}/`) && !this.state.has('x') ? 'zooms' : 'zoom';
  }

  /** definedAxis returns the metric that the script has defined as the X axis of a metric, if the page uses it. */
  definedAxis(key) {
    return this.state.has('x') ? '' : (this.defined.get(key)?.step_metric ?? '');
  }

  /** view returns how to draw the chart with an id. */
  view(id = '') {
    const { state } = this;
    const key = this.figures.get(id)?.key ?? id;
    const [from, to] = state.get(this.zoomName(key), '~').split('~').map(Number.parseFloat);
    const zoomed = Number.isFinite(from) && Number.isFinite(to) && from < to;
    const x = state.get('x');
    const against = x.startsWith('metric:') ? x.slice('metric:'.length) : this.definedAxis(key);
    const o = this.options.get(id) ?? {};
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
    for (const { key, definition } of found.data) {
      if (definition) this.defined.set(key, definition);
      // A search also finds hidden metrics, and numbers of the summary, which have one point each.
      if (!(definition?.hidden || key.startsWith('summary/')) || this.state.has('m')) this.names.push(key);
    }
    this.bar.show();
    this.total = found.total;
    this.arrangeFigures();
  }

  /** arrangeFigures puts the figures into their groups. Existing figures are reused. */
  arrangeFigures() {
    if (this.state.layout && !this.layouts) {
      this.loadLayout();
      return;
    }
    this.bar.pairing.hidden = groupBySplit(this.names).size === 0;
    const paired = this.together;
    this.arranged = JSON.stringify([...paired]);
    const inside = new Set([...paired.values()].flat());
    const part = this.state.get('m').toLowerCase();
    const sought =
      this.state.has('pattern') && part ? (key) => this.names.includes(key) : (key) => key.toLowerCase().includes(part);
    const pinned = this.pins.filter((key) => !inside.has(key) && sought(key));
    const charts = [...pinned, ...this.names.filter((key) => !inside.has(key) && !pinned.includes(key))];
    const all = this.listed >= this.total && !part;
    const there = (panel) => {
      const id = panelID(panel);
      if (panel.type !== 'metric') return !part || this.layouts.panelTitle(panel).toLowerCase().includes(part);
      return !inside.has(id) && !pinned.includes(id) && sought(id) && (!all || this.names.includes(id));
    };
    this.arrangedKeys = charts.slice(pinned.length);
    const usual = defaultSections(this.arrangedKeys);
    this.sections = this.layouts?.arrange(this.state.layout, usual, there) ?? usual;
    const wanted = new Map([
      ...pinned.map((key) => [key, { type: 'metric', metrics: [key] }]),
      ...this.sections.flatMap((s) => s.panels.map((panel) => [panelID(panel), panel])),
    ]);
    for (const [id, f] of this.figures) {
      const panel = wanted.get(id);
      if (!panel || f.content !== contentOf(panel)) this.removeFigure(id, f);
      else if (f.panel) f.panel = panel;
    }
    const folded = new Set(this.state.get('fold', systemGroup).split('\n').filter(Boolean));
    for (const [id, panel] of wanted) {
      const f = this.figure(id, panel);
      if (!f.own) this.setCompanions(f, panel.type === 'line' ? panel.metrics.slice(1) : paired.get(id) || []);
    }
    const focused = document.activeElement;
    const groups = this.sections
      .filter((s) => s.panels.length > 0 || s.prefix === undefined || this.arranger?.on)
      .map((s) => ({
        section: s,
        name: s.prefix === undefined ? `section:${s.name}` : s.prefix || 'Others',
        panels: s.panels,
        title: this.sections.length > 1 || s.prefix || s.name ? isolated(s.name || s.prefix || 'Others') : 'Metrics',
      }));
    if (pinned.length > 0)
      groups.unshift({ name: '', panels: pinned.map((key) => wanted.get(key)), title: 'Pinned' });
    const parts = groups.map(({ section, name, panels, title }) => {
      const details = el(
        'details',
        { open: !name || !folded.has(name), 'data-pinned': !name, id: name === systemGroup && systemGroup },
        el('summary', {}, title, el('span', { class: 'count' }, String(panels.length))),
        el('div', { class: 'figures' }, ...panels.map((panel) => this.figures.get(panelID(panel)).root)));
      if (section) details.section = section;
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
    for (const [id, f] of this.figures) f.pinned?.setAttribute('aria-pressed', String(pinned.includes(id)));
    this.setSizes();
    this.layouts?.showNote(this);
    this.arranger?.show();
    if (this.places.contains(focused)) focused.focus({ preventScroll: true });
    this.requestFirst();
  }

  /** figure returns the figure of a panel. It creates the figure if necessary. */
  figure(id, panel) {
    if (this.figures.has(id)) return this.figures.get(id);
    const named = panel.type !== 'metric';
    const title = named ? this.layouts.panelTitle(panel) : id;
    const f = { id, title, others: [], curves: new Map(), dirty: new Set(), inSight: false };
    f.key = panel.metrics?.[0] ?? '';
    f.content = contentOf(panel);
    if (named) f.panel = panel;
    f.own = named && panel.type !== 'line'; // it has no curves
    f.points = el('span', { class: 'count', 'data-testid': 'points' });
    f.ends = el('span', { class: 'count ends', 'data-testid': 'ends' });
    f.beyond = el('span', { class: 'beyond', 'data-testid': 'beyond' });
    f.box = el('div', { class: 'plot' });
    const act = (label, fn) =>
      el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${title}`, click: fn }, label);
    f.with = el('span', { class: 'count', 'data-testid': 'with' });
    f.root = el(
      'figure',
      { 'data-key': id, 'data-testid': 'chart' },
      el(
        'figcaption',
        {},
        isolated((!panel.title && f.key) || title, 'name'),
        f.with,
        f.points,
        panel.type !== 'text' &&
          el(
            'span',
            { class: 'acts' },
            !named && (f.pinned = act('Pin', () => this.pin(id))),
            f.own ? act('Save as', () => this.saveFigure(id)) : act('Options', () => this.openOptions(id)),
            act('Report', () => this.addToReport(id)),
            !f.own && act('Enlarge', () => this.enlarge(id))
          ),
        f.ends,
        f.beyond
      ),
      f.box
    );
    f.chart = f.own
      ? this.layouts.lazyPanel(this, f, normalHeight)
      : new Chart(f.box, title, normalHeight, this.chartCallbacks(id));
    this.figures.set(id, f);
    this.seen.observe(f.root);
    return f;
  }

  /** openOptions opens the dialog with the options of a chart. */
  async openOptions(key) {
    (await import('./figureaction.js')).openOptions(this, key);
  }

  /** addToReport opens the dialog that adds a chart to a report. */
  async addToReport(id) {
    (await import('./figureaction.js')).addToReport(this, id);
  }

  /** saveFigure opens the dialog that saves a panel without curves. */
  async saveFigure(id) {
    (await import('./figureaction.js')).openSave(this, id);
  }

  /** setSizes applies the selected size to each chart. */
  setSizes() {
    for (const [id, f] of this.figures) {
      const size = this.options.get(id)?.size;
      for (const name of sizes) f.root.classList.toggle(name, name === size);
      f.chart.setHeight(size === 'large' ? largeHeight : normalHeight);
    }
  }

  /** setCompanions sets the additional metrics that a figure draws. */
  setCompanions(f, keys) {
    const before = f.others || [];
    f.others = keys.map((key) => before.find((o) => o.key === key) || companionOf(f, key));
    f.with?.replaceChildren(
      f.panel?.title && keys.length > 0 ? isolated(f.key) : '',
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

  /** drawing returns the objects that hold the curves of a metric: the figures, and their additional metrics. */
  drawing() {
    const figures = this.big ? [...this.figures.values(), this.big] : [...this.figures.values()];
    return figures.flatMap((f) => [f, ...f.others]);
  }

  /** request requests what a figure lacks. */
  request(f) {
    if (f.own) f.chart.update();
    else this.curves.request(f);
  }

  chartCallbacks(id) {
    const name = () => this.zoomName(this.figures.get(id)?.key ?? id);
    return {
      zoom: ({ x, y }) => {
        const changes = {};
        if (x !== undefined) changes[name()] = x && x.join('~');
        if (y !== undefined)
          changes.charts = options.changeChartOptions(this.state.get('charts'), id, {
            low: y?.[0] ?? null,
            high: y?.[1] ?? null,
          });
        this.state.set(changes);
      },
      hover: (x, source) => {
        for (const f of this.figures.values()) {
          if (f.inSight && !f.own && f.chart !== source && this.zoomName(f.key) === name()) f.chart.showCursor(x);
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
      this.request(f);
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
      if (f.inSight) this.request(f);
      if (f.inSight) f.chart.highlightCurve(this.highlight);
    }
  }

  /** refresh requests curves again if the visible charts need other or finer curves. */
  refresh() {
    this.note.textContent = this.noteText();
    for (const f of this.figures.values()) if (f.inSight) this.request(f);
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
    const figures = Map.groupBy(this.drawing(), (f) => f.key);
    for (const s of series) for (const f of figures.get(s.key) ?? []) f.dirty.add(s.iteration_id).add('group');
    const known = new Set(this.names);
    if (series.some((s) => !known.has(s.key)) && known.size >= (this.total || 0)) this.relist();
    for (const f of this.figures.values()) if (f.own) f.chart.markGrown();
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
    const view = this.view(f.id);
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
    if (!none && this.definedAxis(f.key)) text += ` over ${view.against}`;
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
