// How numbers and times are written.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = (n) => plain.format(n);

// number writes a value, which may be one of the strings for what JSON has no
// number for, to five significant digits, or in full where it is whole and
// below ten million. number.go does the same.
export function number(v) {
  if (v == null) return '';
  const size = Math.abs(v);
  if (!Number.isFinite(v) || (Number.isInteger(v) && size < 1e7)) return String(v);
  if (size < 1e-4 || size >= 1e7) return v.toExponential(4).replace(/\.?0*e\+?/, 'e');
  return String(Number(v.toPrecision(5)));
}

// double reads what number takes.
export const double = (v) => (typeof v === 'string' ? Number(v) : v);

const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];

// duration writes seconds in the two largest units, or to two digits where they
// are fewer than ten.
export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size < 10) return `${Number(seconds.toPrecision(2))}s`;
  const s = Math.round(size);
  const at = units.findIndex(([, of]) => s >= of);
  const [name, of] = units[at];
  const [smaller, part] = units[at + 1] ?? ['', s + 1];
  const rest = Math.floor((s % of) / part);
  return `${seconds < 0 ? '-' : ''}${Math.floor(s / of)}${name}${rest > 0 ? ` ${rest}${smaller}` : ''}`;
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
