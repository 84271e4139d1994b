// Rows that come from the server in pages, some of which are unfolded into
// listings of their own.

export const pageSize = 50;

// Listing is a list of rows, each with an id. fetch(offset, limit, signal)
// answers {data, total}; inner(row) is the listing that a row unfolds to, and
// open(row) reports whether it is. changed is called when rows were loaded,
// failed when loading them failed.
export class Listing {
  constructor(fetch, { open, inner, changed, failed }, depth = 0, path = '') {
    Object.assign(this, { fetch, open, inner, changed, failed, depth, path });
    this.pages = new Map(); // by number: {rows, fresh}
    this.loading = new Map(); // by number: AbortController
    this.total = 0;
    this.below = new Map(); // listings by the id of the row that they are under
    this.unfolded = null;
  }

  // openRows are the places of the rows that are unfolded, and their listings.
  openRows() {
    if (this.unfolded) return this.unfolded;
    this.unfolded = [];
    for (const [page, { rows }] of [...this.pages].sort(([a], [b]) => a - b)) {
      rows.forEach((row, i) => {
        if (!row.unfolds || !this.open(row)) return;
        if (!this.below.has(row.id)) {
          const inner = this.inner(row, this);
          inner.total = row.unfolds; // until it is known better
          this.below.set(row.id, inner);
        }
        this.unfolded.push([page * pageSize + i, this.below.get(row.id)]);
      });
    }
    return this.unfolded;
  }

  // refold makes the listing ask again which rows are unfolded.
  updateUnfolded() {
    this.unfolded = null;
    for (const inner of this.below.values()) inner.updateUnfolded();
  }

  get size() {
    return this.openRows().reduce((sum, [, inner]) => sum + inner.size, this.total);
  }

  // locate returns the listing that has the row at an index, and its index
  // there.
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

  // age marks every page as out of date, so that it is loaded again when it is
  // next in sight.
  markStale() {
    for (const p of this.pages.values()) p.fresh = false;
    for (const inner of this.below.values()) inner.markStale();
  }

  // stop cancels the loading of pages, except those in keep.
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

  // take stores loaded rows, from a page on. An unchanged row stays the same
  // object, so that a click on it is not lost.
  store(page, found) {
    if (found.wrong) {
      this.failed(found.wrong);
      return;
    }
    const pages = Math.ceil(found.data.length / pageSize) || 1;
    const there = Array.from({ length: pages }, (_, i) => this.pages.get(page + i)?.rows || []).flat();
    const old = new Map(there.map((row) => [row.id, row]));
    const rows = found.data.map((row) => (JSON.stringify(old.get(row.id)) === JSON.stringify(row) ? old.get(row.id) : row));
    this.changed(() => {
      for (let i = 0; i < pages; i += 1) this.pages.set(page + i, { rows: rows.slice(i * pageSize, (i + 1) * pageSize), fresh: true });
      this.total = found.total;
      this.unfolded = null;
    }, found);
  }
}
