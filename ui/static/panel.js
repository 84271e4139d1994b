// The charts of a page: one for each metric, in groups, drawn when they come
// into sight.
import { ask, later, settled } from './ask.js';
import { Chart } from './chart.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import * as keep from './keep.js';

const keysAtOnce = 100;
const atOnce = 4; // requests for curves

// Panel draws the metrics of runs. keys(q, offset) answers {data, total}; runs()
// the runs to draw, {id, name, color}.
export class Panel {
  constructor(root, state, { keys, runs }) {
    Object.assign(this, { root, state, keys, runs });
    this.figures = new Map(); // by key
    this.queue = [];
    this.busy = 0;
    this.highlight = '';
    this.seen = new IntersectionObserver((entries) => this.sight(entries), { rootMargin: '200px' });
    this.build();
    this.listen();
    this.list();
  }

  build() {
    const { state } = this;
    const option = (name, label) => {
      const box = el('input', { type: 'checkbox', name, change: () => state.set({ [name]: box.checked ? '1' : null }) });
      box.checked = state.has(name);
      return el('label', {}, box, label);
    };
    this.search = el('input', { type: 'search', id: 'metric-search', placeholder: 'Search metrics', 'aria-label': 'Search metrics',
      input: settled(200, () => state.set({ m: this.search.value || null })) });
    this.search.value = state.get('m');
    const axis = el('select', { name: 'x', 'aria-label': 'Horizontal axis', change: () => state.set({ x: axis.value === 'step' ? null : axis.value, zoom: null }) },
      el('option', { value: 'step' }, 'Step'), el('option', { value: 'relative' }, 'Relative time'), el('option', { value: 'time' }, 'Clock time'));
    axis.value = state.get('x', 'step');
    const smoothing = el('input', { type: 'range', name: 'smooth', min: 0, max: 0.99, step: 0.01, 'data-testid': 'smooth',
      input: () => state.set({ smooth: Number(smoothing.value) || null }) });
    smoothing.value = state.number('smooth', 0);
    this.reset = el('button', { type: 'button', class: 'plain', 'data-testid': 'reset-zoom', click: () => state.set({ zoom: null }) }, 'Reset zoom');
    this.bar = el('div', { class: 'strip' }, this.search, axis, el('label', {}, 'Smooth', smoothing),
      option('logx', 'log x'), option('logy', 'log y'), option('trim', 'Ignore outliers'), this.reset);
    this.note = el('p', { class: 'count', 'data-testid': 'drawn' });
    this.groups = el('div', { class: 'groups' });
    this.root.replaceChildren(this.bar, el('div', { class: 'scroll' }, this.note, this.groups));
  }

  listen() {
    this.state.addEventListener('change', ({ detail }) => {
      if (detail.has('m')) this.list();
      if (['x', 'logx', 'zoom'].some((n) => detail.has(n))) this.refresh();
      else if (['logy', 'smooth', 'trim'].some((n) => detail.has(n))) this.paint();
    });
  }

  get view() {
    const { state } = this;
    const [from, to] = state.has('zoom') ? state.get('zoom').split('~').map(Number) : [];
    const zoomed = Number.isFinite(from) && Number.isFinite(to) && from < to;
    return { x: ['relative', 'time'].includes(state.get('x')) ? state.get('x') : 'step', logx: state.has('logx'), logy: state.has('logy'),
      smooth: Math.min(state.number('smooth', 0), 0.999), trim: state.has('trim'),
      from: zoomed ? from : null, to: zoomed ? to : null, highlight: this.highlight };
  }

