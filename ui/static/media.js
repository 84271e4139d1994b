// The media that runs have logged: images, histograms, tables, HTML, video, audio and texts.
import { base } from './base.js';
import { el, isolated } from './dom.js';
import { count } from './format.js';
import { heatmap } from './heatmap.js';
import { openImageDialog } from './imagedialog.js';
import { fetchData, fetchSignedIn } from './request.js';
import { debounce, latestOnly } from './timing.js';

const mostRuns = 20;
const mostColumns = 30; // maximum number of steps in the table of all steps
const pixelated = 96; // maximum size in pixels of images that are enlarged without blur

const kindNames = {
  image: ['image', 'images'],
  audio: ['audio clip', 'audio clips'],
  video: ['video', 'videos'],
  table: ['table', 'tables'],
  html: ['HTML page', 'HTML pages'],
  text: ['text', 'texts'],
  histogram: ['histogram', 'histograms'],
};
const kindOrder = ['image', 'histogram', 'table', 'html', 'video', 'audio', 'text'];
const countOf = (n, [one, more]) => `${count(n)} ${n === 1 ? one : more}`;
const dataOf = (m, part = 'data') => new URL(`artifact/${m.id}/${part}`, base);

// This script loads its style sheet, because most pages do not show media.
const styleSheet = el('link', { rel: 'stylesheet', href: document.querySelector('meta[name="media-styles"]').content });
const stylesLoaded = new Promise((done) => {
  for (const event of ['load', 'error']) styleSheet.addEventListener(event, done);
});
document.head.append(styleSheet);

/** sample returns up to most evenly spaced elements, including the first and the last. */
const sample = (all, most) =>
  all.length <= most
    ? all
    : Array.from({ length: most }, (_, i) => all[Math.floor((i * (all.length - 1)) / (most - 1))]);

