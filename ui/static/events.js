// A shared worker that holds the event stream of all open windows, because browsers open at most six connections to a
// server over HTTP/1.1. A page sends its subject and cursor to follow changes, and null to stop.
import { eventStream } from './stream.js';

const stream = eventStream(new URL('../data/events', location.href));

addEventListener('connect', ({ ports: [port] }) => {
  let subscriber = null;
  port.addEventListener('message', ({ data }) => {
    if (subscriber) stream.remove(subscriber);
    subscriber = data && { ...data, send: (message) => port.postMessage(message) };
    if (subscriber) stream.add(subscriber);
  });
  port.start();
});
