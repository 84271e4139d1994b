// The charts of a page: one for each metric, in groups, drawn when they come
// into sight.
import { later } from './ask.js';
import { Chart } from './chart.js';
import * as options from './chartoption.js';
import { Curves } from './curves.js';
import { el, isolated } from './dom.js';
import { count, pointCount } from './format.js';
import { pairs } from './pair.js';
import { Bar } from './panelbar.js';

const keysAtOnce = 60;
const aside = 'system'; // a group that is collapsed at first
const likely = 6; // charts, before it is known which are in sight
const [usual, large] = [176, 360]; // heights of charts

// Panel draws the metrics of runs. keys(q, offset, limit, pattern) answers {data, total}, those
// of most interest first, where q is a part of their names or a pattern;
// runs() the runs to draw, {id, name, color}, or groups of them with their values;
// groups() returns the runs that these are made of. first is the first page of the keys; early
// are curves that the browser has asked for while it loaded the scripts: {path,
// request}. lead are elements at the beginning of the bar. gone is called when a run is not
// there any more; idle() may say why there are no runs. drawn() names the runs for
// a report, as reporting takes them.
export class Panel {
  constructor(root, state, { keys, runs, groups, first, early, lead = [], gone, idle, drawn }) {
    Object.assign(this, { root, state, keys, runs, first, idle, drawn });
    this.figures = new Map(); // by key
    this.companions = new Map(); // by key: metrics that are drawn in the figure of another one
    this.highlight = '';
    this.curves = new Curves({ runs, groups, early, gone, view: (key) => this.view(key), of: (key) => this.of(key), show: (f) => this.show(f), renew: () => this.renew() });
    this.bar = new Bar(state, { lead, keys, view: () => this.view(), fit: () => this.fit(),
      fits: () => !this.zoomed && ![...this.options.values()].some((o) => o.low != null) });
    this.note = el('p', { class: 'count', 'data-testid': 'drawn' });
    this.wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'pattern-wrong' });
    this.places = el('div', { class: 'groups' });
    root.replaceChildren(this.bar.root, el('div', { class: 'scroll' }, this.wrong, this.note, this.places));
    this.seen = new IntersectionObserver((entries) => this.sight(entries), { rootMargin: '200px' });
    this.listen();
    this.list();
  }

  get zoomed() {
    return this.state.has('zoom') || this.state.has('zooms');
  }

  // fit resets the zoom of all charts.
  fit() {
    const all = new Map([...this.options].map(([key, o]) => [key, { ...o, low: null, high: null }]));
    this.state.set({ zoom: null, zooms: null, charts: options.write(all) || null });
  }

  // options are those of single charts, by metric.
  get options() {
    const text = this.state.get('charts');
    if (this.read?.text !== text) this.read = { text, all: options.read(text) };
    return this.read.all;
  }

  // pins are the metrics whose charts come first.
  get pins() {
    return this.state.get('pins').split('\n').filter(Boolean);
  }

  pin(key) {
    const { pins } = this;
    const others = pins.filter((k) => k !== key);
    this.state.set({ pins: (others.length < pins.length ? others : [...pins, key]).join('\n') || null });
  }

  // together returns, by the metric of a chart, the others that it draws.
  get together() {
    const all = this.state.has('together') ? pairs(this.names) : new Map();
    const taken = new Set([...all.values()].flat());
    for (const [key, { others }] of this.options) {
      if (others.length === 0 || taken.has(key)) continue;
      all.set(key, [...new Set([...(all.get(key) || []), ...others])].filter((other) => !all.has(other) && other !== key));
      for (const other of others) taken.add(other);
    }
    return all;
  }

  listen() {
    this.state.addEventListener('change', ({ detail }) => {
      this.bar.show();
      const any = (...names) => names.some((n) => detail.has(n));
      if (any('m') || (any('pattern') && this.state.has('m'))) this.list();
      else if (any('together', 'pins') || (any('charts') && JSON.stringify([...this.together]) !== this.arranged)) this.arrange();
      if (any('charts')) this.resize();
      if (any('logy', 'smooth', 'trim', 'charts')) this.paint();
      if (any('x', 'logx', 'zoom', 'zooms', 'charts') || (any('smooth') && this.zoomed)) this.refresh();
      if (this.dialog?.open) this.dialog.show();
    });
  }

  // zoom returns the name of the part of the state with the range that a chart
  // shows. Steps of the group aside count samples, so it has a range of its own.
  zoom(key) {
    return key.startsWith(`${aside}/`) && !this.state.has('x') ? 'zooms' : 'zoom';
  }

  view(key = '') {
    const { state } = this;
    const [from, to] = state.get(this.zoom(key), '~').split('~').map(Number.parseFloat);
    const zoomed = Number.isFinite(from) && Number.isFinite(to) && from < to;
    const x = state.get('x');
    const against = x.startsWith('metric:') ? x.slice('metric:'.length) : '';
    const o = this.options.get(key) ?? {};
    const log = (scale, all) => (scale ? scale === 'log' : state.has(all));
    return { x: against ? 'metric' : ['relative', 'time'].includes(x) ? x : 'step', against, logx: log(o.x, 'logx'), logy: log(o.y, 'logy'),
      smooth: o.smooth ?? Math.min(state.number('smooth', 0), 0.999), outliers: outliersOf(state.get('trim')),
      from: zoomed ? from : null, to: zoomed ? to : null, low: o.low ?? null, high: o.high ?? null, highlight: this.highlight };
  }

  // list requests the names of the metrics, and makes a place for each.
  async list(more = false) {
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
    if (before !== asked()) return; // somebody types on
    this.bar.search.setAttribute('aria-invalid', String(Boolean(wrong)));
    this.wrong.textContent = wrong;
    if (wrong) return;
    this.listed = offset + found.data.length;
    if (!more) this.names = [];
    this.names.push(...found.data.map((k) => k.key));
    this.total = found.total;
    this.arrange();
  }

  // arrange puts the figures into their groups, and keeps existing ones.
  arrange() {
    const groups = new Map();
    this.bar.pairing.hidden = pairs(this.names).size === 0;
    const paired = this.together;
    this.arranged = JSON.stringify([...paired]);
    const inside = new Set([...paired.values()].flat());
    const part = this.state.get('m').toLowerCase();
    const sought = this.state.has('pattern') && part ? (key) => this.names.includes(key) : (key) => key.toLowerCase().includes(part);
    const pinned = this.pins.filter((key) => !inside.has(key) && sought(key));
    const charts = [...pinned, ...this.names.filter((key) => !inside.has(key) && !pinned.includes(key))];
    for (const key of charts.slice(pinned.length)) {
      const slash = key.indexOf('/');
      const group = slash > 0 ? key.slice(0, slash) : '';
      groups.set(group, [...(groups.get(group) || []), key]);
    }
    for (const [key, f] of this.figures) {
      if (!charts.includes(key)) this.drop(key, f);
    }
    const folded = new Set(this.state.get('fold', aside).split('\n').filter(Boolean));
    this.companions.clear();
    for (const key of charts) this.join(this.figure(key), paired.get(key) || []);
    const focused = document.activeElement;
    const all = [...groups].map(([group, keys]) => ({ name: group || 'Others', keys, title: groups.size > 1 || group ? isolated(group || 'Others') : 'Metrics' }));
    if (pinned.length > 0) all.unshift({ name: '', keys: pinned, title: 'Pinned' });
    const parts = all.map(({ name, keys, title }) => {
      const details = el('details', { open: !name || !folded.has(name), 'data-pinned': !name, id: name === aside && aside },
        el('summary', {}, title, el('span', { class: 'count' }, String(keys.length))),
        el('div', { class: 'figures' }, ...keys.map((k) => this.figure(k).root)));
      details.addEventListener('toggle', () => {
        if (!name) return;
        if (details.open) folded.delete(name);
        else folded.add(name);
        const text = [...folded].join('\n');
        this.state.set({ fold: text === aside ? null : text });
      });
      return details;
    });
    const rest = this.total - this.listed;
    if (rest > 0) parts.push(el('button', { type: 'button', class: 'plain', click: () => this.list(true) }, `Show more metrics (${count(rest)} left)`));
    if (parts.length === 0) parts.push(el('p', { class: 'nothing' }, this.state.get('m') ? 'No metrics match.' : 'No metrics have been logged yet.'));
    this.places.replaceChildren(...parts);
    for (const [key, f] of this.figures) f.pinned.setAttribute('aria-pressed', String(pinned.includes(key)));
    this.resize();
    if (this.places.contains(focused)) focused.focus({ preventScroll: true });
    this.look();
  }

  figure(key) {
    if (this.figures.has(key)) return this.figures.get(key);
    const f = { key, others: [], curves: new Map(), dirty: new Set(), inSight: false };
    f.points = el('span', { class: 'count', 'data-testid': 'points' });
    f.beyond = el('span', { class: 'beyond', 'data-testid': 'beyond' });
    f.box = el('div', { class: 'plot' });
    const act = (label, fn) => el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${key}`, click: fn }, label);
    f.with = el('span', { class: 'count', 'data-testid': 'with' });
    f.root = el('figure', { 'data-key': key, 'data-testid': 'chart' },
      el('figcaption', {}, isolated(key, 'name'), f.with, f.points, el('span', { class: 'acts' },
        f.pinned = act('Pin', () => this.pin(key)), act('Options', () => this.choose(key)), act('Enlarge', () => this.enlarge(key))), f.beyond), f.box);
    f.chart = new Chart(f.box, key, usual, this.on(key));
    this.figures.set(key, f);
    this.seen.observe(f.root);
    return f;
  }

  // choose opens the dialog with the options of a chart.
  async choose(key) {
    const { chartDialog } = await import('./chartdialog.js');
    const f = this.figures.get(key);
    if (!f) return;
    this.dialog = chartDialog(key, {
      options: () => ({ others: [], ...this.options.get(key) }),
      set: (changes) => this.state.set({ charts: options.changed(this.state.get('charts'), key, changes) }),
      find: async (q) => {
        const found = await this.keys(q, 0, 50);
        const there = new Set([key, ...f.others.map((o) => o.key)]);
        return { total: found.total, names: found.data.filter((k) => !there.has(k.key)).map((k) => ({ name: k.key })) };
      },
      pairs: () => [...pairs(this.names)].map(([first, others]) => [first, ...others]).find((all) => all.includes(key))?.filter((name) => name !== key) ?? [],
      shown: () => f.chart.y ?? [0, 1],
      png: () => save('png', f.chart, key),
      csv: () => save('csv', f.chart, key),
      report: () => this.report(f),
    });
  }

  // report opens the dialog that adds a chart to a report.
  async report(f) {
    const { logx, logy, outliers } = this.view(f.key);
    const log = (is) => (is ? 'log' : '');
    (await import('./reporting.js')).reporting({ ...this.drawn(), metrics: [f.key, ...f.others.map((o) => o.key)], x: log(logx), y: log(logy), outliers: outliers === 'show' ? 'show' : '' });
  }

  // resize gives each chart the size that was chosen for it.
  resize() {
    for (const [key, f] of this.figures) {
      const wide = this.options.get(key)?.size === 'large';
      f.root.classList.toggle('large', wide);
      f.chart.resized(wide ? large : usual);
    }
  }

  // join makes a figure draw other metrics too.
  join(f, keys) {
    const before = f.others || [];
    f.others = keys.map((key) => before.find((o) => o.key === key) || companion(f, key));
    for (const o of f.others) if (!f.large) this.companions.set(o.key, o);
    f.with?.replaceChildren(...f.others.map((o, i) => el('span', {}, ' and ', el('i', { class: `dash ${dashes[i % dashes.length].split(' ')[0]}`, 'aria-hidden': 'true' }), isolated(o.key), ` (${dashes[i % dashes.length]})`)));
    if (before.map((o) => o.key).join('\n') !== keys.join('\n') && f.inSight) this.curves.want(f);
  }

  // of returns the figure that holds the curves of a metric, apart from the enlarged
  // chart.
  of(key) {
    return this.figures.get(key) || this.companions.get(key);
  }

  on(key) {
    return {
      zoom: ({ x, y }) => {
        const changes = {};
        if (x !== undefined) changes[this.zoom(key)] = x && x.join('~');
        if (y !== undefined) changes.charts = options.changed(this.state.get('charts'), key, { low: y?.[0] ?? null, high: y?.[1] ?? null });
        this.state.set(changes);
      },
      hover: (x, source) => {
        for (const f of this.figures.values()) {
          if (f.inSight && f.chart !== source && this.zoom(f.key) === this.zoom(key)) f.chart.follow(x);
        }
      },
    };
  }

  // look requests the first charts at once: the browser reports which are in
  // sight only after it has painted.
  look() {
    this.note.textContent = this.said();
    for (const f of [...this.figures.values()].slice(0, likely)) {
      if (f.inSight || f.root.closest('details')?.open === false) continue;
      f.inSight = true; // until the browser reports otherwise
      this.curves.want(f);
    }
    this.curves.pump();
  }

  drop(key, f) {
    this.seen.unobserve(f.root);
    f.chart.remove();
    this.figures.delete(key);
  }

  sight(entries) {
    for (const entry of entries) {
      const f = this.figures.get(entry.target.dataset.key);
      if (!f) continue;
      f.inSight = entry.isIntersecting;
      if (f.inSight) this.curves.want(f);
      if (f.inSight) f.chart.light(this.highlight);
    }
  }

  // refresh is called when other curves, or finer ones, must be shown.
  refresh() {
    this.note.textContent = this.said();
    for (const f of this.figures.values()) if (f.inSight) this.curves.want(f);
    if (this.big) this.curves.want(this.big);
  }

  said() {
    const runs = this.runs();
    if (runs.length === 0) return this.idle?.() || 'No runs are drawn. To draw a run, click the colour before its name.';
    if (!runs[0].group) return '';
    const { most } = this.curves;
    const first = runs.some((r) => r.iterations > most) ? `, over the first ${count(most)} of its runs in the order of the table` : '';
    return `Each curve is the mean of a group${first}; the band around it is ± one standard deviation.`;
  }

  paint() {
    for (const f of [...this.figures.values(), this.big]) {
      if (f?.inSight && f.chart.view) this.show(f);
    }
  }

  point(id) {
    if (this.highlight === id) return;
    this.highlight = id;
    for (const f of [...this.figures.values(), this.big]) if (f?.inSight) f.chart.light(id);
  }

  // grow is called with the series that have new points.
  grow(series) {
    for (const s of series) {
      for (const f of [this.of(s.key), ...[this.big, ...(this.big?.others || [])].filter((b) => b?.key === s.key)]) f?.dirty.add(s.iteration_id).add('group');
    }
    if (series.some((s) => !this.of(s.key)) && (this.names || []).length >= (this.total || 0)) this.relist();
    this.curves.again();
  }

  relist = later(2000, () => this.list());

  renew = later(1000, () => this.refresh());

  show(f) {
    if (f.main) {
      this.show(f.main);
      return;
    }
    const curves = [];
    let drawn = 0;
    let all = 0;
    for (const run of this.runs()) {
      for (const [dash, one] of [f, ...f.others].entries()) {
        const c = one.curves.get(run.id);
        if (!c || c.x.length === 0) continue;
        curves.push({ ...c, id: run.id, name: f.others.length > 0 ? `${run.name} · ${one.key}` : run.name, color: run.color, dash });
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
      f.beyond.replaceChildren(...(beyond ? [`${count(beyond)} ${beyond === 1 ? one : many} beyond this range`,
        el('button', { type: 'button', class: 'plain', click: () => this.state.set({ trim: 'no' }) }, 'Show all')] : []));
    }
    f.root.dataset.drawn = curves.length;
    // A place that stands for several points has their minimum and maximum, so nothing is lost.
    let text = left > 0 ? `${count(drawn - left)} of ${pointCount(all)}, ${count(left)} at or below 0` : pointCount(all);
    if (none && left === 0 && view.from != null) text = `no points between ${f.chart.place(view.from)} and ${f.chart.place(view.to)}`;
    else if (none && left === 0) text = view.against ? `no steps with ${view.against}` : `no points${this.state.get('tree') ? ' in the runs drawn' : ''}`;
    f.points.title = left === 0 && drawn < all ? `Drawn as ${count(drawn)} points, with the minimum and maximum of those between them` : '';
    f.points.textContent = text;
    // There is nothing to draw axes for.
    if (none) f.box.dataset.none = text;
    else delete f.box.dataset.none;
  }

  // enlarge shows a chart in a dialog of its own, with more points.
  async enlarge(key) {
    const { large: open } = await import('./large.js');
    const f = this.figures.get(key);
    if (!f || this.big) return;
    this.big = open(key, this.on(key), () => { this.big = null; });
    this.join(this.big, f.others.map((o) => o.key));
    this.curves.want(this.big);
  }
}

// outliersOf returns what an address says about outliers: 'ignore', 'show', or '' for what is usual.
const outliersOf = (trim) => (trim === 'no' ? 'show' : trim && 'ignore');

// save saves a chart as a picture or as numbers.
const save = async (as, chart, key) => (await import('./keep.js'))[as](chart, key);

// companion holds the curves of a metric that is drawn in the figure of another one.
function companion(main, key) {
  return { key, main, others: [], curves: new Map(), dirty: new Set(), points: main.points, get inSight() { return main.inSight; } };
}

// dashes names the line styles of the metrics after the first one.
const dashes = ['dashed', 'dotted', 'long dashes'];
