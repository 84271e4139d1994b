// The charts of a page: one for each metric, in groups, drawn when they come
// into sight.
import { ask, later, settled } from './ask.js';
import { Chart } from './chart.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { pick } from './pick.js';

const keysAtOnce = 100;
const atOnce = 3; // requests for curves
const curvesAtOnce = 400; // of one request, about
const mostMembers = 1000; // runs that the mean of a group is over
const mostOfGroups = 10_000; // the same in all groups of a chart
const aside = 'system'; // a group that is folded at first, for it says nothing of what was learned
const likely = 6; // charts, before it is known which are in sight; curve.go has the first question, too

// What the browser has begun to ask while it loaded the scripts.
const { href } = document.querySelector('link[as="fetch"]') || {};
const early = href && new URL(href);

// last is how far down a group goes: what is in none after those that are, then
// single values, then what the machine did.
const last = (group) => ['', 'summary', aside].indexOf(group);

// Panel draws the metrics of runs. keys(q, offset, limit) answers {data, total};
// runs() the runs to draw, {id, name, color}, or groups of them with their values;
// groups() says of which runs these are. first is the first page of the keys; gone
// is called when a run is not there any more.
export class Panel {
  constructor(root, state, { keys, runs, groups, first, gone }) {
    Object.assign(this, { root, state, keys, runs, groups, first, gone });
    this.figures = new Map(); // by key
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
    this.options = [];
    const option = (name, label) => {
      const box = el('input', { type: 'checkbox', name, change: () => state.set({ [name]: box.checked ? '1' : null }) });
      this.options.push(box);
      return el('label', {}, box, label);
    };
    this.search = el('input', { type: 'search', id: 'metric-search', placeholder: 'Find metrics', 'aria-label': 'Search metrics',
      input: settled(200, () => state.set({ m: this.search.value || null })) });
    this.axis = el('select', { name: 'x', 'aria-label': 'Horizontal axis', change: () => this.setAxis() });
    this.smoothing = el('input', { type: 'range', name: 'smooth', min: 0, max: 0.99, step: 0.01, 'data-testid': 'smooth',
      input: () => state.set({ smooth: Number(this.smoothing.value) || null }) });
    this.reset = el('button', { type: 'button', class: 'plain', 'data-testid': 'reset-zoom', click: () => state.set({ zoom: null, zooms: null }) }, 'Reset zoom');
    this.bar = el('div', { class: 'strip' }, this.search, this.axis, el('label', {}, 'Smooth', this.smoothing),
      option('logx', 'log x'), option('logy', 'log y'), option('trim', 'Ignore outliers'), this.reset);
    this.note = el('p', { class: 'count', 'data-testid': 'drawn' });
    this.places = el('div', { class: 'groups' });
    this.root.replaceChildren(this.bar, el('div', { class: 'scroll' }, this.note, this.places));
    this.control();
  }

  // control has the controls show the state.
  control() {
    const { state } = this;
    const view = this.view();
    if (document.activeElement !== this.search) this.search.value = state.get('m');
    for (const box of this.options) box.checked = state.has(box.name);
    this.smoothing.value = state.number('smooth', 0);
    this.axis.replaceChildren(el('option', { value: 'step' }, 'Step'), el('option', { value: 'relative' }, 'Relative time'), el('option', { value: 'time' }, 'Clock time'),
      ...(view.x === 'metric' ? [el('option', { value: 'metric' }, view.against)] : []), el('option', { value: 'other' }, 'Metric…'));
    this.axis.value = view.x;
    this.reset.hidden = !state.has('zoom') && !state.has('zooms');
  }

  setAxis() {
    const { value } = this.axis;
    this.control();
    const set = (x) => this.state.set({ x: x === 'step' ? null : x, zoom: null, zooms: null });
    if (value !== 'other') {
      set(value);
      return;
    }
    pick('Horizontal axis', async (q) => {
      const found = await this.keys(q, 0, 50);
      return { total: found.total, names: found.data.map(({ key }) => ({ name: key })) };
    }, ({ name }) => set(`metric:${name}`));
  }

