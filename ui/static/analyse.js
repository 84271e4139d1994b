// The Analyse tab of an experiment: which parameters matter, parallel coordinates, a scatter plot, trade-offs
// between two metrics, and what to try next. It shows all runs that pass the filter.
import { Brushes } from './brush.js';
import { copyText } from './clipboard.js';
import { dimensionOptions } from './dimension.js';
import { el, isolated } from './dom.js';
import { count, number } from './format.js';
import { reportButton } from './freezepicture.js';
import { importancePicture, textsOf } from './importancepicture.js';
import { themedCharts } from './paint.js';
import { parallelPlot } from './parallel.js';
import { frontPart } from './pareto.js';
import { openReportDialog } from './reportdialog.js';
import { fetchData } from './request.js';
import { Pointer, layered, paintDots, paintLines, runColors, nearestDot, dotMark } from './runcanvas.js';
import { scatterPlot } from './scatter.js';
import { svgElement } from './plotaxis.js';
import { debounce } from './timing.js';

const shownRows = 8; // rows of parameters that are shown first
const mostValues = 50; // maximum number of values that a brush adds to a filter

// This script loads its style sheet, because most pages do not have the tab.
const styleSheet = el('link', {
  rel: 'stylesheet',
  href: document.querySelector('meta[name="analyse-styles"]').content,
});
const stylesLoaded = new Promise((done) => {
  for (const event of ['load', 'error']) styleSheet.addEventListener(event, done);
});
document.head.append(styleSheet);

/** dimensionsOf returns the dimensions of the columns that an axis can show, by id. */
function dimensionsOf(columns) {
  const all = new Map();
  const add = (id, label, group, column, values, texts = null) => {
    const known = new Set(values);
    known.delete(null);
    if (known.size >= 2) all.set(id, { id, label, group, texts, values, column });
  };
  const finite = (values) => values.map((v) => (typeof v === 'number' ? v : null));
  for (const p of columns.params) {
    if (p.numbers) {
      add(`param.${p.name}`, p.name, 'Parameters', p.column, p.numbers);
      continue;
    }
    const texts = textsOf(p);
    const at = new Map(texts.map((text, i) => [text, i]));
    add(`param.${p.name}`, p.name, 'Parameters', p.column, p.texts.map((v) => (v == null ? null : at.get(v))), texts);
  }
  columns.metrics.forEach((m, i) =>
    add(
      i === 0 ? 'objective' : m.column,
      `${m.key} ${m.stat}`,
      i === 0 ? 'Objective' : 'Metrics',
      m.column,
      finite(m.values)
    )
  );
  return all;
}

/** Analyse is the tab. */
export class Analyse {
  /**
   * @param {HTMLElement} root
   * @param {import('./state.js').State} state
   * @param {Object} options
   * @param {string} options.experiment
   * @param {function(): string} options.filter returns the filter of the table
   */
  constructor(root, state, { experiment, filter }) {
    Object.assign(this, { root, state, experiment, filter });
    this.metric = el('select', {
      name: 'metric',
      change: () => this.choose({ metric: this.metric.value, goal: null }),
    });
    this.goal = el(
      'select',
      { name: 'goal', change: () => this.choose({ goal: this.goal.value }) },
      ...['minimize', 'maximize', 'none'].map((text) => el('option', { value: text }, text))
    );
    this.brushed = el('div', { class: 'brushed', role: 'status', hidden: true, 'data-testid': 'brushed' });
    this.summary = el('p', { class: 'count', role: 'status', 'data-testid': 'analysis-summary' }, 'Loading…');
    const part = (name, title) =>
      el('div', {
        class: `part ${name}`,
        role: 'group',
        id: `analyse-${name}`,
        'aria-label': title,
        'data-testid': `analyse-${name}`,
      });
    this.parts = {
      importance: part('importance', 'Importance'),
      next: part('next', 'Next to try'),
      parallel: part('parallel', 'Parallel coordinates'),
      scatter: part('scatter', 'Scatter plot'),
      front: part('front', 'Trade-offs'),
    };
    const jump = ([, section]) =>
      el(
        'button',
        { type: 'button', class: 'plain', click: () => section.scrollIntoView({ block: 'start' }) },
        section.getAttribute('aria-label')
      );
    root.replaceChildren(
      el(
        'div',
        { class: 'strip' },
        el('label', {}, 'Metric', this.metric),
        el('label', {}, 'Goal', this.goal),
        el('span', { class: 'jumps' }, ...Object.entries(this.parts).map(jump))
      ),
      this.brushed,
      this.summary,
      ...Object.values(this.parts)
    );
    state.addEventListener('change', ({ detail }) => this.change(detail));
    themedCharts.add({ rebuild: () => this.draw() });
    this.width = 0;
    const resized = debounce(150, () => this.draw());
    new ResizeObserver(() => {
      if (root.clientWidth === 0 || root.clientWidth === this.width) return;
      const first = this.width === 0;
      this.width = root.clientWidth;
      if (!first) resized();
    }).observe(root);
    // The rows of runs outside the brushes are dimmed.
    const table = document.getElementById('scroll');
    if (table) new MutationObserver(() => this.dimRows()).observe(table, { childList: true, subtree: true });
  }

