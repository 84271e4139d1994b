// The charts of a page: one for each metric, in groups, drawn when they come
// into sight.
import { ask, later, debounce } from './ask.js';
import { Chart } from './chart.js';
import * as options from './chartoption.js';
import { el, isolated } from './dom.js';
import { count, pointCount } from './format.js';
import { pairs } from './pair.js';

const keysAtOnce = 100;
const atOnce = 3; // requests for curves
const curvesAtOnce = 400; // of one request, about
const mostMembers = 1000; // runs that the mean of a group is over
const mostOfGroups = 10_000; // the same in all groups of a chart
const aside = 'system'; // a group that is folded at first, because it is only about the machine
const likely = 6; // charts, before it is known which are in sight
const [usual, large] = [176, 360]; // heights of charts

const mostMatched = 5000; // names of an experiment that a pattern selects from

// matching returns a function that reports whether a name has q in it, or matches it as a
// pattern. The server reads patterns, so that none takes long.
export async function matching(experiment, q, pattern) {
  const part = q.toLowerCase();
  if (!pattern || !q) return (name) => name.toLowerCase().includes(part);
  const found = new Set();
  for (let offset = 0; offset < mostMatched; offset += 1000) {
    const { data, total } = await ask(`experiment/${experiment}/keys`, { query: { kind: 'metric', q, offset, limit: 1000, pattern: '1' } });
    for (const { key } of data) found.add(key);
    if (found.size >= total || data.length === 0) break;
  }
  return (name) => found.has(name);
}

// Panel draws the metrics of runs. keys(q, offset, limit, pattern) returns {data, total}, those of most interest
// first, where q is a part of their names or a pattern; runs() the runs to draw, {id, name, color}, or groups of
// them with their values; groups() says of which runs these are. first is the first page of the keys; early are
// curves that the browser has asked for while it loaded the scripts: {path, request}. lead are elements at the
// beginning of the bar. gone is called when a run does not exist any more; idle() may return why there are no
// runs.
export class Panel {
  constructor(root, state, { keys, runs, groups, first, early, lead = [], gone, idle }) {
    Object.assign(this, { root, state, keys, runs, groups, first, early, lead, gone, idle });
    this.figures = new Map(); // by key
    this.companions = new Map(); // by key: metrics that are drawn in the figure of another one
    this.queue = new Set();
    this.jobs = []; // requests that wait
    this.busy = 0;
    this.highlight = '';
    this.seen = new IntersectionObserver((entries) => this.sight(entries), { rootMargin: '200px' });
    this.build();
    this.listen();
    this.list();
  }

