// Columns in the language of searches: param.lr, metric.val/loss.min,
// metric.`two words`.

export const statistics = ['last', 'min', 'max', 'mean', 'count'];

const bareName = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const statisticSuffix = /\.(last|min|max|mean|count)$/i;
const columnPattern = /\s*(param|metric)\.(?:`((?:[^`]|``)+)`|([A-Za-z_][A-Za-z0-9_./-]*))(?:\.(last|min|max|mean|count))?\s*(?:,|$)/iy;

// parse reads a list of columns; what can't be read ends it.
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

// write returns the name of a column.
export function formatColumn({ kind, key, stat }) {
  const plain = bareName.test(key) && !(kind === 'metric' && statisticSuffix.test(key));
  return `${kind}.${plain ? key : `\`${key.replaceAll('`', '``')}\``}${stat ? `.${stat}` : ''}`;
}

// own returns the value of an object under a key that a user chose: a metric
// may be called "constructor".
export const ownValue = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);

// value returns the value of a run in a column.
export function columnValue(run, { kind, key, stat }) {
  if (kind === 'param') return ownValue(run.params, key);
  if (stat) return ownValue(run.metrics, `${key}.${stat}`);
  return ownValue(run.metrics, statisticSuffix.test(key) ? `\`${key.replaceAll('`', '``')}\`` : key);
}
