// Changing a layout.
import { sectionName } from './layout.js';
import { sectionOf } from './panelid.js';

/**
 * layoutOf returns the layout with these sections. It omits sections and charts at the end that would have the
 * same place by default.
 * @param {Object[]} sections as from arrange; changed is set if the order of the section's panels has changed
 * @param {string[]} keys as for arrange
 * @returns {?{sections: Object[]}} null for the default layout
 */
export function layoutOf(sections, keys) {
  const prefixes = [...new Set(keys.map(sectionOf))];
  const all = sections.map((s) => {
    const panels = s.changed ? [...s.panels] : [...(s.given?.panels ?? [])];
    return { name: s.name || sectionName(s), ...(s.prefix !== undefined && { prefix: s.prefix }), panels };
  });
  const placed = new Set(all.flatMap((s) => s.panels.filter((p) => p.type === 'metric').map((p) => p.metrics[0])));
  for (const s of all) {
    if (s.prefix === undefined) continue;
    const own = keys.filter((key) => sectionOf(key) === s.prefix);
    dropTail(
      s.panels,
      (p) => p.type === 'metric' && own.includes(p.metrics[0]),
      own.filter((key) => !placed.has(key) || s.panels.some((p) => p.type === 'metric' && p.metrics[0] === key)),
      (p) => (p.type === 'metric' ? p.metrics[0] : null)
    );
  }
  const plain = (s) => s.prefix !== undefined && s.panels.length === 0 && s.name === (s.prefix || 'Others');
  dropTail(all, plain, prefixes, (s) => s.prefix);
  return all.length > 0 ? { sections: all } : null;
}

/** dropTail removes elements from the end of list that would follow in this place by default. */
function dropTail(list, plain, order, name) {
  const gone = [];
  while (list.length > 0 && plain(list.at(-1))) {
    const head = new Set(list.slice(0, -1).map(name));
    const rest = order.filter((o) => !head.has(o));
    const tail = [name(list.at(-1)), ...gone];
    if (tail.join('\n') !== rest.slice(0, tail.length).join('\n') || rest.length !== tail.length) break;
    gone.unshift(name(list.pop()));
  }
}

/** newPanelID returns an id that no panel of the layout has. */
export function newPanelID(layout) {
  const taken = new Set((layout?.sections ?? []).flatMap((s) => s.panels.map((p) => p.id)));
  let n = 1;
  while (taken.has(`p${n}`)) n += 1;
  return `p${n}`;
}

/** markSaved records that the layout is saved in a view. The address refers to the view if it has a layout. */
export function markSaved(state, view) {
  state.savedLayout = state.layout;
  state.changedLayout = undefined;
  const rest = { ...history.state };
  delete rest.layout;
  history.replaceState(rest, '', location.href);
  state.set({ view: state.savedLayout ? view : null });
  state.dispatchChange(['layout']);
}