  get on() {
    return this.state.has('analyse');
  }

  choose(changes) {
    this.state.set(changes);
  }

  change(detail) {
    if (detail.has('analyse')) this.dimRows();
    if (!this.on) return;
    const any = (...names) => names.some((name) => detail.has(name));
    if (any('metric', 'goal')) this.load();
    else if (any('axes', 'sx', 'sy', 'sc')) this.need();
    if (any('brush')) this.brush();
    if (any('pictures')) this.openRows();
  }

  /** load requests the data if the filter, the metric or the goal has changed, or if again is set. */
  async load(again = false) {
    const asked = { filter: this.filter(), metric: this.state.get('metric'), goal: this.state.get('goal') };
    const key = JSON.stringify(asked);
    if (key === this.key && !again) return;
    this.key = key;
    this.asked = asked;
    await stylesLoaded;
    this.root.setAttribute('aria-busy', 'true');
    const stale = () => key !== this.key;
    const path = `experiment/${this.experiment}`;
    try {
      const analysis = fetchData(`${path}/analysis`, { query: asked });
      analysis.catch(() => {}); // reported below
      const columns = await fetchData(`${path}/columns`, { query: { ...asked, columns: this.extra().join('\n') } });
      if (stale()) return;
      if (columns.wrong) return; // the table shows the error
      this.columns = columns;
      this.analysis = null;
      this.drawColumns();
      const found = await analysis;
      if (stale() || found.wrong) return;
      this.analysis = found;
      const place = new Map(found.rows.map((row, n) => [row.name, n]));
      columns.params.sort((a, b) => (place.get(a.name) ?? Infinity) - (place.get(b.name) ?? Infinity));
      this.draw();
      this.root.dataset.ready = 'yes';
    } catch (error) {
      if (stale()) return;
      this.key = null;
      this.summary.textContent = error.message;
    } finally {
      if (!stale()) this.root.removeAttribute('aria-busy');
    }
  }

  /** renew requests the data again some time after runs have changed. */
  renew() {
    this.pending ??= setTimeout(() => {
      this.pending = null;
      if (this.on) this.load(true);
      else this.key = null;
    }, 15_000);
  }

  /** extra returns the columns that the address names in addition to the first metrics. */
  extra() {
    const ids = [...this.state.get('axes').split('\n'), ...['sx', 'sy', 'sc'].map((name) => this.state.get(name))];
    return [...new Set([...ids, ...(this.fronts ?? [])].filter((id) => id.startsWith('metric.')))];
  }

