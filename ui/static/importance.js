// The importance of parameters, inserted into other pages from the page of importance.
import { base } from './base.js';
import { el } from './dom.js';
import { RequestError, fetchSignedIn } from './request.js';

/**
 * importanceTable returns a function that shows the importance of parameters for a metric in an element. The
 * function takes the metric, '' for the objective, and returns the most important parameter, '' if none is
 * known.
 * @param {HTMLElement} place
 * @param {string} experiment id of the experiment
 * @param {string} filter filter of the runs
 * @returns {function(string): Promise<string>}
 */
export function importanceTable(place, experiment, filter) {
  let wanted; // the metric that is asked for or shown
  let most = '';
  return async (metric) => {
    if (metric === wanted) return most;
    most = '';
    wanted = metric;
    const url = new URL(`experiment/${experiment}/importance`, base);
    url.search = new URLSearchParams(metric ? { metric, filter } : { filter });
    let section;
    try {
      const answer = await fetchSignedIn(url, { headers: { 'HX-Request': 'true', 'HX-Target': 'section#importance' } });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (!answer.ok) throw new RequestError({ message: page.body.textContent.trim() }, answer.status);
      section = page.querySelector('#importance');
    } catch (error) {
      section = el(
        'section',
        { 'aria-label': 'Importance' },
        el('p', { class: 'count', role: 'status' }, error.message)
      );
    }
    if (metric !== wanted) return ''; // another one was chosen meanwhile
    most = section.querySelector('tbody tr[data-known] th')?.textContent.trim() ?? '';
    section.prepend(el('div', { class: 'strip' }, el('h2', {}, 'Importance of parameters')));
    place.replaceChildren(section);
    return most;
  };
}
