// The event stream, which reports changes on the server as they happen.
import { base } from './base.js';
import { fetchSignedIn } from './request.js';

const pause = 5000; // milliseconds before another attempt after a failure

/**
 * followChanges calls changed with each batch of changes on the server after the page's cursor. A hidden page
 * closes its connection, because browsers limit the number of connections. When the page is shown again, it gets
 * the changes since then.
 * @param {string} path path under /data/
 * @param {string} cursor
 * @param {Object} callbacks
 * @param {function(Object)} callbacks.changed
 * @param {function()} callbacks.reset called if there were too many changes to list
 */
export function followChanges(path, cursor, { changed, reset }) {
  const problem = document.getElementById('problem');
  let source = null;
  let timer = 0;
  let late = document.hidden; // changes that are not in the database might have been missed
  let said = '';
  const url = () => {
    const events = new URL(`data/${path}/events`, base);
    events.searchParams.set('cursor', cursor);
    return events;
  };
  const say = (text) => {
    if (problem.textContent === said) problem.textContent = text;
    said = text;
  };
  const open = () => {
    clearTimeout(timer);
    source = new EventSource(url());
    source.addEventListener('open', () => {
      document.documentElement.dataset.live = 'yes';
      say('');
      if (late) changed({ iterations: [], deleted: [], series: [] });
      late = true;
    });
    source.addEventListener('error', () => {
      delete document.documentElement.dataset.live;
      // The browser reconnects after the end of a stream, but not after a rejection by the server.
      if (source?.readyState === EventSource.CLOSED) refused();
    });
    source.addEventListener('change', (event) => {
      cursor = event.lastEventId;
      changed(JSON.parse(event.data));
    });
    source.addEventListener('reset', (event) => {
      cursor = event.lastEventId;
      reset();
    });
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  async function refused() {
    close();
    try {
      const { status } = await fetchSignedIn(url(), { method: 'HEAD' });
      if (status === 403 || status === 404) {
        say('This was deleted, or you may no longer read it. The page is no longer updated.');
        return;
      }
    } catch (error) {
      say(error.status ? error.message : 'The server does not respond. This page shows the last known state.');
    }
    timer = setTimeout(open, pause);
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close();
    else if (!source) open();
  });
  addEventListener('pagehide', close);
  addEventListener('pageshow', (event) => {
    if (event.persisted && !source) open();
  });
  if (!document.hidden) open();
}
