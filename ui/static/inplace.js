// Additions to htmx: a message when a change did not reach the server, and
// keeping the focus and typed text.
import './unsavedform.js';

// Opened, filtered and focused parts stay so when a page is updated.
htmx.config.morphIgnore.push('open', 'hidden', 'tabindex');

const problem = document.getElementById('problem');

document.addEventListener('htmx:before:request', () => problem.replaceChildren());
document.addEventListener('htmx:error', () => {
  problem.textContent = 'The server did not answer, so it is not known whether anything was changed. What you typed is still here: try again.';
});

// The button that was pressed is gone with the part that was replaced. The
// focus goes to the field that is wrong, or to the new part.
document.addEventListener('htmx:after:swap', ({ detail: { ctx } }) => {
  if (!ctx.request) return; // not after a click
  const part = document.getElementById(ctx.target?.id);
  if (!part || document.activeElement !== document.body) return;
  part.tabIndex = -1;
  (part.querySelector('[aria-invalid="true"]') || part).focus({ preventScroll: true });
});
