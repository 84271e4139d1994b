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
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  el('a', { href: url, download: name.replaceAll(/[^\w.-]+/g, '_') }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// put makes the wanted elements the children of another one. A child that has the focus is removed last:
// the browser lays the page out when the focus is lost, and with fewer children it would scroll.
export function setChildren(parent, wanted, focused) {
  const gone = [...parent.children].filter((child) => !wanted.includes(child));
  for (const child of gone) if (child !== focused) child.remove();
  let at = parent.firstElementChild;
  for (const child of wanted) {
    if (at === focused && gone.includes(at)) at = at.nextElementSibling;
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  if (gone.includes(focused)) focused.remove();
}
