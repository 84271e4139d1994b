// A chart in a dialog, with more points than on the page.
import { Chart } from './chart.js';
import { saveCSV, savePNG } from './chartexport.js';
import { el, isolated } from './dom.js';

/**
 * openEnlargedChart shows a metric in a dialog, with more points than on the page.
 * @param {string} key name of the metric
 * @param {Object} on callbacks of the chart
 * @param {function()} closed called when the dialog is closed
 * @returns {Object} figure, as in Panel
 */
export function openEnlargedChart(key, on, closed) {
  const box = el('div', { class: 'plot' });
  const points = el('span', { class: 'count' });
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
      beyond,
      el(
        'span',
        { class: 'acts' },
        act('PNG', () => savePNG(chart, key)),
        act('CSV', () => saveCSV(chart, key)),
        act('Close', () => dialog.close())
      )
    ),
    box
  );
  document.body.append(dialog);
  dialog.showModal();
  const chart = new Chart(box, key, Math.max(280, innerHeight - 200), on);
  return {
    key,
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
