// Draws a logged Vega or Vega-Lite chart in a frame with its own origin. Expressions are interpreted,
// because the content security policy forbids eval. The chart loads no files.
const { vega, vegaLite } = window;
const note = document.getElementById('note');
const source = document.getElementById('spec');

let refused = 0;

/** refuse rejects the URL of data, a map or another file. */
const refuse = async () => {
  refused++;
  throw new Error('Charts load no files.');
};

/** sanitize accepts only images that the chart contains. */
const sanitize = async (uri) => (/^data:image\/(png|jpeg|gif|webp);/.test(uri) ? { href: uri } : refuse());

async function draw() {
  let spec = JSON.parse(source.textContent);
  const logger = vega.logger(vega.None);
  if (source.dataset.language === 'vega-lite') spec = vegaLite.compile(spec, { logger }).spec;
  const view = new vega.View(vega.parse(spec, null, { ast: true }), {
    expr: vega.expressionInterpreter,
    loader: { load: refuse, http: refuse, file: refuse, sanitize },
    logger,
    renderer: 'svg',
    container: '#chart',
    hover: true,
  });
  await view.runAsync();
}

document.documentElement.style.font = '14px/20px system-ui, sans-serif';
draw()
  .then(() => {
    if (refused)
      note.textContent =
        'The chart refers to files or links, which are not loaded. Log a chart that contains its data.';
  })
  .catch((error) => {
    note.textContent = `This chart can't be drawn: ${error.message}`;
  })
  .finally(() => {
    document.body.dataset.ready = 'yes';
  });