  listen() {
    this.state.addEventListener('change', ({ detail }) => {
      this.control();
      if (detail.has('m')) this.list();
      const any = (...names) => names.some((n) => detail.has(n));
      if (any('logy', 'smooth', 'trim')) this.paint();
      if (any('x', 'logx', 'zoom', 'zooms') || (any('smooth') && !this.reset.hidden)) this.refresh();
    });
  }

  // zoom names the part of the state that says what of a chart is seen. Steps of
  // the group aside count samples, which are no steps of others.
  zoom(key) {
    return key.startsWith(`${aside}/`) && !this.state.has('x') ? 'zooms' : 'zoom';
  }

  view(key = '') {
    const { state } = this;
    const [from, to] = state.get(this.zoom(key), '~').split('~').map(Number.parseFloat);
    const zoomed = Number.isFinite(from) && Number.isFinite(to) && from < to;
    const x = state.get('x');
    const against = x.startsWith('metric:') ? x.slice('metric:'.length) : '';
    return { x: against ? 'metric' : ['relative', 'time'].includes(x) ? x : 'step', against, logx: state.has('logx'), logy: state.has('logy'),
      smooth: Math.min(state.number('smooth', 0), 0.999), trim: state.has('trim'),
      from: zoomed ? from : null, to: zoomed ? to : null, highlight: this.highlight };
  }

  // list asks for the names of the metrics, and makes a place for each.
  async list(more = false) {
    const q = this.state.get('m');
    const offset = more ? this.listed : 0;
    let found = this.first;
    this.first = null;
    if (!found) {
      try {
        found = await this.keys(q, offset, keysAtOnce);
      } catch (error) {
        this.note.textContent = error.message;
        return;
      }
    }
    if (q !== this.state.get('m')) return; // somebody types on
    this.listed = offset + found.data.length;
    if (!more) this.names = [];
    this.names.push(...found.data.map((k) => k.key));
    this.total = found.total;
    this.arrange();
  }

  // arrange puts the figures into their groups, and keeps those that are there.
  arrange() {
    const groups = new Map();
    for (const key of this.names) {
      const slash = key.indexOf('/');
      const group = slash > 0 ? key.slice(0, slash) : '';
      groups.set(group, [...(groups.get(group) || []), key]);
    }
    for (const [key, f] of this.figures) {
      if (!this.names.includes(key)) this.drop(key, f);
    }
    const folded = new Set(this.state.get('fold', aside).split('\n').filter(Boolean));
    const ordered = [...groups].sort(([a], [b]) => last(a) - last(b));
    const parts = ordered.map(([group, keys]) => {
      const name = group || 'Others';
      const details = el('details', { open: !folded.has(name) },
        el('summary', {}, groups.size > 1 || group ? isolated(name) : 'Metrics', el('span', { class: 'count' }, String(keys.length))),
        el('div', { class: 'figures' }, ...keys.map((k) => this.figure(k).root)));
      details.addEventListener('toggle', () => {
        if (details.open) folded.delete(name);
        else folded.add(name);
        const all = [...folded].join('\n');
        this.state.set({ fold: all === aside ? null : all });
      });
      return details;
    });
    const rest = this.total - this.listed;
    if (rest > 0) parts.push(el('button', { type: 'button', class: 'plain', click: () => this.list(true) }, `Show more of ${count(rest)} other metrics`));
    if (parts.length === 0) parts.push(el('p', { class: 'nothing' }, this.state.get('m') ? 'No metric has this in its name.' : 'No metrics have been logged yet.'));
    this.places.replaceChildren(...parts);
    this.look();
  }

