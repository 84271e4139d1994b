// Panels without curves: bars, scatter plots and histograms of values of runs, and texts.
import { base } from './base.js';
import { columnValue, parseColumns } from './columnname.js';
import { el, isolated } from './dom.js';
import { count, number, toNumber } from './format.js';
import { axisLabels, dimensionAxis, svgElement } from './plotaxis.js';
import { fetchData } from './request.js';

const mostRuns = 200;
const mostBins = 20;
const mostBars = 200;
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

/** ValuePanel draws values of the drawn runs. */
class ValuePanel {
  constructor(page, f) {
    Object.assign(this, { page, f, asked: '', runs: [] });
    f.box.classList.add('value-panel');
    this.columns = [f.panel.x, f.panel.y].filter(Boolean).map((text) => parseColumns(text)[0]);
    this.resize = new ResizeObserver(() => {
      if (f.box.clientWidth > 0 && f.box.clientWidth !== this.width) this.draw();
    });
    this.resize.observe(f.box);
    f.box.addEventListener('pointerover', ({ target }) =>
      page.highlightRun(target.closest('[data-of]')?.dataset.of ?? ''));
    f.box.addEventListener('pointerleave', () => page.highlightRun(''));
  }

  /** update requests the values if the drawn runs have changed, or if renew is set. */
  async update(renew = false) {
    const { f, page } = this;
    const runs = page.runs().slice(0, mostRuns);
    if (runs[0]?.group) {
      this.asked = '';
      this.say('This panel shows runs, not groups of runs.');
      return;
    }
    const asked = runs.map((r) => r.id).join(' ');
    const same = asked === this.asked;
    this.drawn = runs;
    if (same && !renew) {
      this.draw();
      return;
    }
    this.asked = asked;
    const ids = runs.map((r) => r.id).filter((id) => /^[\w-]+$/.test(id));
    let found = { data: [] };
    try {
      if (ids.length > 0)
        found = await fetchData(`experiment/${page.experiment}/iterations`, {
          query: {
            filter: `id in (${ids.map((id) => `'${id}'`).join(', ')})`,
            columns: [f.panel.x, f.panel.y].filter(Boolean).join(', '),
            limit: mostRuns,
          },
        });
      if (found.wrong) throw new Error(found.wrong.message);
    } catch (error) {
      if (asked !== this.asked) return;
      this.asked = '';
      this.say(error.message);
      return;
    }
    if (asked !== this.asked) return; // other runs were requested
    const values = new Map(found.data.map((run) => [run.id, this.columns.map((c) => columnValue(run, c))]));
    this.runs = runs.map((run) => ({ ...run, values: values.get(run.id) ?? [] }));
    this.draw();
  }

  say(text) {
    const { f } = this;
    this.runs = [];
    f.box.replaceChildren(el('p', { class: 'count none' }, text));
    f.root.dataset.drawn = 0;
  }

  draw() {
    const { f, page } = this;
    if (!this.asked) return;
    this.width = f.box.clientWidth || 320;
    const colors = new Map((this.drawn ?? []).map((r) => [r.id, r.color]));
    const runs = this.runs
      .filter((r) => this.columns.every((_, i) => r.values[i] != null && r.values[i] !== ''))
      .map((r) => ({ ...r, color: colors.get(r.id) ?? r.color }));
    const names = this.columns.map((c) => `${c.key}${c.kind === 'metric' ? ` (${c.stat || 'last'})` : ''}`);
    const all = this.runs.length;
    const some = runs.length < all ? `${count(runs.length)} of ` : '';
    f.points.textContent = `${some}${count(all)} ${all === 1 ? 'run' : 'runs'}`;
    f.root.dataset.drawn = runs.length;
    if (runs.length === 0) {
      f.box.replaceChildren(el('p', { class: 'count none' }, 'No drawn run has these values.'));
      return;
    }
    const parts = { bar: bars, scatter, histogram };
    f.box.replaceChildren(parts[f.panel.type]({ runs, names, width: this.width, height: this.height ?? 176 }));
    this.lit = '';
    this.highlight(page.highlight);
  }

  setHeight(height) {
    if (this.height === height) return;
    this.height = height;
    this.f.box.style.height = `${height}px`;
    if (this.runs.length > 0) this.draw();
  }

  highlight(id) {
    if (this.lit === id) return;
    this.lit = id;
    for (const e of this.f.box.querySelectorAll('.lit')) e.classList.remove('lit');
    if (id) for (const e of this.f.box.querySelectorAll(`[data-of="${CSS.escape(id)}"]`)) e.classList.add('lit');
  }

