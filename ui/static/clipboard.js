// Access to the clipboard.
import { el } from './dom.js';

/**
 * copyText copies text to the clipboard. It also works on pages without TLS, where navigator.clipboard is
 * missing.
 */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  return null;
}
