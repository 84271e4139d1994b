// Printing a page with all of its charts, including charts that were not scrolled to.

const mostCharts = 60;
const longest = 15_000; // milliseconds to wait for curves
const look = 50; // milliseconds between two checks

/** request requests the curves of the first charts, and returns their figures. */
export function request(panel) {
  const figures = [...panel.figures.values()]
    .filter((f) => f.root.closest('details')?.open !== false)
    .slice(0, mostCharts);
  for (const f of figures) {
    f.inSight = true; // until they are printed
    panel.request(f);
  }
  return figures;
}

/** print prints the page after its charts are drawn. */
export async function print(panel) {
  const figures = request(panel);
  const end = performance.now() + longest;
  while (figures.some((f) => f.root.dataset.drawn === undefined) && performance.now() < end)
    await new Promise((done) => { setTimeout(done, look); });
  window.print();
  for (const f of figures) f.inSight = f.visible;
}
