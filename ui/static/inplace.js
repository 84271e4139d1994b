// Additions to htmx: it shows a message if a change did not reach the server, and keeps the focus and typed text.
import './unsavedform.js';

// An update of the page must not close details, reset the filters of lists or move the focus.
htmx.config.morphIgnore.push('open', 'hidden', 'tabindex');

const problem = document.getElementById('problem');

document.addEventListener('htmx:before:request', () => problem.replaceChildren());
document.addEventListener('htmx:error', () => {
  problem.textContent =
    'The server did not respond, so your change may not be saved. What you typed is still here. Try again.';
});

// If the pressed button was replaced together with its part of the page, the focus moves to the first invalid
// field, or to the new part.
document.addEventListener('htmx:after:swap', ({ detail: { ctx } }) => {
  if (!ctx.request) return; // a click without a request replaces nothing
  const part = document.getElementById(ctx.target?.id);
  if (!part || document.activeElement !== document.body) return;
  part.tabIndex = -1;
  (part.querySelector('[aria-invalid="true"]') || part).focus({ preventScroll: true });
});
