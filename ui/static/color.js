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
 * assignColors returns the colours of runs by id. Colours in fixed can be used for several runs. No other colour is
 * used twice before all colours are in use. If possible, a run keeps the colour that it has in before.
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

// Pairs of colours that people with red-green colour blindness can confuse: less than 0.08 apart in OKLab, in the
// simulation of protanopia or deuteranopia by Machado, Oliveira and Fernandes (2009).
const alike = new Set(['1 7', '2 8', '3 9', '4 10', '5 9', '5 10']);
const confused = (a, b) => a === b || alike.has(`${Math.min(a, b)} ${Math.max(a, b)}`);

const [solidRuns, mostDashed, styles] = [8, 32, 4];

/**
 * runDashes returns the line styles of drawn runs. A run whose colour can be confused with an earlier run's colour has
 * a different style. Of the others, the first eight are solid. Beyond 32 runs, dashes would not help.
 * @param {number[]} colors colours of the drawn runs
 * @returns {number[]}
 */
export function runDashes(colors) {
  if (colors.length > mostDashed) return colors.map(() => 0);
  const dashes = [];
  for (const [i, color] of colors.entries()) {
    const taken = new Set(dashes.filter((_, earlier) => confused(colors[earlier], color)));
    let dash = Math.floor(i / solidRuns);
    for (let n = 1; n < styles && taken.has(dash); n += 1) dash = (dash + 1) % styles;
    dashes.push(dash);
  }
  return dashes;
}

/** dashClass returns the class of a run's dot in legends. */
export const dashClass = (dash) => (dash ? ` dash-${dash}` : '');
