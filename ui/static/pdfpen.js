// Drawing figures for print as PDF (ISO 32000), with vector lines and the standard font Helvetica.
import { el } from './dom.js';
import { fontFamily, textWidth } from './helvetica.js';

const pixelsPerPoint = 10; // of texts that the font does not have
const ascent = 1; // height of such texts above the base line, in font sizes
const descent = 0.35;

/** winAnsi maps characters outside of Latin-1 to their codes in the encoding WinAnsi. */
const winAnsi = new Map([...'€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ'].map((c, i) => [
  c,
  [0x80, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8e, 0x91, 0x92, 0x93, 0x94, 0x95,
    0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9e, 0x9f][i],
]));

/** encode returns a text as a hexadecimal string of PDF, or null if the font lacks a character. */
export function encode(text) {
  let hex = '';
  for (const c of text) {
    const code = c.codePointAt(0);
    const byte = winAnsi.get(c) ?? ((code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff) ? code : null);
    if (byte === null) return null;
    hex += byte.toString(16).padStart(2, '0');
  }
  return `<${hex}>`;
}

const short = (v) => String(Number(v.toFixed(3)));

/** channels returns a CSS colour such as rgb(1, 2, 3) as numbers from 0 to 1. */
function channels(color) {
  if (color.startsWith('#')) return [1, 3, 5].map((i) => Number.parseInt(color.slice(i, i + 2), 16) / 255);
  return (color.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map((v) => Number(v) / 255);
}

const latin1 = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));

/** deflate compresses bytes for the filter FlateDecode. */
async function deflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** PdfPen has the methods of SvgPen. */
export class PdfPen {
  constructor(width, height) {
    Object.assign(this, { width, height });
    this.commands = [];
    this.alphas = [];
    this.images = [];
  }

  add(...words) {
    this.commands.push(words.map((w) => (typeof w === 'number' ? short(w) : w)).join(' '));
  }

  /** alpha selects an opacity. */
  alpha(value) {
    if (!this.alphas.includes(value)) this.alphas.push(value);
    this.add(`/A${this.alphas.indexOf(value)} gs`);
  }

  path(points) {
    points.forEach(([x, y], i) => this.add(x, this.height - y, i ? 'l' : 'm'));
  }

  clip(x, y, width, height, draw) {
    this.add('q', x, this.height - y - height, width, height, 're W n');
    draw();
    this.add('Q');
  }

  line(points, { color, width, dash = [], alpha = 1 }) {
    if (points.length < 2) return;
    this.alpha(alpha);
    this.add(...channels(color), 'RG', width, 'w', 1, 'j', `[${dash.map(short).join(' ')}] 0 d`);
    this.path(points);
    this.add('S');
  }

  area(points, { color, alpha = 1 }) {
    if (points.length < 3) return;
    this.alpha(alpha);
    this.add(...channels(color), 'rg');
    this.path(points);
    this.add('h f');
  }

  dots(points, { color, radius, alpha = 1 }) {
    if (points.length === 0) return;
    this.alpha(alpha);
    this.add(...channels(color), 'RG', 2 * radius, 'w', 1, 'J [] 0 d');
    // A line of no length with round ends is a dot.
    for (const [x, y] of points) this.add(x, this.height - y, 'm', x, this.height - y, 'l');
    this.add('S', 0, 'J');
  }

  text(x, y, text, { size, color, anchor = 'start', up = false }) {
    this.alpha(1);
    this.add(...channels(color), 'rg');
    const code = encode(text);
    const picture = code === null && this.picture(text, size);
    const width = picture ? picture.width / pixelsPerPoint : textWidth(text, size);
    const back = { start: 0, middle: width / 2, end: width }[anchor];
    const [cos, sin] = up ? [0, 1] : [1, 0];
    const [left, base] = [x - back * cos, this.height - y - back * sin];
    if (!picture) {
      this.add('BT /F1', size, 'Tf', cos, sin, -sin, cos, left, base, 'Tm', code, 'Tj ET');
      return;
    }
    const [w, h, below] = [picture.width / pixelsPerPoint, picture.height / pixelsPerPoint, descent * size];
    this.add('q', w * cos, w * sin, -h * sin, h * cos, left + below * sin, base - below * cos, 'cm');
    this.add(`/I${this.images.indexOf(picture)} Do Q`);
  }

  /** picture returns a text as a mask, for characters that the font lacks. */
  picture(text, size) {
    const font = `${size * pixelsPerPoint}px ${fontFamily}`;
    const ctx = el('canvas').getContext('2d', { willReadFrequently: true });
    ctx.font = font;
    const width = Math.max(8, Math.ceil(ctx.measureText(text).width / 8) * 8);
    const height = Math.ceil((ascent + descent) * size * pixelsPerPoint);
    Object.assign(ctx.canvas, { width, height });
    ctx.font = font;
    ctx.fillText(text, 0, ascent * size * pixelsPerPoint);
    const { data } = ctx.getImageData(0, 0, width, height);
    const bits = new Uint8Array((width / 8) * height).fill(255);
    for (let i = 0; i < width * height; i += 1) if (data[4 * i + 3] > 127) bits[i >> 3] &= ~(128 >> (i & 7));
    const image = { width, height, bits };
    this.images.push(image);
    return image;
  }

  async blob() {
    const parts = [];
    const offsets = [];
    let length = 0;
    const put = (bytes) => {
      parts.push(bytes);
      length += bytes.length;
    };
    const object = (dictionary, stream) => {
      offsets.push(length);
      put(latin1(`${offsets.length} 0 obj\n${dictionary}\n`));
      if (stream) {
        put(latin1('stream\n'));
        put(stream);
        put(latin1('\nendstream\n'));
      }
      put(latin1('endobj\n'));
    };
    const first = 6; // number of the first image
    const images = this.images.map((_, i) => `/I${i} ${first + i} 0 R`).join(' ');
    const alphas = this.alphas.map((a, i) => `/A${i} << /CA ${short(a)} /ca ${short(a)} >>`).join(' ');
    put(latin1('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n'));
    object('<< /Type /Catalog /Pages 2 0 R >>');
    object('<< /Type /Pages /Kids [3 0 R] /Count 1 >>');
    object(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${short(this.width)} ${short(this.height)}] /Contents 4 0 R ` +
        `/Resources << /Font << /F1 5 0 R >> /ExtGState << ${alphas} >> /XObject << ${images} >> >> >>`
    );
    const content = await deflate(latin1(this.commands.join('\n')));
    object(`<< /Length ${content.length} /Filter /FlateDecode >>`, content);
    object('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>');
    for (const { width, height, bits } of this.images) {
      const data = await deflate(bits);
      object(
        `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ImageMask true /BitsPerComponent 1 ` +
          `/Length ${data.length} /Filter /FlateDecode >>`,
        data
      );
    }
    const table = length;
    const rows = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
    put(latin1(`xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${rows}`));
    put(latin1(`trailer\n<< /Size ${offsets.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`));
    return new Blob(parts, { type: 'application/pdf' });
  }
}
