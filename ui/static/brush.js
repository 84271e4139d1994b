// Brushes: ranges of dimensions that select runs.

/**
 * Brushes holds the ranges of dimensions that select runs. In the address, each range is a line with the
 * dimension, the lower end and the upper end.
 */
export class Brushes {
  /**
   * @param {import('./state.js').State} state
   * @param {Map<string, Object>} all dimensions by id
   */
  constructor(state, all) {
    Object.assign(this, { state, all });
  }

  /** ranges returns the ranges as [low, high] by dimension. */
  get ranges() {
    const text = this.state.get('brush');
    if (this.text !== text) {
      this.text = text;
      this.read = new Map(text.split('\n').map((line) => line.split('\t')).filter(([id]) => this.all.has(id))
        .map(([id, low, high]) => [id, [Number(low), Number(high)]]));
    }
    return this.read;
  }

  /** set changes the ranges of some dimensions. null removes a range. */
  set(changes) {
    const ranges = new Map(this.ranges);
    for (const [id, range] of Object.entries(changes)) {
      if (range) ranges.set(id, range);
      else ranges.delete(id);
    }
    this.state.set({ brush: [...ranges].map(([id, ends]) => [id, ...ends].join('\t')).join('\n') || null });
  }

  clear() {
    this.state.set({ brush: null });
  }

  /** mask returns for each of n runs whether it is inside all ranges. */
  mask(n) {
    const mask = new Uint8Array(n).fill(1);
    for (const [id, [low, high]] of this.ranges) {
      const { values } = this.all.get(id);
      for (let i = 0; i < n; i += 1) if (!(values[i] != null && values[i] >= low && values[i] <= high)) mask[i] = 0;
    }
    return mask;
  }

  /** inside reports whether the run with index r is inside all ranges. */
  inside(r) {
    return [...this.ranges].every(([id, [low, high]]) => {
      const v = this.all.get(id).values[r];
      return v != null && v >= low && v <= high;
    });
  }
}

/**
 * enableSelection lets the user drag a rectangle in a drawing. It calls picked with the rectangle's corners.
 * @param {SVGElement} drawing
 * @param {SVGElement} chosen rectangle that is visible while the user drags
 * @param {function(number, number, number, number)} picked
 * @param {number[]} [rows] top and bottom of the rectangle, if the user selects only a range across
 */
export function enableSelection(drawing, chosen, picked, rows) {
  const { width, height } = drawing.viewBox.baseVal;
  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
  };
  let start = null;
  const corners = (event) => {
    const end = at(event);
    const [low, high] = [Math.min, Math.max].map((pick) => [0, 1].map((i) => pick(start[i], end[i])));
    return rows ? [low[0], rows[0], high[0], rows[1]] : [...low, ...high];
  };
  drawing.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' || event.button !== 0) return; // touching scrolls the page
    start = at(event);
    drawing.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  drawing.addEventListener('pointermove', (event) => {
    if (!start) return;
    const [x1, y1, x2, y2] = corners(event);
    for (const [name, value] of Object.entries({
      x: x1,
      y: y1,
      width: x2 - x1,
      height: y2 - y1,
      visibility: 'visible',
    }))
      chosen.setAttribute(name, value);
  });
  drawing.addEventListener('pointerup', (event) => {
    if (!start) return;
    const all = corners(event);
    start = null;
    chosen.setAttribute('visibility', 'hidden');
    if (all[2] - all[0] > 4 && all[3] - all[1] > 4) picked(...all);
  });
}
