// Creating and arranging elements.

/**
 * el returns a new element. Attributes that are functions become event listeners. Attributes that are false or
 * null are omitted. Children that are strings are inserted as text, never as HTML.
 * @param {string} name tag name
 * @param {Object<string, *>} attributes
 * @param {...(Node|string|null|false)} children
 * @returns {HTMLElement}
 */
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

/** isolated returns an element with a user's text, isolated because its direction might be right to left. */
export const isolated = (text, cls) => el('bdi', { class: cls }, text);

/**
 * saveFile makes the browser download a file.
 * @param {Blob} blob
 * @param {string} name file name; unsafe characters are replaced
 */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  el('a', { href: url, download: name.replaceAll(/[^\w.-]+/g, '_') }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * setChildren makes wanted the children of parent. Elements that are already children are reused. If the child with the
 * focus is removed, it is removed last: the browser computes the layout when the focus is lost, and would scroll if
 * parent had fewer children at that time.
 * @param {Element} parent
 * @param {Element[]} wanted
 * @param {Element|null} focused the child that has the focus
 */
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
