// Forms in which somebody has typed stay when htmx replaces the part of the page that
// they are in.
import { hasUnsavedInput } from './request.js';

// name returns a name that identifies a form of a page, also after it was
// replaced.
const formName = (form) => [form.getAttribute('action'), ...[...form.elements].filter((f) => f.name && !f.name.startsWith('was-'))
  .map((f) => (f.type === 'hidden' ? `${f.name}=${f.value}` : f.name))].join(' ');

let focusedField = null; // the field in which somebody types while a request is under way

// keep puts a form in which somebody has typed into the part that replaces its
// own, with what it was made with. Where the part is a list of artifacts, in which a form
// is only once its artifact is opened, that stays as it is.
function keepForm(form, target, next) {
  if (!target.contains(form)) return; // it stays with its artifact
  const opened = form.closest('details.artifact');
  const listed = opened && target.contains(opened);
  const place = listed ? [...next.querySelectorAll('details.artifact')].find((d) => d.getAttribute('hx-get') === opened.getAttribute('hx-get'))
    : [...next.querySelectorAll('form')].find((f) => formName(f) === formName(form));
  if (!place) return; // its record is gone
  const folded = place.closest('details');
  if (folded) folded.open = form.closest('details').open;
  if (form.contains(document.activeElement)) focusedField = document.activeElement;
  place.replaceWith(listed ? opened : form);
}

document.addEventListener('htmx:before:swap', ({ detail: { ctx, tasks } }) => {
  focusedField = null;
  const { target, fragment } = tasks.find((t) => t.type === 'main' && t.swapSpec.style === 'outerHTML') || {};
  for (const form of target?.querySelectorAll('form[method="post"]') || []) {
    if (form !== ctx.sourceElement && hasUnsavedInput(form)) keepForm(form, target, fragment);
  }
});

document.addEventListener('htmx:after:swap', () => {
  if (!focusedField?.isConnected) return;
  const { selectionStart: start, selectionEnd: end } = focusedField;
  focusedField.focus({ preventScroll: true });
  if (start != null) focusedField.setSelectionRange(start, end);
});
