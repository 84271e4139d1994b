// The bar above the table of runs: groups, nested runs, differences and saved views.
import * as columns from './columnname.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';
import * as groups from './rungroup.js';

const mostNames = 3;

/**
 * fillTableBar adds the controls for groups, nested runs, differences and saved views to the bar above the
 * table.
 */
export function fillTableBar(bar, state, { experiment, ...rights }) {
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
        openNameDialog('Group runs by', names, ({ id }) =>
          set([...groups.parseGroups(state.get('group')).map((g) => g.name), id])
        );
      },
    },
    'Group by'
  );

  async function names(q) {
    const found = await fetchData(`experiment/${experiment}/keys`, { query: { kind: 'param', q, limit: 50 } });
    const there = new Set(groups.parseGroups(state.get('group')).map((g) => g.name));
    const all = found.data.map((k) => ({
      id: columns.formatColumn({ kind: 'param', key: k.key }),
      name: k.key,
      hint: `parameter of ${count(k.iterations)}`,
    }));
    if ('tag'.includes(q.toLowerCase())) all.unshift({ id: 'tag', name: 'tag', hint: 'tags of runs' });
    return { names: all.filter((n) => !there.has(n.id)), total: 0 };
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
      click: async () => (await import('./viewdialog.js')).openViewDialog(experiment, rights),
    },
    'Views'
  );
  bar.prepend(add, chips);
  bar.append(open, tree, differences);

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
