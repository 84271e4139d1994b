// A shared worker that divides the event streams among the open pages. Browsers open at most six connections to a
// server over HTTP/1.1, in all windows together. So a few pages keep their stream, and the others take turns.
const mostStreams = 3; // pages that keep their stream
const pause = 500; // milliseconds between two turns
const silence = 60_000; // milliseconds without a message after which a page counts as gone

const streaming = new Set(); // ports of pages that keep their stream
const waiting = []; // ports of the other pages, in the order of their turns
const heard = new Map(); // time of the last message, by port
let turn = null; // port of the page whose turn it is

function forget(port) {
  streaming.delete(port);
  const at = waiting.indexOf(port);
  if (at >= 0) waiting.splice(at, 1);
  if (turn === port) turn = null;
}

function next() {
  while (streaming.size < mostStreams && waiting.length > 0) {
    const port = waiting.shift();
    streaming.add(port);
    port.postMessage('stream');
  }
  if (turn || waiting.length === 0) return;
  turn = waiting.shift();
  turn.postMessage('turn');
}

const messages = {
  want(port) {
    forget(port);
    waiting.push(port);
    next();
  },
  done(port) {
    if (turn !== port) return;
    turn = null;
    waiting.push(port);
    setTimeout(next, pause);
  },
  leave(port) {
    forget(port);
    heard.delete(port);
    next();
  },
  alive() {},
};

addEventListener('connect', ({ ports: [port] }) => {
  port.addEventListener('message', ({ data }) => {
    heard.set(port, Date.now());
    messages[data]?.(port);
  });
  port.start();
});

// A page that crashed does not say that it leaves.
setInterval(() => {
  for (const [port, time] of heard) if (Date.now() - time > silence) messages.leave(port);
}, silence / 3);
