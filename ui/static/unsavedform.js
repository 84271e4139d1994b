// Forms with unsaved input stay when htmx replaces the part of the page that contains them.
import { hasUnsavedInput } from './request.js';

/** formName returns a string that identifies a form on its page. It stays equal when the form is replaced. */
const formName = (form) =>
  [
    form.getAttribute('action'),
    ...[...form.elements]
      .filter((f) => f.name && !f.name.startsWith('was-'))
      .map((f) => (f.type === 'hidden' ? `${f.name}=${f.value}` : f.name)),
  ].join(' ');

let focusedField = null; // the focused field during a request

/**
 * keepForm moves a form with unsaved input into the new part of the page. In a list of artifacts, a form exists
 * only while its artifact is open, so the open artifact is moved.
 */
function keepForm(form, target, next) {
  if (!target.contains(form)) return; // the form was moved together with its artifact
  const opened = form.closest('details.artifact');
  const listed = opened && target.contains(opened);
  const place = listed
    ? [...next.querySelectorAll('details.artifact')].find(
        (d) => d.getAttribute('hx-get') === opened.getAttribute('hx-get')
      )
    : [...next.querySelectorAll('form')].find((f) => formName(f) === formName(form));
  if (!place) return; // the record of the form was removed
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
