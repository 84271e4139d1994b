// The table of runs. Only visible rows have elements. Rows are loaded in pages as the user scrolls.
import { Differences } from './baseline.js';
import { columnHeads } from './columnhead.js';
import * as columns from './columnname.js';
import { el, setChildren } from './dom.js';
import { Listing, pageSize } from './listing.js';
import { fetchData } from './request.js';
import * as groups from './rungroup.js';
import { Selection } from './selection.js';
import { TableLayout, parseWidths, changeWidth } from './tablelayout.js';
import { handleRowKey, tableRow as makeRow } from './tablerow.js';
import { debounce } from './timing.js';

const rowHeight = 28;
const narrowTable = 700; // pixels up to which a table shows only its first default columns
const columnWidth = 110; // pixels for each further default column
const extraRows = 8; // rows with elements above and below the visible ones

/**
 * Table shows the runs of an experiment as a flat list, in groups, or with child runs below their parents. Only
 * visible rows have elements. It dispatches "loaded" when rows were loaded, "wrong" if the filter is invalid,
 * "pick" when the selection has changed, "show" when a run is to be drawn or hidden, and "point" when the
 * pointer is over a row.
 */
export class Table extends EventTarget {
  /**
   * @param {HTMLElement} scroller
   * @param {import('./state.js').State} state
   * @param {Object} options
   * @param {string} options.experiment id of the experiment
   * @param {string} options.defaults default columns
   * @param {string} [options.wide] parameters that a wide table shows in addition by default
   * @param {string} [options.objective] column that ranks the runs
   * @param {string} [options.order] default order of the rows
   */
  constructor(scroller, state, { experiment, defaults, wide = '', objective, order = '-created' }) {
    super();
    Object.assign(this, { scroller, state, experiment, defaults, wide, objective, order });
    this.best = null; // id of the best run
    this.picked = new Selection();
    this.summaries = new Map(); // summaries of runs by id, for the details of metrics
    this.rows = new Map(); // row elements by index
    this.differences = new Differences(experiment, state, () => {
      this.updateHeads();
      this.render(true);
    });
    this.top = () => 0; // number of rows at the top whose runs are drawn; they are loaded even if they are not visible
    this.shown = () => false;
    this.color = (run) => run.color;
    this.dash = () => 0;
    this.root = this.listing();
    this.build();
    scroller.addEventListener('scroll', () => requestAnimationFrame(() => this.render()));
    new ResizeObserver(() => {
      if (this.layout && this.roomFor !== this.room) this.updateHeads();
      this.render(this.roomFor !== this.room);
      this.roomFor = this.room;
    }).observe(scroller);
  }

  /** columns returns the selected columns, including columns that the layout omits. */
  get columns() {
    return this.columnsFor(this.room);
  }

  /** columnsFor returns the selected columns or, if there are none, the default columns and n further ones. */
  columnsFor(n) {
    const all = columns.parseColumns(this.state.get('columns', this.defaults));
    if (this.state.has('columns')) return all;
    const at = all.findLastIndex((c) => c.kind === 'param') + 1;
    return all.toSpliced(at, 0, ...columns.parseColumns(this.wide).slice(0, n));
  }

  /** room returns the number of further default columns that fit. */
  get room() {
    return Math.max(0, Math.floor((this.scroller.clientWidth - narrowTable) / columnWidth));
  }

  get grouped() {
    return this.asked.by;
  }

  get nests() {
    return Boolean(this.asked.by || this.asked.tree);
  }

  get total() {
    return this.root.total;
  }

  query() {
    const by = this.state.get('group');
    const tree = this.state.has('tree') && !by ? '1' : '';
    return {
      by,
      filter: this.state.get('filter'),
      sort: this.state.get('sort'),
      columns: this.columnsFor(Infinity).map(columns.formatColumn).join(', '),
      tree,
    };
  }

  /**
   * asked returns the query of the visible rows. The query in the address might be newer if it is invalid or has no
   * response yet.
   */
  get asked() {
    return this.root.query;
  }

  /** listing returns the top-level listing, or the listing under a row. */
  listing(under, depth = 0, path = '', asked = this.query()) {
    const { by: group, ...common } = asked;
    const by = groups.parseGroups(group);
    const more = !under ? {} : under.group ? { group, values: JSON.stringify(under.values) } : { parent: under.id };
    const top = group && !under;
    const fetch = async (offset, limit, signal) => {
      const query = { ...common, ...(top ? { group } : more), limit, offset };
      return this.toRows(
        await fetchData(`experiment/${this.experiment}/${top ? 'groups' : 'iterations'}`, { query, signal }),
        top && by
      );
    };
    const listing = new Listing(fetch, {
      open: (row) => this.isOpen(row),
      inner: (row) => this.listing(row, depth + 1, `${path}/${row.id}`, asked),
      failed: (mistake) => this.failed(mistake, listing),
      changed: (change, found) => this.changed(change, found, listing),
    }, depth, path);
    listing.query = asked;
    return listing;
  }

