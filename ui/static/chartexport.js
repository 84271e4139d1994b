// Downloading the numbers of a chart.
import { saveFile } from './dom.js';

/**
 * saveCSV downloads the drawn points of a chart. A quote is added to each cell that a spreadsheet would read as
 * a formula.
 * @param {import('./chart.js').Chart} chart
 * @param {string} key name of the metric
 */
export function saveCSV(chart, key) {
  const cell = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const means = chart.curves.some((c) => c.n);
  const axis = chart.view.x === 'metric' ? chart.view.against : chart.view.x;
  const names = means
    ? ['group', cell(axis), 'mean', 'mean - sd', 'mean + sd', 'runs']
    : ['run', 'id', cell(axis), 'value', 'min', 'max'];
  const lines = [names.join(',')];
  for (const c of chart.curves) {
    c.x.forEach((x, i) => {
      const values = [x, c.y[i], c.low?.[i] ?? '', c.high?.[i] ?? ''];
      lines.push((means ? [cell(c.name), ...values, c.n[i]] : [cell(c.name), c.id, ...values]).join(','));
    });
  }
  saveFile(new Blob([`${lines.join('\n')}\n`], { type: 'text/csv' }), `${key}.csv`);
}
