// Uploading files one after the other. Progress and errors are shown beside the names of the files.
import { base } from './base.js';
import { el, isolated } from './dom.js';
import { bytes } from './format.js';
import { fetchData } from './request.js';

const connectionLost = 'The connection was lost before the upload was complete. Try again.';

/** send uploads a file. It uses XMLHttpRequest, because fetch does not report progress. */
function send(experiment, file, fields, progress, signal) {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  body.append('data', file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener('progress', (event) => progress(event.loaded / event.total));
    request.addEventListener('load', () => {
      if (request.status < 300) return resolve();
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch { /* the response is from a proxy */ }
      return reject(new Error(answer.message || `The server refused the file (${request.status}).`));
    });
    request.addEventListener('error', () => reject(new Error(connectionLost)));
    request.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
    signal.addEventListener('abort', () => request.abort());
    request.open('POST', new URL(`data/experiment/${experiment}/artifacts`, base));
    request.send(body);
  });
}

/**
 * enableUploads makes a form upload the chosen or dropped files, one after the other.
 * @param {HTMLFormElement} form
 * @returns {function()} function that uploads the chosen files
 */
export function enableUploads(form) {
  const list = form.querySelector('.uploads');
  const input = form.querySelector('[type="file"]');
  const { uploads: experiment, most } = form.dataset;
  let last = Promise.resolve();
  let waiting = 0;

  async function add(file) {
    const ending = new AbortController();
    const bar = el('progress', { max: 1, value: 0, 'aria-label': `Progress of ${file.name}` });
    const state = el('span', { class: 'count', role: 'status' }, 'waiting');
    const cancel = el(
      'button',
      { type: 'button', class: 'plain', 'aria-label': `Cancel ${file.name}`, click: () => ending.abort() },
      'Cancel'
    );
    const line = el(
      'li',
      { 'data-testid': 'upload' },
      isolated(file.name, 'name'),
      el('span', { class: 'count' }, bytes(file.size)),
      bar,
      state,
      cancel
    );
    list.append(line);
    const end = (kind, text) => {
      line.className = kind;
      state.textContent = text;
      if (kind === 'failed') state.setAttribute('role', 'alert');
      bar.remove();
      cancel.replaceWith(
        el(
          'button',
          {
            type: 'button',
            class: 'plain',
            'aria-label': `Remove ${file.name} from this list`,
            click: () => line.remove(),
          },
          'Remove'
        )
      );
    };
    const before = last;
    waiting += 1;
    last = (async () => {
      await before;
      try {
        ending.signal.throwIfAborted();
        if (Number(most) > 0 && file.size > Number(most))
          throw new Error(`Artifacts may be up to ${bytes(Number(most))} on this server.`);
        state.textContent = 'sending';
        // The server checks the request first, so that no file is sent only to be rejected.
        await fetchData(`experiment/${experiment}/artifacts`, {
          query: { size: String(file.size) },
          signal: ending.signal,
        });
        const fields = [...new FormData(form)].filter(([, value]) => typeof value === 'string');
        await send(experiment, file, fields, (part) => {
          bar.value = part;
          state.textContent = part < 1 ? `${Math.floor(100 * part)}%` : 'storing';
        }, ending.signal);
        end('done', 'added');
      } catch (error) {
        if (error.name === 'AbortError') end('cancelled', 'cancelled');
        else end('failed', error instanceof TypeError ? connectionLost : error.message);
      }
      waiting -= 1;
      if (waiting === 0) document.body.dispatchEvent(new CustomEvent('artifacts'));
    })();
  }

  const take = () => {
    for (const file of input.files) add(file);
    input.value = '';
  };
  input.addEventListener('change', take);
  const dropped = (event) => event.dataTransfer?.types.includes('Files');
  for (const kind of ['dragenter', 'dragover']) {
    form.addEventListener(kind, (event) => {
      if (!dropped(event)) return;
      event.preventDefault();
      form.classList.add('over');
    });
  }
  form.addEventListener('dragleave', (event) => {
    if (!form.contains(event.relatedTarget)) form.classList.remove('over');
  });
  form.addEventListener('drop', (event) => {
    if (!dropped(event)) return;
    event.preventDefault();
    form.classList.remove('over');
    for (const item of event.dataTransfer.items) {
      // Folders cannot be uploaded.
      if (item.webkitGetAsEntry?.()?.isDirectory) continue;
      const file = item.getAsFile();
      if (file) add(file);
    }
  });
  addEventListener('beforeunload', (event) => {
    if (waiting > 0) event.preventDefault();
  });
  return take;
}
