// The dialog that adds a chart, a table or a picture to a report.
import { base } from './base.js';
import './dialogstyle.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';

/** packed returns a picture in SVG as compressed text in base64. */
async function packed(blob) {
  const stream = blob.stream().pipeThrough(new CompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/**
 * openReportDialog opens the dialog that adds an item to a report. A live item follows the data, and a frozen item
 * keeps what it shows now.
 * @param {Object} item an item as the server expects it, with kind and experiment; the runs are {filter, sort, runs},
 *   {group, values, filter, sort, runs} or {iterations}
 * @param {Object} options
 * @param {string} options.name name of the item
 * @param {function(): Promise<Blob>} [options.picture] returns the picture of a frozen item as SVG; not set for a table
 *   or a difference
 * @param {boolean} [options.live] whether the item can be live
 * @param {string} [options.wrong] reason why a report cannot show the item
 * @param {string} [options.note]
 */
export async function openReportDialog(item, { name: title, picture, live = true, wrong: refused, note = '' }) {
  const list = el('ul', { class: 'views', 'aria-label': 'Reports' });
  const said = el('p', { class: 'hint', role: 'status', 'data-testid': 'report-said' });
  const wrong = el('p', { class: 'message', role: 'alert', 'data-testid': 'report-wrong' });
  const name = el('input', {
    id: 'new-report',
    name: 'new-report',
    maxlength: 250,
    required: true,
    autocomplete: 'off',
    'data-testid': 'new-report',
  });
  const frozen = picture || ['table', 'difference'].includes(item.kind);
  // button returns the buttons that add the item, live or frozen.
  const buttons = (label, aria, act) => [
    live && el('button', { type: 'button', class: 'plain', 'aria-label': aria, click: () => act(false) }, label),
    frozen &&
      el(
        'button',
        { type: 'button', class: 'plain', 'aria-label': live ? `${aria}, frozen` : aria, click: () => act(true) },
        live ? `${label} frozen` : label
      ),
  ];
  const create = (freeze) => {
    if (!form.reportValidity()) return;
    add(`experiment/${item.experiment}/reports`, freeze, (all) => ({ name: name.value, item: all }));
  };
  const form = el(
    'form',
    {
      class: 'row',
      hidden: true,
      submit: (event) => {
        event.preventDefault();
        create(!live);
      },
    },
    el('label', { for: 'new-report' }, 'New report'),
    name,
    ...buttons('Create', 'Create a report', create)
  );
  const dialog = el(
    'dialog',
    {
      class: 'choose options',
      'aria-labelledby': 'report-title',
      'data-testid': 'reports',
      close: () => dialog.remove(),
    },
    el('h2', { id: 'report-title' }, 'Add to a report: ', isolated(title)),
    said,
    list,
    form,
    wrong,
    el('div', { class: 'row' }, el('button', { type: 'button', class: 'plain', click: () => dialog.close() }, 'Close'))
  );

  let busy = false;
  async function add(path, freeze, wrap = (all) => all) {
    if (busy) return;
    busy = true;
    wrong.textContent = '';
    try {
      const all =
        freeze && picture
          ? { kind: 'image', experiment: item.experiment, caption: title, svg: await packed(await picture()) }
          : { ...item, frozen: freeze };
      const made = await fetchData(path, { body: wrap(all) });
      list.replaceChildren();
      form.hidden = true;
      said.replaceChildren(
        'Added at the end of ',
        el('a', { href: new URL(`report/${made.id}`, base), 'data-testid': 'to-report' }, isolated(made.name)),
        '.'
      );
    } catch (error) {
      wrong.textContent = error.message;
    } finally {
      busy = false;
    }
  }

  document.body.append(dialog);
  dialog.showModal();
  if (refused) {
    said.textContent = refused;
    return;
  }
  const found = await fetchData(`experiment/${item.experiment}/reports`).catch((error) => ({ wrong: error.message }));
  if (found.wrong) {
    wrong.textContent = found.wrong;
    return;
  }
  if (!found.update && !found.create) {
    said.textContent = 'You can read the reports of this project but not change them.';
    return;
  }
  const runs = item.iterations?.length ?? item.runs ?? 0;
  const kind = item.group ? 'groups' : 'runs';
  said.textContent = [
    live && frozen && 'It follows the data, or keeps what it shows now if you add it frozen.',
    !live && 'It keeps what it shows now.',
    runs > found.most && `Only the first ${found.most} of these ${count(runs)} ${kind} are included.`,
    note,
  ].filter(Boolean).join(' ');
  name.value = found.name;
  form.hidden = !found.create;
  if (!found.update) return;
  const rows = found.data.map((r) =>
    el(
      'li',
      {},
      isolated(r.name, 'name'),
      ...buttons('Add', `Add to ${r.name}`, (freeze) => add(`report/${r.id}/items`, freeze))
    )
  );
  if (found.total > rows.length)
    rows.push(el('li', { class: 'count' }, `and ${count(found.total - rows.length)} older reports`));
  list.replaceChildren(...rows);
  list.querySelector('button')?.focus();
}