  remove() {
    this.resize.disconnect();
  }
}

/** dimension returns the values of runs in the form that plotaxis.js uses. Texts become indexes into texts. */
function dimension(runs, i) {
  const found = runs.map((r) => r.values[i]);
  const numbers = found.map((v) => (String(v).trim() === '' ? Number.NaN : toNumber(v)));
  if (numbers.every((v, k) => Number.isFinite(Number(v)) || isNaNText(found[k])))
    return { values: numbers.map((v) => (Number.isFinite(Number(v)) ? Number(v) : null)), texts: null };
  const texts = [...new Set(found.map(String))].sort(new Intl.Collator('en', { numeric: true }).compare);
  return { values: found.map((v) => texts.indexOf(String(v))), texts };
}

const isNaNText = (v) => ['NaN', 'Infinity', '-Infinity'].includes(String(v));

/** bars returns a list of the runs with bars, the largest value first. */
function bars({ runs, names, height }) {
  const rows = runs
    .map((run) => ({ run, value: Number(toNumber(run.values[0])) }))
    .sort((a, b) => (Number.isFinite(b.value) - Number.isFinite(a.value)) || b.value - a.value);
  const known = rows.map((r) => r.value).filter(Number.isFinite);
  const low = Math.min(0, ...known);
  const span = Math.max(0, ...known) - low || 1;
  const list = el(
    'ol',
    { class: 'bars', tabindex: '0', 'aria-label': `${names[0]} of runs` },
    ...rows.slice(0, mostBars).map(({ run, value }) => {
      const bar = el('span', { class: `amount c${run.color}` });
      if (Number.isFinite(value)) {
        bar.style.marginLeft = `${((Math.min(0, value) - low) / span) * 100}%`;
        bar.style.width = `${(Math.abs(value) / span) * 100}%`;
      }
      return el(
        'li',
        { 'data-of': run.id },
        el('a', { href: new URL(`iteration/${run.id}`, base), title: run.name }, isolated(run.name)),
        el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
        el('span', { class: 'number' }, number(run.values[0]))
      );
    })
  );
  list.style.maxHeight = `${height}px`;
  return list;
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

function scatter({ runs, names, width, height }) {
  const [dx, dy] = [dimension(runs, 0), dimension(runs, 1)];
  const there = runs.map((_, i) => dx.values[i] != null && dy.values[i] != null);
  if (!there.some(Boolean)) return el('p', { class: 'count none' }, 'No drawn run has finite values.');
  const [mx, my] = [dimensionAxis(dx), dimensionAxis(dy)];
  const px = (v) => left + 8 + mx.at(v) * (width - left - right - 16);
  const py = (v) => height - bottom - 8 - my.at(v) * (height - bottom - top - 16);
  const [across, up] = [mx.ticks(5), my.ticks(4)];
  const [acrossWords, upWords] = [axisLabels(dx, across), axisLabels(dy, up)];
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': `${names[1]} over ${names[0]} of ${runs.length} runs`,
    },
    axes({
      width,
      height,
      across: across.map((v, i) => ({ at: px(v), words: acrossWords[i] })),
      up: up.map((v, i) => ({ at: py(v), words: upWords[i] })),
      xlabel: names[0],
    }),
    ...runs.flatMap((run, i) =>
      there[i]
        ? [
            svgElement(
              'circle',
              { class: `spot c${run.color}`, 'data-of': run.id, cx: px(dx.values[i]), cy: py(dy.values[i]), r: 5 },
              svgElement(
                'title',
                {},
                document.createTextNode(
                  [run.name, ...names.map((name, k) => `${name} ${number(run.values[k])}`)].join('\n')
                )
              )
            ),
          ]
        : []
    )
  );
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

function histogram({ runs, names, width, height }) {
  const d = dimension(runs, 0);
  const all = bins(d);
  if (!all.some((b) => b.n > 0)) return el('p', { class: 'count none' }, 'No drawn run has a finite value.');
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
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': `Number of runs by ${names[0]}: ${said}`,
    },
    axes({ width, height, across, up, xlabel: names[0] }),
    ...all.map((b, i) =>
      svgElement(
        'rect',
        { class: 'bin', x: left + i * wide + 1, y: py(b.n), width: Math.max(1, wide - 2), height: base - py(b.n) },
        svgElement(
          'title',
          {},
          document.createTextNode(`${count(b.n)} ${b.n === 1 ? 'run' : 'runs'}: ${b.label}`)
        )
      )
    )
  );
}