  /** need requests the values of columns in the address that are not loaded yet. */
  async need() {
    const there = new Set(this.columns?.metrics.map((m) => m.column));
    if (!this.columns || this.extra().every((id) => there.has(id))) return;
    const { key } = this;
    const query = { ...this.asked, columns: this.extra().join('\n') };
    const columns = await fetchData(`experiment/${this.experiment}/columns`, { query }).catch(() => ({ wrong: true }));
    if (key !== this.key || columns.wrong) return;
    const place = new Map(this.columns.params.map((p, n) => [p.name, n]));
    columns.params.sort((a, b) => (place.get(a.name) ?? 0) - (place.get(b.name) ?? 0));
    this.columns = columns;
    this.draw();
  }

  draw() {
    if (!this.columns || !this.on) return;
    this.drawColumns();
    if (this.analysis) this.drawAnalysis();
  }

  drawColumns() {
    const { columns, state } = this;
    this.ended?.abort();
    this.ended = new AbortController();
    this.width = this.root.clientWidth;
    const runs = columns.ids.map((id, i) => ({ id, name: columns.names[i], color: columns.colors[i] }));
    this.runs = runs;
    this.at = new Map(columns.ids.map((id, i) => [id, i]));
    this.dimensions = dimensionsOf(columns);
    // Metrics whose values are not loaded yet can be chosen, too. Their values are then loaded.
    const all = new Map(this.dimensions);
    this.brushes = new Brushes(state, this.dimensions);
    this.inside = this.brushes.mask(runs.length);
    this.pointer?.tip.remove();
    this.pointer = new Pointer(columns.names, columns.ids);
    const { parallel, scatter } = this.parts;
    const width = () => Math.max(320, this.root.clientWidth - 32);
    parallel.replaceChildren();
    scatter.replaceChildren();
    const { signal } = this.ended;
    const common = { state, brushes: this.brushes, width, signal };
    if (all.size >= 2 && runs.length >= 2) {
      parallelPlot(parallel, runs, all, { ...common, paint: (drawing, p) => this.paintParallel(drawing, p) });
      this.showPlot();
      this.addOthers(parallel.querySelector('select[name="axis"]'));
      this.offerReport('parallel');
    } else {
      parallel.replaceChildren(
        el('h2', {}, 'Parallel coordinates'),
        el('p', { class: 'count' }, 'At least two runs with different values are needed.')
      );
    }
    this.brush();
  }

  /** showPlot draws the scatter plot. Its default axes and colour depend on the analysis. */
  showPlot() {
    const { scatter } = this.parts;
    if (this.dimensions.size < 2 || this.runs.length < 2) return;
    this.scatterEnded?.abort();
    this.scatterEnded = new AbortController();
    scatter.replaceChildren();
    const first = this.analysis?.rows.find((r) => r.known);
    const partner = first?.with && this.dimensions.has(`param.${first.with}`) ? `param.${first.with}` : '';
    scatterPlot(scatter, this.runs, this.dimensions, {
      state: this.state,
      brushes: this.brushes,
      width: () => Math.max(320, this.root.clientWidth - 32),
      signal: AbortSignal.any([this.ended.signal, this.scatterEnded.signal]),
      judged: async (metric) => (metric === '' ? (first?.name ?? '') : ''),
      color: () => partner,
      paint: (drawing, p) => this.paintScatter(drawing, p),
    });
    for (const select of scatter.querySelectorAll('select')) this.addOthers(select);
    this.offerReport('scatter');
  }

  /** addOthers adds the metrics whose values are not loaded to the options of an axis. */
  addOthers(select) {
    if (!select || this.columns.others.length === 0 || select.querySelector('[label="Other metrics"]')) return;
    const others = this.columns.others.map((m) => ({
      id: m.column,
      label: `${m.key} ${m.stat}`,
      group: 'Other metrics',
    }));
    select.append(...dimensionOptions(others));
  }

