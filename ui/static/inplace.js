// What htmx does not say by itself: that a change did not reach the server.
const problem = document.getElementById('problem');

document.addEventListener('htmx:before:request', () => problem.replaceChildren());
document.addEventListener('htmx:error', () => {
  problem.textContent = 'The server did not answer, so it is not known whether anything was changed. What you typed is still here: try again.';
});
