// Panels without curves: bars, scatter plots and histograms of values of runs, and texts.
import { base } from './base.js';
import { parseColumns } from './columnname.js';
import { el, isolated } from './dom.js';
import { count, number, toNumber } from './format.js';
import { themeColors, themedCharts } from './paint.js';
import { axisLabels, dimensionAxis, svgElement } from './plotaxis.js';
import { fetchData } from './request.js';
import { dotMark, layered, nearestDot, paintDots, Pointer } from './runcanvas.js';

const mostBins = 20;
const rowHeight = 24; // pixels of a bar, as in dialog.css
const spareRows = 20; // rows that are kept above and below the visible ones
const rugHeight = 10; // pixels of the lines that mark runs in a histogram
const [left, right, top, bottom] = [52, 12, 8, 40];

/**
 * openPanel returns the content of a figure.
 * @param {import('./panel.js').Panel} page
 * @param {Object} f figure as in Panel, whose panel is one of the types bar, scatter, histogram and text
 * @returns {{update: function(boolean), setHeight: function(number), highlight: function(string), remove: function()}}
 */
export function openPanel(page, f) {
  return f.panel.type === 'text' ? new TextPanel(f) : new ValuePanel(page, f);
}

/** TextPanel shows a text that the server renders as Markdown. */
class TextPanel {
  constructor(f) {
    Object.assign(this, { f });
    f.box.classList.add('text-panel', 'prose');
    f.box.tabIndex = 0;
    f.box.setAttribute('role', 'region');
    f.box.setAttribute('aria-label', f.title);
    // A text without a title begins at the top.
    f.root.querySelector('.name').classList.toggle('visually-hidden', !f.panel.title);
  }

  async update() {
    const { f } = this;
    if (this.asked) return;
    this.asked = true;
    try {
      const found = await fetchData('markdown', { body: { text: f.panel.text } });
      if (found.html !== undefined) f.box.innerHTML = found.html; // HTML from the server
      else f.box.replaceChildren(el('p', {}, found.note ?? ''), el('pre', {}, found.plain ?? ''));
    } catch (error) {
      this.asked = false;
      f.box.textContent = error.message;
    }
    f.root.dataset.drawn = 0;
  }

  setHeight(height) {
    this.f.box.style.height = `${height}px`;
  }

  highlight() {}

  remove() {}
}

/**
 * ValuePanel draws values of all runs that pass the filter of the page. Drawn runs have their colours; all others
 * are muted. The server returns at most the newest 10,000 runs.
 */
class ValuePanel {
  constructor(page, f) {
    Object.assign(this, { page, f, asked: null, found: null, rest: 0 });
    f.box.classList.add('value-panel');
    this.columns = [f.panel.x, f.panel.y].filter(Boolean).map((text) => parseColumns(text)[0]);
    this.resize = new ResizeObserver(() => {
      if (f.box.clientWidth > 0 && f.box.clientWidth !== this.width) this.draw();
    });
    this.resize.observe(f.box);
    themedCharts.add(this);
    f.box.addEventListener('pointerover', ({ target }) =>
      page.highlightRun(target.closest('[data-of]')?.dataset.of ?? ''));
    f.box.addEventListener('pointerleave', () => page.highlightRun(''));
  }

  /** update requests the values if the filter has changed, or if renew is set. It draws the panel in any case. */
  async update(renew = false) {
    const { f, page } = this;
    const asked = page.scope();
    if (asked === this.asked && !renew && !this.stale) {
      this.draw();
      return;
    }
    const wait = this.rest - performance.now();
    if (asked === this.asked && wait > 0) {
      // Values of many runs are expensive for the server.
      clearTimeout(this.later);
      this.later = setTimeout(() => this.update(true), wait);
      return;
    }
    this.asked = asked;
    this.stale = false;
    const begun = performance.now();
    try {
      const query = { x: f.panel.x, y: f.panel.y ?? '', filter: asked };
      const found = await fetchData(`experiment/${page.experiment}/panel`, { query });
      if (found.wrong) throw new Error(found.wrong.message);
      if (asked !== this.asked) return; // another filter was requested
      this.found = found;
    } catch (error) {
      if (asked !== this.asked) return;
      this.asked = null;
      this.say(error.message);
      return;
    }
    const now = performance.now();
    this.rest = now + 10 * (now - begun);
    this.draw();
  }

