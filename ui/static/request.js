// Requests to the server.
import { base } from './base.js';

/**
 * RequestError is an error response of the server. It holds the message, the HTTP status, and the name of the
 * invalid field.
 */
export class RequestError extends Error {
  constructor(body, status) {
    super(body.message || 'The server answered with an error; try again.');
    this.field = body.field || '';
    this.status = status;
  }
}

/**
 * hasUnsavedInput reports whether a form in root has input that is not stored, because it was not sent or was
 * rejected. In that case the page does not open the sign-in page; sending the form opens it.
 * @returns {boolean}
 */
export const hasUnsavedInput = (root = document) =>
  root.matches?.('[data-typed]') ||
  root.querySelector('[data-typed]') !== null ||
  [...root.querySelectorAll('form[method="post"] :is(input, textarea, select)')].some((field) =>
    field.options
      ? field.selectedIndex !==
        Math.max(
          0,
          [...field.options].findIndex((o) => o.defaultSelected)
        )
      : field.value !== field.defaultValue || field.checked !== field.defaultChecked
  );

/**
 * fetchSignedIn calls fetch. If the session has ended, it opens the sign-in page.
 * @param {URL|string} url
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function fetchSignedIn(url, options) {
  const answer = await fetch(url, options);
  if (answer.status !== 401) return answer;
  if (hasUnsavedInput())
    throw new RequestError(
      { message: 'Your session has expired. What you typed is still here: sign in in another window, then try again.' },
      401
    );
  const here = location.pathname.slice(base.pathname.length - 1) + location.search;
  location.assign(new URL(`login?next=${encodeURIComponent(here)}`, base));
  return new Promise(() => {}); // never settles, because the page is left
}

/**
 * fetchData requests a path under /data/ and returns the decoded JSON. If a body is given, the default method is
 * POST. It throws a RequestError if the server reports an error.
 * @param {string} path
 * @param {{query?: Object, body?: Object, signal?: AbortSignal, method?: string}} [options]
 * @returns {Promise<*>}
 */
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
