// The event stream, which reports changes on the server as they happen.
import { base } from './base.js';
import { fetchSignedIn } from './request.js';

const pause = 5000; // milliseconds before another attempt after a failure
const turnLength = 300; // milliseconds that a page keeps its stream open during its turn
const mostMissed = 30_000; // milliseconds after which a page with turns checks for changes that are not in the database
const alive = 20_000; // milliseconds between two messages to the shared worker

/**
 * streamTurns asks the shared worker when this page may open its stream. Without shared workers, a page may always
 * open it.
 * @param {function(boolean)} open called when the page may open its stream; the argument is true if the page may keep
 *   it only for its turn
 * @returns {{want: function(), done: function(), leave: function()}}
 */
function streamTurns(open) {
  const address = document.querySelector('meta[name="turns"]')?.content;
  let port;
  try {
    ({ port } = new SharedWorker(address));
  } catch {
    return { want: () => open(false), done() {}, leave() {} };
  }
  port.addEventListener('message', ({ data }) => open(data === 'turn'));
  port.start();
  let wants = false;
  const say = (word) => {
    wants = word !== 'leave';
    port.postMessage(word);
  };
  setInterval(() => wants && port.postMessage('alive'), alive);
  return { want: () => say('want'), done: () => say('done'), leave: () => say('leave') };
}

/**
 * followChanges calls changed with each batch of changes on the server after the page's cursor. A hidden page closes
 * its connection, because browsers limit the number of connections. When the page becomes visible again, it gets the
 * changes that it has missed. If many pages are visible, some of them take turns with their connections.
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
  let looked = 0;
  const open = (turn) => {
    close();
    source = new EventSource(url());
    source.addEventListener('open', () => {
      document.documentElement.dataset.live = 'yes';
      say('');
      if (late && !(turn && Date.now() - looked < mostMissed)) {
        looked = Date.now();
        changed({ iterations: [], deleted: [], series: [] });
      }
      late = true;
      if (turn) timer = setTimeout(endTurn, turnLength);
    });
    source.addEventListener('error', () => {
      delete document.documentElement.dataset.live;
      // The browser reconnects after the end of a stream, but not after a rejection by the server.
      if (source?.readyState === EventSource.CLOSED) refused();
      else if (turn) endTurn();
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
  const turns = streamTurns((turn) => !document.hidden && open(turn));
  function endTurn() {
    close();
    turns.done();
  }
  function stop() {
    close();
    turns.leave();
  }
  async function refused() {
    stop();
    try {
      const { status } = await fetchSignedIn(url(), { method: 'HEAD' });
      if (status === 403 || status === 404) {
        say('This was deleted, or you may no longer read it. The page is no longer updated.');
        return;
      }
    } catch (error) {
      say(error.status ? error.message : 'The server does not respond. This page shows the last known state.');
    }
    timer = setTimeout(turns.want, pause);
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stop();
    else turns.want();
  });
  addEventListener('pagehide', stop);
  addEventListener('pageshow', (event) => {
    if (event.persisted && !document.hidden) turns.want();
  });
  if (!document.hidden) turns.want();
}