  say(text) {
    const { f } = this;
    this.found = null;
    this.figure = null;
    f.points.textContent = '';
    f.beyond.replaceChildren();
    f.box.replaceChildren(el('p', { class: 'count none' }, text));
    f.root.dataset.drawn = 0;
  }

  /** rebuild draws the panel in the colours of another theme. */
  rebuild() {
    this.draw();
  }

  draw() {
    const { f, page, found } = this;
    if (!found) return;
    this.width = f.box.clientWidth || 320;
    const rows = page.runs();
    const grouped = Boolean(rows[0]?.group);
    this.figure = valueFigure(f.panel.type, this.columns, found, grouped ? [] : rows);
    const { runs, shown } = this.figure;
    const lit = [...this.figure.drawn.keys()].filter((i) => shown[i]).length;
    f.points.textContent = coverage(this.figure);
    f.root.dataset.drawn = lit;
    f.root.dataset.runs = this.figure.known;
    const notes = [];
    if (runs < found.total)
      notes.push(`Only the newest ${count(runs)} of ${count(found.total)} runs are included.`);
    if (grouped) notes.push('Runs are not coloured by group.');
    const missing = grouped ? 0 : rows.length - this.figure.drawn.size;
    if (missing > 0) notes.push(`${count(missing)} of the drawn runs ${missing === 1 ? 'is' : 'are'} not among them.`);
    f.beyond.replaceChildren(...notes.map((text) => `${text} `));
    if (this.figure.known === 0) {
      f.box.replaceChildren(el('p', { class: 'count none' }, 'No run has these values.'));
      return;
    }
    const parts = { bar: bars, scatter, histogram };
    this.pointer?.tip.remove();
    this.pointer = new Pointer(found.names, found.ids);
    f.box.replaceChildren(parts[f.panel.type](this.figure, this.width, this.height ?? 176, this.pointer));
    this.lit = '';
    this.highlight(page.highlight);
  }

  setHeight(height) {
    if (this.height === height) return;
    this.height = height;
    this.f.box.style.height = `${height}px`;
    this.draw();
  }

  highlight(id) {
    if (this.lit === id) return;
    this.lit = id;
    for (const e of this.f.box.querySelectorAll('.lit')) e.classList.remove('lit');
    if (id) for (const e of this.f.box.querySelectorAll(`[data-of="${CSS.escape(id)}"]`)) e.classList.add('lit');
  }

  remove() {
    this.resize.disconnect();
    this.pointer?.tip.remove();
    themedCharts.delete(this);
    clearTimeout(this.later);
  }
}

/**
 * valueFigure returns what a panel draws.
 * @param {string} type bar, scatter or histogram
 * @param {Object[]} columns as from parseColumns
 * @param {Object} found response of the server
 * @param {Object[]} rows drawn runs
 * @returns {{type: string, names: string[], runs: number, total: number, known: number, shown: boolean[],
 *   ids: string[],
 *   titles: string[], raw: Array[], dims: Object[], drawn: Map<number, Object>}} names are the names of the values,
 *   titles are the names of the runs, dims are the values in the form that plotaxis.js uses, shown has the runs with
 *   all values, and drawn has the drawn runs by index
 */
