// Changes on the server, as they happen.
import { base } from './base.js';
import { fetchSignedIn } from './request.js';

const pause = 5000; // milliseconds before another attempt after a rejection

/**
 * connect returns a function that sends a page's subject and cursor, or null, to the shared worker that holds the
 * event stream of all windows. Without shared workers, the page opens its own stream.
 * @param {function(Object)} receive called with each message for the page
 * @returns {function(?{subject: string, cursor: string})}
 */
function connect(receive) {
  let wanted = null;
  let own; // promise of the page's own stream
  const withoutWorker = () => {
    own ||= import('./stream.js').then(({ eventStream }) => {
      const stream = eventStream(new URL('data/events', base));
      let subscriber = null;
      return () => {
        if (subscriber) stream.remove(subscriber);
        subscriber = wanted && { ...wanted, send: receive };
        if (subscriber) stream.add(subscriber);
      };
    });
    own.then((follow) => follow());
  };
  let port = null;
  try {
    const worker = new SharedWorker(document.querySelector('meta[name="events"]').content);
    worker.addEventListener('error', () => {
      port = null;
      withoutWorker();
    });
    ({ port } = worker);
    port.addEventListener('message', ({ data }) => receive(data));
    port.start();
  } catch {
    port = null;
  }
  return (subscription) => {
    wanted = subscription;
    if (port) port.postMessage(wanted);
    else withoutWorker();
  };
}

/**
 * followChanges calls changed with each batch of changes on the server after the page's cursor. A hidden page gets no
 * changes. When it becomes visible again, it gets the changes that it has missed.
 * @param {string} subject "experiment/ID" or "iteration/ID"
 * @param {string} cursor
 * @param {Object} callbacks
 * @param {function(Object)} callbacks.changed
 * @param {function()} callbacks.reset called if there were too many changes to list
 */
export function followChanges(subject, cursor, { changed, reset }) {
  const problem = document.getElementById('problem');
  let following = false;
  let timer = 0;
  let late = document.hidden; // changes that are not in the database might have been missed
  let said = '';
  const say = (text) => {
    if (problem.textContent === said) problem.textContent = text;
    said = text;
  };
  const messages = {
    live() {
      document.documentElement.dataset.live = 'yes';
      say('');
      if (late) changed({ iterations: [], deleted: [], series: [] });
      late = false;
    },
    down() {
      delete document.documentElement.dataset.live;
      late = true;
    },
    change: ({ data }) => changed(JSON.parse(data)),
    reset,
    failed: refused,
    gone: refused,
  };
  const send = connect((message) => {
    if (!following) return;
    if (message.cursor) cursor = message.cursor;
    messages[message.kind](message);
  });
  function start() {
    clearTimeout(timer);
    following = true;
    send({ subject, cursor });
  }
  function stop() {
    clearTimeout(timer);
    delete document.documentElement.dataset.live;
    following = false;
    late = true;
    send(null);
  }
  async function refused() {
    stop();
    const url = new URL('data/events', base);
    url.searchParams.set('on', `${subject}/${cursor}`);
    try {
      const { status } = await fetchSignedIn(url, { method: 'HEAD' });
      if (status === 403 || status === 404) {
        say('This was deleted, or you may no longer read it. The page is no longer updated.');
        return;
      }
    } catch (error) {
      say(error.status ? error.message : 'The server does not respond. This page shows the last known state.');
    }
    timer = setTimeout(start, pause);
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stop();
    else start();
  });
  addEventListener('pagehide', stop);
  addEventListener('pageshow', (event) => {
    if (event.persisted && !document.hidden) start();
  });
  if (!document.hidden) start();
}