/** Media shows the media that runs have logged at one step or at all steps. */
export class Media {
  /**
   * @param {HTMLElement} root
   * @param {import('./state.js').State} state
   * @param {Object} options
   * @param {function(): Object[]} options.runs returns the runs, {id, name, color}
   * @param {string} options.experiment
   * @param {function(number)} [options.found] called with the number of names that the runs have logged
   */
  constructor(root, state, { runs, experiment, found }) {
    Object.assign(this, { root, state, runs, experiment, found });
    this.groups = new Map(); // groups by kind and key
    this.steps = [];
    this.asked = latestOnly((body) => fetchData('media', { body }));
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const group = [...this.groups.values()].find((g) => g.root === target);
        if (!group) continue;
        group.inSight = isIntersecting;
        group.show();
      }
    }, { rootMargin: '200px' });
    this.build();
    state.addEventListener('change', ({ detail }) => {
      if (detail.has('mediafind')) this.arrange();
      if (detail.has('mediastep') || detail.has('mediaall')) this.show();
      if (detail.has('marks')) for (const group of this.groups.values()) group.mark();
    });
  }

  build() {
    const { state } = this;
    const move = (by) => this.choose(this.steps[Math.max(0, Math.min(this.steps.length - 1, this.at + by))]);
    const button = (label, by) => el('button', { type: 'button', class: 'plain', click: () => move(by) }, label);
    this.slider = el('input', {
      type: 'range',
      name: 'mediastep',
      min: 0,
      'aria-label': 'Step',
      'data-testid': 'media-step',
      input: () => this.choose(this.steps[Number(this.slider.value)]),
    });
    this.step = el('output', { 'data-testid': 'media-at' });
    this.sliding = el('span', { class: 'sliding' }, button('Previous', -1), this.slider, button('Next', 1), this.step);
    this.all = el('input', {
      type: 'checkbox',
      name: 'mediaall',
      change: () => state.set({ mediaall: this.all.checked ? '1' : null }),
    });
    this.whole = el('label', {}, this.all, 'All steps');
    this.search = el('input', {
      type: 'search',
      name: 'mediafind',
      placeholder: 'Find media',
      'aria-label': 'Search media by name',
      input: debounce(200, () => state.set({ mediafind: this.search.value || null })),
    });
    this.note = el('p', { class: 'count', role: 'status', 'data-testid': 'media-note' }, 'Loading…');
    this.places = el('div', { class: 'media-groups' });
    this.root.replaceChildren(
      el('div', { class: 'strip' }, el('h2', {}, 'Media'), this.sliding, this.whole, this.search),
      this.note,
      this.places
    );
  }

  /** choose moves the slider to a step. */
  choose(step) {
    this.state.set({ mediastep: step === this.steps.at(-1) ? null : step });
  }

  /**
   * at returns the index of the selected step. It is the last step at or before the step in the address.
   */
  get at() {
    const step = this.state.number('mediastep', Infinity);
    const after = this.steps.findIndex((s) => s > step);
    return after < 0 ? this.steps.length - 1 : Math.max(0, after - 1);
  }

  /** load requests the names of the media. */
  async load() {
    const runs = this.runs();
    this.drawn = runs.slice(0, mostRuns);
    await stylesLoaded;
    const answer = await this.asked({ iterations: this.drawn.map((r) => r.id) }).catch((error) => ({ error }));
    if (answer.error) {
      this.note.textContent = answer.error.message;
      return;
    }
    this.keys = answer.keys;
    this.steps = [...new Set(answer.keys.flatMap((k) => k.steps))].sort((a, b) => a - b);
    this.left = [
      runs.length > mostRuns && `Only the first ${count(mostRuns)} of ${count(runs.length)} runs are shown.`,
      answer.more && 'Only the newest 20,000 files are shown.',
    ].filter(Boolean).join(' ');
    for (const group of this.groups.values()) group.stale = true;
    this.found?.(answer.keys.length);
    this.arrange();
  }

  arrange() {
    const part = this.state.get('mediafind').toLowerCase();
    const keys = this.keys
      .filter((k) => k.key.toLowerCase().includes(part))
      .sort((a, b) => kindOrder.indexOf(a.kind) - kindOrder.indexOf(b.kind));
    const name = (k) => `${k.kind} ${k.key}`;
    const there = new Set(keys.map(name));
    for (const [id, group] of this.groups) {
      if (there.has(id)) continue;
      this.seen.unobserve(group.root);
      this.groups.delete(id);
    }
    for (const k of keys) {
      if (!this.groups.has(name(k))) {
        const group = new MediaGroup(this, k);
        this.groups.set(name(k), group);
        this.seen.observe(group.root);
      }
      this.groups.get(name(k)).about(k);
    }
    const roots = keys.map((k) => this.groups.get(name(k)).root);
    if (roots.some((r, i) => this.places.children[i] !== r) || roots.length !== this.places.children.length)
      this.places.replaceChildren(...roots);
    this.note.textContent =
      this.keys.length === 0
        ? 'No images, histograms, tables, audio, video or HTML have been logged by these runs.'
        : keys.length === 0
          ? 'No media match.'
          : this.left;
    this.note.hidden = !this.note.textContent;
    this.show();
  }

  /** show updates the controls and draws the visible groups. */
  show() {
    const { steps, state } = this;
    if (document.activeElement !== this.search) this.search.value = state.get('mediafind');
    this.all.checked = state.has('mediaall');
    const several = steps.length > 1;
    this.sliding.hidden = !several;
    this.whole.hidden = !several;
    this.slider.disabled = this.all.checked;
    for (const b of this.sliding.querySelectorAll('button')) b.disabled = this.all.checked;
    if (several) {
      this.slider.max = steps.length - 1;
      this.slider.value = this.at;
      this.slider.setAttribute('aria-valuetext', `step ${count(steps[this.at])}`);
      this.step.textContent = this.all.checked ? '' : `Step ${count(steps[this.at])}`;
    }
    for (const group of this.groups.values()) group.show();
  }
}

/** MediaGroup shows the media of one name and kind. */
class MediaGroup {
  constructor(media, { key, kind }) {
    Object.assign(this, { media, key, kind, stale: true, inSight: false, byRun: new Map(), cells: new Map() });
    this.counted = el('span', { class: 'count' });
    this.grid = el('div', { class: `media-grid ${kind}` });
    this.root = el(
      'details',
      { open: true, 'data-media': key, 'data-kind': kind, 'data-testid': 'media-group', toggle: () => this.show() },
      el('summary', {}, isolated(key), this.counted),
      this.grid
    );
    this.marked = new Map(); // images by canvas; the canvas covers the image
  }