  /** toRows converts a response of the server to rows. */
  toRows(found, by) {
    if (found.wrong) return found;
    return { ...found, data: found.data.map((r) => (by ? groups.groupRow(r, by) : { ...r, unfolds: r.below })) };
  }

  isOpen(row) {
    return this.state.list('open').includes(row.id);
  }

  build() {
    this.head = el('tr');
    this.body = el('tbody');
    this.group = el('colgroup');
    // These two rows fill the space of all rows without elements.
    this.spaces = [1, 2].map(() => el('tr', { class: 'space', 'aria-hidden': 'true' }));
    this.every = el('input', {
      type: 'checkbox',
      name: 'pick-all',
      'aria-label': 'Select all runs that pass the filter',
      'data-testid': 'pick-all',
      change: () => this.pickAll(this.every.checked),
    });
    this.table = el(
      'table',
      { class: 'grid live', id: 'table', 'aria-label': 'Runs' },
      this.group,
      el('thead', {}, this.head),
      this.body
    );
    this.body.addEventListener('click', (event) => this.click(event));
    this.body.addEventListener('keydown', (event) => {
      const run = this.runOf(event.target);
      if (run) handleRowKey(event, run, this.nests && ((open) => this.toggle(run, open)));
    });
    this.body.addEventListener('pointerover', (event) => this.hover(event));
    this.body.addEventListener('focusin', (event) => this.hover(event));
    // Rows do not change while a button is pressed, because the browser discards the click if its element was
    // replaced.
    this.body.addEventListener('pointerdown', () => { this.pressed = true; });
    for (const name of ['pointerup', 'pointercancel']) {
      addEventListener(name, () => setTimeout(() => {
        if (!this.pressed) return;
        this.pressed = false;
        this.render();
      }));
    }
    this.body.addEventListener('pointerleave', () => this.dispatch('point', ''));
  }

  dispatch(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  /**
   * load requests the visible rows and the drawn rows.
   * @param {boolean} [again] whether to keep the current rows until newer ones are loaded; otherwise the table is
   *   cleared and scrolled to the top
   * @param {?Object} [first] first page, if it is known
   */
  async load(again = false, first = null) {
    this.summaries.clear();
    this.root.cancel();
    const same = this.loadDifferences();
    if (again && this.next) return; // rows of a new query are loading
    if (again && !this.behind) {
      this.root.markStale();
      await Promise.all([same, ...this.visibleRows().pages.map(([listing, page]) => listing.load(page))]);
      return;
    }
    this.next?.cancel();
    this.next = this.listing();
    if (first) this.next.store(0, this.toRows(first, this.next.query.by && groups.parseGroups(this.next.query.by)));
    else await Promise.all([same, this.next.load(0)]);
  }

  loadDifferences() {
    this.differences.loadBaseline(this.query().columns);
    return this.differences.loadSame(this.columnsFor(Infinity).filter((c) => c.kind === 'param').map((c) => c.key));
  }

  /** failed shows the error. The rows stay. */
  failed(mistake, listing) {
    if (listing === this.next) {
      this.behind = !mistake.field; // the query is valid and can be repeated
      this.next = null;
    } else if (this.mistake) {
      return;
    }
    this.mistake = mistake;
    this.table.classList.add('old');
    this.dispatch('wrong', mistake);
  }

  /**
   * changed inserts loaded rows. The visible rows stay in place. If the query is new, its first rows replace all
   * rows.
   */
  changed(change, found, listing) {
    const another = listing === this.next;
    if (!another && listing.depth === 0 && listing !== this.root) return; // the listing is no longer shown
    const anchor = another ? null : this.anchor();
    change();
    if (another) {
      [this.root, this.next, this.behind] = [listing, null, false];
      this.updateHeads();
      this.scroller.scrollTop = 0;
    }
    if (another || !this.mistake?.field) {
      this.mistake = null;
      this.table.classList.remove('old');
    }
    this.picked.tableLoaded(this.asked.filter, this.nests ? null : this.root.total);
    for (const row of found.data) this.picked.update(row);
    this.restoreAnchor(anchor);
    this.dispatch('loaded', found);
    this.attach();
    this.render();
  }

  /**
   * attach inserts the rows into the page and preserves the focus. It waits while a button in the scroller is
   * pressed, because the browser would otherwise discard the click.
   */
  attach() {
    if (this.table.isConnected) return;
    if (this.scroller.matches(':active')) {
      setTimeout(() => this.attach(), 50);
      return;
    }
    const focused = this.scroller.querySelector('a:focus');
    this.scroller.replaceChildren(this.table);
    this.render();
    if (focused)
      [...this.body.querySelectorAll('a')].find((a) => a.href === focused.href)?.focus({ preventScroll: true });
  }

  at(index) {
    return this.root.at(index);
  }

  /**
   * topPlaces returns the places of the first rows of the table, which are drawn: their listings and indexes.
   * If the table is grouped, only groups are drawn. Otherwise the child runs of expanded rows are drawn, too.
   */
  topPlaces() {
    const { grouped, root } = this;
    return Array.from({ length: Math.min(this.top(), grouped ? root.total : root.size) }, (_, i) =>
      grouped ? { listing: root, n: i } : root.locate(i)
    );
  }

  /** topRows returns the loaded rows among the first rows of the table, which are drawn. */
  topRows() {
    return this.topPlaces().map(({ listing, n }) => listing.row(n)).filter(Boolean);
  }

  /** visibleRows returns the range of the visible rows, and the pages with the visible and the drawn rows. */
  visibleRows() {
    const { size } = this.root;
    const top = Math.max(0, Math.floor(this.scroller.scrollTop / rowHeight) - extraRows);
    const end = Math.min(
      size,
      Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / rowHeight) + extraRows
    );
    const pages = new Map();
    const places = this.topPlaces();
    for (let i = top; i < Math.max(end, top + 1); i += 1) places.push(this.root.locate(i));
    for (const { listing, n } of places) {
      const page = Math.floor(n / pageSize);
      if (!pages.has(listing)) pages.set(listing, new Set());
      pages.get(listing).add(page);
    }
    return { top, end, size, pages: [...pages].flatMap(([listing, all]) => [...all].map((page) => [listing, page])) };
  }

