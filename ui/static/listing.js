// Rows that are loaded from the server in pages. A row can be expanded to another listing.

export const pageSize = 50;

/** Listing is a list of rows that is loaded in pages. A row can be expanded to another listing. */
export class Listing {
  /**
   * @param {function(number, number, AbortSignal): Promise<{data: Object[], total: number}>} fetch loads rows;
   *   its arguments are offset, limit and a signal that cancels it
   * @param {Object} callbacks
   * @param {function(Object): boolean} callbacks.open reports whether a row is expanded
   * @param {function(Object): Listing} callbacks.inner returns the listing of an expanded row
   * @param {function(function(), Object)} callbacks.changed called with a function that inserts the loaded
   *   rows, and with the loaded rows
   * @param {function(Object)} callbacks.failed called if rows could not be loaded
   * @param {number} depth
   * @param {string} path
   */
  constructor(fetch, { open, inner, changed, failed }, depth = 0, path = '') {
    Object.assign(this, { fetch, open, inner, changed, failed, depth, path });
    this.pages = new Map(); // {rows, fresh} by page number
    this.loading = new Map(); // AbortController by page number
    this.total = 0;
    this.below = new Map(); // listings of expanded rows by row id
    this.unfolded = null;
  }

  /** openRows returns the indexes of the expanded rows and their listings. */
  openRows() {
    if (this.unfolded) return this.unfolded;
    this.unfolded = [];
    for (const [page, { rows }] of [...this.pages].sort(([a], [b]) => a - b)) {
      rows.forEach((row, i) => {
        if (!row.unfolds || !this.open(row)) return;
        if (!this.below.has(row.id)) {
          const inner = this.inner(row, this);
          inner.total = row.unfolds; // until the listing is loaded
          this.below.set(row.id, inner);
        }
        this.unfolded.push([page * pageSize + i, this.below.get(row.id)]);
      });
    }
    return this.unfolded;
  }

  /** updateUnfolded recomputes which rows are expanded. */
  updateUnfolded() {
    this.unfolded = null;
    for (const inner of this.below.values()) inner.updateUnfolded();
  }

  get size() {
    return this.openRows().reduce((sum, [, inner]) => sum + inner.size, this.total);
  }

  /** locate returns the listing that contains the table's row at index, and the row's index in that listing. */
  locate(index) {
    let at = index;
    for (const [n, inner] of this.openRows()) {
      if (at <= n) break;
      const { size } = inner;
      if (at <= n + size) return inner.locate(at - n - 1);
      at -= size;
    }
    return { listing: this, n: at };
  }

  at(index) {
    const { listing, n } = this.locate(index);
    return listing.row(n);
  }

  row(n) {
    return this.pages.get(Math.floor(n / pageSize))?.rows[n % pageSize];
  }

  isStale(page) {
    return !this.pages.get(page)?.fresh;
  }

  /** markStale marks every page as outdated. An outdated page is loaded again when it is next visible. */
  markStale() {
    for (const p of this.pages.values()) p.fresh = false;
    for (const inner of this.below.values()) inner.markStale();
  }

  /** cancel cancels the loading of all pages except the pages in keep. */
  cancel(keep) {
    for (const [page, stop] of this.loading) if (!keep?.has(page)) stop.abort();
  }

  async load(page) {
    if (this.loading.has(page) && !this.loading.get(page).signal.aborted) return;
    const stop = new AbortController();
    this.loading.set(page, stop);
    try {
      this.store(page, await this.fetch(page * pageSize, pageSize, stop.signal));
    } catch (error) {
      if (error.name !== 'AbortError') this.failed({ field: '', message: error.message });
    } finally {
      if (this.loading.get(page) === stop) this.loading.delete(page);
    }
  }

  /**
   * store inserts loaded rows, beginning at a page. An unchanged row remains the same object, so its element
   * stays and clicks on it are not lost.
   */
  store(page, found) {
    if (found.wrong) {
      this.failed(found.wrong);
      return;
    }
    const pages = Math.ceil(found.data.length / pageSize) || 1;
    const there = Array.from({ length: pages }, (_, i) => this.pages.get(page + i)?.rows || []).flat();
    const old = new Map(there.map((row) => [row.id, row]));
    const rows = found.data.map((row) =>
      JSON.stringify(old.get(row.id)) === JSON.stringify(row) ? old.get(row.id) : row
    );
    this.changed(() => {
      for (let i = 0; i < pages; i += 1)
        this.pages.set(page + i, { rows: rows.slice(i * pageSize, (i + 1) * pageSize), fresh: true });
      this.total = found.total;
      this.unfolded = null;
    }, found);
  }
}