  build() {
    const { state } = this;
    this.boxes = [];
    const option = (name, label) => {
      const box = el('input', { type: 'checkbox', name, change: () => state.set({ [name]: box.checked ? '1' : null }) });
      this.boxes.push(box);
      return el('label', {}, box, label);
    };
    this.search = el('input', { type: 'search', id: 'metric-search', placeholder: 'Find metrics', 'aria-label': 'Search metrics',
      input: debounce(200, () => state.set({ m: this.search.value || null })) });
    this.pattern = el('button', { type: 'button', class: 'plain pattern', name: 'pattern', title: 'Use a regular expression', 'aria-label': 'Regular expression', 'data-testid': 'pattern',
      click: () => state.set({ pattern: state.has('pattern') ? null : '1' }) }, '.*');
    this.axis = el('select', { name: 'x', 'aria-label': 'Horizontal axis', change: () => this.setAxis() });
    this.smoothing = el('input', { type: 'range', name: 'smooth', min: 0, max: 0.99, step: 0.01, 'data-testid': 'smooth',
      'aria-label': 'Smoothing', input: () => state.set({ smooth: Number(this.smoothing.value) || null }) });
    this.weight = el('input', { type: 'number', name: 'weight', min: 0, max: 0.999, step: 0.01, 'aria-label': 'Weight of the smoothing', 'data-testid': 'weight',
      input: () => this.weight.valueAsNumber >= 0 && state.set({ smooth: Math.min(this.weight.valueAsNumber, 0.999) || null }) });
    this.reset = el('button', { type: 'button', class: 'plain', 'data-testid': 'reset-zoom', click: () => this.fit() }, 'Reset zoom');
    this.bar = el('div', { class: 'strip' }, ...this.lead, el('span', { class: 'finding' }, this.search, this.pattern), this.axis, el('span', { class: 'weight' }, el('label', {}, 'Smooth', this.smoothing), this.weight),
      option('logx', 'log x'), option('logy', 'log y'), option('trim', 'Ignore outliers'), option('together', 'Train with val'), this.reset);
    this.pairing = this.boxes.at(-1).parentElement;
    this.note = el('p', { class: 'count', 'data-testid': 'drawn' });
    this.wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'pattern-wrong' });
    this.places = el('div', { class: 'groups' });
    this.root.replaceChildren(this.bar, el('div', { class: 'scroll' }, this.wrong, this.note, this.places));
    this.control();
  }

  // control updates the controls to the state.
  control() {
    const { state } = this;
    const view = this.view();
    if (document.activeElement !== this.search) this.search.value = state.get('m');
    this.pattern.setAttribute('aria-pressed', String(state.has('pattern')));
    for (const box of this.boxes) box.checked = state.has(box.name);
    this.smoothing.value = state.number('smooth', 0);
    if (document.activeElement !== this.weight) this.weight.value = state.number('smooth', 0);
    this.axis.replaceChildren(el('option', { value: 'step' }, 'Step'), el('option', { value: 'relative' }, 'Relative time'), el('option', { value: 'time' }, 'Wall time'),
      ...(view.x === 'metric' ? [el('option', { value: 'metric' }, view.against)] : []), el('option', { value: 'other' }, 'Metric…'));
    this.axis.value = view.x;
    this.zoomed = state.has('zoom') || state.has('zooms');
    this.reset.hidden = !this.zoomed && ![...this.options.values()].some((o) => o.low != null);
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

  async setAxis() {
    const { value } = this.axis;
    this.control();
    const set = (x) => this.state.set({ x: x === 'step' ? null : x, zoom: null, zooms: null });
    if (value !== 'other') {
      set(value);
      return;
    }
    const { pick } = await import('./pick.js');
    pick('Horizontal axis', async (q) => {
      const found = await this.keys(q, 0, 50);
      return { total: found.total, names: found.data.map(({ key }) => ({ name: key })) };
    }, ({ name }) => set(`metric:${name}`));
  }

  listen() {
    this.state.addEventListener('change', ({ detail }) => {
      this.control();
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
      smooth: o.smooth ?? Math.min(state.number('smooth', 0), 0.999), trim: state.has('trim'),
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
    if (before !== asked()) return; // typing goes on
    this.search.setAttribute('aria-invalid', String(Boolean(wrong)));
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
    this.pairing.hidden = pairs(this.names).size === 0;
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
    if (parts.length === 0) parts.push(el('p', { class: 'nothing' }, this.state.get('m') ? `No metric ${this.state.has('pattern') ? 'matches this' : 'has this in its name'}.` : 'No metrics have been logged yet.'));
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
    f.box = el('div', { class: 'plot' });
    const act = (label, fn) => el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${key}`, click: fn }, label);
    f.with = el('span', { class: 'count', 'data-testid': 'with' });
    f.root = el('figure', { 'data-key': key, 'data-testid': 'chart' },
      el('figcaption', {}, isolated(key, 'name'), f.with, f.points, el('span', { class: 'acts' },
        f.pinned = act('Pin', () => this.pin(key)), act('Options', () => this.choose(key)), act('Enlarge', () => this.enlarge(key)))), f.box);
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
    });
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
    for (const o of f.others) if (f !== this.big) this.companions.set(o.key, o);
    f.with?.replaceChildren(...f.others.map((o, i) => el('span', {}, ' and ', el('i', { class: `dash ${dashes[i % dashes.length].split(' ')[0]}`, 'aria-hidden': 'true' }), isolated(o.key), ` (${dashes[i % dashes.length]})`)));
    if (before.map((o) => o.key).join('\n') !== keys.join('\n') && f.inSight) this.want(f);
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
      this.want(f);
    }
    this.pump();
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
      if (f.inSight) this.want(f);
      if (f.inSight) f.chart.light(this.highlight);
    }
  }

  // refresh is called when other curves, or finer ones, must be shown.
  refresh() {
    this.note.textContent = this.said();
    for (const f of this.figures.values()) if (f.inSight) this.want(f);
    if (this.big) this.want(this.big);
  }

  // most returns the maximum number of runs of a group that count.
  get most() {
    return Math.min(mostMembers, Math.floor(mostOfGroups / this.runs().length));
  }

  said() {
    const runs = this.runs();
    if (runs.length === 0) return this.idle?.() || 'No runs are drawn: press the colour before a name.';
    if (!runs[0].group) return '';
    const most = runs.some((r) => r.iterations > this.most) ? `, over the first ${count(this.most)} of its runs in the order of the table` : '';
    return `Each curve is the mean of a group${most}; its band is one standard deviation to either side.`;
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
    this.again();
  }

  // again requests curves that have grown. For means of large groups, which
  // take long, it waits longer in between.
  again() {
    setTimeout(() => this.renew(), (this.rest || 0) - performance.now());
  }

  relist = later(2000, () => this.list());

  renew = later(1000, () => this.refresh());

  want(f) {
    if (this.queue.size === 0) queueMicrotask(() => this.pump());
    this.queue.add(f);
    for (const o of f.others) this.queue.add(o);
  }

  // pump requests the curves that charts in sight lack in this view, in one
  // request for charts that lack the same. Until then the charts show what they
  // have.
  pump() {
    if (this.jobs.length > 0) return; // waiting requests come first
    this.expect();
    const runs = this.runs();
    const { most } = this;
    const groups = runs[0]?.group ? { ...this.groups(), most } : null;
    const read = (all) => (groups ? all.reduce((sum, g) => sum + Math.min(most, g.iterations), 0) : all.length);
    const batches = new Map();
    const tails = [];
    for (const f of this.queue) {
      this.queue.delete(f);
      if (!f.inSight) continue;
      const view = this.view((f.main || f).key);
      const points = fine(runs.length, (f.main || f) === this.big);
      const question = asked(view, points, groups);
      const dirty = (r) => f.dirty.has(r.group ? 'group' : r.id);
      const lacking = runs.filter((r) => f.curves.get(r.id)?.asked !== question || dirty(r));
      if (lacking.length === 0) {
        f.flight = null; // the request under way is for another view
        this.show(f);
        continue;
      }
      if (!groups && lacking.every((r) => grows(f.curves.get(r.id), question, view, points))) {
        tails.push(...lacking.map((r) => ({ f, id: r.id, points, c: f.curves.get(r.id) })));
        continue;
      }
      const like = `${question} ${lacking.map((r) => r.id).join(' ')}`;
      if (f.flight?.like === like) continue; // it is under way
      let b = batches.get(like);
      if (!b || (b.figures.length + 1) * read(lacking) > curvesAtOnce) batches.set(like, b = { like, figures: [], lacking, question, points, view, groups });
      f.flight = b;
      b.figures.push(f);
      if (b.figures.length === 1) this.jobs.push(b);
    }
    if (tails.length > 0) this.jobs.push({ figures: [...new Set(tails.map((t) => t.f))], tails });
    this.work();
  }

  // expect takes the curves that the browser has requested early. Further ones
  // are requested as usual.
  expect() {
    const { path, request } = this.early || {};
    this.early = null;
    if (!path) return;
    const figures = request.keys.map((key) => this.of(key)).filter(Boolean);
    const lacking = this.runs().filter((r) => request.iterations.includes(r.id));
    if (figures.length === 0 || lacking.length === 0) return;
    const { x, against, points } = request;
    const question = asked({ x, against, logx: request.scale === 'log', from: null, to: null }, points, null);
    const b = { like: `${question} ${lacking.map((r) => r.id).join(' ')}`, path, figures, lacking, question, view: this.view() };
    for (const f of figures) f.flight = b;
    this.jobs.push(b);
  }

  work() {
    while (this.busy < atOnce && this.jobs.length > 0) {
      const b = this.jobs.shift();
      this.busy += 1;
      (b.tails ? this.extend(b.tails) : this.load(b)).catch((error) => {
        for (const f of b.figures) f.points.textContent = error.message;
      }).finally(() => {
        this.busy -= 1;
        for (const f of b.figures) {
          if (f.flight === b) f.flight = null;
          if (f.dirty.size > 0) this.again(); // curves grew meanwhile
        }
        this.work();
        if (this.jobs.length === 0) this.pump();
      });
    }
  }

  // load requests curves, and uses them for figures that have not requested others
  // since.
  async load(b) {
    const { path, figures, lacking, question, points, view, groups } = b;
    const body = { keys: figures.map((f) => f.key), points, x: view.x, against: view.against, scale: view.logx && !view.against ? 'log' : 'linear' };
    if (groups) body.groups = { ...groups, values: lacking.map((r) => r.values) };
    else body.iterations = lacking.map((r) => r.id);
    // A range of a metric is not a range of steps: all points are requested, and a part is shown.
    if (view.from != null && !view.against) Object.assign(body, { from: Math.floor(view.from), to: Math.ceil(view.to) });
    const grown = new Map(figures.map((f) => [f, [...f.dirty]]));
    for (const f of figures) {
      f.dirty.delete('group');
      for (const r of lacking) f.dirty.delete(r.id);
    }
    let [found, before] = [];
    const begun = performance.now();
    try {
      [found, before] = await Promise.all([path ? ask(path) : ask('curves', { body }),
        // Smoothing begins at the start of the curve.
        !path && view.smooth > 0 && body.from != null && ask('curves', { body: { ...body, from: undefined, to: body.from - 1 } })]);
    } catch (error) {
      if (error.status !== 404) throw error;
      this.gone?.(); // a run was deleted; the table finds out which
      return;
    }
    const now = performance.now();
    this.rest = groups ? now + 4 * (now - begun) : 0;
    for (const f of figures) {
      if (f.flight !== b) {
        for (const id of grown.get(f)) f.dirty.add(id);
        continue;
      }
      for (const r of lacking) f.curves.set(r.id, { asked: question, x: [], y: [], count: 0 });
      for (const c of found.curves) {
        const id = groups ? lacking[Number(c.id)].id : c.id;
        if (c.key !== f.key) continue;
        f.curves.set(id, { ...c, asked: question, before: before && before.curves.find((o) => o.id === c.id && o.key === c.key) });
      }
      this.show(f);
    }
  }

  // extend requests the new points of curves, and adds them. A curve with other
  // changes, such as a point in its middle, is requested as a whole.
  async extend(tails) {
    for (const { f, id } of tails) f.dirty.delete(id);
    const body = { points: Math.max(...tails.map((t) => t.points)), scale: 'linear', tails: tails.map(({ f, id, c }) => ({ id, key: f.key, after: c.x.at(-1) })) };
    const { curves } = await ask('curves', { body });
    for (const { f, id, c } of tails) {
      if (f.curves.get(id) !== c) continue; // it was requested again
      const more = curves.find((o) => o.id === id && o.key === f.key);
      if (!more || !add(c, more)) {
        c.asked = '';
        this.want(f);
      }
    }
    for (const f of new Set(tails.map((t) => t.f))) this.show(f);
  }

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
    const { left, none } = f.chart;
    f.root.dataset.drawn = curves.length;
    // A place that stands for several points has their minimum and maximum, so nothing is lost.
    let text = left > 0 ? `${count(drawn - left)} of ${pointCount(all)}, ${count(left)} at or below 0` : pointCount(all);
    if (none && left === 0 && view.from != null) text = `no points between ${f.chart.place(view.from)} and ${f.chart.place(view.to)}`;
    else if (none && left === 0) text = view.against ? `no step with ${view.against}` : 'no points';
    f.points.title = left === 0 && drawn < all ? `Drawn as ${count(drawn)} points, with the minimum and maximum of those between them` : '';
    f.points.textContent = text;
    // There is nothing to draw axes for.
    if (none) f.box.dataset.none = text;
    else delete f.box.dataset.none;
  }

  // enlarge shows a chart in a dialog of its own, with more points.
  enlarge(key) {
    const box = el('div', { class: 'plot' });
    const points = el('span', { class: 'count' });
    const act = (label, fn) => el('button', { type: 'button', class: 'plain', click: fn }, label);
    const dialog = el('dialog', { class: 'large', 'aria-label': key, close: () => {
      this.big.chart.remove();
      this.big = null;
      dialog.remove();
    } }, el('div', { class: 'caption' }, isolated(key, 'name'), points, el('span', { class: 'acts' },
      act('PNG', () => save('png', this.big.chart, key)), act('CSV', () => save('csv', this.big.chart, key)), act('Close', () => dialog.close()))), box);
    document.body.append(dialog);
    dialog.showModal();
    this.big = { key, root: dialog, box, points, curves: new Map(), dirty: new Set(), inSight: true, others: [],
      chart: new Chart(box, key, Math.max(280, innerHeight - 200), this.on(key)) };
    this.join(this.big, this.figures.get(key).others.map((o) => o.key));
    this.want(this.big);
  }
}

// save saves a chart as a picture or as numbers.
const save = async (as, chart, key) => (await import('./keep.js'))[as](chart, key);

// companion holds the curves of a metric that is drawn in the figure of another one.
function companion(main, key) {
  return { key, main, others: [], curves: new Map(), dirty: new Set(), points: main.points, get inSight() { return main.inSight; } };
}

// dashes names the line styles of the metrics after the first one.
const dashes = ['dashed', 'dotted', 'long dashes'];

// asked returns a key of the request for curves: curves with another key are not
// the same.
const asked = (view, points, groups) => JSON.stringify([view.x, view.against, view.logx, view.from, view.to, view.from != null && view.smooth > 0, points, groups]);

// grows reports whether new points may be added to a curve: it is a whole curve over
// steps, and not much longer than it would be if it was requested again.
const grows = (c, question, view, points) => c?.asked === question && view.x === 'step' && !view.logx && view.from == null && c.x.length > 0 && c.x.length < 2 * points;

// add adds new points to a curve, and reports whether the curve is complete then.
function add(c, more) {
  if (c.total + more.count !== more.total) return false;
  for (const name of ['low', 'high']) {
    if (!c[name] && !more[name]) continue;
    c[name] = [...(c[name] || c.x.map(() => null)), ...(more[name] || more.x.map(() => null))];
  }
  if (c.behind || more.behind) c.behind = [...(c.behind || c.x.map(() => 1)), ...(more.behind || more.x.map(() => 1))];
  c.x = [...c.x, ...more.x];
  c.y = [...c.y, ...more.y];
  c.count += more.count;
  c.total = more.total;
  return true;
}

// fine returns the number of points of a curve to request. Each has the minimum
// and maximum of the points that it stands for, so no peak is lost.
function fine(runs, large) {
  const steps = large ? [[2, 2000], [8, 1000], [60, 250]] : [[1, 1000], [5, 500], [60, 250]];
  return steps.find(([most]) => runs <= most)?.[1] ?? 120;
}
