// The table of runs: as many rows as there are, of which only those in sight
// are made. Their data comes from the server in pages, as they are scrolled to.
import { ask, settled } from './ask.js';
import * as columns from './column.js';
import { el, isolated } from './dom.js';
import { ago, count, double, duration, exact, number } from './format.js';

const rowHeight = 28;
const pageSize = 100;
const beyond = 8; // rows made above and below what is in sight

const fixed = [
  { id: 'name', label: 'Name', sort: 'name', width: 192 },
  { id: 'status', label: 'Status', sort: 'status', width: 116 },
  { id: 'created', label: 'Created', sort: '-created', width: 108 },
  { id: 'duration', label: 'Duration', sort: 'duration', width: 80, numeric: true },
  { id: 'tags', label: 'Tags', sort: 'tag', width: 104 },
];

// Table shows the runs of an experiment. It tells "loaded" when rows have come,
// "wrong" when the filter can't be read, "pick" when rows were selected, and
// "point" when the pointer is over a row.
export class Table extends EventTarget {
  constructor(scroller, state, { experiment, defaults, base }) {
    super();
    Object.assign(this, { scroller, state, experiment, defaults, base });
    this.pages = new Map(); // by number: {rows, fresh}
    this.loading = new Map(); // by number: AbortController
    this.total = 0;
    this.picked = new Map(); // by id
    this.rows = new Map(); // elements by index
    this.baseline = null;
    this.summaries = new Map();
    this.shown = () => false;
    this.build();
    scroller.addEventListener('scroll', () => requestAnimationFrame(() => this.render()));
    new ResizeObserver(() => this.render()).observe(scroller);
  }

  get columns() {
    return columns.parse(this.state.get('columns', this.defaults));
  }

  query() {
    return { filter: this.state.get('filter'), sort: this.state.get('sort'), columns: this.columns.map(columns.write).join(', ') };
  }

  build() {
    this.head = el('tr');
    this.body = el('tbody');
    this.group = el('colgroup');
    this.table = el('table', { class: 'grid live', id: 'table', 'aria-label': 'Runs' }, this.group, el('thead', {}, this.head), this.body);
    this.body.addEventListener('click', (event) => this.click(event));
    this.body.addEventListener('pointerover', (event) => this.hover(event));
    this.body.addEventListener('focusin', (event) => this.hover(event));
    this.body.addEventListener('pointerleave', () => this.tell('point', ''));
  }

  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // load asks for what is in sight. With again, what is there is shown until
  // its newer state has come; else the table begins anew at its top.
  async load(again = false) {
    for (const c of this.loading.values()) c.abort();
    this.loading.clear();
    this.chosen = this.columns;
    if (again) {
      for (const p of this.pages.values()) p.fresh = false;
    } else {
      this.pages.clear();
      this.heads();
    }
    this.summaries.clear();
    this.loadBaseline();
    const pages = again ? this.inSight().pages : [0];
    await Promise.all(pages.map((n) => this.page(n)));
  }

  async page(n) {
    if (this.loading.has(n) && !this.loading.get(n).signal.aborted) return;
    const stop = new AbortController();
    this.loading.set(n, stop);
    try {
      const query = { ...this.query(), limit: pageSize, offset: n * pageSize };
      const found = await ask(`experiment/${this.experiment}/iterations`, { query, signal: stop.signal });
      if (found.wrong) {
        this.tell('wrong', found.wrong);
        return;
      }
      const anchor = this.anchor();
      // A row that is as it was stays the same one, so that a click on it is not lost.
      const old = new Map((this.pages.get(n)?.rows || []).map((row) => [row.id, row]));
      const same = (row) => JSON.stringify(old.get(row.id)) === JSON.stringify(row);
      found.data = found.data.map((row) => (same(row) ? old.get(row.id) : row));
      this.pages.set(n, { rows: found.data, fresh: true });
      this.total = found.total;
      for (const row of found.data) if (this.picked.has(row.id)) this.picked.set(row.id, row);
      if (!this.table.isConnected) this.scroller.replaceChildren(this.table);
      this.keep(anchor);
      this.render();
      this.tell('loaded', found);
    } catch (error) {
      if (error.name !== 'AbortError') this.tell('wrong', { field: '', message: error.message });
    } finally {
      if (this.loading.get(n) === stop) this.loading.delete(n);
    }
  }

  async loadBaseline() {
    const id = this.state.get('base');
    if (!id) {
      this.baseline = null;
      return;
    }
    const query = { filter: `id = '${id.replaceAll(/[^\w-]/g, '')}'`, columns: this.query().columns };
    const found = await ask(`experiment/${this.experiment}/iterations`, { query }).catch(() => ({}));
    this.baseline = found.data?.[0] || null;
    this.render(true);
  }

