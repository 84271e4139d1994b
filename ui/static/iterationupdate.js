// Updates of the page of a run while the run is running.
import { count, number } from './format.js';
import { fetchData, fetchSignedIn, hasUnsavedInput } from './request.js';
import { latestOnly, throttle } from './timing.js';

const mostRetold = 50; // if more metrics are outdated, the whole page is requested

/**
 * update requests the page again and applies the differences. Existing elements stay, so open details, the focus
 * and the scroll position are preserved.
 * @param {function()} updated called after the update
 */
async function update(updated) {
  const url = new URL(location.href);
  if (document.getElementById('environment')) url.searchParams.set('known', '1');
  const answer = await fetchSignedIn(url, {
    headers: { 'HX-Request': 'true', 'HX-Target': '#iteration', 'HX-Current-URL': location.href },
  });
  const text = await answer.text();
  const problem = document.getElementById('problem');
  if (!answer.ok) {
    problem.innerHTML = text; // HTML from the server
    return;
  }
  const root = document.getElementById('iteration');
  // Open forms and typed text must not be replaced.
  const edits = root.querySelector('.edits');
  edits.toggleAttribute('hx-morph-skip', Boolean(edits.querySelector('[open]')));
  for (const details of edits.children) details.toggleAttribute('hx-morph-skip', hasUnsavedInput(details));
  await htmx.swap({ text, target: root, sourceElement: root, swap: 'outerMorph' });
  updated();
}

/**
 * pageUpdates returns the functions that update the page.
 * @param {string} iteration id of the run
 * @param {function()} updated called after an update of the whole page
 * @returns {{renew: function(), retell: function(string[])}} renew updates the whole page, retell the rows of metrics
 */
export function pageUpdates(iteration, updated) {
  let updating = false;
  let again = false;
  const renew = throttle(700, async () => {
    again = true;
    if (updating) return;
    updating = true;
    while (again) {
      again = false;
      await update(updated).catch((error) => { document.getElementById('problem').textContent = error.message; });
    }
    updating = false;
  });

  /** gained holds the metrics whose rows in the table are outdated. */
  const gained = new Set();
  const unanswered = new Set(); // metrics with a pending request
  const summaryOf = latestOnly((query) => fetchData(`iteration/${iteration}/summary${query}`));
  const tell = throttle(2000, async () => {
    if (gained.size > mostRetold) {
      gained.clear();
      renew();
      return;
    }
    for (const key of gained) unanswered.add(key);
    gained.clear();
    const query = new URLSearchParams([...unanswered].map((key) => ['key', key]));
    // The event stream reports errors to the user.
    const { metrics } = await summaryOf(`?${query}`).catch(() => ({ metrics: {} }));
    unanswered.clear();
    if (updating) { // the response that is being loaded might be older than this change
      for (const key of Object.keys(metrics)) gained.add(key);
      tell();
    }
    const rows = new Map([...document.querySelectorAll('#metrics [data-metric]')].map((tr) => [tr.dataset.metric, tr]));
    for (const [key, m] of Object.entries(metrics)) {
      const cells = [[m.last, m.last_step], [m.min, m.min_step], [m.max, m.max_step], [m.mean]];
      const [, ...tds] = rows.get(key)?.children ?? [];
      cells.forEach(([value, step], i) => {
        if (!tds[i]) return;
        tds[i].textContent = number(value);
        if (step != null) tds[i].title = `step ${count(step)}`;
      });
      tds.at(-1)?.replaceChildren(count(m.count));
    }
  });
  const retell = (keys) => {
    for (const key of keys) gained.add(key);
    tell();
  };
  return { renew, retell };
}
