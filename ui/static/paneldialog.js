// The dialog that adds or changes a panel.
import { formatColumn, kindNames, parseColumns } from './columnname.js';
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { sectionName } from './layout.js';
import { newPanelID } from './layoutchange.js';
import { openNameDialog } from './namedialog.js';
import { fetchData } from './request.js';

const types = [
  ['line', 'Line chart'],
  ['bar', 'Bars of a value of each run'],
  ['scatter', 'Scatter plot of two values'],
  ['histogram', 'Histogram of a value over the runs'],
  ['text', 'Text'],
];
const statistics = [['', 'Last'], ['best', 'Best'], ['min', 'Minimum'], ['max', 'Maximum'], ['mean', 'Mean']];
const mostMetrics = 8;
const mostText = 16_384; // bytes

/**
 * openPanelDialog opens the dialog that adds or changes a panel.
 * @param {import('./arrange.js').Arranger} arranger
 * @param {Object} [options]
 * @param {Object} [options.section] section of the panel, the first by default
 * @param {Object} [options.panel] panel to change
 */
export function openPanelDialog(arranger, { section, panel } = {}) {
  const { panel: page } = arranger;
  const { sections, experiment } = page;
  let metrics = panel?.type === 'line' ? [...panel.metrics] : [];
  const field = (name, attributes, ...children) =>
    el(attributes.of ?? 'input', { ...attributes, of: null, name, id: `panel-${name}` }, ...children);
  const type = field(
    'type',
    { of: 'select', change: show },
    ...types.map(([value, label]) => el('option', { value }, label))
  );
  const title = field('title', { maxlength: 250, autocomplete: 'off' });
  const text = field('text', { of: 'textarea', rows: 8, maxlength: mostText });
  const into = field(
    'section',
    { of: 'select' },
    ...sections.map((s, i) => el('option', { value: i }, sectionName(s)))
  );
  const wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'panel-wrong' });
  const chosen = el('ul', { class: 'chosen', 'aria-label': 'Metrics of the chart' });
  const button = (label, fn, name) =>
    el('button', { type: 'button', class: 'plain', 'data-testid': name, click: fn }, label);

  async function find(q, kind) {
    const found = await fetchData(`experiment/${experiment}/keys`, { query: { q, kind, limit: 50 } });
    const hint = (k) => (kind ? '' : kindNames[k.kind]);
    return { total: found.total, names: found.data.map((k) => ({ ...k, name: k.key, hint: hint(k) })) };
  }

  const [x, y] = ['x', 'y'].map((name) => valueField(name, panel?.[name], find));
  const row = (label, ...fields) => {
    const named = fields[0].id ? el('label', { class: 'label', for: fields[0].id }, label)
      : el('span', { class: 'label' }, label);
    return el('div', { class: 'row' }, named, ...fields);
  };
  const metricRow = row(
    'Metrics',
    chosen,
    button('Add a metric', () => {
      openNameDialog('Add a metric to this panel', (q) => find(q, 'metric'), ({ name }) => {
        if (!metrics.includes(name)) metrics.push(name);
        showMetrics();
      });
    }, 'panel-metric')
  );
  const xRow = row('X', x.root);
  const yRow = row('Y', y.root);
  const textRow = row('Markdown', text);

  function showMetrics() {
    chosen.replaceChildren(
      ...metrics.map((name) =>
        el(
          'li',
          {},
          isolated(name, 'name'),
          el(
            'button',
            {
              type: 'button',
              class: 'plain',
              'aria-label': `Remove ${name}`,
              click: () => {
                metrics = metrics.filter((m) => m !== name);
                showMetrics();
              },
            },
            'Remove'
          )
        )
      )
    );
  }

  function show() {
    metricRow.hidden = type.value !== 'line';
    xRow.hidden = !['bar', 'scatter', 'histogram'].includes(type.value);
    xRow.querySelector('.label').textContent = type.value === 'scatter' ? 'X' : 'Value';
    yRow.hidden = type.value !== 'scatter';
    textRow.hidden = type.value !== 'text';
  }

  /** problem returns the reason why the input is not a panel, or ''. */
  function problem() {
    if (type.value === 'line' && metrics.length === 0) return 'Add at least one metric.';
    if (type.value === 'line' && metrics.length > mostMetrics)
      return `A line chart has at most ${mostMetrics} metrics. Remove some.`;
    if ((!xRow.hidden && !x.value()) || (!yRow.hidden && !y.value())) return 'Choose a parameter or a metric.';
    if (type.value === 'text' && !text.value.trim()) return 'Enter a text.';
    if (new Blob([text.value]).size > mostText) return `The text has more than ${mostText} bytes. Shorten it.`;
    return '';
  }

  const form = el(
    'form',
    {
      submit: (event) => {
        event.preventDefault();
        wrong.textContent = problem();
        if (wrong.textContent) return;
        const item = { id: panel?.id ?? newPanelID({ sections }), type: type.value };
        if (title.value.trim()) item.title = title.value.trim();
        if (!metricRow.hidden) item.metrics = metrics;
        if (!xRow.hidden) item.x = x.value();
        if (!yRow.hidden) item.y = y.value();
        if (!textRow.hidden) item.text = text.value;
        dialog.close();
        arranger.putPanel(item, sections[into.value]);
      },
    },
    row('Type', type),
    row('Title', title),
    metricRow,
    xRow,
    yRow,
    textRow,
    row('Section', into),
    wrong,
    el(
      'div',
      { class: 'row' },
      el('button', { class: 'primary', 'data-testid': 'panel-save' }, panel ? 'Save' : 'Add'),
      button('Cancel', () => dialog.close())
    )
  );
  const dialog = el(
    'dialog',
    {
      class: 'choose options panel-dialog',
      'aria-labelledby': 'panel-dialog-title',
      'data-testid': 'panel-dialog',
      close: () => dialog.remove(),
    },
    el('h2', { id: 'panel-dialog-title' }, panel ? 'Change a panel' : 'Add a panel'),
    form
  );
  type.value = panel?.type ?? 'line';
  title.value = panel?.title ?? '';
  text.value = panel?.text ?? '';
  into.value = Math.max(0, sections.indexOf(section));
  showMetrics();
  show();
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * valueField returns the controls that choose a parameter or a statistic of a metric.
 * @param {string} name
 * @param {string} [text] the chosen value in the filter language
 * @param {function(string): Promise<Object>} find as for openNameDialog
 */
function valueField(name, text, find) {
  let [column] = parseColumns(text ?? '');
  let goal = '';
  const stat = el(
    'select',
    { name: `${name}-stat`, 'aria-label': 'Statistic' },
    ...statistics.map(([value, label]) => el('option', { value }, label))
  );
  const pick = el('button', {
    type: 'button',
    class: 'plain',
    'data-testid': `panel-${name}`,
    click: () =>
      openNameDialog('Choose a parameter or a metric', find, (k) => {
        column = { kind: k.kind, key: k.key, stat: '' };
        goal = k.goal ?? '';
        stat.value = '';
        show();
      }),
  });
  function show() {
    pick.replaceChildren(column ? isolated(column.key) : 'Choose');
    stat.hidden = column?.kind !== 'metric';
    // The name of some metrics implies which values are better.
    for (const option of stat.options) option.hidden = option.value === 'best' && !goal;
  }
  stat.value = column?.stat ?? '';
  show();
  return {
    root: el('span', { class: 'value' }, pick, stat),
    value: () => {
      if (!column) return '';
      const best = goal === 'minimize' ? 'min' : 'max';
      return formatColumn({ ...column, stat: stat.hidden ? '' : stat.value === 'best' ? best : stat.value });
    },
  };
}