  at(index) {
    return this.pages.get(Math.floor(index / pageSize))?.rows[index % pageSize];
  }

  // first returns the rows at the top, as far as they are known.
  first(n) {
    const rows = [];
    for (let i = 0; i < Math.min(n, this.total) && this.at(i); i += 1) rows.push(this.at(i));
    return rows;
  }

  inSight() {
    const top = Math.max(0, Math.floor(this.scroller.scrollTop / rowHeight) - beyond);
    const end = Math.min(this.total, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / rowHeight) + beyond);
    const pages = [];
    for (let n = Math.floor(top / pageSize); n <= Math.floor(Math.max(top, end - 1) / pageSize); n += 1) pages.push(n);
    return { top, end, pages };
  }

  // anchor is the first row in sight; keep has it stay where it is when rows
  // above it come or go. At the very top new rows are let in.
  anchor() {
    const index = Math.floor(this.scroller.scrollTop / rowHeight);
    return this.scroller.scrollTop > 0 ? { index, id: this.at(index)?.id } : null;
  }

  keep(anchor) {
    if (!anchor?.id) return;
    for (let i = Math.max(0, anchor.index - pageSize); i < anchor.index + pageSize; i += 1) {
      if (this.at(i)?.id === anchor.id) {
        if (i !== anchor.index) {
          this.space();
          this.scroller.scrollTop += (i - anchor.index) * rowHeight;
        }
        return;
      }
    }
  }

  space() {
    this.table.style.setProperty('--rows', this.total);
  }

  // render makes the rows in sight. A row whose data has not changed keeps its
  // elements, and so the focus stays where it is.
  render(all = false) {
    if (!this.table.isConnected) return;
    const { top, end, pages } = this.inSight();
    // What was scrolled past is not waited for.
    for (const [n, stop] of this.loading) if (!pages.includes(n)) stop.abort();
    if (this.total > 0 && pages.some((n) => !this.pages.get(n)?.fresh)) this.rest();
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const part = focused?.dataset.part;
    const owner = focused?.closest('tr')?.dataset.id;
    const rows = new Map();
    for (let i = top; i < end; i += 1) {
      const run = this.at(i);
      const old = this.rows.get(run?.id ?? i);
      const reuse = old && !all && old.run === run && old.index === i && old.looks === this.looks(run);
      rows.set(run?.id ?? i, reuse ? old : { run, index: i, looks: this.looks(run), tr: this.row(run, i) });
    }
    this.rows = rows;
    const above = el('tr', { class: 'space', 'aria-hidden': 'true' });
    const below = el('tr', { class: 'space', 'aria-hidden': 'true' });
    above.style.height = `${top * rowHeight}px`;
    below.style.height = `${(this.total - end) * rowHeight}px`;
    const wanted = [above, ...[...rows.values()].map((r) => r.tr), below];
    if (focused || wanted.length !== this.body.children.length || wanted.some((tr, i) => tr !== this.body.children[i])) {
      this.body.replaceChildren(...wanted);
      if (part && document.activeElement !== focused) {
        this.body.querySelector(`tr[data-id="${CSS.escape(owner)}"] [data-part="${part}"]`)?.focus({ preventScroll: true });
      }
    }
    this.table.setAttribute('aria-rowcount', this.total + 1);
  }

  // rest asks for the rows in sight once the scrolling rests.
  rest = settled(60, () => {
    for (const n of this.inSight().pages) if (!this.pages.get(n)?.fresh) this.page(n);
  });

  looks(run) {
    return run && `${this.picked.has(run.id)} ${this.shown(run)} ${this.baseline?.id}`;
  }

  heads() {
    const sort = this.state.get('sort') || '-created';
    const head = (label, name, width, numeric, title, index) => {
      const [up, down] = name.startsWith('-') ? [name.slice(1), name] : [name, `-${name}`];
      const order = { [up]: 'ascending', [down]: 'descending' }[sort];
      const arrow = { ascending: ' ↑', descending: ' ↓' }[order] || '';
      const next = order === 'ascending' ? down : order === 'descending' ? up : name;
      const column = el('col');
      column.style.width = `${width}px`;
      const th = el('th', { scope: 'col', class: numeric && 'number', 'aria-sort': order, draggable: index != null && 'true' },
        el('button', { type: 'button', title: `Sort by ${title}`, click: () => this.state.set({ sort: next === '-created' ? null : next }) }, isolated(label), arrow));
      if (index != null) this.draggable(th, index);
      return { column, th };
    };
    const all = fixed.map((c) => head(c.label, c.sort, c.width, c.numeric, c.label.toLowerCase()));
    this.chosen.forEach((c, i) => {
      const label = c.stat ? `${c.key} ${c.stat}` : c.key;
      all.push(head(label, columns.write(c), 112, c.kind === 'metric', label, i));
    });
    this.group.replaceChildren(...all.map((h) => h.column));
    this.head.replaceChildren(...all.map((h) => h.th));
  }

  // draggable lets a column be dropped on another one, in whose place it goes.
  draggable(th, index) {
    th.addEventListener('dragstart', (event) => event.dataTransfer.setData('text/plain', String(index)));
    th.addEventListener('dragover', (event) => event.preventDefault());
    th.addEventListener('drop', (event) => {
      event.preventDefault();
      const from = Number(event.dataTransfer.getData('text/plain'));
      const all = this.columns;
      if (!Number.isInteger(from) || !all[from]) return;
      all.splice(index, 0, ...all.splice(from, 1));
      this.state.set({ columns: all.map(columns.write).join(', ') });
    });
  }

  row(run, index) {
    if (!run) return el('tr', { 'aria-rowindex': index + 2, class: 'empty' }, el('td', { colspan: fixed.length + this.chosen.length }, '…'));
    const shown = this.shown(run);
    const name = el('th', { scope: 'row' }, el('div', {},
      el('input', { type: 'checkbox', name: 'pick', 'data-part': 'pick', 'aria-label': `Select ${run.name}` }),
      el('button', { type: 'button', class: `swatch c${run.color}`, 'data-part': 'show', 'aria-pressed': String(shown), 'aria-label': `Draw ${run.name}`, title: shown ? 'Hide in the charts' : 'Draw in the charts' }),
      el('a', { href: new URL(`iteration/${run.id}`, this.base), 'data-part': 'open', title: run.name }, isolated(run.name)),
      run.id === this.baseline?.id && el('span', { class: 'tag' }, 'baseline')));
    name.querySelector('input').checked = this.picked.has(run.id);
    return el('tr', { 'data-id': run.id, 'data-testid': 'run', 'aria-rowindex': index + 2, class: this.picked.has(run.id) && 'picked' },
      name,
      el('td', {}, el('span', { class: `status ${run.status}` }, run.status)),
      el('td', { title: exact(run.created) }, ago(run.created)),
      el('td', { class: 'number' }, duration(run.seconds)),
      el('td', { title: run.tags.join(', ') }, ...run.tags.map((t) => isolated(t, 'tag'))),
      ...this.chosen.map((c) => this.cell(run, c)));
  }

  cell(run, column) {
    const v = columns.value(run, column);
    if (column.kind === 'param') {
      const differs = this.baseline && this.baseline.id !== run.id && columns.value(this.baseline, column) !== v;
      return el('td', { title: v, class: differs && 'differs' }, v == null ? '' : isolated(v.slice(0, 200)));
    }
    const td = el('td', { class: 'number', 'data-metric': column.key }, number(v));
    const other = this.baseline && this.baseline.id !== run.id ? columns.value(this.baseline, column) : null;
    const by = double(v) - double(other);
    if (v != null && other != null && Number.isFinite(by)) td.append(el('small', {}, ` ${by < 0 ? '−' : '+'}${number(Math.abs(by))}`));
    return td;
  }

  click(event) {
    const run = this.rows.get(event.target.closest('tr')?.dataset.id)?.run;
    if (!run) return;
    if (event.target.dataset.part === 'pick') {
      if (event.target.checked) this.picked.set(run.id, run);
      else this.picked.delete(run.id);
      this.pickRange(event, run);
      this.render();
      this.tell('pick');
    } else if (event.target.dataset.part === 'show') {
      this.tell('show', run);
    }
  }

  // pickRange selects all from the last click on with the shift key.
  pickRange(event, run) {
    const index = this.rows.get(run.id).index;
    if (event.shiftKey && this.lastPick != null) {
      const [from, to] = [Math.min(index, this.lastPick), Math.max(index, this.lastPick)];
      for (let i = from; i <= to; i += 1) if (this.at(i)) this.picked.set(this.at(i).id, this.at(i));
    }
    this.lastPick = index;
  }

  // hover points at a run, and says of a metric which steps it is from.
  hover(event) {
    const run = this.rows.get(event.target.closest('tr')?.dataset.id)?.run;
    this.tell('point', run?.id || '');
    const td = event.target.closest('td[data-metric]');
    if (run && td && !td.title) this.explain(run, td);
  }

  explain = settled(150, async (run, td) => {
    if (!this.summaries.has(run.id)) this.summaries.set(run.id, ask(`iteration/${run.id}/summary`).catch(() => null));
    const m = columns.own((await this.summaries.get(run.id))?.metrics, td.dataset.metric);
    if (!m) return;
    td.title = `last ${number(m.last)} at step ${m.last_step}\n`
      + (m.min == null ? 'no finite value' : `min ${number(m.min)} at step ${m.min_step}\nmax ${number(m.max)} at step ${m.max_step}`)
      + `\n${count(m.count)} points`;
  });
}