  about({ count: n, steps }) {
    this.counted.textContent =
      countOf(n, kindNames[this.kind]) + (steps.length > 1 ? `, ${count(steps.length)} steps` : '');
  }

  /** show draws the group if it is visible. */
  show() {
    if (!this.inSight || !this.root.open) return;
    if (this.stale) this.load();
    else this.draw();
  }

  async load() {
    this.stale = false;
    const { drawn } = this.media;
    const like = drawn.map((r) => r.id);
    this.like = like.join(' ');
    try {
      if (this.kind === 'histogram') {
        const all = await Promise.all(
          drawn.map((r) => fetchData('histograms', { body: { iterations: [r.id], key: this.key } }))
        );
        this.byRun = new Map(all.filter((h) => h.steps.length > 0).map((h) => [h.run, h]));
        this.cells.clear();
      } else {
        const { media, labels } = await fetchData('media', {
          body: { iterations: like, key: this.key, kind: this.kind },
        });
        this.byRun = Map.groupBy(media, (m) => m.run);
        for (const { marks = [] } of media) for (const mark of marks) mark.labels = labels[mark.labels];
        if (media.some((m) => m.marks)) await this.explain();
      }
    } catch (error) {
      this.grid.replaceChildren(el('p', { class: 'message', role: 'alert' }, error.message));
      return;
    }
    if (this.like === like.join(' ')) this.draw();
  }

  draw() {
    const { media } = this;
    const runs = media.drawn.filter((r) => this.byRun.has(r.id));
    const step = media.steps[media.at] ?? Infinity;
    if (this.kind === 'histogram') {
      this.put(runs.map((run) => this.heat(run, step)));
    } else if (media.state.has('mediaall') && this.steps().length > 1) {
      this.put([this.table(runs)]);
    } else {
      this.put(runs.map((run) => this.at(run, step)));
    }
  }

  /** explain loads the script that draws marks in images, and shows the legend of the marks. */
  async explain() {
    this.marks ||= await import('./imagemarks.js');
    if (this.legend) return;
    this.legend = new this.marks.MarkLegend(this.media.state);
    this.grid.before(this.legend.root);
  }

  /** mark redraws the marks in one image, or in all images if canvas is not set. */
  async mark(canvas) {
    if (!this.legend) return;
    this.legend.show();
    for (const one of canvas ? [canvas] : [...this.marked.keys()]) {
      const { image, marks } = this.marked.get(one);
      if (!one.isConnected && !canvas) this.marked.delete(one);
      else if (image.complete && image.naturalWidth > 0)
        this.legend.add(
          marks.map((m) => m.name),
          await this.marks.drawMarks(one, image, this.legend.on(marks))
        );
    }
  }

  put(parts) {
    const all = parts.filter(Boolean);
    if (all.length !== this.grid.children.length || all.some((p, i) => this.grid.children[i] !== p))
      this.grid.replaceChildren(...all);
  }

  steps() {
    return [
      ...new Set(
        [...this.byRun.values()]
          .flat()
          .map((m) => m.step)
          .filter((s) => s != null)
      ),
    ].sort((a, b) => a - b);
  }

  title(run) {
    if (this.media.runs().length === 1) return '';
    return el(
      'a',
      { class: 'run', href: new URL(`iteration/${run.id}`, base) },
      el('span', { class: `dot c${run.color}` }),
      isolated(run.name)
    );
  }

