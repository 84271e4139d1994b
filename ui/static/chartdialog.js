// The dialog with the options of a chart.
import { chartSizes } from './chartoption.js';
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { saveControls } from './figuresave.js';
import { openNameDialog } from './namedialog.js';

/**
 * openChartDialog opens the dialog with the options of a chart.
 * @param {string} key metric of the chart
 * @param {Object} options
 * @param {function(): Object} options.options returns the options of the chart
 * @param {function(Object)} options.set changes options
 * @param {function(string): Promise<Object>} options.find returns metrics that can be added, as {names,
 *   total}
 * @param {function(): string[]} options.pairs returns the metrics whose names differ from key only by a data
 *   split such as train or val
 * @param {function(): number[]} options.shown returns the visible range of the Y axis
 * @param {function(string, Object)} options.save saves the chart as svg, pdf, png or csv, {width, size}
 * @param {function()} options.report adds the chart to a report
 * @returns {{show: function(), open: boolean}} show updates the dialog
 */
export function openChartDialog(key, { options, set, find, pairs, shown, save, report }) {
  const select = (name, label, values) => {
    const field = el(
      'select',
      { name, 'aria-label': label, change: () => set({ [name]: field.value || null }) },
      ...values.map(([value, text]) => el('option', { value }, text))
    );
    return field;
  };
  const scales = [['', 'Same as all charts'], ['linear', 'Linear'], ['log', 'Logarithmic']];
  const y = select('y', 'Y axis', scales);
  const x = select('x', 'X axis', scales);
  const size = select('size', 'Size', chartSizes);
  const end = (name, label) => el('input', { type: 'number', step: 'any', name, 'aria-label': label, change: range });
  const low = end('low', 'Minimum of the Y axis');
  const high = end('high', 'Maximum of the Y axis');
  const fit = el('button', { type: 'button', class: 'plain', click: () => set({ low: null, high: null }) }, 'Fit');
  const smooth = el('input', {
    type: 'number',
    name: 'own-smooth',
    min: 0,
    max: 0.999,
    step: 'any',
    placeholder: 'same as all',
    'aria-label': 'Smoothing',
    change: () => {
      const weight = smooth.valueAsNumber;
      set({ smooth: weight >= 0 ? Math.min(weight, 0.999) : null });
    },
  });
  const wrong = el('p', { class: 'message', role: 'alert' });
  const metrics = el('ul', { class: 'chosen', 'aria-label': 'Metrics of this chart' });
  const add = el(
    'button',
    {
      type: 'button',
      class: 'plain',
      'data-testid': 'add-metric',
      click: () => openNameDialog('Add a metric to this chart', find, ({ name }) => join(name)),
    },
    'Add a metric'
  );
  const offered = el('span', { class: 'chips' });

  function range() {
    const [from, to] = [low, high].map((field, i) =>
      Number.isFinite(field.valueAsNumber) ? field.valueAsNumber : shown()[i]
    );
    wrong.textContent = from < to ? '' : 'The minimum of the Y axis must be less than the maximum.';
    if (from < to) set({ low: from, high: to });
  }

  const join = (name) => set({ others: [...options().others.filter((o) => o !== name), name] });

  function show() {
    const o = options();
    y.value = o.y ?? '';
    x.value = o.x ?? '';
    size.value = o.size ?? '';
    low.value = o.low ?? '';
    high.value = o.high ?? '';
    [low.placeholder, high.placeholder] = shown().map((v) => String(Number(v.toPrecision(3))));
    fit.disabled = o.low == null;
    smooth.value = o.smooth ?? '';
    metrics.replaceChildren(
      ...[key, ...o.others].map((name, i) =>
        el(
          'li',
          {},
          isolated(name, 'name'),
          i > 0 &&
            el(
              'button',
              {
                type: 'button',
                class: 'plain',
                'aria-label': `Remove ${name}`,
                click: () => set({ others: o.others.filter((other) => other !== name) }),
              },
              'Remove'
            )
        )
      )
    );
    offered.replaceChildren(
      ...pairs()
        .filter((name) => !o.others.includes(name))
        .map((name) =>
          el(
            'button',
            { type: 'button', class: 'plain', 'data-testid': 'add-pair', click: () => join(name) },
            'Add ',
            isolated(name)
          )
        )
    );
  }

  const row = (label, ...fields) => el('div', { class: 'row' }, el('span', { class: 'label' }, label), ...fields);
  const act = (label, fn) => el('button', { type: 'button', class: 'plain', click: fn }, label);
  const dialog = el(
    'dialog',
    {
      class: 'choose options',
      'aria-labelledby': 'chart-options-title',
      'data-testid': 'chart-options',
      close: () => dialog.remove(),
    },
    el('h2', { id: 'chart-options-title' }, 'Chart of ', isolated(key)),
    row('Metrics', metrics, add, offered),
    row('Y axis', y, el('span', {}, 'from'), low, el('span', {}, 'to'), high, fit),
    wrong,
    row('X axis', x),
    row('Smoothing', smooth),
    row('Size', size),
    row('Save as', ...saveControls(['SVG', 'PDF', 'PNG', 'CSV'], save)),
    row('Report', act('Add to a report', report)),
    el(
      'div',
      { class: 'row' },
      el('button', { type: 'button', class: 'primary', click: () => dialog.close() }, 'Done'),
      act('Reset', () => set({ x: null, y: null, low: null, high: null, smooth: null, size: null, others: [] }))
    )
  );
  document.body.append(dialog);
  show();
  dialog.showModal();
  return { show, get open() { return dialog.open; } };
}
