// A chart in a dialog, with more points than on the page.
import { Chart } from './chart.js';
import { dashClass } from './color.js';
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';

const mostInLegend = 60; // maximum number of curves in the legend

/**
 * openEnlargedChart shows a metric in a dialog, with more points than on the page, a legend and controls.
 * @param {string} key name of the metric
 * @param {Object} on callbacks of the chart
 * @param {Object} controls
 * @param {function()} controls.closed called when the dialog is closed
 * @param {function(): Object} controls.view returns how the chart is drawn
 * @param {function(Object)} controls.set changes the options of the chart
 * @param {function()} controls.reset resets the zoom
 * @param {function()} controls.options opens the dialog with all options
 * @param {function(string, Chart)} controls.save saves the chart as svg, pdf, png or csv
 * @returns {Object} figure, as in Panel; update sets the controls to the present state
 */
export function openEnlargedChart(key, on, { closed, view, set, reset, options, save }) {
  const box = el('div', { class: 'plot' });
  const points = el('span', { class: 'count' });
  const ends = el('span', { class: 'count ends' });
  const legend = el('ul', { class: 'legend', 'aria-label': 'Runs', 'data-testid': 'legend' });
  const log = (name, label) => {
    const field = el('input', {
      type: 'checkbox',
      name: `own-${name}`,
      change: () => set({ [name]: field.checked ? 'log' : 'linear' }),
    });
    return [field, el('label', {}, field, label)];
  };
  const [logx, logxLabel] = log('x', 'log x');
  const [logy, logyLabel] = log('y', 'log y');
  const smooth = el('input', {
    type: 'range',
    name: 'own-smooth',
    min: 0,
    max: 0.99,
    step: 0.01,
    'aria-label': `Smoothing of ${key}`,
    input: () => set({ smooth: Number(smooth.value) }),
  });
  const fit = el('button', { type: 'button', class: 'plain', click: reset }, 'Reset zoom');
  const beyond = el('span', { class: 'beyond' });
  const act = (label, fn) => el('button', { type: 'button', class: 'plain', click: fn }, label);
  const dialog = el(
    'dialog',
    {
      class: 'large',
      'aria-label': key,
      close: () => {
        chart.remove();
        closed();
        dialog.remove();
      },
    },
    el(
      'div',
      { class: 'caption' },
      isolated(key, 'name'),
      points,
      ends,
      beyond,
      el(
        'span',
        { class: 'acts' },
        logxLabel,
        logyLabel,
        el('label', {}, 'Smooth', smooth),
        fit,
        act('Options', options),
        ...['SVG', 'PDF', 'PNG', 'CSV'].map((format) => act(format, () => save(format.toLowerCase(), chart))),
        act('Close', () => dialog.close())
      )
    ),
    box,
    legend
  );
  document.body.append(dialog);
  dialog.showModal();
  const chart = new Chart(box, key, Math.max(240, innerHeight - 280), on);
  for (const [name, id] of [
    ['pointerover', (e) => e.target.closest('li')?.dataset.of ?? ''],
    ['pointerleave', () => ''],
  ])
    legend.addEventListener(name, (event) => chart.highlightCurve(id(event)));

  function update() {
    const v = view();
    logx.checked = v.logx;
    logy.checked = v.logy;
    smooth.value = v.smooth;
    fit.hidden = v.from == null && v.low == null;
  }
  update();
  return {
    key,
    update,
    ends,
    legend: (curves) => {
      const rest = curves.length - mostInLegend;
      legend.replaceChildren(
        ...curves.slice(0, mostInLegend).map((c) =>
          el(
            'li',
            { 'data-of': c.id },
            el('i', { class: `dot c${c.color}${dashClass(c.dash)}`, 'aria-hidden': 'true' }),
            isolated(c.name, 'name')
          )
        ),
        rest > 0 ? el('li', { class: 'count' }, `and ${count(rest)} more`) : ''
      );
    },
    large: true,
    root: dialog,
    box,
    points,
    beyond,
    curves: new Map(),
    dirty: new Set(),
    inSight: true,
    others: [],
    chart,
  };
}
