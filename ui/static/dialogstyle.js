// The styles of the dialogs and of layouts, which pages do not need initially.
import { el } from './dom.js';

document.head.append(
  el('link', { rel: 'stylesheet', href: document.querySelector('meta[name="dialog-styles"]').content })
);
