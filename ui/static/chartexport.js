// Downloading a chart as an image or as numbers.
import { paletteSize } from './color.js';
import { el, saveFile } from './dom.js';
import { lineStyle, themeColors } from './paint.js';

const lineHeight = 18;

/**
 * savePNG downloads an image of the chart with its title and the names of the runs.
 * @param {import('./chart.js').Chart} chart
 * @param {string} key name of the metric
 */
export function savePNG(chart, key) {
  const canvas = chart.plot?.ctx.canvas;
  if (!canvas) return;
  const named = chart.curves.slice(0, 30);
  const r = devicePixelRatio;
  const out = el('canvas');
  out.width = canvas.width;
  out.height = canvas.height + (28 + named.length * lineHeight + 8) * r;
  const ctx = out.getContext('2d');
  ctx.fillStyle = themeColors().ground;
  ctx.fillRect(0, 0, out.width, out.height);
  ctx.drawImage(canvas, 0, 28 * r);
  ctx.scale(r, r);
  ctx.font = '600 13px system-ui, sans-serif';
  ctx.fillStyle = themeColors().text;
  ctx.fillText(key, 8, 19);
  ctx.font = '12px system-ui, sans-serif';
  named.forEach((c, i) => {
    const y = canvas.height / r + 28 + (i + 0.7) * lineHeight;
    ctx.strokeStyle = themeColors().runs[c.color % paletteSize];
    ctx.lineWidth = 3;
    ctx.setLineDash(lineStyle(c.dash));
    ctx.beginPath();
    ctx.moveTo(4, y - 4);
    ctx.lineTo(24, y - 4);
    ctx.stroke();
    ctx.fillStyle = themeColors().text;
    ctx.fillText(c.name, 28, y);
  });
  out.toBlob((blob) => saveFile(blob, `${key}.png`));
}

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
