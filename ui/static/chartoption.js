// Options of individual charts. In the address, each chart with options has a line: the chart's metric and
// name=value parts, separated by tabs.

/** axisScales are the scales of the axes of a chart. */
export const axisScales = ['linear', 'log'];

/** chartSizes are the sizes of a chart with their names. */
export const chartSizes = [['', 'Small'], ['medium', 'Medium'], ['wide', 'Wide'], ['large', 'Large']];

/**
 * parseChartOptions returns the options of individual charts by metric. x and y are scales, low and high are
 * the range of the Y axis, smooth is a weight, size is one of chartSizes, and others lists additional metrics in the
 * chart. A missing option means that the chart uses the setting for all charts.
 * @param {string} text
 * @returns {Map<string, Object>}
 */
export function parseChartOptions(text) {
  const all = new Map();
  for (const line of text.split('\n')) {
    const [key, ...parts] = line.split('\t');
    const o = { others: [] };
    for (const part of parts) {
      const at = part.indexOf('=');
      const [name, value] = [part.slice(0, at), part.slice(at + 1)];
      if ((name === 'x' || name === 'y') && axisScales.includes(value)) o[name] = value;
      else if (name === 'smooth' && value >= 0 && value < 1) o.smooth = Number(value);
      else if (name === 'size' && value && chartSizes.some(([size]) => size === value)) o.size = value;
      else if (name === 'with' && value !== key) o.others.push(value);
      else if (name === 'range') Object.assign(o, range(value));
    }
    if (key && (o.others.length > 0 || Object.keys(o).length > 1)) all.set(key, o);
  }
  return all;
}

function range(text) {
  const [low, high] = text.split('~').map(Number.parseFloat);
  return Number.isFinite(low) && Number.isFinite(high) && low < high ? { low, high } : {};
}

/** formatChartOptions is the inverse of parseChartOptions. */
export function formatChartOptions(all) {
  const lines = [];
  for (const [key, o] of all) {
    const parts = [
      o.x && `x=${o.x}`,
      o.y && `y=${o.y}`,
      o.low != null && `range=${o.low}~${o.high}`,
      o.smooth != null && `smooth=${o.smooth}`,
      o.size && `size=${o.size}`,
      ...o.others.map((other) => `with=${other}`),
    ].filter(Boolean);
    if (parts.length > 0) lines.push([key, ...parts].join('\t'));
  }
  return lines.join('\n');
}

/**
 * changeChartOptions returns text with changed options for one chart. null resets an option.
 * @param {string} text
 * @param {string} key metric of the chart
 * @param {Object} changes
 * @returns {?string} null if no chart has options
 */
export function changeChartOptions(text, key, changes) {
  const all = parseChartOptions(text);
  all.set(key, { others: [], ...all.get(key), ...changes });
  return formatChartOptions(all) || null;
}