  /** at returns the cell with a run's media at a step. If there are none, it returns the last media before the step. */
  at(run, step) {
    const all = this.byRun.get(run.id);
    const known = all.filter((m) => m.step == null || m.step <= step);
    const last = known.reduce((most, m) => Math.max(most, m.step ?? -Infinity), -Infinity);
    const now = known.filter((m) => (m.step ?? -Infinity) === last).sort((a, b) => a.place - b.place);
    let cell = this.cells.get(run.id);
    if (!cell) this.cells.set(run.id, cell = this.cell(run));
    cell.root.dataset.step = now[0]?.step ?? '';
    cell.said.textContent = now.length === 0 ? 'Nothing logged up to this step'
      : now[0].step != null && now[0].step !== step && Number.isFinite(step) ? `Step ${count(now[0].step)}` : '';
    now.forEach((m, i) => {
      cell.items[i] = this.item(cell.items[i], m, run);
      if (cell.box.children[i] !== cell.items[i].root)
        cell.box.insertBefore(cell.items[i].root, cell.box.children[i] ?? null);
    });
    for (const item of cell.items.splice(now.length)) item.root.remove();
    return cell.root;
  }

  cell(run) {
    const [box, said] = [el('div', { class: 'items' }), el('span', { class: 'count' })];
    return {
      box,
      said,
      items: [],
      root: el(
        'figure',
        { class: 'media-cell', 'data-run': run.id, 'data-testid': 'media-cell' },
        el('figcaption', {}, this.title(run), said),
        box
      ),
    };
  }

  /** item returns the element that replaces before. The old image stays until the new image is loaded. */
  item(before, m, run) {
    if (before?.id === m.id) return before;
    const name = this.name(m, run);
    if (before && this.kind === 'image' && !m.marks && !before.marked && !m.caption && !before.caption) {
      Object.assign(before.root, { href: dataOf(m), title: m.name });
      Object.assign(before.root.querySelector('img'), { src: dataOf(m), alt: name });
      before.id = m.id;
      return before;
    }
    if (this.kind === 'image') {
      const elementsByKind = this.image(m, name);
      if (before) before.root.replaceWith(elementsByKind.root);
      return elementsByKind;
    }
    const root = el('div', { class: 'item' }, ...made[this.kind](m, name, this), captionOf(m));
    if (before) before.root.replaceWith(root);
    return { id: m.id, root };
  }

  /** tableLinks returns the links to the page of a table, with its rows at one step, at all steps and of all runs. */
  tableLinks(m) {
    const link = (text, query) => {
      const href = dataOf(m, 'table');
      for (const [name, value] of Object.entries(query)) href.searchParams.set(name, value);
      return el('a', { class: 'open', href }, text);
    };
    const runs = this.media.drawn.filter((r) => this.byRun.has(r.id)).map((r) => r.id);
    return [
      link('Open table', {}),
      this.byRun.get(m.run).length > 1 && link('All steps', { scope: 'steps' }),
      runs.length > 1 && link('All runs', { i: runs.join(' ') }),
    ];
  }

  name(m, run) {
    return `${this.key}, ${run.name}${m.step == null ? '' : `, step ${count(m.step)}`}`;
  }