  // list asks for the names of the metrics, and makes a place for each.
  async list(more = false) {
    const q = this.state.get('m');
    const offset = more ? this.listed : 0;
    let found;
    try {
      found = await this.keys(q, offset, keysAtOnce);
    } catch (error) {
      this.note.textContent = error.message;
      return;
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
    const folded = new Set(this.state.get('fold').split('\n').filter(Boolean));
    const ordered = [...groups].sort(([a], [b]) => (a === '') - (b === ''));
    const parts = ordered.map(([group, keys]) => {
      const name = group || 'Others';
      const details = el('details', { open: !folded.has(name) },
        el('summary', {}, groups.size > 1 || group ? isolated(name) : 'Metrics', el('span', { class: 'count' }, String(keys.length))),
        el('div', { class: 'figures' }, ...keys.map((k) => this.figure(k).root)));
      details.addEventListener('toggle', () => {
        if (details.open) folded.delete(name);
        else folded.add(name);
        this.state.set({ fold: [...folded].join('\n') || null });
      });
      return details;
    });
    const rest = this.total - this.listed;
    if (rest > 0) parts.push(el('button', { type: 'button', class: 'plain', click: () => this.list(true) }, `Show more of ${count(rest)} other metrics`));
    if (parts.length === 0) parts.push(el('p', { class: 'nothing' }, this.state.get('m') ? 'No metric has this in its name.' : 'No metrics have been logged yet.'));
    this.groups.replaceChildren(...parts);
    this.reset.disabled = !this.state.has('zoom');
  }

  figure(key) {
    if (this.figures.has(key)) return this.figures.get(key);
    const f = { key, curves: new Map(), dirty: new Set(), inSight: false };
    f.points = el('span', { class: 'count', 'data-testid': 'points' });
    f.box = el('div', { class: 'plot' });
    const act = (label, fn) => el('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${key}`, click: fn }, label);
    f.root = el('figure', { 'data-key': key, 'data-testid': 'chart' },
      el('figcaption', {}, isolated(key, 'name'), f.points, el('span', { class: 'acts' },
        act('Enlarge', () => this.enlarge(key)), act('PNG', () => keep.png(f.chart, key)), act('CSV', () => keep.csv(f.chart, key)))), f.box);
    f.chart = new Chart(f.box, key, 176, this.on());
    this.figures.set(key, f);
    this.seen.observe(f.root);
    return f;
  }

  on() {
    return {
      zoom: (from, to) => this.state.set({ zoom: from == null ? null : `${from}~${to}` }),
      hover: (x, source) => {
        for (const f of this.figures.values()) if (f.inSight && f.chart !== source) f.chart.follow(x);
      },
    };
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
    this.reset.disabled = !this.state.has('zoom');
    this.note.textContent = this.runs().length === 0 ? 'No runs are drawn: press the colour before a name.' : '';
    for (const f of this.figures.values()) if (f.inSight) this.want(f);
    if (this.big) this.want(this.big);
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
      for (const f of [this.figures.get(s.key), this.big?.key === s.key && this.big]) f?.dirty?.add(s.iteration_id);
    }
    if (series.some((s) => !this.figures.has(s.key)) && (this.names || []).length >= (this.total || 0)) this.relist();
    this.renew();
  }

  relist = later(2000, () => this.list());

  renew = later(400, () => this.refresh());

  want(f) {
    if (!this.queue.includes(f)) this.queue.push(f);
    this.pump();
  }

  pump() {
    while (this.busy < atOnce && this.queue.length > 0) {
      const f = this.queue.shift();
      this.busy += 1;
      this.load(f).catch((error) => { f.points.textContent = error.message; }).finally(() => {
        this.busy -= 1;
        this.pump();
      });
    }
  }

  // load asks for the curves that a chart lacks in this view. What it has is
  // shown until they come.
  async load(f) {
    const view = this.view;
    const runs = this.runs();
    const points = fine(runs.length, f === this.big);
    const asked = `${view.x} ${view.logx} ${view.from} ${view.to} ${points}`;
    const lacking = runs.filter((r) => f.curves.get(r.id)?.asked !== asked || f.dirty.has(r.id));
    if (lacking.length > 0) {
      for (const r of lacking) f.dirty.delete(r.id);
      const body = { iterations: lacking.map((r) => r.id), keys: [f.key], points, x: view.x, scale: view.logx ? 'log' : 'linear' };
      if (view.from != null) Object.assign(body, { from: Math.floor(view.from), to: Math.ceil(view.to) });
      let found;
      try {
        found = await ask('curves', { body });
      } catch (error) {
        if (error.status !== 404) throw error;
        this.gone?.(); // a run was deleted; the table will say which
        return;
      }
      for (const r of lacking) f.curves.set(r.id, { asked, x: [], y: [], count: 0 });
      for (const c of found.curves) f.curves.set(c.id, { ...c, asked });
    }
    this.show(f);
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
    f.chart.draw(curves, this.view);
    f.points.textContent = curves.length > 0 ? `${count(drawn)} of ${count(all)} points` : 'no points';
    f.root.dataset.drawn = curves.length;
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
      act('PNG', () => keep.png(this.big.chart, key)), act('CSV', () => keep.csv(this.big.chart, key)), act('Close', () => dialog.close()))), box);
    document.body.append(dialog);
    dialog.showModal();
    this.big = { key, root: dialog, box, points, curves: new Map(), dirty: new Set(), inSight: true,
      chart: new Chart(box, key, Math.max(280, innerHeight - 200), this.on()) };
    this.want(this.big);
  }
}

// fine is how many points of a curve are asked for. Each stands for the smallest
// and largest of all behind it, so no peak is lost.
function fine(runs, large) {
  const steps = large ? [[2, 2000], [8, 1000], [60, 250]] : [[1, 1000], [5, 500], [60, 250]];
  return steps.find(([most]) => runs <= most)?.[1] ?? 120;
}
