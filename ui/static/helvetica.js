// Widths of texts in Helvetica. Arial and Liberation Sans have equal widths.

// Widths of the characters from space to tilde, in thousandths of the font size. They are part of the PDF standard.
const widths = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
  556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
  722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
  278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
  556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
const [other, wide] = [556, 1000];

/** fontFamily is the font of figures for print. */
export const fontFamily = 'Helvetica, Arial, "Liberation Sans", sans-serif';

/** textWidth returns the approximate width of a text for a font size. It is exact for ASCII. */
export function textWidth(text, size) {
  let sum = 0;
  for (const c of text) {
    const code = c.codePointAt(0);
    sum += widths[code - 32] ?? (code < 0x1100 ? other : wide);
  }
  return (sum * size) / 1000;
}

/** fitText returns a text that is shortened to a width. */
export function fitText(text, size, width) {
  if (textWidth(text, size) <= width) return text;
  const all = [...text];
  while (all.length > 0 && textWidth(`${all.join('')}…`, size) > width) all.pop();
  return `${all.join('')}…`;
}
