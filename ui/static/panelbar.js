// The bar over the charts.
import { el } from './dom.js';
import { debounce } from './timing.js';
import { viewMenu } from './viewmenu.js';

/** PanelBar is the bar over the charts: it selects the metrics, the X axis and the smoothing. */
export class PanelBar {
  /**
   * @param {import('./state.js').State} state
   * @param {Object} options
   * @param {HTMLElement[]} options.lead elements at the beginning of the bar
   * @param {function} options.keys returns metrics for the X axis, like options.keys of Panel
   * @param {Map<string, Object>} options.defined definitions of metrics by name
   * @param {function(): Object} options.view returns how charts are drawn
   * @param {function()} options.fit resets the zoom of all charts
   * @param {function(): boolean} options.fits reports whether all charts show their full range
   * @param {function()} [options.arrange] shows or hides the controls that change the layout
   */
  constructor(state, { lead, keys, defined, view, fit, fits, arrange }) {
    Object.assign(this, { state, keys, defined, view, fits });
    this.boxes = [];
    const option = (name, label) => {
      const box = el('input', {
        type: 'checkbox',
        name,
        change: () => state.set({ [name]: box.checked ? '1' : null }),
      });
      this.boxes.push(box);
      return el('label', {}, box, label);
    };
    this.search = el('input', {
      type: 'search',
      id: 'metric-search',
      placeholder: 'Find metrics',
      'aria-label': 'Search metrics',
      input: debounce(200, () => state.set({ m: this.search.value || null })),
    });
    this.pattern = el(
      'button',
      {
        type: 'button',
        class: 'plain pattern',
        name: 'pattern',
        title: 'Use a regular expression',
        'aria-label': 'Regular expression',
        'data-testid': 'pattern',
        click: () => state.set({ pattern: state.has('pattern') ? null : '1' }),
      },
      '.*'
    );
    this.axis = el('select', { name: 'x', 'aria-label': 'Horizontal axis', change: () => this.setAxis() });
    this.smoothing = el('input', {
      type: 'range',
      name: 'smooth',
      min: 0,
      max: 0.99,
      step: 0.01,
      'data-testid': 'smooth',
      'aria-label': 'Smoothing',
      input: () => state.set({ smooth: Number(this.smoothing.value) || null }),
    });
    this.weight = el('input', {
      type: 'number',
      name: 'weight',
      min: 0,
      max: 0.999,
      step: 0.01,
      'aria-label': 'Smoothing as a number',
      'data-testid': 'weight',
      input: () =>
        this.weight.valueAsNumber >= 0 && state.set({ smooth: Math.min(this.weight.valueAsNumber, 0.999) || null }),
    });
    this.outliers = el(
      'select',
      {
        name: 'trim',
        'aria-label': 'Outliers',
        title: 'Runs that go far beyond the others',
        change: () => state.set({ trim: this.outliers.value || null }),
      },
      ...[
        ['', 'Outliers: auto'],
        ['1', 'Ignore outliers'],
        ['no', 'Show outliers'],
      ].map(([value, label]) => el('option', { value }, label))
    );
    this.reset = el(
      'button',
      { type: 'button', class: 'plain', 'data-testid': 'reset-zoom', click: fit },
      'Reset zoom'
    );
    this.arranging = el(
      'button',
      {
        type: 'button',
        class: 'plain',
        'aria-pressed': 'false',
        'data-testid': 'arrange',
        click: () => {
          this.arranging.closest('details').open = false;
          arrange();
        },
      },
      'Edit panels'
    );
    this.pairing = option('together', 'Train and val together');
    this.finding = el('span', { class: 'finding' }, this.search, this.pattern);
    this.root = el(
      'div',
      { class: 'strip' },
      ...lead,
      this.axis,
      el('label', {}, 'Smooth', this.smoothing),
      viewMenu(
        'charts-view',
        option('logx', 'log x'),
        option('logy', 'log y'),
        this.pairing,
        this.outliers,
        el('label', {}, 'Smoothing', this.weight),
        ...(arrange ? [this.arranging] : [])
      ),
      this.reset
    );
    this.show();
  }

  /** show sets the controls to the current state. */
  show() {
    const { state } = this;
    const view = this.view();
    if (document.activeElement !== this.search) this.search.value = state.get('m');
    this.pattern.setAttribute('aria-pressed', String(state.has('pattern')));
    for (const box of this.boxes) box.checked = state.has(box.name);
    this.outliers.value = state.get('trim') && (state.get('trim') === 'no' ? 'no' : '1');
    this.smoothing.value = state.number('smooth', 0);
    if (document.activeElement !== this.weight) this.weight.value = state.number('smooth', 0);
    this.axis.replaceChildren(
      ...(this.defined.size > 0 ? [el('option', { value: '' }, 'As defined')] : []),
      el('option', { value: 'step' }, 'Step'),
      el('option', { value: 'relative' }, 'Relative time'),
      el('option', { value: 'time' }, 'Wall time'),
      ...(view.x === 'metric' ? [el('option', { value: 'metric' }, view.against)] : []),
      el('option', { value: 'other' }, 'Metric…')
    );
    this.axis.value = this.defined.size > 0 && !state.has('x') ? '' : view.x;
    this.reset.hidden = this.fits();
  }

  async setAxis() {
    const { value } = this.axis;
    this.show();
    const usual = this.defined.size > 0 ? '' : 'step';
    const set = (x) => this.state.set({ x: x === usual ? null : x, zoom: null, zooms: null, zoomd: null });
    if (value !== 'other') {
      set(value);
      return;
    }
    const { openMetricDialog } = await import('./namedialog.js');
    openMetricDialog('Horizontal axis', this.keys, (name) => set(`metric:${name}`));
  }
}
