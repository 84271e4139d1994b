// The dialogs of a chart: its options, and the enlarged chart.
import { openChartDialog } from './chartdialog.js';
import { changeChartOptions } from './chartoption.js';
import { openEnlargedChart } from './enlargedchart.js';
import { groupBySplit } from './metricsplit.js';
import { openReportDialog } from './reportdialog.js';

const mostInColor = 30; // runs with a colour in a report

/** setter returns a function that changes the options of a chart. The layout holds the metrics of an added panel. */
const setter = ({ state, figures }, id) => (changes) => {
  const { panel } = figures.get(id) ?? {};
  const { others, ...rest } = changes;
  if (panel && others) {
    const item = { ...panel, metrics: [panel.metrics[0], ...others] };
    const sections = state.layout.sections.map((s) => ({
      ...s,
      panels: s.panels.map((p) => (p.id === panel.id ? item : p)),
    }));
    state.setLayout({ sections });
  }
  if (!panel || Object.keys(rest).length > 0)
    state.set({ charts: changeChartOptions(state.get('charts'), id, panel ? rest : changes) });
};

/** openOptions opens the dialog with the options of a chart of the panel. */
export function openOptions(panel, id) {
  const f = panel.figures.get(id);
  if (!f) return;
  const { key } = f;
  panel.dialog = openChartDialog(key, {
    options: () => {
      const { panel: item } = panel.figures.get(id) ?? {};
      return { others: [], ...panel.options.get(id), ...(item && { others: item.metrics.slice(1) }) };
    },
    set: setter(panel, id),
    find: async (q) => {
      const found = await panel.keys(q, 0, 50);
      const there = new Set([key, ...f.others.map((o) => o.key)]);
      return { total: found.total, names: found.data.filter((k) => !there.has(k.key)).map((k) => ({ name: k.key })) };
    },
    pairs: () =>
      [...groupBySplit(panel.names)]
        .map(([first, others]) => [first, ...others])
        .find((all) => all.includes(key))
        ?.filter((name) => name !== key) ?? [],
    shown: () => f.chart.y ?? [0, 1],
    save: (format, options) => saveChart(format, f.chart, chartLabel(f), options),
    report: () => addToReport(panel, id),
  });
}

const chartLabel = (f) => [f.key, ...f.others.map((o) => o.key)].join(', ');

/** saveChart downloads a chart as svg, pdf, png or csv. */
export async function saveChart(format, chart, key, options = { width: 180, size: 8 }) {
  if (format === 'csv') (await import('./chartexport.js')).saveCSV(chart, key);
  else await (await import('./printfigure.js')).saveFigure(format, chart, key, options);
}

/** addToReport opens the dialog that adds a chart of the panel to a report. */
export async function addToReport(panel, id) {
  const f = panel.figures.get(id);
  if (!f) return;
  if (f.own) {
    addValuesToReport(panel, f);
    return;
  }
  const { key } = f;
  const view = panel.view(id);
  const log = (is) => (is ? 'log' : '');
  const { wrong, ...runs } = panel.drawn();
  const ends = (low, high) => (low == null ? '' : `${low}~${high}`);
  const item = {
    kind: 'chart',
    ...runs,
    metrics: [key, ...f.others.map((o) => o.key)],
    together: f.others.length > 0,
    axis: view.against ? `metric:${view.against}` : view.x === 'step' ? '' : view.x,
    x: log(view.logx),
    y: log(view.logy),
    smooth: view.smooth > 0 ? String(view.smooth) : '',
    zoom: ends(view.from, view.to),
    range: ends(view.low, view.high),
    outliers: view.outliers,
  };
  openReportDialog(item, {
    name: chartLabel(f),
    wrong,
    picture: async () => {
      const [{ drawFigure }, { SvgPen }] = await Promise.all([import('./printfigure.js'), import('./svgpen.js')]);
      return drawFigure(SvgPen, f.chart, chartLabel(f), { width: 180, size: 8 }).blob();
    },
  });
}

/** figureOf returns what a panel without curves draws, or null if it draws nothing. */
async function figureOf(f) {
  const { figure } = (await f.chart.content()) ?? {};
  return figure?.known > 0 ? figure : null;
}

/** addValuesToReport opens the dialog that adds bars, a scatter plot or a histogram to a report. */
async function addValuesToReport(panel, f) {
  const { type, title = '', x, y = '' } = f.panel;
  const { wrong, group, iterations, sort = '', runs = 0 } = panel.drawn();
  const filter = panel.scope();
  const chosen = iterations?.slice(0, mostInColor);
  const highlight = chosen ? `id in (${chosen.map((id) => `'${id}'`).join(', ')})` : '';
  const figure = await figureOf(f);
  const item = {
    kind: type,
    experiment: panel.experiment,
    x,
    y,
    filter,
    sort,
    highlight: highlight === filter ? '' : highlight,
    runs: wrong || group ? 0 : Math.min(mostInColor, chosen?.length ?? runs),
    caption: title,
  };
  openReportDialog(item, {
    name: f.title,
    wrong: figure ? '' : 'There is nothing to add.',
    picture: async () => {
      const [{ drawValues }, { SvgPen }] = await Promise.all([import('./printvalues.js'), import('./svgpen.js')]);
      return drawValues(SvgPen, await figureOf(f), { width: 180, size: 8 }).blob();
    },
  });
}

/** openSave opens the dialog that saves bars, a scatter plot or a histogram for print. */
export async function openSave(panel, id) {
  const f = panel.figures.get(id);
  const figure = f && (await figureOf(f));
  if (!figure) return;
  const { openSaveDialog } = await import('./figuresave.js');
  openSaveDialog(f.title, ['SVG', 'PDF', 'PNG'], async (format, options) => {
    const [{ savePen }, { drawValues }] = await Promise.all([import('./printfigure.js'), import('./printvalues.js')]);
    await savePen(format, f.title, (Pen) => drawValues(Pen, figure, options));
  });
}

/** enlarge shows a chart of the panel in a dialog, with more points than on the page. */
export function enlarge(panel, id) {
  const f = panel.figures.get(id);
  if (!f || panel.big) return;
  const { key } = f;
  const set = setter(panel, id);
  panel.big = openEnlargedChart(key, panel.chartCallbacks(id), {
    closed: () => { panel.big = null; },
    view: () => panel.view(id),
    set,
    reset: () => {
      set({ low: null, high: null });
      panel.state.set({ [panel.zoomName(key)]: null });
    },
    options: () => openOptions(panel, id),
    save: (format, chart) => saveChart(format, chart, chartLabel(f)),
  });
  panel.big.id = id;
  panel.setCompanions(panel.big, f.others.map((o) => o.key));
  panel.curves.request(panel.big);
}
