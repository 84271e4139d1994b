// Colours of curves. Every run has a colour of its own, the same on all pages; of
// runs that are drawn together, some get another one if theirs is taken.

export const paletteSize = 12;

// chosen reads the colours that were set for runs, by id, from words like id.3.
export const parseColors = (words) => new Map(words.map((word) => [word.slice(0, word.lastIndexOf('.')), Number(word.slice(word.lastIndexOf('.') + 1))])
  .filter(([, color]) => Number.isInteger(color) && color >= 0 && color < paletteSize));

// distinct returns the colours of runs by id. No colour is used twice before all are
// in use, except those in fixed. A run keeps its colour in before.
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
