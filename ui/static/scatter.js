// Two dimensions against each other, and which parameters go with a metric.
import { el, isolated } from './dom.js';
import { label, measure, svg } from './svg.js';

const [width, height, left, bottom] = [1000, 320, 72, 32];
const fewest = 4; // runs that a rank correlation says something about

// ranks gives each value its place; equal ones share the mean of theirs.
export function ranks(values) {
  const order = values.map((v, i) => [v, i]).sort((a, b) => a[0] - b[0]);
  const all = [];
  for (let i = 0; i < order.length;) {
    let end = i;
    while (end < order.length && order[end][0] === order[i][0]) end += 1;
    for (let k = i; k < end; k += 1) all[order[k][1]] = (i + end - 1) / 2;
    i = end;
  }
  return all;
}

// spearman is the rank correlation of the pairs of which both are known, and
// how many there are; null where one side does not vary.
export function spearman(a, b) {
  const both = a.map((v, i) => [v, b[i]]).filter(([x, y]) => x != null && y != null);
  const [x, y] = [0, 1].map((side) => ranks(both.map((p) => p[side])));
  const mean = (both.length - 1) / 2;
  let [xy, xx, yy] = [0, 0, 0];
  x.forEach((v, i) => {
    xy += (v - mean) * (y[i] - mean);
    xx += (v - mean) ** 2;
    yy += (y[i] - mean) ** 2;
  });
  return { n: both.length, rho: xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : null };
}

export function scatter(root, runs, all, state) {
  const ids = [...all.keys()];
  const metric = ids.slice(1).find((id) => id.startsWith('metric.') && !id.startsWith('metric.system/')) || ids[1];
  const choose = (name, otherwise, title, none) => {
    const select = el('select', { name, 'aria-label': title, change: () => {
      state.set({ [name]: select.value === otherwise ? null : select.value });
      draw();
    } }, none && el('option', { value: '' }, 'Run'), ...[...all.values()].map((d) => el('option', { value: d.id }, d.label)));
    select.value = all.has(state.get(name)) ? state.get(name) : otherwise;
    return select;
  };
  const across = choose('sx', ids[0], 'Across');
  const up = choose('sy', metric, 'Up');
  const color = choose('sc', '', 'Colour by', true);
  const plot = el('div', { class: 'across', tabindex: '0', role: 'region', 'aria-label': 'Scatter' });
  const table = el('div', { class: 'across', tabindex: '0', role: 'region', 'aria-label': 'Rank correlation' });
  root.append(el('div', { class: 'strip' }, el('h2', {}, 'Scatter'), el('label', {}, 'Across', across), el('label', {}, 'Up', up), el('label', {}, 'Colour', color)), plot, table);

  function draw() {
    const [dx, dy, dc] = [all.get(across.value), all.get(up.value), all.get(color.value)];
    const [mx, my] = [measure(dx), measure(dy)];
    const px = (v) => left + 8 + mx.at(v) * (width - left - 32);
    const py = (v) => height - bottom - 8 - my.at(v) * (height - bottom - 40);
    const spots = runs.map((run, i) => {
      if (dx.values[i] == null || dy.values[i] == null) return '';
      const spot = svg('circle', { class: `spot c${run.color}`, cx: px(dx.values[i]), cy: py(dy.values[i]), r: 5 },
        svg('title', {}, document.createTextNode(`${run.name}\n${dx.label} ${label(dx, dx.values[i])}\n${dy.label} ${label(dy, dy.values[i])}${dc ? `\n${dc.label} ${dc.values[i] == null ? '' : label(dc, dc.values[i])}` : ''}`)));
      if (dc) spot.style.fill = dc.values[i] == null ? 'var(--line)' : shade(dc, dc.values[i]);
      return spot;
    });
    const text = (x, y, anchor, words) => svg('text', { x, y, 'text-anchor': anchor }, document.createTextNode(words));
    plot.replaceChildren(svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${dy.label} over ${dx.label} of ${runs.length} runs` },
      svg('g', { class: 'axis' }, svg('line', { x1: left, x2: width - 16, y1: height - bottom, y2: height - bottom }), svg('line', { x1: left, x2: left, y1: 24, y2: height - bottom })),
      text(left, height - 14, 'start', label(dx, mx.low)), text(width - 16, height - 14, 'end', label(dx, mx.high)), text((left + width) / 2, height - 4, 'middle', dx.label),
      text(left - 8, height - bottom, 'end', label(dy, my.low)), text(left - 8, 36, 'end', label(dy, my.high)), text(left, 14, 'middle', dy.label), ...spots.filter(Boolean)));
    correlate(dy);
  }

  // shade goes from the accent of one end to that of the other.
  function shade(d, v) {
    return `color-mix(in oklab, var(--run-1) ${Math.round(100 * measure(d).at(v))}%, var(--run-0))`;
  }

  function correlate(dy) {
    const rows = [...all.values()].filter((d) => d.id.startsWith('param.') && !d.texts).map((d) => ({ d, ...spearman(d.values, dy.values) }))
      .filter((r) => r.rho != null && r.n >= fewest).sort((a, b) => Math.abs(b.rho) - Math.abs(a.rho));
    if (rows.length === 0) {
      table.replaceChildren(el('p', { class: 'count' }, `For a rank correlation with ${dy.label} there must be ${fewest} runs with numbers that differ.`));
      return;
    }
    table.replaceChildren(el('table', { class: 'grid' }, el('caption', { class: 'count' }, `Rank correlation (Spearman) of parameters with ${dy.label}. It says what goes together, not why.`),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Parameter'), el('th', { scope: 'col', class: 'number' }, 'Correlation'), el('th', { scope: 'col', class: 'number' }, 'Runs'))),
      el('tbody', {}, ...rows.map((r) => el('tr', {}, el('th', { scope: 'row' }, isolated(r.d.label)), el('td', { class: 'number' }, r.rho.toFixed(2)), el('td', { class: 'number' }, String(r.n)))))));
  }

  draw();
}