  paintParallel(drawing, { width, height, xs, y, judge }) {
    const { box, ctx } = layered(drawing, width, height);
    const n = this.runs.length;
    this.inside = this.brushes.mask(n);
    paintLines(ctx, n, xs, y, runColors(judge, this.columns.colors), this.inside);
    const nearest = (px, py) => {
      const a = xs.findLastIndex((x) => x <= px);
      if (a < 0 || a + 1 >= xs.length) return -1;
      const t = (px - xs[a]) / (xs[a + 1] - xs[a]);
      let [best, near] = [-1, 7];
      for (let i = 0; i < n; i += 1) {
        if (!this.inside[i]) continue;
        const [from, to] = [y(a, i), y(a + 1, i)];
        if (from == null || to == null) continue;
        const d = Math.abs(from + (to - from) * t - py);
        if (d < near) [best, near] = [i, d];
      }
      return best;
    };
    const mark = (i) => {
      let pen = false;
      const d = xs.map((x, a) => {
        const at = y(a, i);
        const part = at == null ? '' : `${pen ? 'L' : 'M'}${x},${at}`;
        pen = at != null;
        return part;
      });
      return svgElement('path', { d: d.join(''), class: 'lit-path' });
    };
    this.pointer.follow(box, nearest, mark, (i) => this.wordsOf(i));
    queueMicrotask(() => this.addOthers(this.parts.parallel.querySelector('select[name="axis"]')));
    return box;
  }

  paintScatter(drawing, { width, height, at, dc }) {
    const { box, ctx } = layered(drawing, width, height);
    const n = this.runs.length;
    this.inside = this.brushes.mask(n);
    paintDots(ctx, n, at, runColors(dc, this.columns.colors), this.inside);
    this.pointer.follow(
      box,
      (x, y) => nearestDot(n, at, this.inside, x, y),
      (i) => dotMark(at(i)),
      (i) => this.wordsOf(i)
    );
    return box;
  }

  /** wordsOf returns lines of text about a run: its result and its most important parameters. */
  wordsOf(i) {
    const names = this.analysis?.rows.filter((r) => r.known).slice(0, 4).map((r) => `param.${r.name}`) ?? [];
    return ['objective', ...names]
      .map((id) => this.dimensions.get(id))
      .filter((d) => d && d.values[i] != null)
      .map((d) => `${d.label}: ${d.texts ? d.texts[d.values[i]] : number(d.values[i])}`);
  }

  /** offerReport adds a button to a part of the tab that adds its picture to a report. */
  offerReport(name, item) {
    const part = this.parts[name];
    const strip = part.querySelector('.strip');
    if (!strip || strip.querySelector('.to-report')) return;
    const title = part.getAttribute('aria-label');
    strip.append(reportButton(this.experiment, title, () => part.querySelector('.layers'), item));
  }

  /** metricItem returns the metric and the filter of the tab for an item of a report. */
  metricItem() {
    const { analysis, asked } = this;
    return { filter: asked.filter, metrics: [analysis.metric], goals: [analysis.goal] };
  }

  drawAnalysis() {
    const { analysis } = this;
    this.metric.replaceChildren(
      ...analysis.metrics.map((m) => el('option', { value: m, selected: m === analysis.metric }, m))
    );
    this.goal.value = analysis.goal;
    this.summary.textContent = analysis.summary;
    this.showPlot();
    this.drawRows();
    this.drawNext();
    frontPart(this.parts.front, this);
    this.offerReport('front', () => ({ kind: 'pareto', filter: this.asked.filter, ...this.frontMetrics }));
  }

  /** opened returns the names of the parameters whose pictures are open. */
  opened() {
    if (this.state.has('pictures')) return this.state.get('pictures').split('\n');
    const first = this.analysis.rows.find((r) => r.known) ?? this.analysis.rows[0];
    return first ? [first.name] : [];
  }

