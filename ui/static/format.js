// How numbers and times are written.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = (n) => plain.format(n);

// number writes a value that may be one of the strings for what JSON has no
// number for.
export function number(v) {
  if (v == null) return '';
  if (typeof v === 'string') return v;
  if (Number.isInteger(v) && Math.abs(v) < 1e7) return String(v);
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return v.toExponential(3).replace(/\.?0*e\+?/, 'e');
  return String(Number(v.toPrecision(5)));
}

// double reads what number takes.
export const double = (v) => (typeof v === 'string' ? Number(v) : v);

const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];

// duration writes seconds in the two largest units.
export function duration(seconds) {
  const s = Math.round(Math.abs(seconds));
  const at = Math.max(0, units.findIndex(([, size]) => s >= size));
  if (s < 1) return seconds > 0 ? `${Number(seconds.toPrecision(2))}s` : '0s';
  const [name, size] = units[at];
  let text = `${Math.floor(s / size)}${name}`;
  const next = units[at + 1];
  const rest = next ? Math.floor((s % size) / next[1]) : 0;
  if (rest > 0) text += ` ${rest}${next[0]}`;
  return seconds < 0 ? `-${text}` : text;
}

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const spans = [['year', 31536000], ['month', 2592000], ['day', 86400], ['hour', 3600], ['minute', 60]];

// ago writes how long ago a Unix millisecond is.
export function ago(ms) {
  const s = (ms - Date.now()) / 1000;
  for (const [unit, size] of spans) {
    if (Math.abs(s) >= size) return words.format(Math.trunc(s / size), unit);
  }
  return 'just now';
}

export const exact = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

// bytes writes a size as the server does.
export function bytes(n) {
  const at = n < 1 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log2(n) / 10));
  const value = n / 1024 ** at;
  return `${at > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${sizes[at]}`;
}
