// The page that imports an archive. It shows the progress of the upload. The response is the page that a browser
// without scripts would show, from which the script takes the changed part.
import { el } from './dom.js';
import { bytes } from './format.js';
import './frame.js';

const connectionLost = 'The connection was lost before the upload was complete. Try again.';

function send(form, body, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener('progress', (event) => progress(event.loaded / event.total));
    request.addEventListener('load', () => resolve(new DOMParser().parseFromString(request.responseText, 'text/html')));
    request.addEventListener('error', () => reject(new Error(connectionLost)));
    request.open('POST', form.action);
    request.send(body);
  });
}

const form = document.querySelector('[data-import]');
let sending = false;

function wrong(text) {
  form.querySelector('#wrong-archive')?.remove();
  const input = form.querySelector('[type="file"]');
  input.toggleAttribute('aria-invalid', Boolean(text));
  if (text) {
    input.setAttribute('aria-describedby', 'wrong-archive');
    input.after(
      el('p', { id: 'wrong-archive', class: 'message', role: 'alert', 'data-testid': 'wrong-archive' }, text)
    );
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const [file] = form.querySelector('[type="file"]').files;
  if (!file || sending) return;
  const most = Number(form.dataset.most);
  const status = form.querySelector('.progress');
  const imported = document.querySelector('#imported');
  wrong('');
  imported.replaceChildren();
  if (most > 0 && file.size > most) {
    wrong(`Archives may be up to ${bytes(most)} on this server.`);
    return;
  }
  const bar = el('progress', { max: 1, value: 0, 'aria-label': 'Progress of the upload' });
  const state = el('span', { class: 'count' }, 'sending');
  status.replaceChildren(bar, state);
  const button = form.querySelector('button');
  button.disabled = true;
  sending = true;
  try {
    const answer = await send(form, new FormData(form), (part) => {
      if (part < 1) {
        bar.value = part;
        state.textContent = `${Math.floor(100 * part)}%`;
      } else {
        bar.removeAttribute('value');
        state.textContent = 'importing';
      }
    });
    const refused = answer.querySelector('#wrong-archive') ?? answer.querySelector('main .message, main p');
    const result = answer.querySelector('#imported');
    if (result?.childElementCount) {
      imported.replaceChildren(...result.children);
      form.reset();
    } else
      wrong(refused?.textContent.trim() || 'The server did not import the archive. Reload the page and try again.');
  } catch (error) {
    wrong(error.message);
  }
  status.replaceChildren();
  button.disabled = false;
  sending = false;
});
addEventListener('beforeunload', (event) => {
  if (sending) event.preventDefault();
});
