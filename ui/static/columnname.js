// Names of columns in the filter language: param.lr, metric.val/loss.min, metric.`two words`.

export const statistics = ['last', 'min', 'max', 'mean', 'count'];

const bareName = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const statisticSuffix = /\.(last|min|max|mean|count)$/i;
const columnPattern = new RegExp(
  '\\s*(param|metric|summary)\\.(?:`((?:[^`]|``)+)`|([A-Za-z_][A-Za-z0-9_./-]*))' +
    '(?:\\.(last|min|max|mean|count))?\\s*(?:,|$)',
  'iy'
);

/**
 * parseColumns parses a list of columns such as "param.lr, metric.loss.min". It stops at the first invalid
 * name.
 * @param {string} text
 * @returns {{kind: string, key: string, stat: string}[]}
 */
export function parseColumns(text) {
  const columns = [];
  columnPattern.lastIndex = 0;
  while (columnPattern.lastIndex < text.length) {
    const m = columnPattern.exec(text);
    if (!m) break;
    const kind = m[1].toLowerCase();
    let key = m[2] ? m[2].replaceAll('``', '`') : m[3];
    let stat = (m[4] || '').toLowerCase();
    if (m[3] && kind === 'metric') {
      const found = statisticSuffix.exec(key);
      if (found) [key, stat] = [key.slice(0, found.index), found[1].toLowerCase()];
    }
    columns.push({ kind, key, stat: stat === 'last' ? '' : stat });
  }
  return columns;
}

/** formatColumn returns the name of a column. It is the inverse of parseColumns. */
export function formatColumn({ kind, key, stat }) {
  const plain = bareName.test(key) && !(kind === 'metric' && statisticSuffix.test(key));
  return `${kind}.${plain ? key : `\`${key.replaceAll('`', '``')}\``}${stat ? `.${stat}` : ''}`;
}

/** kindNames holds the words for the kinds of columns. */
export const kindNames = { param: 'parameter', metric: 'metric', summary: 'text of the summary' };

/** ownValue returns object[key] if key is an own property. A metric can be called "constructor". */
export const ownValue = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);

/** columnValue returns a run's value in a column, or undefined if the run has none. */
export function columnValue(run, { kind, key, stat }) {
  if (kind === 'param') return ownValue(run.params, key);
  if (kind === 'summary') return ownValue(run.summary, key);
  if (stat) return ownValue(run.metrics, `${key}.${stat}`);
  return ownValue(run.metrics, statisticSuffix.test(key) ? `\`${key.replaceAll('`', '``')}\`` : key);
}
