// The dialogs of a chart: its options, and the enlarged chart.
import { openChartDialog } from './chartdialog.js';
import { changeChartOptions } from './chartoption.js';
import { openEnlargedChart } from './enlargedchart.js';
import { groupBySplit } from './metricsplit.js';
import { openReportDialog } from './reportdialog.js';

/** setter returns a function that changes the options of a chart. */
const setter = ({ state }, key) => (changes) =>
  state.set({ charts: changeChartOptions(state.get('charts'), key, changes) });

/** openOptions opens the dialog with the options of a chart of the panel. */
export function openOptions(panel, key) {
  const f = panel.figures.get(key);
  if (!f) return;
  panel.dialog = openChartDialog(key, {
    options: () => ({ others: [], ...panel.options.get(key) }),
    set: setter(panel, key),
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
    png: () => saveChart('savePNG', f.chart, key),
    csv: () => saveChart('saveCSV', f.chart, key),
    report: () => addToReport(panel, f),
  });
}

/** saveChart calls a function of chartexport.js to save a chart. */
const saveChart = async (as, chart, key) => (await import('./chartexport.js'))[as](chart, key);

/** addToReport opens the dialog that adds a chart to a report. */
function addToReport(panel, f) {
  const { logx, logy, outliers } = panel.view(f.key);
  const log = (is) => (is ? 'log' : '');
  openReportDialog({
    ...panel.drawn(),
    metrics: [f.key, ...f.others.map((o) => o.key)],
    x: log(logx),
    y: log(logy),
    outliers: outliers === 'show' ? 'show' : '',
  });
}

/** enlarge shows a chart of the panel in a dialog, with more points than on the page. */
export function enlarge(panel, key) {
  const f = panel.figures.get(key);
  if (!f || panel.big) return;
  const set = setter(panel, key);
  panel.big = openEnlargedChart(key, panel.chartCallbacks(key), {
    closed: () => { panel.big = null; },
    view: () => panel.view(key),
    set,
    reset: () => {
      set({ low: null, high: null });
      panel.state.set({ [panel.zoomName(key)]: null });
    },
    options: () => openOptions(panel, key),
  });
  panel.setCompanions(panel.big, f.others.map((o) => o.key));
  panel.curves.request(panel.big);
}
