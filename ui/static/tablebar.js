// The bar above the table of runs: groups, nested runs, differences and saved views.
import * as columns from './columnname.js';
import { el, isolated } from './dom.js';
import { fetchData } from './request.js';
import * as groups from './rungroup.js';
import { viewMenu } from './viewmenu.js';

const mostNames = 6;
const mostOffered = 50; // names in the dialog

/**
 * fillTableBar adds the controls for groups, nested runs, differences and saved views to the bar above the
 * table.
 * @param {function(): Object} item returns the table as an item of a report
 */
export function fillTableBar(bar, state, { experiment, ...rights }, item) {
  const chips = el('span', { class: 'chips' });
  const set = (names) => state.set({ group: names.join(', ') || null, open: null, hide: null, show: null });
  const add = el(
    'button',
    {
      type: 'button',
      class: 'plain',
      'data-testid': 'group-by',
      click: async () => {
        const { openNameDialog } = await import('./namedialog.js');
        openNameDialog('Group runs by', names, ({ id, all }) =>
          set(all ?? [...groups.parseGroups(state.get('group')).map((g) => g.name), id])
        );
      },
    },
    'Group by'
  );

  async function names(q) {
    const found = await fetchData(`experiment/${experiment}/varying`);
    const there = new Set(groups.parseGroups(state.get('group')).map((g) => g.name));
    const id = (key) => columns.formatColumn({ kind: 'param', key });
    const all = found.keys
      .filter((key) => key.toLowerCase().includes(q.toLowerCase()))
      .map((key) => ({ id: id(key), name: key, hint: 'parameter' }))
      .concat(
        found.texts
          .filter((key) => key.toLowerCase().includes(q.toLowerCase()))
          .map((key) => ({
            id: columns.formatColumn({ kind: 'summary', key }),
            name: key,
            hint: columns.kindNames.summary,
          }))
      );
    const others = found.keys.filter((key) => !found.repeats.includes(key));
    if (!q && there.size === 0 && others.length > 1 && others.length < found.keys.length && others.length <= mostNames)
      all.unshift({ id: '', all: others.map(id), name: 'All but seed', hint: others.join(', ') });
    if ('tag'.includes(q.toLowerCase()))
      all.splice(all[0]?.all ? 1 : 0, 0, { id: 'tag', name: 'tag', hint: 'tags of runs' });
    return { names: all.filter((n) => !there.has(n.id)).slice(0, mostOffered), total: 0 };
  }

  const check = (name, label) => {
    const box = el('input', {
      type: 'checkbox',
      name,
      change: () => state.set({ [name]: box.checked ? '1' : null, ...(name === 'tree' && { open: null }) }),
    });
    return el('label', { class: 'check' }, box, label);
  };
  const tree = check('tree', 'Show sub-runs');
  const differences = check('differences', 'Differences only');
  const open = el(
    'button',
    {
      type: 'button',
      class: 'plain',
      'data-testid': 'views',
      click: async () => (await import('./viewdialog.js')).openViewDialog(experiment, rights, state),
    },
    'Saved views'
  );
  bar.prepend(add, chips);
    const report = el(
    'button',
    {
      type: 'button',
      class: 'plain',
      'data-testid': 'report-table',
      click: async () => {
        const table = item();
        const { openReportDialog } = await import('./reportdialog.js');
        openReportDialog(table, { name: 'Table of runs' });
      },
    },
    'Add to a report'
  );
  const files = ['csv', 'latex', 'markdown'].map((id) => document.getElementById(id));
  bar.append(viewMenu('table-view', tree, differences, el('span', { class: 'files' }, ...files), report, open));

  function show() {
    const by = groups.parseGroups(state.get('group'));
    chips.replaceChildren(
      ...by.map((g, i) =>
        el(
          'button',
          {
            type: 'button',
            class: 'plain tag',
            'aria-label': `Do not group by ${g.label}`,
            title: 'Do not group by this',
            click: () => set(by.filter((_, o) => o !== i).map((o) => o.name)),
          },
          isolated(g.label),
          ' ×'
        )
      )
    );
    add.disabled = by.length >= mostNames;
    for (const box of bar.querySelectorAll('input')) box.checked = state.has(box.name);
    tree.hidden = by.length > 0; // groups have no child runs
  }
  state.addEventListener('change', show);
  show();
}
