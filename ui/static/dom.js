// Making elements. Text is always set as text.

// el makes an element; attributes that are functions listen, those that are
// false or null are left out.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (typeof value === 'function') e.addEventListener(key, value);
    else e.setAttribute(key, value === true ? '' : value);
  }
  e.append(...children.filter((c) => c !== '' && c != null && c !== false));
  return e;
}

// isolated returns an element for text of a user, which may run from right to
// left.
export const isolated = (text, cls) => el('bdi', { class: cls }, text);

// save makes the browser save a file.
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  el('a', { href: url, download: name.replaceAll(/[^\w.-]+/g, '_') }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
