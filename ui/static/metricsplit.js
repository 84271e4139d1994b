// Metrics that differ only in the data that they were measured on.

const splitPattern = /(^|[/_.-])(train|training|val|valid|validation|test|eval|dev)(?=$|[/_.-])/i;

// pairs returns, by the first of each set of metrics whose names differ only by train, val
// and the like, the others of the set.
export function groupBySplit(names) {
  const alike = new Map();
  for (const name of names) {
    if (!splitPattern.test(name)) continue;
    const like = name.replace(splitPattern, '$1*');
    alike.set(like, [...(alike.get(like) || []), name]);
  }
  return new Map([...alike.values()].filter((all) => all.length > 1).map(([first, ...others]) => [first, others]));
}