  drawRows() {
    const { analysis } = this;
    const opened = this.opened();
    const rows = analysis.rows.map((row, n) => {
      const picture = el('div', { class: 'picture' });
      const details = el(
        'details',
        {
          class: row.known ? 'known' : 'unknown',
          open: opened.includes(row.name),
          hidden: n >= shownRows && !opened.includes(row.name),
          'data-name': row.name,
          'data-testid': 'parameter',
        },
        el(
          'summary',
          {},
          isolated(row.name, 'name'),
          shareBar(row),
          el(
            'span',
            {
              class: 'share-text number',
              title: `95% interval: ${row.low.toFixed(0)} to ${row.high.toFixed(0)}%`,
            },
            `${row.share.toFixed(0)}%`
          ),
          el('bdi', { class: 'words' }, row.words.join(' '))
        ),
        picture
      );
      const draw = () => {
        importancePicture(picture, row, {
          analysis,
          columns: this.columns,
          result: this.result(),
          inside: this.inside,
          pointer: this.pointer,
          brushes: this.brushes,
        });
        const find = () =>
          this.parts.importance.querySelector(`[data-name="${CSS.escape(row.name)}"] > .picture > .layers`);
        picture.append(reportButton(this.experiment, `${analysis.label} by ${row.name}`, find));
      };
      details.draw = () => details.open && draw();
      details.addEventListener('toggle', () => {
        if (details.open) draw();
        else picture.replaceChildren();
        this.storeOpened();
      });
      return details;
    });
    const rest = rows.filter((r) => r.hidden).length;
    const more =
      rest > 0 &&
      el('button', { type: 'button', class: 'plain', click: () => {
        for (const row of rows) row.hidden = false;
        more.remove();
      } }, `Show ${count(rest)} more parameters`);
    const about =
      rows.length > 0 &&
      el(
        'p',
        { class: 'count' },
        'Drag over a picture to select runs. ' +
          'Share of the variation of the metric that a parameter explains, with its interactions. ' +
          'Estimated on held-out runs from random forests. ' +
          'Importance shows correlation, not causation. ',
        ...analysis.notes.map((note) => `${note} `)
      );
    const report =
      rows.length > 0 &&
      el(
        'button',
        {
          type: 'button',
          class: 'plain to-report',
          'aria-label': 'Report: importance of parameters',
          click: () =>
            openReportDialog(
              { kind: 'importance', experiment: this.experiment, ...this.metricItem() },
              { name: `Importance for ${analysis.label}` }
            ),
        },
        'Report'
      );
    this.parts.importance.replaceChildren(...[...rows, more, about, report].filter(Boolean));
    for (const row of rows) row.draw();
  }

  /** storeOpened stores the open pictures in the address. */
  storeOpened() {
    const rows = [...this.parts.importance.querySelectorAll('details[data-name]')];
    const open = rows.filter((row) => row.open).map((row) => row.dataset.name);
    if (open.join('\n') !== this.opened().join('\n')) this.state.set({ pictures: open.join('\n') });
  }

  openRows() {
    if (!this.analysis) return;
    const opened = this.opened();
    for (const row of this.parts.importance.querySelectorAll('details[data-name]')) {
      row.open = opened.includes(row.dataset.name);
      if (row.open) row.hidden = false;
    }
  }

  /** result returns the values of the metric by run, or null if there is no metric. */
  result() {
    return this.columns.metrics[0]?.values.map((v) => (typeof v === 'number' ? v : null)) ?? [];
  }

  drawNext() {
    const { next } = this.analysis;
    const part = this.parts.next;
    part.hidden = !next.words && next.runs.length === 0;
    part.replaceChildren(
      el('h2', {}, 'Next to try'),
      el('p', { class: 'count', 'data-testid': 'next-words' }, next.words),
      ...(next.runs.length > 0
        ? [
            el(
              'ol',
              {},
              ...next.runs.map((run) =>
                el(
                  'li',
                  { 'data-testid': 'next-run' },
                  el(
                    'div',
                    {},
                    ...run.settings.map((s) =>
                      el('span', { class: 'setting' }, isolated(s.name), ' ', el('b', {}, isolated(s.value)))
                    )
                  ),
                  el('div', { class: 'count' }, `${this.analysis.label}: ${run.result}`),
                  el('div', { class: 'command' }, el('pre', { tabindex: '0' }, run.command), copyButton(run.command))
                )
              )
            ),
          ]
        : [])
    );
  }

