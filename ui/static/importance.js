// The importance of parameters, which other pages take from the importance page.
import { base } from './base.js';
import { el } from './dom.js';
import { RequestError, fetchSignedIn } from './request.js';

/**
 * importanceTable returns a function that fills place with the importance of each parameter for a metric. The
 * argument of the function is the metric, or '' for the objective. The function returns the most important
 * parameter, or '' if it is unknown.
 * @param {HTMLElement} place
 * @param {string} experiment id of the experiment
 * @param {string} filter filter of the runs
 * @returns {function(string): Promise<string>}
 */
export function importanceTable(place, experiment, filter) {
  let wanted; // the metric that was requested last
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
    if (metric !== wanted) return ''; // the user has chosen another metric
    most = section.querySelector('tbody tr[data-known] th')?.textContent.trim() ?? '';
    section.prepend(el('div', { class: 'strip' }, el('h2', {}, 'Importance of parameters')));
    place.replaceChildren(section);
    return most;
  };
}