  /** image returns an image with its marks. If there are many images, they are loaded lazily. */
  image(m, name, many = false) {
    const image = el('img', { src: dataOf(m), alt: name, loading: many && 'lazy', decoding: 'async',
      load: () => {
        image.classList.toggle('small', Math.max(image.naturalWidth, image.naturalHeight) <= pixelated);
        if (canvas) this.mark(canvas);
      } });
    const canvas = m.marks && el('canvas', { class: 'over', 'aria-hidden': 'true' });
    if (canvas) this.marked.set(canvas, { image, marks: m.marks });
    const root = el('a', { class: 'item', href: dataOf(m), title: m.name, click: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const report = async () => {
        const { openReportDialog } = await import('./reportdialog.js');
        const { experiment } = this.media;
        openReportDialog({ kind: 'image', experiment, artifact: m.id, caption: name }, { name });
      };
      openImageDialog(image, {
        caption: m.caption,
        cover: canvas && ((large, at) => this.marks.drawMarks(at, large, this.legend.on(m.marks))),
        report,
        neighbour: (by) => {
          const all = [...this.grid.querySelectorAll('a.item')];
          return all[all.indexOf(root) + by];
        },
      });
    } }, el('span', { class: 'pictured' }, image, canvas), captionOf(m));
    return { id: m.id, root, marked: Boolean(canvas), caption: m.caption };
  }

  /** table returns a table with a column for each step and a row for each run. */
  table(runs) {
    const all = this.steps();
    const steps = sample(all, mostColumns);
    const like = `${this.like} ${steps} ${[...this.byRun.values()].flat().length}`;
    if (this.tabled?.like === like) return this.tabled.root;
    const several = this.media.runs().length > 1;
    const at = (run, step) =>
      this.byRun
        .get(run.id)
        .filter((m) => m.step === step)
        .sort((a, b) => a.place - b.place)
        .map((m) =>
          this.kind === 'image'
            ? this.image(m, this.name(m, run), true).root
            : el('a', { class: 'open', href: new URL(`artifact/${m.id}`, base) }, 'Open')
        );
    const cells = (run) =>
      steps.map((step) => {
        const all = at(run, step);
        return el('td', {}, all.length > 1 ? el('div', { class: 'several' }, ...all) : all[0]);
      });
    const root = el(
      'div',
      {
        class: 'across',
        tabindex: 0,
        role: 'region',
        'aria-label': `${this.key}, all steps`,
        'data-testid': 'media-steps',
      },
      el(
        'table',
        {},
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            several && el('th', { scope: 'col' }, 'Run'),
            ...steps.map((s) => el('th', { scope: 'col' }, `Step ${count(s)}`))
          )
        ),
        el(
          'tbody',
          {},
          ...runs.map((run) => el('tr', {}, several && el('th', { scope: 'row' }, this.title(run)), ...cells(run)))
        )
      ),
      steps.length < all.length && el('p', { class: 'count' }, `${count(steps.length)} of ${count(all.length)} steps`)
    );
    this.tabled = { like, root };
    return root;
  }

  heat(run, step) {
    let cell = this.cells.get(run.id);
    if (!cell) {
      cell = { drawn: heatmap(this.byRun.get(run.id), `${this.key}, ${run.name}`, (to) => this.media.choose(to)) };
      cell.root = el(
        'figure',
        { class: 'media-cell', 'data-run': run.id, 'data-testid': 'media-cell' },
        el('figcaption', {}, this.title(run)),
        cell.drawn.root
      );
      this.cells.set(run.id, cell);
    }
    cell.drawn.mark(this.media.steps.length > 1 && Number.isFinite(step) ? step : null);
    return cell.root;
  }
}

/** captionOf returns the caption of a medium, or null if it has none. */
const captionOf = (m) =>
  m.caption ? el('span', { class: 'said', 'data-testid': 'caption' }, isolated(m.caption)) : null;

/** openLink returns a link to the page of an artifact. The artifact can be downloaded from that page. */
const openLink = (m) => el('a', { class: 'open', href: new URL(`artifact/${m.id}`, base), title: m.name }, 'Open');

// made maps each kind of medium, except images, to a function that returns its element.
const made = {
  audio: (m, name) => [
    el('audio', { controls: true, preload: 'none', src: dataOf(m), 'aria-label': name }),
    openLink(m),
  ],
  video: (m, name) => [
    el('video', { controls: true, preload: 'metadata', src: dataOf(m), 'aria-label': name }),
    openLink(m),
  ],
  html: (m, name) => [
    el('iframe', { sandbox: 'allow-scripts', loading: 'lazy', src: dataOf(m, 'frame'), title: name }),
    openLink(m),
  ],
  table: (m, name, group) => [preview(m), openLink(m), ...group.tableLinks(m)],
  text: (m) => [preview(m), openLink(m)],
};

/** preview returns an element that shows the preview from the artifact's page. */
function preview(m) {
  const box = el('div', { class: 'preview' }, 'Loading…');
  fetchSignedIn(new URL(`artifact/${m.id}`, base), {
    headers: { 'HX-Request': 'true', 'HX-Target': `div#artifact-${m.id}`, 'HX-Current-URL': location.href },
  })
    .then((answer) => answer.text())
    .then((text) => { // HTML from the artifact's page
      const preview = new DOMParser().parseFromString(text, 'text/html').querySelector('[data-testid="preview"]');
      box.replaceChildren(preview ? document.adoptNode(preview) : 'No preview is available.');
    })
    .catch((error) => { box.textContent = error.message; });
  return box;
}
