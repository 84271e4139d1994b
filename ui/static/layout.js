// The layout of charts: sections with panels. A saved view holds a layout; it is the type Layout of the server.
// Pages load this script if they have a layout, or when the user changes it.
import './dialogstyle.js';
import { el } from './dom.js';
import { fetchData } from './request.js';
import { throttle } from './timing.js';

/**
 * begin requests the layout of the saved view in the address, on pages that do not include it.
 * @param {import('./panel.js').Panel} page
 */
export async function begin(page) {
  const { state, saveView } = page;
  if (saveView || !state.has('view')) return;
  const found = await fetchData(`view/${encodeURIComponent(state.get('view'))}`).catch(() => null);
  state.savedLayout = found?.panels ?? null;
  page.noView = !found;
}

/**
 * arrange returns the sections of a page with all their panels. The sections of the layout come first. Charts of
 * metrics that are not in the layout follow in the sections of their prefixes.
 * @param {?{sections: Object[]}} layout
 * @param {Object[]} others the default sections with the charts of all metrics, as from defaultSections
 * @param {function(Object): boolean} there reports whether a panel of the layout is shown
 * @returns {{name: string, prefix: (string|undefined), given: (Object|undefined), panels: Object[]}[]} given is the
 *   section of the layout, name is '' for the default name
 */
export function arrange(layout, others, there) {
  const given = layout?.sections ?? [];
  const placed = new Set(given.flatMap((s) => s.panels.filter((p) => p.type === 'metric').map((p) => p.metrics[0])));
  const rest = new Map(
    others
      .map((s) => ({ ...s, panels: s.panels.filter((p) => !placed.has(p.metrics[0])) }))
      .filter((s) => s.panels.length > 0)
      .map((s) => [s.prefix, s])
  );
  const sections = given.map((s) => {
    const panels = [...s.panels.filter(there), ...(rest.get(s.prefix)?.panels ?? [])];
    rest.delete(s.prefix);
    return { name: s.name, prefix: s.prefix, given: s, panels };
  });
  return [...sections, ...rest.values()];
}

/** sectionName returns the name of a section as text. */
export const sectionName = (section) => section.name || section.prefix || 'Others';


/** titles return the default titles of the types of panels. */
const titles = {
  line: ({ metrics }) => metrics.join(', '),
  bar: ({ x }) => valueName(x),
  scatter: ({ x, y }) => `${valueName(y)} over ${valueName(x)}`,
  histogram: ({ x }) => `Distribution of ${valueName(x)}`,
  text: () => 'Text',
};

/** valueName returns the name of a value in the filter language without its kind. */
const valueName = (text) => text.replace(/^(param|metric)\./, '').replaceAll('`', '');

/** panelTitle returns the title of a panel. */
export const panelTitle = (panel) =>
  panel.type === 'metric' ? panel.metrics[0] : panel.title || titles[panel.type](panel);

/** showNote shows where the layout comes from, and whether it has changes that are not saved. */
export function showNote({ state, saveView, noView, changed }) {
  const act = (label, id, fn) => el('button', { type: 'button', class: 'plain', 'data-testid': id, click: fn }, label);
  if (state.changedLayout !== undefined && saveView)
    changed.replaceChildren(
      'The panels have changed. Save a view to store and share them.',
      act('Save view', 'layout-save', saveView),
      act('Discard changes', 'layout-discard', () => state.setLayout(undefined))
    );
  else if (state.savedLayout && !saveView)
    changed.replaceChildren(
      'These are the panels of a saved view.',
      act('Show the default panels', 'layout-default', () => {
        state.savedLayout = null;
        state.set({ view: null });
        state.dispatchChange(['layout']);
      })
    );
  else changed.replaceChildren(noView ? 'The saved view of this address does not exist any more.' : '');
}

/**
 * lazyPanel returns the content of a figure without curves, with the methods of Chart that a page uses. The script
 * is loaded when the figure becomes visible.
 */
export function lazyPanel(page, f, height) {
  let content;
  let gone = false;
  const then = async (fn) => {
    content ??= import('./valuepanel.js').then(({ openPanel }) => openPanel(page, f));
    const c = await content;
    if (!gone) fn(c);
  };
  return {
    update: () =>
      then((c) => {
        c.setHeight(height);
        c.update();
      }),
    setHeight: (h) => {
      height = h;
      if (content) then((c) => c.setHeight(h));
    },
    markGrown: throttle(2000, () => content && then((c) => {
      if (f.inSight) c.update(true);
      else c.stale = true;
    })),
    content: () => content,
    highlightCurve: (id) => content && then((c) => c.highlight(id)),
    remove: () => {
      gone = true;
      content?.then((c) => c.remove());
    },
  };
}
