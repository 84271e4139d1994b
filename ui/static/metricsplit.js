// Metrics that differ only in the data split they were measured on.

const splitPattern = /(^|[/_.-])(train|training|val|valid|validation|test|eval|dev)(?=$|[/_.-])/i;

/**
 * groupBySplit finds metrics whose names differ only by train, val, test and the like.
 * @param {string[]} names
 * @returns {Map<string, string[]>} the other metrics of each group by the first one
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
