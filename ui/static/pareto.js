// Trade-offs between two metrics: the runs on the Pareto front.
import { base } from './base.js';
import { el, isolated } from './dom.js';
import { dotPlot, margin, spaced } from './dotplot.js';
import { count, number } from './format.js';
import { themeColors } from './paint.js';
import { svgElement } from './plotaxis.js';
import { fetchData } from './request.js';
import { resultAxis } from './resultaxis.js';

const height = 300;
const pad = 8;
const shownRows = 12;

/** frontPart shows the Pareto front of two metrics in root. tab is the Analyse tab. */
export function frontPart(root, tab) {
  const { state, columns, analysis } = tab;
  const metrics = [...columns.metrics, ...columns.others];
  const statOf = { minimize: 'min', maximize: 'max' };
  const own = metrics.find((m) => m.key === analysis.metric);
  const usual = metrics.find((m) => m.key !== analysis.metric && m.goal !== 'none');
  const chosen = () => {
    const one = (name, otherwise, aim) => {
      const [key, goal] = state.get(name, '').split('\n');
      const metric = metrics.find((m) => m.key === key) ?? otherwise;
      const known = metric && (metric.key === key && goal ? goal : (metric === otherwise && aim) || metric.goal);
      return metric && { key: metric.key, goal: known === 'none' ? 'minimize' : known };
    };
    return [one('px', own, analysis.goal), one('py', usual)];
  };
  const fields = ['px', 'py'].map((name, n) => {
    const set = () => state.set({ [name]: metric.value ? `${metric.value}\n${goal.value}` : null });
    const metric = el(
      'select',
      { name, 'aria-label': `Metric of the ${n === 0 ? 'horizontal' : 'vertical'} axis`, change: () => {
        const known = metrics.find((m) => m.key === metric.value)?.goal;
        if (known && known !== 'none') goal.value = known;
        set();
      } },
      el('option', { value: '' }, 'Choose a metric'),
      ...[...new Set(metrics.map((m) => m.key))].map((key) => el('option', { value: key }, key))
    );
    const goal = el(
      'select',
      { name: `${name}goal`, 'aria-label': `Goal of the ${n === 0 ? 'horizontal' : 'vertical'} axis`, change: set },
      ...['minimize', 'maximize'].map((text) => el('option', { value: text }, text))
    );
    return { metric, goal };
  });
  const words = el('p', { class: 'count', role: 'status', 'data-testid': 'front-words' });
  const plot = el('div', { class: 'across', tabindex: '0', role: 'region', 'aria-label': 'Pareto front' });
  const list = el('div');
  root.replaceChildren(
    el(
      'div',
      { class: 'strip' },
      el('h2', {}, 'Trade-offs'),
      ...fields.map(({ metric, goal }, n) => el('span', { class: 'pair' }, n === 0 ? 'X' : 'Y', goal, metric))
    ),
    words,
    plot,
    list
  );
  let found = null;
  let asked = '';

  const show = async () => {
    const [x, y] = chosen();
    for (const [n, one] of [x, y].entries()) {
      fields[n].metric.value = one?.key ?? '';
      if (one) fields[n].goal.value = one.goal;
    }
    plot.replaceChildren();
    list.replaceChildren();
    if (!x || !y) {
      words.textContent = 'Choose two metrics to see which runs offer the best trade-offs.';
      return;
    }
    if (x.key === y.key) {
      words.textContent = 'Choose two different metrics.';
      return;
    }
    const query = { filter: tab.asked.filter, x: x.key, xgoal: x.goal, y: y.key, ygoal: y.goal };
    asked = JSON.stringify(query);
    const mine = asked;
    const answer = await fetchData(`experiment/${tab.experiment}/front`, { query }).catch((error) => ({
      wrong: error,
    }));
    if (mine !== asked || tab.ended.signal.aborted) return;
    if (answer.wrong) {
      words.textContent = answer.wrong.message;
      return;
    }
    found = { ...answer, x, y, columns: [answer.x, answer.y] };
    tab.fronts = found.columns;
    tab.frontMetrics = { metrics: [x.key, y.key], goals: [x.goal, y.goal] };
    const size = found.size === 1 ? 'One run is' : `${count(found.size)} runs are`;
    words.textContent =
      found.runs === 0
        ? 'No run has both metrics.'
        : `${size} on the front: no other of the ${count(found.runs)} runs is at least as good in both metrics ` +
          'and better in one. ' +
          `Values are ${x.key} ${statOf[x.goal]} and ${y.key} ${statOf[y.goal]}, ` +
          'which a run can reach at different steps.';
    draw();
    tab.need();
  };

  const draw = () => {
    if (!found || found.front.length === 0) return;
    const values = found.columns.map((column) =>
      tab.columns.metrics
        .find((m) => m.column === column)
        ?.values.map((v) => (typeof v === 'number' ? v : null))
    );
    // Until the values of all runs are loaded, only the front is drawn.
    const [xs, ys] = values.every(Boolean) ? values : [found.front.map((r) => r.x), found.front.map((r) => r.y)];
    const all = values.every(Boolean);
    const width = Math.max(320, tab.root.clientWidth - 32);
    const bottom = height - margin.bottom;
    const ax = resultAxis(xs, found.x.goal);
    const ay = resultAxis(ys, found.y.goal);
    const px = (t) => margin.left + pad + t * (width - margin.left - margin.right - 2 * pad);
    const py = (t) => bottom - pad - t * (bottom - margin.top - 2 * pad);
    const place = (x, y) => [px(ax.at(x)), py(ay.at(y))];
    const theme = themeColors();
    const front = found.front.map((r) => place(r.x, r.y));
    const step = front.map(([x, y], i) => (i === 0 ? `M${x},${y}` : `H${x}V${y}`)).join('');
    const over = [
      svgElement('path', { d: step, class: 'front-line', 'data-testid': 'front-line' }),
      ...front.slice(0, 200).map(([x, y]) => svgElement('circle', { cx: x, cy: y, r: 4, class: 'front-dot' })),
    ];
    const arrow = (goal) => (goal === 'minimize' ? 'smaller is better' : 'larger is better');
    plot.replaceChildren(
      dotPlot({
        width,
        height,
        n: all ? xs.length : 0,
        at: (i) => (xs[i] == null || ys[i] == null ? null : place(xs[i], ys[i])),
        color: () => theme.runs[5],
        inside: tab.inside,
        xticks: spaced(ax.ticks.map((t) => ({ at: px(t.at), text: t.text }))),
        yticks: ay.ticks.map((t) => ({ at: py(t.at), text: t.text })),
        xlabel: `${found.x.key} ${statOf[found.x.goal]} (${arrow(found.x.goal)})`,
        ylabel: `${found.y.key} ${statOf[found.y.goal]}`.slice(0, 36),
        label: words.textContent,
        under: [],
        over,
        pointer: tab.pointer,
        words: (i) => [`${found.x.key}: ${number(xs[i])}`, `${found.y.key}: ${number(ys[i])}`],
      })
    );
    const row = (r) =>
      el(
        'tr',
        { 'data-testid': 'front-run' },
        el('th', { scope: 'row' }, el('a', { href: new URL(`iteration/${r.id}`, base) }, isolated(r.name))),
        el('td', { class: 'number' }, number(r.x)),
        el('td', { class: 'number' }, number(r.y))
      );
    const body = el('tbody', {}, ...found.front.slice(0, shownRows).map(row));
    const rest = found.front.slice(shownRows);
    const more =
      rest.length > 0 &&
      el('button', { type: 'button', class: 'plain', click: () => {
        body.append(...rest.map(row));
        more.remove();
      } }, `Show ${count(rest.length)} more runs`);
    list.replaceChildren(
      el(
        'div',
        { class: 'across', tabindex: '0', role: 'region', 'aria-label': 'Runs on the front' },
        el(
          'table',
          { class: 'grid' },
          el(
            'thead',
            {},
            el(
              'tr',
              {},
              el('th', { scope: 'col' }, 'Run on the front'),
              ...[found.x.key, found.y.key].map((text) => el('th', { scope: 'col', class: 'number' }, text))
            )
          ),
          body
        )
      ),
      more || ''
    );
  };

  tab.drawFront = draw;
  state.addEventListener('change', ({ detail }) => (detail.has('px') || detail.has('py')) && show(), {
    signal: tab.ended.signal,
  });
  show();
}
