// The dialog that adds a chart to a report.
import { base } from './base.js';
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';

/**
 * openReportDialog opens the dialog that adds a chart to a report.
 * @param {Object} chart {experiment, metrics, x, y, outliers}, and the runs: {filter, sort, runs} from the table,
 *   or {iterations}. wrong is the reason why a report cannot show the chart.
 */
export async function openReportDialog(chart) {
  const list = el('ul', { class: 'views', 'aria-label': 'Reports' });
  const said = el('p', { class: 'hint', 'data-testid': 'report-said' });
  const wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'report-wrong' });
  const name = el('input', {
    id: 'new-report',
    name: 'new-report',
    maxlength: 250,
    required: true,
    autocomplete: 'off',
    'data-testid': 'new-report',
  });
  const form = el(
    'form',
    {
      class: 'row',
      hidden: true,
      submit: (event) => {
        event.preventDefault();
        add(`experiment/${chart.experiment}/reports`, { name: name.value, chart });
      },
    },
    el('label', { for: 'new-report' }, 'New report'),
    name,
    el('button', { class: 'primary' }, 'Create')
  );
  const dialog = el(
    'dialog',
    {
      class: 'choose options',
      'aria-labelledby': 'report-title',
      'data-testid': 'reports',
      close: () => dialog.remove(),
    },
    el('h2', { id: 'report-title' }, 'Add to a report'),
    said,
    list,
    form,
    wrong,
    el('div', { class: 'row' }, el('button', { type: 'button', class: 'plain', click: () => dialog.close() }, 'Close'))
  );

  async function add(path, body) {
    wrong.textContent = '';
    try {
      const made = await fetchData(path, { body });
      list.replaceChildren();
      form.hidden = true;
      said.replaceChildren(
        'The chart was added at the end of ',
        el('a', { href: new URL(`report/${made.id}`, base), 'data-testid': 'to-report' }, isolated(made.name)),
        '.'
      );
    } catch (error) {
      wrong.textContent = error.message;
    }
  }

  document.body.append(dialog);
  dialog.showModal();
  if (chart.wrong) {
    said.textContent = chart.wrong;
    return;
  }
  const found = await fetchData(`experiment/${chart.experiment}/reports`).catch((error) => ({ wrong: error.message }));
  if (found.wrong) {
    wrong.textContent = found.wrong;
    return;
  }
  if (!found.update && !found.create) {
    said.textContent = 'You can read the reports of this project but not change them.';
    return;
  }
  const runs = chart.iterations?.length ?? chart.runs;
  const limit = runs > found.most ? ` Only the first ${found.most} of these ${count(runs)} runs are included.` : '';
  said.textContent = `A report shows curves over steps, without smoothing or zoom.${limit}`;
  form.hidden = !found.create;
  if (!found.update) return;
  const rows = found.data.map((r) =>
    el(
      'li',
      {},
      isolated(r.name, 'name'),
      el(
        'button',
        {
          type: 'button',
          class: 'plain',
          'aria-label': `Add to ${r.name}`,
          click: () => add(`report/${r.id}/charts`, chart),
        },
        'Add'
      )
    )
  );
  if (found.total > rows.length)
    rows.push(el('li', { class: 'count' }, `and ${count(found.total - rows.length)} older reports`));
  list.replaceChildren(...rows);
}
