// Changing the layout of charts: the controls of sections and panels, by pointer, keyboard and forms.
import './dialogstyle.js';
import { chartSizes, changeChartOptions } from './chartoption.js';
import { el } from './dom.js';
import { panelTitle, sectionName } from './layout.js';
import { layoutOf } from './layoutchange.js';
import { openPanelDialog } from './paneldialog.js';
import { startDrag } from './paneldrag.js';
import { panelID } from './panelid.js';

const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

const sameSection = (a, b) => a.prefix === b.prefix && sectionName(a) === sectionName(b);

/** Arranger shows controls in a Panel that move, resize, add and remove panels and sections. */
export class Arranger {
  /** @param {import('./panel.js').Panel} panel */
  constructor(panel) {
    Object.assign(this, { panel, on: false });
    this.focus = ''; // selector of the control that gets the focus after the next change
    this.said = el('span', { class: 'visually-hidden', role: 'status', 'data-testid': 'arranged' });
    const act = (label, name, fn) =>
      el('button', { type: 'button', class: 'plain', 'data-testid': name, click: fn }, label);
    this.bar = el(
      'div',
      { class: 'arranger', role: 'group', 'aria-label': 'Panels' },
      act('Add panel', 'add-panel', () => openPanelDialog(this)),
      act('Add section', 'add-section', () => this.addSection()),
      act('Save view', 'arrange-save', () => panel.saveView()),
      act('Reset to default', 'reset-layout', () => this.reset()),
      act('Done', 'arrange-done', () => this.toggle()),
      el('span', { class: 'count' }, 'Drag ⠿ to move a panel or a section, or use the arrow keys on it.'),
      this.said
    );
  }

  toggle() {
    const { panel } = this;
    this.on = !this.on;
    panel.bar.arranging.setAttribute('aria-pressed', String(this.on));
    panel.root.classList.toggle('arranging', this.on);
    if (this.on) {
      panel.changed.after(this.bar);
      panel.scroller.scrollTop = 0;
      this.bar.querySelector('button').focus();
    } else {
      this.bar.remove();
      for (const f of panel.figures.values()) {
        f.controls?.remove();
        f.controls = null;
      }
    }
    // Charts that a search hides have no place.
    if (this.on && panel.state.has('m')) panel.state.set({ m: null, pattern: null });
    else panel.arrangeFigures();
  }

  /** show adds the controls to the sections and figures of the panel. */
  show() {
    if (!this.on) return;
    const { panel } = this;
    for (const details of panel.places.querySelectorAll('details')) {
      if (!details.section) continue;
      details.before(this.sectionControls(details.section));
      for (const item of details.section.panels) this.showControls(panel.figures.get(panelID(item)), details.section);
    }
    for (const f of panel.figures.values()) if (f.root.closest('[data-pinned]')) f.controls?.remove();
    if (this.focus) panel.places.querySelector(this.focus)?.focus();
    this.focus = '';
  }

  button(label, of, fn, text = label) {
    return el(
      'button',
      { type: 'button', class: 'plain', 'aria-label': `${label}: ${of}`, title: text !== label && label, click: fn },
      text
    );
  }

  /** handle returns the button by which a panel or a section is moved. */
  handle(of, move, drag) {
    const handle = el(
      'button',
      {
        type: 'button',
        class: 'plain handle',
        'aria-label': `Move: ${of}`,
        title: 'Drag, or press the arrow keys',
        'data-testid': 'move',
        keydown: (event) => {
          if (!(event.key in steps)) return;
          event.preventDefault();
          move(steps[event.key]);
        },
      },
      '⠿'
    );
    startDrag(handle, drag);
    return handle;
  }

  sectionControls(section) {
    const name = sectionName(section);
    const { sections } = this.panel;
    const at = sections.indexOf(section);
    const move = (by) => this.moveSection(at, at + by);
    const root = el(
      'div',
      { class: 'section-controls', 'data-section': at },
      this.handle(name, move, { panel: this.panel, of: 'section', done: (to) => this.moveSection(at, to) }),
      this.button('Rename', name, () => this.rename(root, section)),
      this.button('Add panel', name, () => openPanelDialog(this, { section })),
      at > 0 && this.button('Up', name, () => move(-1)),
      at < sections.length - 1 && this.button('Down', name, () => move(1)),
      section.prefix === undefined &&
        this.button('Remove', name, () => {
          // Charts of metrics return to their default sections.
          this.write(sections.filter((s) => s !== section), `The section ${name} was removed.`);
        })
    );
    return root;
  }

  rename(root, section) {
    const name = sectionName(section);
    const field = el('input', {
      name: 'section-name',
      'aria-label': `Name of ${name}`,
      maxlength: 250,
      required: true,
    });
    field.value = name;
    const form = el(
      'form',
      {
        submit: (event) => {
          event.preventDefault();
          const to = field.value.trim();
          if (!to) return;
          this.write(
            this.panel.sections.map((s) => (s === section ? { ...s, name: to } : s)),
            `The section is now called ${to}.`
          );
        },
      },
      field,
      el('button', { class: 'plain' }, 'Save'),
      this.button('Cancel', name, () => this.panel.arrangeFigures())
    );
    root.replaceChildren(form);
    field.select();
  }

