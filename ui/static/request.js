// Requests to the server.
import { base } from './base.js';

// Refused is an error that the server answered, with its message.
export class RequestError extends Error {
  constructor(body, status) {
    super(body.message || 'The server answered with an error; try again.');
    this.field = body.field || '';
    this.status = status;
  }
}

// typed reports whether a form has text that is not stored, because it was not sent or
// was refused. Then the page is not left for the sign-in; sending the form leads there.
export const hasUnsavedInput = (root = document) => root.matches?.('[data-typed]') || root.querySelector('[data-typed]') !== null || [...root.querySelectorAll('form[method="post"] :is(input, textarea, select)')]
  .some((field) => (field.options ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected))
    : field.value !== field.defaultValue || field.checked !== field.defaultChecked));

// reach is fetch, but leads to the sign-in if that has ended.
export async function fetchSignedIn(url, options) {
  const answer = await fetch(url, options);
  if (answer.status !== 401) return answer;
  if (hasUnsavedInput()) throw new RequestError({ message: 'Your session has expired. What you typed is still here: sign in in another window, then try again.' }, 401);
  const here = location.pathname.slice(base.pathname.length - 1) + location.search;
  location.assign(new URL(`login?next=${encodeURIComponent(here)}`, base));
  return new Promise(() => {}); // the page is about to go
}

// ask returns the answer of a path under /data/. With a body it is a POST,
// unless another method is named.
export async function fetchData(path, { query, body, signal, method } = {}) {
  const url = new URL(`data/${path}`, base);
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== '' && value != null) url.searchParams.set(name, value);
  }
  const options = { signal, headers: {}, method: method || (body ? 'POST' : 'GET') };
  if (body) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const answer = await fetchSignedIn(url, options);
  const result = await answer.json();
  if (!answer.ok) throw new RequestError(result, answer.status);
  return result;
}