function valueFigure(type, columns, found, rows) {
  const raw = columns.map((_, i) => found.values[i]?.texts ?? found.values[i]?.numbers ?? []);
  const dims = raw.map(dimension);
  const at = new Map(found.ids.map((id, i) => [id, i]));
  const drawn = new Map(rows.filter((r) => at.has(r.id)).map((r) => [at.get(r.id), r]));
  // Bars also list values that are not numbers.
  const has = (i) => (type === 'bar' ? raw[0][i] != null && raw[0][i] !== '' : dims.every((d) => d.values[i] != null));
  const shown = found.ids.map((_, i) => has(i));
  return {
    type,
    names: columns.map((c) => `${c.key}${c.kind === 'metric' ? ` (${c.stat || 'last'})` : ''}`),
    runs: found.ids.length,
    total: found.total,
    known: shown.filter(Boolean).length,
    shown,
    ids: found.ids,
    titles: found.names,
    raw,
    dims,
    drawn,
  };
}

/** coverage describes how many runs a panel shows. */
export function coverage({ known, runs, shown, drawn }) {
  const all = `${count(runs)} ${runs === 1 ? 'run' : 'runs'}`;
  const lit = [...drawn.keys()].filter((i) => shown[i]).length;
  const some = known < runs ? `${count(known)} of ${all}` : all;
  return lit < known ? `${some}, ${count(lit)} drawn` : some;
}

/** dimension returns values in the form that plotaxis.js uses. Texts become indexes into texts. */
function dimension(found) {
  const numbers = found.map((v) => (v == null || String(v).trim() === '' ? Number.NaN : Number(toNumber(v))));
  if (numbers.every((v, i) => Number.isFinite(v) || found[i] == null || isNaNText(found[i])))
    return { values: numbers.map((v) => (Number.isFinite(v) ? v : null)), texts: null };
  const { compare } = new Intl.Collator('en', { numeric: true });
  const texts = [...new Set(found.filter((v) => v != null).map(String))].sort(compare);
  const at = new Map(texts.map((v, i) => [v, i]));
  return { values: found.map((v) => (v == null ? null : at.get(String(v)))), texts };
}

const isNaNText = (v) => ['NaN', 'Infinity', '-Infinity'].includes(String(v));

/** sorted returns the indexes of the shown runs, the largest value first, and then the runs without a number. */
export function sorted({ dims, shown }) {
  const value = (i) => (dims[0].texts ? null : dims[0].values[i]);
  return [...shown.keys()]
    .filter((i) => shown[i])
    .sort((a, b) => (value(b) != null) - (value(a) != null) || value(b) - value(a));
}

/** bars returns a list of the runs with bars, the largest value first. Only rows near the visible part exist. */
function bars(figure, width, height) {
  const { names, ids, titles, raw, dims, drawn } = figure;
  const order = sorted(figure);
  const known = dims[0].texts ? [] : dims[0].values.filter((v) => v != null);
  const low = Math.min(0, ...known);
  const span = Math.max(0, ...known) - low || 1;
  const row = (i, place) => {
    const run = drawn.get(i);
    const bar = el('span', { class: `amount ${run ? `c${run.color}` : 'other'}` });
    const value = dims[0].texts ? null : dims[0].values[i];
    if (value != null) {
      bar.style.marginLeft = `${((Math.min(0, value) - low) / span) * 100}%`;
      bar.style.width = `${(Math.abs(value) / span) * 100}%`;
    }
    return el(
      'li',
      { 'data-of': ids[i], 'aria-setsize': order.length, 'aria-posinset': place + 1, class: run && 'drawn' },
      el('a', { href: new URL(`iteration/${ids[i]}`, base), title: titles[i] }, isolated(titles[i])),
      el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
      el('span', { class: 'number' }, number(raw[0][i]))
    );
  };
  const list = el('ol', {
    class: 'bars',
    tabindex: '0',
    'aria-label': `${names[0]} of ${count(order.length)} runs, the largest first`,
    scroll: () => show(),
  });
  list.style.maxHeight = `${height}px`;
  const rows = new Map(); // rows that exist, by place
  // Existing rows are kept in the document, so a focused link keeps the focus.
  function show() {
    const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - spareRows);
    const last = Math.min(order.length, Math.ceil((list.scrollTop + height) / rowHeight) + spareRows);
    for (const [place, li] of rows) {
      if (place >= first && place < last) continue;
      li.remove();
      rows.delete(place);
    }
    let next = null;
    for (let place = last - 1; place >= first; place -= 1) {
      if (!rows.has(place)) {
        rows.set(place, row(order[place], place));
        list.insertBefore(rows.get(place), next);
      }
      next = rows.get(place);
    }
    list.style.paddingTop = `${first * rowHeight}px`;
    list.style.paddingBottom = `${(order.length - last) * rowHeight}px`;
  }
  show();
  if (order.length * rowHeight <= height || drawn.size === 0) return list;
  // Marks beside the list show where the drawn runs are.
  const marks = svgElement('svg', {
    class: 'marks',
    width: 8,
    height,
    viewBox: `0 0 8 ${height}`,
    'aria-hidden': 'true',
  });
  order.forEach((i, place) => {
    const run = drawn.get(i);
    if (!run) return;
    const y = 1 + (place / order.length) * (height - 2);
    marks.append(line(0, y, 8, y, `rug c${run.color}`));
  });
  return el('div', { class: 'bars-box' }, list, marks);
}

