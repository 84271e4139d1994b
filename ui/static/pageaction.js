// The actions of a page: its buttons, the links that look like buttons, and the links to its subpages.

const actionSelector = 'button, a.button, a[download], summary, main nav a, .tools a, .side > a';
// Controls in these parts belong to a chart, a row or a dialog, not to the page.
const partSelector = 'dialog, table, [role="listbox"], [data-testid="chart"], figure, .chips, .pattern, [hidden], ' +
  'details:not([open]) > form'; // a closed form is opened first
const mostExamined = 500;
const mostOffered = 5;

/** labelOf returns the text of a control on one line, without its keyboard shortcut. */
function labelOf(control) {
  if (control.ariaLabel) return control.ariaLabel.trim();
  const copy = control.cloneNode(true);
  for (const shortcut of copy.querySelectorAll('kbd, svg')) shortcut.remove();
  return copy.textContent.replaceAll(/\s+/g, ' ').replaceAll(/[+▾▸×]/g, '').trim();
}

/** act does what a click on a control does. It opens the menu that contains the control. */
function act(control) {
  for (let menu = control.closest('details'); menu; menu = menu.parentElement?.closest('details')) {
    if (menu.querySelector('summary') !== control) menu.open = true;
  }
  control.scrollIntoView({ block: 'nearest' });
  control.focus();
  if (control.localName === 'summary' && control.parentElement.open) return;
  control.click();
}

/**
 * pageActions reads the actions of the page.
 * @returns {function(string): [Object[], Object[]]} function that returns the actions whose labels begin with a
 * text, and the actions whose labels contain it, at most mostOffered in all
 */
export function pageActions() {
  const all = new Map();
  for (const control of [...document.querySelectorAll(actionSelector)].slice(0, mostExamined)) {
    if (control.disabled || control.closest(partSelector) || control.matches('[data-finds], .skip, .menu')) continue;
    const label = labelOf(control);
    if (label && label.length <= 40 && !all.has(label)) all.set(label, control);
  }
  return (q) => {
    const wanted = q.toLowerCase();
    if (!wanted) return [[], []];
    const match = [...all].filter(([label]) => label.toLowerCase().includes(wanted)).slice(0, mostOffered);
    const hint = (control) => (control.localName === 'a' && !control.matches('.button') ? 'page' : 'action');
    const offer = ([label, control]) => ({ name: label, hint: hint(control), go: () => act(control) });
    const begins = ([label]) => label.toLowerCase().startsWith(wanted);
    return [match.filter(begins).map(offer), match.filter((m) => !begins(m)).map(offer)];
  };
}
