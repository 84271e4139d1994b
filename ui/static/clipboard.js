// The clipboard.
import { el } from './dom.js';

// copy works also where the page did not come over TLS and has no clipboard.
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