const text = (x, y, anchor, words, cls) =>
  svgElement('text', { x, y, 'text-anchor': anchor, class: cls }, document.createTextNode(words));
const line = (x1, y1, x2, y2, cls) => svgElement('line', { x1, y1, x2, y2, class: cls });

/** axes returns the axes of a plot with labels. */
function axes({ width, height, across, up, xlabel }) {
  const base = height - bottom;
  return svgElement(
    'g',
    { class: 'axis' },
    ...up.flatMap(({ at, words }) => [
      line(left, at, width - right, at, 'grid-line'),
      text(left - 6, at + 4, 'end', words, 'tick'),
    ]),
    ...spaced(across).map(({ at, words }) => {
      const end = at + words.length * 3.5 > width;
      return text(end ? width : at, base + 16, end ? 'end' : 'middle', words, 'tick');
    }),
    line(left, base, width - right, base),
    text((left + width - right) / 2, height - 6, 'middle', xlabel, 'title')
  );
}

/** spaced returns the labels that do not overlap. */
function spaced(labels) {
  let end = -Infinity;
  return labels.filter(({ at, words }) => {
    const half = words.length * 3.5;
    if (at - half < end + 4) return false;
    end = at + half;
    return true;
  });
}

/** scatter returns dots. The dots of drawn runs are elements above a canvas with all others. */
function scatter(figure, width, height, pointer) {
  const { names, ids, raw, dims, shown, drawn, known } = figure;
  const [dx, dy] = dims;
  const [mx, my] = [dimensionAxis(dx), dimensionAxis(dy)];
  const px = (v) => left + 8 + mx.at(v) * (width - left - right - 16);
  const py = (v) => height - bottom - 8 - my.at(v) * (height - bottom - top - 16);
  const place = (i) => (shown[i] ? [px(dx.values[i]), py(dy.values[i])] : null);
  const [across, up] = [mx.ticks(5), my.ticks(4)];
  const [acrossWords, upWords] = [axisLabels(dx, across), axisLabels(dy, up)];
  const drawing = svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `${names[1]} over ${names[0]} of ${count(known)} runs`,
    },
    axes({
      width,
      height,
      across: across.map((v, i) => ({ at: px(v), words: acrossWords[i] })),
      up: up.map((v, i) => ({ at: py(v), words: upWords[i] })),
      xlabel: names[0],
    }),
    ...[...drawn].flatMap(([i, run]) => {
      if (!shown[i]) return [];
      const [cx, cy] = place(i);
      return [svgElement('circle', { class: `spot c${run.color}`, 'data-of': run.id, cx, cy, r: 5 })];
    })
  );
  const { box, ctx } = layered(drawing, width, height);
  const muted = themeColors().text;
  paintDots(ctx, ids.length, (i) => (drawn.has(i) ? null : place(i)), () => muted, shown);
  pointer.follow(
    box,
    (x, y) => nearestDot(ids.length, place, shown, x, y),
    (i) => dotMark(place(i)),
    (i) => names.map((name, k) => `${name} ${number(raw[k][i])}`)
  );
  return box;
}