  /** showControls shows the controls of a figure below its caption. */
  showControls(f, section) {
    const { panel } = this;
    const { sections } = panel;
    const at = section.panels.findIndex((p) => panelID(p) === f.id);
    if (!f.controls) {
      f.handle = this.handle(f.title, (by) => this.step(f, by), {
        panel,
        of: 'panel',
        done: (place) => this.move(f, place.section, place.at),
      });
      f.controls = el('div', { class: 'controls', role: 'group', 'aria-label': `Place of ${f.title}` });
    }
    const own = section.panels[at];
    const choice = (name, label, values, value, fn) => {
      const field = el(
        'select',
        { name, 'aria-label': `${label}: ${f.title}`, change: () => fn(field.value) },
        ...values.map(([v, text]) => el('option', { value: v }, text))
      );
      field.value = value;
      return field;
    };
    f.controls.replaceChildren(
      f.handle,
      this.button('Earlier', f.title, () => this.step(f, -1, 'Earlier'), '←'),
      this.button('Later', f.title, () => this.step(f, 1, 'Later'), '→'),
      choice(
        'panel-section',
        'Section',
        sections.map((s, i) => [String(i), sectionName(s)]),
        String(sections.indexOf(section)),
        (i) => {
          this.focus = `[data-key="${CSS.escape(f.id)}"] [name="panel-section"]`;
          this.move(f, sections[i], sections[i].panels.length);
        }
      ),
      choice('panel-size', 'Size', chartSizes, panel.options.get(f.id)?.size ?? '', (size) =>
        panel.state.set({ charts: changeChartOptions(panel.state.get('charts'), f.id, { size: size || null }) })),
      ...(own.type === 'metric'
        ? []
        : [
            this.button('Edit', f.title, () => openPanelDialog(this, { section, panel: own })),
            this.button('Remove', f.title, () => this.removePanel(own)),
          ])
    );
    f.root.querySelector('figcaption').after(f.controls);
  }

  /** step moves a figure by one place. At the end of its section it moves to the next section. */
  step(f, by, label = 'Move') {
    const { sections } = this.panel;
    const from = sections.findIndex((s) => s.panels.some((p) => panelID(p) === f.id));
    const section = sections[from];
    const to = section.panels.findIndex((p) => panelID(p) === f.id) + by;
    const next = sections[from + by];
    this.focus = `[data-key="${CSS.escape(f.id)}"] [aria-label^="${label}: "]`;
    if (to >= 0 && to < section.panels.length) this.move(f, section, by > 0 ? to + 1 : to);
    else if (next) this.move(f, next, by > 0 ? 0 : next.panels.length);
  }

  /** move moves a figure before the panel with index at of a section. */
  move(f, section, at) {
    const { sections } = this.panel;
    const moved = sections.flatMap((s) => s.panels).find((p) => panelID(p) === f.id);
    const all = sections.map((s) => {
      const from = s.panels.indexOf(moved);
      if (s !== section) return from < 0 ? s : { ...s, panels: s.panels.filter((p) => p !== moved), changed: true };
      const panels = s.panels.filter((p) => p !== moved);
      panels.splice(from >= 0 && from < at ? at - 1 : at, 0, moved);
      return { ...s, panels, changed: true };
    });
    const { panels } = all[sections.indexOf(section)];
    this.write(
      all,
      `${f.title} is now ${panels.indexOf(moved) + 1} of ${panels.length} in ${sectionName(section)}.`
    );
  }

  moveSection(from, to) {
    const all = [...this.panel.sections];
    if (to < 0 || to >= all.length || from === to) return;
    const [moved] = all.splice(from, 1);
    all.splice(to, 0, moved);
    this.focus = `[data-section="${to}"] .handle`;
    this.write(all, `The section ${sectionName(moved)} is now ${to + 1} of ${all.length}.`);
  }

  addSection() {
    const names = new Set(this.panel.sections.map(sectionName));
    let name = 'New section';
    for (let n = 2; names.has(name); n += 1) name = `New section ${n}`;
    this.write([{ name, panels: [], changed: true }, ...this.panel.sections], `The section ${name} was added.`);
    const root = this.panel.places.querySelector('[data-section="0"]');
    this.rename(root, this.panel.sections[0]);
  }

  /**
   * putPanel adds a panel to the end of a section, or replaces the panel with the same id.
   * @param {Object} item
   * @param {Object} section
   */
  putPanel(item, section) {
    const id = panelID(item);
    const { sections } = this.panel;
    // The sections might have been created again since the dialog was opened.
    const target = (section && sections.find((s) => sameSection(s, section))) ?? sections[0];
    if (!target) {
      this.write([{ name: 'Panels', panels: [item], changed: true }], 'The panel was added.');
      return;
    }
    const all = sections.map((s) => {
      const there = s.panels.some((p) => panelID(p) === id);
      if (s === target)
        return {
          ...s,
          changed: true,
          panels: there ? s.panels.map((p) => (panelID(p) === id ? item : p)) : [...s.panels, item],
        };
      return there ? { ...s, changed: true, panels: s.panels.filter((p) => panelID(p) !== id) } : s;
    });
    this.write(all, `${panelTitle(item)} was saved in ${sectionName(target)}.`);
    this.panel.figures.get(id)?.root.scrollIntoView({ block: 'nearest' });
  }

  removePanel(item) {
    const all = this.panel.sections.map((s) =>
      s.panels.includes(item) ? { ...s, changed: true, panels: s.panels.filter((p) => p !== item) } : s
    );
    this.write(all, `${panelTitle(item)} was removed.`);
  }

  /** write makes sections the layout of the page. */
  write(sections, said) {
    const { panel } = this;
    panel.state.setLayout(layoutOf(sections, panel.arrangedKeys));
    this.said.textContent = said;
  }

  /** reset restores the default order, sizes and sections, and removes all added panels. */
  reset() {
    this.panel.state.setLayout(null, { charts: null, pins: null, fold: null });
    this.said.textContent = 'The panels are in their default order.';
  }
}
