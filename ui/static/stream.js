// One connection for the events of several pages.
const most = 50; // subjects of a connection, as in ui/event.go
const gather = 50; // milliseconds in which changes of the subscribers are gathered
const renewal = 45_000; // age in milliseconds at which the connection is replaced, before the server ends it
const retry = 1000; // milliseconds before another connection after the end of one
const pause = 5000; // milliseconds before another attempt after a rejection

/**
 * eventStream returns functions that add and remove subscribers of one connection to the server. If the subscribers
 * change, the connection is replaced. The old one is closed when the new one is open, so the server always knows a
 * listener of each subject. If there are more than 50 subscribers, only the latest ones get events.
 *
 * A subscriber has a subject ("experiment/ID" or "iteration/ID"), a cursor, and a function send. Its messages are
 * live (the subject is followed), down (the connection ended), failed (the server rejected the connection or does
 * not respond), gone (the user can't read the subject), and change and reset, with the fields cursor and data.
 * @param {URL|string} address
 * @returns {{add: function(Object), remove: function(Object)}}
 */
export function eventStream(address) {
  const subscribers = new Set();
  let current = null; // open connection
  let next = null; // connection that will replace current
  let timer = 0;
  const openIn = (time) => {
    clearTimeout(timer);
    timer = setTimeout(open, time);
  };
  const tellAll = (kind) => {
    for (const s of subscribers) s.send({ kind });
  };

  function open() {
    next?.close();
    next = null;
    const listed = [...subscribers].slice(-most);
    if (listed.length === 0) {
      current?.close();
      current = null;
      clearTimeout(timer);
      return;
    }
    const url = new URL(address);
    for (const s of listed) url.searchParams.append('on', `${s.subject}/${s.cursor}`);
    const source = new EventSource(url);
    next = source;
    source.addEventListener('open', () => {
      current?.close();
      current = source;
      next = null;
      openIn(renewal);
    });
    source.addEventListener('error', () => {
      source.close();
      if (source === current) {
        current = null;
        tellAll('down');
        if (!next) openIn(retry);
      } else if (source === next) {
        next = null;
        openIn(pause); // before the message, because subscribers might leave
        if (!current) tellAll('failed');
      }
    });
    for (const kind of ['live', 'gone', 'change', 'reset'])
      source.addEventListener(kind, ({ data, lastEventId }) => {
        const [index, ...rest] = data.split('\n');
        const s = listed[index];
        if (!subscribers.has(s)) return;
        if (kind !== 'gone') s.cursor = lastEventId;
        s.send({ kind, cursor: s.cursor, data: rest.join('\n') });
      });
  }

  return {
    add(subscriber) {
      subscribers.add(subscriber);
      openIn(gather);
    },
    remove(subscriber) {
      subscribers.delete(subscriber);
      if (subscribers.size === 0) openIn(gather);
    },
  };
}
