// Arithmetic on curves.

/**
 * smooth returns the exponential moving average of a curve, with the bias correction of Adam (Kingma and Ba
 * 2015). weight is the share of the previous average in each point's average. For curves with more than 1,000
 * points, weight applies to each thousandth of the length. A position that represents several points counts as that
 * many points, which are assumed to be on a line from the previous position. Values that are not finite are skipped and
 * stay unchanged.
 * @param {Object} c curve; c.before has the points to the left
 * @param {number} weight from 0 to 1
 * @returns {number[]}
 */
export function smooth(c, weight) {
  if (!(weight > 0)) return c.y;
  const keep = weight ** Math.min(1, 1000 / c.total);
  let [mean, size, last] = [0, 0, null];
  const pass = ({ y, count, behind, n }) => {
    const each = count / (n ? n.reduce((a, b) => a + b, 0) : y.length); // average, if counts are unknown
    return y.map((v, i) => {
      if (!Number.isFinite(v)) return v;
      const points = behind?.[i] ?? each;
      const left = keep ** points;
      last ??= v;
      // This is the sum of (1 - keep) keep^(points - k) (last + (v - last) k / points) over k from 1 to points.
      mean = mean * left + last * (1 - left) + (v - last) * (1 - (keep * (1 - left)) / (points * (1 - keep)));
      size = size * left + 1 - left;
      last = v;
      return mean / size;
    });
  };
  if (c.before) pass(c.before);
  return pass(c);
}

/**
 * nearestIndex returns the index of the value nearest to x.
 * @param {number[]} values
 * @param {number} x
 * @param {boolean} [ascending] whether values are in ascending order
 * @returns {number}
 */
export function nearestIndex(values, x, ascending = true) {
  if (!ascending) return values.reduce((best, v, i) => (Math.abs(v - x) < Math.abs(values[best] - x) ? i : best), 0);
  let low = 0;
  let high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle;
    else high = middle;
  }
  return high > low && Math.abs(values[high] - x) < Math.abs(values[low] - x) ? high : low;
}

/**
 * hasValueAt reports whether a curve has a value at x. This is the case if x is between the first and the last value,
 * or outside by no more than the distance between two values. A run that ended long before x has no value at x.
 */
export function hasValueAt(values, x, ascending = true) {
  if (values.length < 2) return values.length === 1;
  if (!ascending) return values.some((v) => v >= x) && values.some((v) => v <= x);
  const last = values.length - 1;
  return x >= values[0] - (values[1] - values[0]) && x <= values[last] + (values[last] - values[last - 1]);
}

/**
 * valueRange returns the smallest and the largest value of curves between from and to, or null if there is no
 * value. If trim is set, the lowest and the highest five percent are ignored.
 */
export function valueRange(curves, from, to, { trim, positive }) {
  const all = [];
  const take = (v) => {
    if (Number.isFinite(v) && (!positive || v > 0)) all.push(v);
  };
  for (const c of curves) {
    for (let i = 0; i < c.x.length; i += 1) {
      if (c.x[i] < from || c.x[i] > to) continue;
      take(c.y[i]);
      if (c.line !== c.y) take(c.line[i]);
      if (trim || !c.low) continue;
      take(c.low[i]);
      take(c.high[i]);
    }
  }
  if (all.length === 0) return null;
  if (!trim) return minMax(all);
  all.sort((a, b) => a - b);
  const cut = Math.floor(all.length / 20);
  return [all[cut], all[all.length - 1 - cut]];
}

const minMax = (values) => values.reduce(([a, b], v) => [v < a ? v : a, v > b ? v : b], [values[0], values[0]]);

const outlierRatio = 10; // times

/**
 * usualRange returns a range in which most curves of a metric are readable. The minimum or maximum of a curve is an
 * outlier if it is more than ten times as far from 0 as three quarters of the curves. Outliers are excluded if the
 * other curves would otherwise use less than a tenth of the height. Outliers that are better than the other values are
 * not excluded. outlier.go implements the same function.
 * @param {number[][]} spans smallest and largest value of each curve
 * @param {string} better 'smaller', 'larger' or ''
 * @returns {number[]}
 */
export function usualRange(spans, better) {
  const all = minMax(spans.flat());
  if (spans.length < 3) return all;
  const reach = spans.map(([low, high]) => Math.max(-low, high)).sort((a, b) => b - a);
  const bound = outlierRatio * reach[Math.max(1, spans.length >> 2)];
  const most = minMax(
    spans.flatMap(([low, high]) => [
      ...(better === 'smaller' || low >= -bound ? [low] : []),
      ...(better === 'larger' || high <= bound ? [high] : []),
    ])
  );
  const height = most[1] - most[0];
  return height > 0 && height < (all[1] - all[0]) / outlierRatio ? most : all;
}

/**
 * visibleRange returns the range of values to show between two positions on the X axis, and the number of runs
 * that exceed the range. It returns null if there is nothing to show. A logarithmic range contains all values.
 * @param {Object[]} curves
 * @param {number} from
 * @param {number} to
 * @param {Object} options
 * @param {string} options.outliers 'ignore' excludes the outermost five percent of all points, 'show' excludes
 *   no points
 * @param {boolean} options.positive whether only positive values count
 * @returns {?{range: number[], beyond: number}}
 */
export function visibleRange(curves, from, to, { outliers, positive }) {
  if (outliers || positive) {
    const range = valueRange(curves, from, to, { trim: outliers === 'ignore', positive });
    return range && { range, beyond: 0 };
  }
  const known = curves
    .map((c) => ({ id: c.id, key: c.key, better: c.better, ends: valueRange([c], from, to, {}) }))
    .filter((c) => c.ends);
  if (known.length === 0) return null;
  const metrics = Map.groupBy(known, (c) => c.key);
  const range = minMax([...metrics.values()].flatMap((some) => usualRange(some.map((c) => c.ends), some[0].better)));
  const out = known.filter(({ ends: [low, high] }) => low < range[0] || high > range[1]);
  return { range, beyond: new Set(out.map((c) => c.id)).size };
}

/** padRange returns a range that is extended by some space at both ends. */
export function padRange([low, high], log) {
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const space = high === low ? Math.abs(low) * 0.1 || 1 : (high - low) * 0.05;
  return [low - space, high + space];
}

/** roundTicks returns about n multiples of 1, 2 or 5 times a power of ten in a range. */
export function roundTicks(low, high, n) {
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const all = [];
  for (let i = Math.ceil(low / step); i * step <= high && all.length < 2 * n; i += 1)
    all.push(Number((i * step).toPrecision(12)));
  return all;
}

/** needsOwnTicks reports whether a range is too large or too small for uPlot's labels. */
export const needsOwnTicks = ([low, high], log) =>
  Math.max(Math.abs(low), Math.abs(high)) > 1e30 || (log ? low : high - low) < 1e-30;

/** extremeTicks returns about five labelled values for an axis for which needsOwnTicks returns true. */
export function extremeTicks(low, high, log) {
  if (!log) return roundTicks(low, high, 4);
  const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
  if (last - first < 1) return roundTicks(low, high, 4);
  const every = Math.ceil((last - first) / 5);
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, i) => Number(`1e${first + i * every}`));
}
