// Metrics that differ only in the data split on which they were measured.

const splitPattern = /(^|[/_.-])(train|training|val|valid|validation|test|eval|dev)(?=$|[/_.-])/i;

/**
 * groupBySplit finds metrics whose names differ only by a data split such as train, val or test.
 * @param {string[]} names
 * @returns {Map<string, string[]>} groups of metrics: the first metric of a group, and its other metrics
 */
export function groupBySplit(names) {
  const alike = new Map();
  for (const name of names) {
    if (!splitPattern.test(name)) continue;
    const like = name.replace(splitPattern, '$1*');
    alike.set(like, [...(alike.get(like) || []), name]);
  }
  return new Map([...alike.values()].filter((all) => all.length > 1).map(([first, ...others]) => [first, others]));
}