/**
 * bins returns the bins of a histogram. Numbers have Sturges' number of bins of equal width (H. A. Sturges, The
 * Choice of a Class Interval, 1926); texts have a bin for each text.
 * @returns {{from: number, to: number, label: string, n: number}[]}
 */
export function bins({ values, texts }) {
  if (texts) {
    const all = texts.slice(0, mostBins).map((label, i) => ({ label, n: values.filter((v) => v === i).length }));
    const rest = values.filter((v) => v >= mostBins).length;
    return rest > 0 ? [...all, { label: 'others', n: rest }] : all;
  }
  const known = values.filter((v) => v != null);
  if (known.length === 0) return [];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const n = low === high ? 1 : Math.min(mostBins, Math.ceil(Math.log2(known.length)) + 1);
  const wide = (high - low) / n;
  const all = Array.from({ length: n }, (_, i) => ({
    from: low + i * wide,
    to: i === n - 1 ? high : low + (i + 1) * wide,
    n: 0,
  }));
  for (const v of known) all[wide > 0 ? Math.min(n - 1, Math.floor((v - low) / wide)) : 0].n += 1;
  return all.map((b) => ({ ...b, label: low === high ? number(low) : `${number(b.from)} to ${number(b.to)}` }));
}

/** binPlace returns the position of a value on the axis of a histogram, from 0 to the number of bins. */
export function binPlace({ texts }, all, v) {
  if (texts) return Math.min(v, all.length - 1) + 0.5;
  const [low, high] = [all[0].from, all.at(-1).to];
  return low === high ? 0.5 : ((v - low) / (high - low)) * all.length;
}

/** histogram returns the distribution of a value. A line at the foot marks each drawn run. */
function histogram({ names, titles, dims, shown, drawn, known }, width, height) {
  const [d] = dims;
  const all = bins(d);
  const most = Math.max(...all.map((b) => b.n));
  const base = height - bottom;
  const wide = (width - left - right) / all.length;
  const py = (n) => base - (n / most) * (base - top);
  const up = [...new Set([0, Math.floor(most / 2), most])].map((n) => ({ at: py(n), words: count(n) }));
  const across = all.map((b, i) =>
    d.texts || all.length === 1
      ? { at: left + (i + 0.5) * wide, words: b.label.slice(0, 16) }
      : { at: left + i * wide, words: number(Number(b.from.toPrecision(3))) });
  if (!d.texts && all.length > 1)
    across.push({ at: width - right - 8, words: number(Number(all.at(-1).to.toPrecision(3))) });
  const said = all.map((b) => `${b.label}: ${b.n}`).join(', ');
  const title = (words) => svgElement('title', {}, document.createTextNode(words));
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': `Number of runs by ${names[0]}, ${count(known)} runs: ${said}`,
    },
    axes({ width, height, across, up, xlabel: names[0] }),
    ...all.map((b, i) =>
      svgElement(
        'rect',
        { class: 'bin', x: left + i * wide + 1, y: py(b.n), width: Math.max(1, wide - 2), height: base - py(b.n) },
        title(`${count(b.n)} ${b.n === 1 ? 'run' : 'runs'}: ${b.label}`)
      )
    ),
    ...[...drawn].flatMap(([i, run]) => {
      if (!shown[i]) return [];
      const x = left + binPlace(d, all, d.values[i]) * wide;
      const mark = line(x, base, x, base - rugHeight, `rug c${run.color}`);
      mark.dataset.of = run.id;
      mark.append(title(`${titles[i]}: ${d.texts ? d.texts[d.values[i]] : number(d.values[i])}`));
      return [mark];
    })
  );
}