  /**
   * anchor returns the first visible row, for restoreAnchor. If the table is scrolled to the top, it returns
   * null, so that new rows become visible.
   */
  anchor() {
    if (!this.table.isConnected) return null;
    const index = Math.floor(this.scroller.scrollTop / rowHeight);
    return this.scroller.scrollTop > 0 ? { index, id: this.at(index)?.id } : null;
  }

  /** restoreAnchor scrolls so that the anchor's row stays in place after rows above it were added or removed. */
  restoreAnchor(anchor) {
    if (!anchor?.id) return;
    for (let i = Math.max(0, anchor.index - 2 * pageSize); i < anchor.index + 2 * pageSize; i += 1) {
      if (this.at(i)?.id === anchor.id) {
        if (i !== anchor.index) {
          this.table.style.setProperty('--rows', this.root.size);
          this.scroller.scrollTop += (i - anchor.index) * rowHeight;
        }
        return;
      }
    }
  }

  /**
   * render updates the visible rows. A row with unchanged data keeps its elements, which preserves the focus.
   */
  render(all = false) {
    if (!this.table.isConnected || this.pressed) return;
    const { top, end, size, pages } = this.visibleRows();
    // The loading of pages that are no longer visible is cancelled.
    const wanted = new Map();
    for (const [listing, page] of pages) wanted.set(listing, (wanted.get(listing) || new Set()).add(page));
    this.root.cancel(wanted.get(this.root));
    if (size > 0 && pages.some(([listing, page]) => listing.isStale(page))) this.loadVisible();
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const part = focused?.dataset.part;
    const owner = focused?.closest('tr')?.dataset.place;
    const { baseline } = this.differences;
    const rows = new Map();
    for (let i = top; i < end; i += 1) {
      const { listing, n } = this.root.locate(i);
      const run = listing.row(n);
      const place = run ? `${listing.path}/${run.id}` : `${i}`;
      const old = this.rows.get(place);
      const looks = run && `${Object.values(this.rowState(run))} ${baseline?.id}`;
      if (old && !all && old.run === run && old.index === i && old.looks === looks) {
        rows.set(place, old);
        continue;
      }
      const tr = makeRow(this.layout, run, { index: i, depth: listing.depth }, run ? this.rowState(run) : {}, baseline);
      tr.dataset.place = place;
      rows.set(place, { run, index: i, looks, tr });
    }
    this.rows = rows;
    const [above, below] = this.spaces;
    above.style.height = `${top * rowHeight}px`;
    below.style.height = `${(size - end) * rowHeight}px`;
    setChildren(this.body, [above, ...[...rows.values()].map((r) => r.tr), below], focused?.closest('tr'));
    if (part && document.activeElement !== focused) {
      this.rows.get(owner)?.tr.querySelector(`[data-part="${part}"]`)?.focus({ preventScroll: true });
    }
    this.table.setAttribute('aria-rowcount', size + 1);
    this.every.checked = this.picked.whole;
    this.every.indeterminate = this.picked.size > 0 && !this.picked.whole;
  }