  /** brush shows the runs inside the brushes in all pictures and in the table. */
  brush() {
    if (!this.brushes) return;
    const n = this.runs.length;
    this.inside = this.brushes.mask(n);
    const some = this.inside.reduce((sum, one) => sum + one, 0);
    const has = this.brushes.ranges.size > 0;
    this.brushed.hidden = !has;
    this.brushed.replaceChildren(
      `${count(some)} of ${count(n)} runs inside the brushes`,
      el(
        'button',
        { type: 'button', class: 'plain', 'data-testid': 'clear-brushes', click: () => this.brushes.clear() },
        'Clear'
      ),
      has && some > 0 && some < n
        ? el(
            'button',
            { type: 'button', class: 'plain', 'data-testid': 'filter-these', click: () => this.filterThese() },
            'Filter to these'
          )
        : ''
    );
    this.dimRows();
    for (const row of this.parts.importance.querySelectorAll('details[data-name]')) row.draw();
    this.drawFront?.();
  }

  /** filterThese adds the brushes to the filter. */
  filterThese() {
    const before = this.filter().trim();
    const conditions = [...this.brushes.ranges].flatMap(([id, [low, high]]) =>
      conditionsOf(this.dimensions.get(id), low, high)
    );
    const filter = [before && (/\bor\b/i.test(before) ? `(${before})` : before), ...conditions]
      .filter(Boolean)
      .join(' and ');
    this.state.set({ filter, brush: null });
  }

  dimRows() {
    const some = this.on && this.brushes?.ranges.size > 0;
    for (const tr of document.querySelectorAll('#scroll tr[data-id]')) {
      const i = this.at?.get(tr.dataset.id);
      const out = Boolean(some) && i !== undefined && !this.inside[i];
      if (tr.classList.contains('outside') !== out) tr.classList.toggle('outside', out);
    }
  }

  /** highlight highlights a run of the table in the pictures. */
  highlight(id) {
    if (this.on) this.pointer?.light(this.at.get(id) ?? -1);
  }
}

/** conditionsOf returns filter conditions that select a range of a dimension. */
function conditionsOf(d, low, high) {
  if (d.texts) {
    const some = d.texts.filter((_, i) => i >= low && i <= high);
    if (some.length === d.texts.length || some.length > mostValues) return [];
    return [`${d.column} in (${some.map((text) => `'${text.replaceAll("'", "''")}'`).join(', ')})`];
  }
  const known = d.values.filter((v) => v != null);
  const inside = known.filter((v) => v >= low && v <= high);
  const outside = known.filter((v) => v < low || v > high);
  // Use the shortest numbers that separate the runs inside the range from the runs outside.
  const above = outside.filter((v) => v > high);
  const below = outside.filter((v) => v < low);
  const last = Math.max(...inside);
  const first = Math.min(...inside);
  const all = [];
  if (below.length > 0) all.push(`${d.column} >= ${between(Math.max(...below), first)}`);
  if (above.length > 0) all.push(`${d.column} <= ${between(last, Math.min(...above))}`);
  return all;
}

/** between returns a short number between a and b, or else their mean. */
function between(a, b) {
  const middle = a + (b - a) / 2;
  for (let digits = 1; digits < 17; digits += 1) {
    const short = Number(middle.toPrecision(digits));
    if (short > a && short < b) return short;
  }
  return middle;
}

function copyButton(text) {
  const button = el('button', { type: 'button', class: 'plain', click: async () => {
    const done = await copyText(text);
    button.textContent = done === false ? 'Not copied' : 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  } }, 'Copy');
  return button;
}

/** shareBar draws a share and its interval on a scale from 0 to 100%. */
function shareBar(row) {
  const bar = svgElement(
    'svg',
    {
      class: 'share',
      viewBox: '0 0 100 12',
      width: 90,
      height: 12,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    svgElement('rect', { class: 'ground', x: 0, y: 4, width: 100, height: 4 }),
    svgElement('rect', { class: 'value', x: 0, y: 3, width: Math.min(100, row.share), height: 6 }),
    svgElement('path', { class: 'range', d: `M${row.low} 6H${row.high}` })
  );
  return bar;
}
