// Loading the curves of charts.
import { fetchData } from './request.js';

const mostRequests = 3; // maximum number of simultaneous requests
const curvesPerRequest = 400; // approximate maximum
const mostMembers = 1000; // maximum number of runs in the mean of a group
const mostOfGroups = 10_000; // maximum number of runs in all groups of a chart

/** Curves loads the curves of charts. It requests the missing curves of visible charts, a few at a time. */
export class Curves {
  /**
   * @param {Object} options
   * @param {function(): Object[]} options.runs returns the runs or groups to draw
   * @param {function(): Object} options.groups returns the query of the groups
   * @param {function(string): Object} options.view returns how to draw the chart with an id
   * @param {function(string): Object} options.of returns the figure of a metric: {key, inSight, curves,
   *   dirty, others, points}. main is set if another figure draws the metric.
   * @param {function(Object)} options.show called when a figure has received curves
   * @param {?function(Curves)} options.early adds the job of the curves that the browser requested while it loaded
   *   the scripts
   * @param {function()} options.gone called when a run was deleted
   * @param {function()} options.renew called when figures have new points
   */
  constructor({ runs, groups, view, of, show, early, gone, renew }) {
    Object.assign(this, { runs, groups, view, of, show, early, gone, renew });
    this.queue = new Set();
    this.jobs = []; // waiting requests
    this.busy = 0;
  }

  /** most returns the maximum number of a group's runs that its mean includes. */
  get most() {
    return Math.min(mostMembers, Math.floor(mostOfGroups / this.runs().length));
  }

  request(f) {
    if (this.queue.size === 0) queueMicrotask(() => this.requestMissing());
    this.queue.add(f);
    for (const o of f.others) this.queue.add(o);
  }

  /**
   * requestMissing requests the missing curves of visible charts. If several charts need equal curves, the
   * curves are requested once. Charts show their current curves until the response arrives.
   */
  requestMissing() {
    if (this.jobs.length > 0) return; // waiting requests are sent first
    this.early?.(this);
    this.early = null;
    const runs = this.runs();
    const { most } = this;
    const groups = runs[0]?.group ? { ...this.groups(), most } : null;
    const read = (all) => (groups ? all.reduce((sum, g) => sum + Math.min(most, g.iterations), 0) : all.length);
    const batches = new Map();
    const tails = [];
    for (const f of this.queue) {
      this.queue.delete(f);
      if (!f.inSight) continue;
      const view = this.view((f.main || f).id);
      const points = pointsPerCurve(runs.length, (f.main || f).large);
      const question = queryKey(view, points, groups);
      const dirty = (r) => f.dirty.has(r.group ? 'group' : r.id);
      const lacking = runs.filter((r) => f.curves.get(r.id)?.asked !== question || dirty(r));
      if (lacking.length === 0) {
        f.flight = null; // the pending request has a different query
        this.show(f);
        continue;
      }
      if (!groups && lacking.every((r) => canAppend(f.curves.get(r.id), question, view, points))) {
        tails.push(...lacking.map((r) => ({ f, id: r.id, points, c: f.curves.get(r.id) })));
        continue;
      }
      const like = `${question} ${lacking.map((r) => r.id).join(' ')}`;
      if (f.flight?.like === like) continue; // the request is pending
      let b = batches.get(like);
      if (!b || (b.figures.length + 1) * read(lacking) > curvesPerRequest)
        batches.set(like, (b = { like, figures: [], lacking, question, points, view, groups }));
      f.flight = b;
      b.figures.push(f);
      if (b.figures.length === 1) this.jobs.push(b);
    }
    if (tails.length > 0) this.jobs.push({ figures: [...new Set(tails.map((t) => t.f))], tails });
    this.startJobs();
  }

  startJobs() {
    while (this.busy < mostRequests && this.jobs.length > 0) {
      const b = this.jobs.shift();
      this.busy += 1;
      (b.tails ? this.extend(b.tails) : this.load(b)).catch((error) => {
        for (const f of b.figures) f.points.textContent = error.message;
      }).finally(() => {
        this.busy -= 1;
        for (const f of b.figures) {
          if (f.flight === b) f.flight = null;
          if (f.dirty.size > 0) this.renewLater(); // it got new points after the request
        }
        this.startJobs();
        if (this.jobs.length === 0) this.requestMissing();
      });
    }
  }

