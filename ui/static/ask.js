// Requests to the server.
import { base } from './base.js';

// Refused is an error that the server answered, with its message.
export class Refused extends Error {
  constructor(body, status) {
    super(body.message || 'The server answered with an error; try again.');
    this.field = body.field || '';
    this.status = status;
  }
}

// typed reports whether a form has text that is not stored, because it was not sent or
// was refused. Then the page is not left for the sign-in; sending the form leads there.
export const typed = (root = document) => root.matches?.('[data-typed]') || root.querySelector('[data-typed]') !== null || [...root.querySelectorAll('form[method="post"] :is(input, textarea, select)')]
  .some((field) => (field.options ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected))
    : field.value !== field.defaultValue || field.checked !== field.defaultChecked));

// reach is fetch, but leads to the sign-in if that has ended.
export async function reach(url, options) {
  const answer = await fetch(url, options);
  if (answer.status !== 401) return answer;
  if (typed()) throw new Refused({ message: 'Your session has expired. What you typed is still here: sign in in another window, then try again.' }, 401);
  const here = location.pathname.slice(base.pathname.length - 1) + location.search;
  location.assign(new URL(`login?next=${encodeURIComponent(here)}`, base));
  return new Promise(() => {}); // the page is about to go
}

// ask returns the answer of a path under /data/. With a body it is a POST,
// unless another method is named.
export async function ask(path, { query, body, signal, method } = {}) {
  const url = new URL(`data/${path}`, base);
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== '' && value != null) url.searchParams.set(name, value);
  }
  const options = { signal, headers: {}, method: method || (body ? 'POST' : 'GET') };
  if (body) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const answer = await reach(url, options);
  const result = await answer.json();
  if (!answer.ok) throw new Refused(result, answer.status);
  return result;
}

// newest returns a function that calls fn. A call never ends if there was a later one,
// so that an older answer does not replace a newer one.
export function newest(fn) {
  let last = 0;
  return async (...args) => {
    last += 1;
    const mine = last;
    const result = await fn(...args).catch((error) => {
      if (mine === last) throw error;
    });
    return mine === last ? result : new Promise(() => {});
  };
}

// later returns a function that calls fn once, so many milliseconds after the
// first of a burst of calls.
export function later(wait, fn) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      fn();
    }, wait);
  };
}

// debounce returns a function that calls fn when its calls have paused.
export function debounce(wait, fn) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), wait);
  };
}
