// Colours of curves. A run has the same colour on all pages. If another drawn run has the same colour, one of
// the two gets a different colour.

/** paletteSize is the number of curve colours. workbench.css defines them. */
export const paletteSize = 12;

/**
 * parseColors returns the colours that users have set for runs, by run id.
 * @param {string[]} words such as id.3
 * @returns {Map<string, number>}
 */
export const parseColors = (words) =>
  new Map(
    words
      .map((word) => [word.slice(0, word.lastIndexOf('.')), Number(word.slice(word.lastIndexOf('.') + 1))])
      .filter(([, color]) => Number.isInteger(color) && color >= 0 && color < paletteSize)
  );

/**
 * assignColors returns the colours of runs by id. Colours in fixed can be used for several runs. No other
 * colour is used twice before all colours are in use. If possible, a run keeps its colour from before.
 * @param {{id: string, color: number}[]} runs
 * @param {Map<string, number>} [before]
 * @param {Map<string, number>} [fixed]
 * @returns {Map<string, number>}
 */
export function assignColors(runs, before = new Map(), fixed = new Map()) {
  const used = Array(paletteSize).fill(0);
  const colors = new Map();
  const take = (run, wish) => {
    const least = Math.min(...used);
    let color = wish;
    while (used[color] > least) color = (color + 1) % paletteSize;
    used[color] += 1;
    colors.set(run.id, color);
  };
  for (const { id } of runs) {
    if (!fixed.has(id)) continue;
    used[fixed.get(id)] += 1;
    colors.set(id, fixed.get(id));
  }
  const others = runs.filter((run) => !fixed.has(run.id));
  for (const run of others) if (before.has(run.id)) take(run, before.get(run.id));
  for (const run of others) if (!before.has(run.id)) take(run, run.color);
  return colors;
}

const [solidRuns, mostDashed] = [8, 32];

/**
 * runDash returns the line style of the run at a place among n drawn runs. The first eight are solid, because their
 * colours suffice. Beyond 32 runs, dashes would not help.
 */
export const runDash = (place, n) => (n > mostDashed ? 0 : Math.floor(place / solidRuns));

/** dashClass returns the class of a run's dot in legends. */
export const dashClass = (dash) => (dash ? ` dash-${dash}` : '');