  /** load requests curves and stores them in their figures. Figures that need different curves by then are skipped. */
  async load(b) {
    const { path, figures, lacking, question, points, view, groups } = b;
    const body = {
      keys: [...new Set(figures.map((f) => f.key))], // two figures can draw a metric
      points,
      x: view.x,
      against: view.against,
      scale: view.logx && !view.against ? 'log' : 'linear',
    };
    if (groups) body.groups = { ...groups, values: lacking.map((r) => r.values) };
    else body.iterations = lacking.map((r) => r.id);
    // A range of a metric's values is not a range of steps, so whole curves are requested and only a part is shown.
    if (view.from != null && !view.against)
      Object.assign(body, { from: Math.floor(view.from), to: Math.ceil(view.to) });
    const grown = new Map(figures.map((f) => [f, [...f.dirty]]));
    for (const f of figures) {
      f.dirty.delete('group');
      for (const r of lacking) f.dirty.delete(r.id);
    }
    let [found, before] = [];
    const begun = performance.now();
    try {
      [found, before] = await Promise.all([path ? fetchData(path) : fetchData('curves', { body }),
        // Smoothing needs the points before the range.
        !path &&
          view.smooth > 0 &&
          body.from != null &&
          fetchData('curves', { body: { ...body, from: undefined, to: body.from - 1 } }),
      ]);
    } catch (error) {
      if (error.status !== 404) throw error;
      this.gone?.(); // a run was deleted; the table is loaded again
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
        f.curves.set(id, {
          ...c,
          asked: question,
          before: before && before.curves.find((o) => o.id === c.id && o.key === c.key),
        });
      }
      this.show(f);
    }
  }

  /**
   * extend requests the new points of curves and appends them. If a curve has changed in another way, for
   * example by a point in its middle, the whole curve is requested again.
   */
  async extend(tails) {
    for (const { f, id } of tails) f.dirty.delete(id);
    const body = {
      points: Math.max(...tails.map((t) => t.points)),
      scale: 'linear',
      tails: tails.map(({ f, id, c }) => ({ id, key: f.key, after: c.x.at(-1) })),
    };
    const { curves } = await fetchData('curves', { body });
    for (const { f, id, c } of tails) {
      if (f.curves.get(id) !== c) continue; // the curve was requested again
      const more = curves.find((o) => o.id === id && o.key === f.key);
      if (!more || !appendPoints(c, more)) {
        c.asked = '';
        this.request(f);
      }
    }
    for (const f of new Set(tails.map((t) => t.f))) this.show(f);
  }

  /**
   * renewLater requests curves that have new points, with pauses between the requests. Means of large groups
   * are expensive for the server.
   */
  renewLater() {
    setTimeout(() => this.renew(), (this.rest || 0) - performance.now());
  }
}

/** queryKey returns the query for curves as text. Curves can be shared only if their queries are equal. */
export const queryKey = (view, points, groups) =>
  JSON.stringify([
    view.x,
    view.against,
    view.logx,
    view.from,
    view.to,
    view.from != null && view.smooth > 0,
    points,
    groups,
  ]);

/**
 * canAppend reports whether it suffices to request the new points of a curve. That is the case for a complete curve
 * over steps that is not much longer than a new response would be.
 */
const canAppend = (c, question, view, points) =>
  c?.asked === question &&
  view.x === 'step' &&
  !view.logx &&
  view.from == null &&
  c.x.length > 0 &&
  c.x.length < 2 * points;

/** appendPoints appends new points to a curve and reports whether the curve is complete. */
function appendPoints(c, more) {
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

/**
 * pointsPerCurve returns the number of points to request. A point that represents several points includes their
 * minimum and maximum, so no peak is lost.
 */
function pointsPerCurve(runs, large) {
  const steps = large ? [[2, 2000], [8, 1000], [60, 250]] : [[1, 1000], [5, 500], [60, 250]];
  return steps.find(([most]) => runs <= most)?.[1] ?? 120;
}