  figure(key) {
    if (this.figures.has(key)) return this.figures.get(key);
    const f = { key, curves: new Map(), dirty: new Set(), inSight: false };
    f.points = el('span', { class: 'count', 'data-testid': 'points' });
    f.box = el('div', { class: 'plot' });
    const act = (label, fn) => el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${key}`, click: fn }, label);
    f.root = el('figure', { 'data-key': key, 'data-testid': 'chart' },
      el('figcaption', {}, isolated(key, 'name'), f.points, el('span', { class: 'acts' },
        act('Enlarge', () => this.enlarge(key)), act('PNG', () => keep('png', f)), act('CSV', () => keep('csv', f)))), f.box);
    f.chart = new Chart(f.box, key, 176, this.on(key));
    this.figures.set(key, f);
    this.seen.observe(f.root);
    return f;
  }

  on(key) {
    return {
      zoom: (from, to) => this.state.set({ [this.zoom(key)]: from == null ? null : `${from}~${to}` }),
      hover: (x, source) => {
        for (const f of this.figures.values()) {
          if (f.inSight && f.chart !== source && this.zoom(f.key) === this.zoom(key)) f.chart.follow(x);
        }
      },
    };
  }

  // look asks for the first charts at once: the browser tells which are in sight
  // only after it has painted.
  look() {
    if (this.runs().length > 0) this.note.textContent = this.said();
    for (const f of [...this.figures.values()].slice(0, likely)) {
      if (f.inSight || f.root.closest('details')?.open === false) continue;
      f.inSight = true; // until the browser says otherwise
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
    }
  }

  // refresh is called when other curves, or finer ones, should be shown.
  refresh() {
    this.note.textContent = this.said();
    for (const f of this.figures.values()) if (f.inSight) this.want(f);
    if (this.big) this.want(this.big);
  }

  // most is how many runs of a group count.
  get most() {
    return Math.min(mostMembers, Math.floor(mostOfGroups / this.runs().length));
  }

  said() {
    const runs = this.runs();
    if (runs.length === 0) return 'No runs are drawn: press the colour before a name.';
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
    this.paint();
  }

  // grow is told what has been logged since.
  grow(series) {
    for (const s of series) {
      for (const f of [this.figures.get(s.key), this.big?.key === s.key && this.big]) f?.dirty?.add(s.iteration_id).add('group');
    }
    if (series.some((s) => !this.figures.has(s.key)) && (this.names || []).length >= (this.total || 0)) this.relist();
    this.again();
  }

  // again has what has grown asked for; the means of large groups take their
  // time, of which the server has some in between.
  again() {
    setTimeout(() => this.renew(), (this.rest || 0) - performance.now());
  }

  relist = later(2000, () => this.list());

  renew = later(400, () => this.refresh());

  want(f) {
    if (this.queue.size === 0) queueMicrotask(() => this.pump());
    this.queue.add(f);
  }

  // pump asks for what charts in sight lack in this view, for charts that lack
  // the same in one request. What they have is shown until it comes.
  pump() {
    if (this.jobs.length > 0) return; // what waits is asked for first
    const runs = this.runs();
    const { most } = this;
    const groups = runs[0]?.group ? { ...this.groups(), most } : null;
    const read = (all) => (groups ? all.reduce((sum, g) => sum + Math.min(most, g.iterations), 0) : all.length);
    const batches = new Map();
    for (const f of this.queue) {
      this.queue.delete(f);
      if (!f.inSight) continue;
      const view = this.view(f.key);
      const points = fine(runs.length, f === this.big);
      const question = JSON.stringify([view.x, view.against, view.logx, view.from, view.to, view.from != null && view.smooth > 0, points, groups]);
      const dirty = (r) => f.dirty.has(r.group ? 'group' : r.id);
      const lacking = runs.filter((r) => f.curves.get(r.id)?.asked !== question || dirty(r));
      if (lacking.length === 0) {
        this.show(f);
        continue;
      }
      const like = `${question} ${lacking.map((r) => r.id).join(' ')}`;
      if (f.flight === like) continue; // it is on its way
      f.flight = like;
      let b = batches.get(like);
      if (!b || (b.figures.length + 1) * read(lacking) > curvesAtOnce) batches.set(like, b = { figures: [], lacking, question, points, view, groups });
      b.figures.push(f);
      if (b.figures.length === 1) this.jobs.push(b);
    }
    this.work();
  }

  work() {
    while (this.busy < atOnce && this.jobs.length > 0) {
      const b = this.jobs.shift();
      this.busy += 1;
      this.load(b).catch((error) => {
        for (const f of b.figures) f.points.textContent = error.message;
      }).finally(() => {
        this.busy -= 1;
        for (const f of b.figures) {
          f.flight = '';
          if (f.dirty.size > 0) this.again(); // it grew meanwhile
        }
        this.work();
        if (this.jobs.length === 0) this.pump();
      });
    }
  }

  async load({ figures, lacking, question, points, view, groups }) {
    const body = { keys: figures.map((f) => f.key), points, x: view.x, against: view.against, scale: view.logx && !view.against ? 'log' : 'linear' };
    if (groups) body.groups = { ...groups, values: lacking.map((r) => r.values) };
    else body.iterations = lacking.map((r) => r.id);
    // A range of a metric is no range of steps: all is asked for, and a part shown.
    if (view.from != null && !view.against) Object.assign(body, { from: Math.floor(view.from), to: Math.ceil(view.to) });
    for (const f of figures) {
      f.dirty.delete('group');
      for (const r of lacking) f.dirty.delete(r.id);
    }
    let [found, before] = [];
    const begun = performance.now();
    try {
      [found, before] = await Promise.all([JSON.stringify(body) === early?.searchParams.get('q') ? ask(`curves${early.search}`) : ask('curves', { body }),
        // What is smoothed begins where the curve does.
        view.smooth > 0 && body.from != null && ask('curves', { body: { ...body, from: undefined, to: body.from - 1 } })]);
    } catch (error) {
      if (error.status !== 404) throw error;
      this.gone?.(); // a run was deleted; the table will say which
      return;
    }
    const now = performance.now();
    this.rest = groups ? now + 4 * (now - begun) : 0;
    for (const f of figures) {
      for (const r of lacking) f.curves.set(r.id, { asked: question, x: [], y: [], count: 0 });
      for (const c of found.curves) {
        const id = groups ? lacking[Number(c.id)].id : c.id;
        if (c.key !== f.key) continue;
        f.curves.set(id, { ...c, asked: question, before: before && before.curves.find((b) => b.id === c.id && b.key === c.key) });
      }
      this.show(f);
    }
  }

  show(f) {
    const curves = [];
    let drawn = 0;
    let all = 0;
    for (const run of this.runs()) {
      const c = f.curves.get(run.id);
      if (!c || c.x.length === 0) continue;
      curves.push({ ...c, id: run.id, name: run.name, color: run.color });
      drawn += c.x.length;
      all += c.count;
    }
    const view = this.view(f.key);
    f.chart.draw(curves, view);
    const { left, none } = f.chart;
    f.root.dataset.drawn = curves.length;
    let text = `${count(drawn - left)} of ${count(all)} points`;
    if (left > 0) text += `, ${count(left)} at or below 0`;
    else if (none && view.from != null) text = `no points between ${f.chart.place(view.from)} and ${f.chart.place(view.to)}`;
    else if (none) text = view.against ? `no step with ${view.against}` : 'no points';
    f.points.textContent = text;
    // Axes would be made up.
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
      act('PNG', () => keep('png', this.big)), act('CSV', () => keep('csv', this.big)), act('Close', () => dialog.close()))), box);
    document.body.append(dialog);
    dialog.showModal();
    this.big = { key, root: dialog, box, points, curves: new Map(), dirty: new Set(), inSight: true,
      chart: new Chart(box, key, Math.max(280, innerHeight - 200), this.on(key)) };
    this.want(this.big);
  }
}

// keep saves a chart, as a picture or as numbers.
const keep = async (as, { chart, key }) => (await import('./keep.js'))[as](chart, key);

// fine is how many points of a curve are asked for. Each stands for the smallest
// and largest of all behind it, so no peak is lost.
function fine(runs, large) {
  const steps = large ? [[2, 2000], [8, 1000], [60, 250]] : [[1, 1000], [5, 500], [60, 250]];
  return steps.find(([most]) => runs <= most)?.[1] ?? 120;
}