  /** setBest marks the best run. */
  setBest(id) {
    if (id === this.best) return;
    this.best = id;
    this.render();
  }

  /** loadVisible requests the visible and the drawn rows when scrolling pauses. */
  loadVisible = debounce(60, () => {
    for (const [listing, page] of this.visibleRows().pages) if (listing.isStale(page)) listing.load(page);
  });

  rowState(run) {
    const part = run.group ? this.picked.partOf(run) : this.picked.has(run.id) && 'all';
    return {
      picked: part === 'all',
      partly: part === 'some',
      shown: this.shown(run),
      color: this.color(run),
      dash: this.dash(run),
      best: run.id === this.best && this.objective,
      open: run.unfolds > 0 && this.isOpen(run),
    };
  }

  /** updateHeads computes the layout of the columns and replaces the header cells. */
  updateHeads() {
    const { state } = this;
    this.layout = new TableLayout({
      chosen: this.columns,
      same: this.differences.same,
      by: this.grouped && groups.parseGroups(this.grouped),
      pinned: columns.parseColumns(state.get('pin')),
      nests: this.nests,
      compared: state.has('base'),
      usual: this.order,
      best: this.best,
      rows: this.root.pages.get(0)?.rows ?? [],
      widths: parseWidths(state.get('widths')),
    });
    const { cells, widths } = columnHeads(this.layout, {
      sort: state.get('sort'),
      every: this.every,
      sorted: (sort) => state.set({ sort }),
      moved: (from, to) => {
        const all = this.columns;
        all.splice(to, 0, ...all.splice(from, 1));
        state.set({ columns: all.map(columns.formatColumn).join(', ') });
      },
      sized: (name, width) => state.set({ widths: changeWidth(state.get('widths'), name, width) || null }) });
    this.group.replaceChildren(...widths);
    this.head.replaceChildren(...cells);
  }

  /** runOf returns the run whose row contains an element. */
  runOf(element) {
    return this.rows.get(element.closest('tr')?.dataset.place)?.run;
  }

  /** toggle expands or collapses a row. */
  toggle(run, open = !this.isOpen(run)) {
    const others = this.state.list('open').filter((id) => id !== run.id);
    this.state.set({ open: open ? [...others, run.id] : others });
  }

  refold() {
    this.root.updateUnfolded();
    this.dispatch('loaded');
  }

  click(event) {
    const run = this.runOf(event.target);
    if (!run) return;
    const { part } = event.target.dataset;
    if (part === 'pick' && run.group) {
      this.pickGroup(run, event.target.checked);
    } else if (part === 'pick') {
      const { index } = this.rows.get(event.target.closest('tr').dataset.place);
      this.picked.set(run, event.target.checked);
      if (event.shiftKey) this.picked.range(index, event.target.checked, (i) => this.at(i));
      this.picked.last = index;
      this.render();
      this.dispatch('pick');
    } else if (part === 'show') {
      this.dispatch('show', run);
    } else if (part === 'fold') {
      this.toggle(run);
    }
  }

  /** pickGroup selects or deselects the runs of a group, including runs that are not loaded. */
  async pickGroup(group, on) {
    await this.picked
      .setGroup(this.experiment, group, on, this.asked)
      .catch((error) => this.dispatch('wrong', error));
    this.render();
    this.dispatch('pick');
  }

  /** pickAll selects all runs that pass the filter, including runs that are not loaded. With false, it selects none. */
  async pickAll(on) {
    if (on) await this.picked.selectAll(this.experiment, this.asked).catch((error) => this.dispatch('wrong', error));
    else this.picked.clear();
    this.render();
    this.dispatch('pick');
  }

  /** hover highlights the run under the pointer, and shows the details of the metric under the pointer. */
  hover(event) {
    const run = this.runOf(event.target);
    this.dispatch('point', run?.id || '');
    const td = event.target.closest('td[data-metric]');
    if (run && td) this.explainMetric(run, td);
  }

  explainMetric = debounce(150, async (run, td) => {
    if (!this.summaries.has(run.id))
      this.summaries.set(
        run.id,
        fetchData(`iteration/${run.id}/summary`).catch(() => null)
      );
    const found = await this.summaries.get(run.id);
    const { showMetricTip } = await import('./metrictip.js');
    showMetricTip(found?.metrics, td);
  });
}
