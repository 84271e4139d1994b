// The state of a view is in its address, so a link contains it.

// These values change in small steps, so their changes do not create history entries.
const continuous = new Set([
  'smooth',
  'split',
  'widths',
  'm',
  'open',
  'fold',
  'brush',
  'pick',
  'mediastep',
  'mediafind',
  'pictures',
]);

/**
 * State holds the state of a view in the address, so that links contain it. After a change, it dispatches
 * "change" with the set of changed names.
 */
export class State extends EventTarget {
  constructor() {
    super();
    this.params = new URLSearchParams(location.search);
    this.savedLayout = null; // layout of the saved view in the address
    this.changedLayout = history.state?.layout;
    addEventListener('popstate', () => {
      const before = this.params;
      this.params = new URLSearchParams(location.search);
      const names = new Set([...before.keys(), ...this.params.keys()]);
      const changed = [...names].filter((n) => before.get(n) !== this.params.get(n));
      const other = JSON.stringify(history.state?.layout) !== JSON.stringify(this.changedLayout);
      this.changedLayout = history.state?.layout;
      this.dispatchChange(other ? [...changed, 'layout'] : changed);
    });
  }

  /** layout returns the layout of the charts, null for the default layout. See layout.js. */
  get layout() {
    return this.changedLayout === undefined ? this.savedLayout : this.changedLayout;
  }

  /**
   * setLayout changes the layout of the charts. A layout is too long for an address, so it is in the entry of the
   * browser's history until it is saved in a view.
   * @param {?Object} [layout] null for the default layout, undefined for the layout of the saved view
   * @param {Object} [changes] as for set
   */
  setLayout(layout, changes = {}) {
    this.changedLayout = layout;
    history.pushState({ ...history.state, layout }, '', location.href);
    this.dispatchChange(['layout']);
    this.set(changes);
  }

  get(name, otherwise = '') {
    return this.params.get(name) ?? otherwise;
  }

  has(name) {
    return this.params.has(name);
  }

  number(name, otherwise) {
    const n = Number.parseFloat(this.params.get(name));
    return Number.isFinite(n) ? n : otherwise;
  }

  list(name) {
    return (this.params.get(name) || '').split(' ').filter(Boolean);
  }

  /**
   * set changes some values. null removes a value from the address. The Back button restores the former values,
   * except for values that change in small steps.
   */
  set(changes) {
    const changed = [];
    for (const [name, value] of Object.entries(changes)) {
      const text = Array.isArray(value) ? value.join(' ') : value;
      const gone = text == null || (Array.isArray(value) && value.length === 0);
      if (gone ? !this.params.has(name) : this.params.get(name) === String(text)) continue;
      if (gone) this.params.delete(name);
      else this.params.set(name, text);
      changed.push(name);
    }
    if (changed.length === 0) return;
    const query = this.params.toString();
    const keep = changed.every((n) => continuous.has(n)) ? 'replaceState' : 'pushState';
    history[keep](history.state, '', (query ? `?${query}` : location.pathname) + location.hash);
    this.dispatchChange(changed);
  }

  dispatchChange(names) {
    this.dispatchEvent(new CustomEvent('change', { detail: new Set(names) }));
  }
}
