// The console output of a run. New lines appear as the run prints them.
import { el } from './dom.js';
import { count } from './format.js';
import { fetchData } from './request.js';
import { debounce, throttle } from './timing.js';

const mostLines = 2000; // maximum number of visible lines
const rereadLines = 20; // the last lines might change, for example progress bars

/**
 * showConsole shows the console output of a run.
 * @param {string} iteration id of the run
 * @returns {{grow: function(?number)}} grow loads new lines. Its argument is the number of lines that the run has
 *   printed, or null if unknown.
 */
export function showConsole(iteration) {
  const section = document.getElementById('console');
  const box = section.querySelector('.lines');
  const list = section.querySelector('ol');
  const field = section.querySelector('[name="console"]');
  const status = section.querySelector('[role="status"]');
  const earlier = section.querySelector('.earlier');
  const end = section.querySelector('.later');
  let first = Number(section.dataset.first);
  let next = Number(section.dataset.next);
  const lines = (query) => fetchData(`iteration/${iteration}/console`, { query });
  const number = (li) => (li ? Number(li.dataset.line) : -1);
  const address = (n) => {
    const url = new URL(location.href);
    url.searchParams.delete('console');
    url.searchParams.set('line', n);
    url.hash = 'console';
    return url;
  };
  const row = ({ number: n, spans }) =>
    el(
      'li',
      { 'data-line': n },
      el('a', { class: 'at', href: address(n), 'data-n': n + 1, 'aria-label': `Line ${n + 1}` }),
      el('code', {}, ...(spans || []).map((s) => (s.class ? el('span', { class: s.class }, s.text) : s.text)))
    );

  const low = () => box.scrollTop + box.clientHeight >= box.scrollHeight - 24;
  function show(answer, anew) {
    const stick = low();
    ({ first, next } = answer);
    if (anew) list.replaceChildren();
    for (const line of answer.lines) {
      if (line.number > number(list.lastElementChild)) {
        list.append(row(line));
        continue;
      }
      const at = [...list.children].find((li) => number(li) >= line.number);
      if (number(at) !== line.number) at.before(row(line));
      else if (at.querySelector('code').textContent !== lineText(line)) at.replaceWith(row(line));
    }
    section.hidden = next === 0;
    earlier.hidden = Boolean(field.value) || list.childElementCount === 0 || number(list.firstElementChild) <= first;
    end.hidden = Boolean(field.value) || number(list.lastElementChild) + 1 >= next;
    status.textContent = field.value
      ? `${count(answer.lines.length)} found`
      : `${count(next)} ${next === 1 ? 'line' : 'lines'}`;
    if (!stick) return;
    while (list.childElementCount > mostLines) list.firstElementChild.remove();
    box.scrollTop = box.scrollHeight;
  }

  // reload shows the last lines, or the lines that match the search.
  async function reload() {
    const q = field.value;
    const answer = await lines({ q });
    if (q !== field.value) return;
    show(answer, true);
    box.scrollTop = box.scrollHeight;
  }
  const failed = (error) => { status.textContent = error.message; };

  const update = throttle(1000, async () => {
    const last = number(list.lastElementChild);
    try {
      if (field.value || last < 0 || next - last > mostLines) await reload();
      else show(await lines({ from: Math.max(first, last + 1 - rereadLines) }));
    } catch (error) {
      failed(error);
    }
  });

  field.addEventListener('input', debounce(200, () => {
    const url = new URL(location.href);
    url.searchParams.delete('line');
    if (field.value) url.searchParams.set('console', field.value);
    else url.searchParams.delete('console');
    history.replaceState(history.state, '', url);
    reload().catch(failed);
  }));
  field.form.addEventListener('submit', (event) => event.preventDefault());
  earlier.addEventListener('click', async (event) => {
    event.preventDefault();
    const top = list.firstElementChild;
    const from = Math.max(first, number(top) - 400);
    try {
      const answer = await lines({ from });
      const height = box.scrollHeight;
      show({ ...answer, lines: answer.lines.filter((l) => l.number < number(top)) });
      box.scrollTop += box.scrollHeight - height;
    } catch (error) {
      failed(error);
    }
  });
  end.addEventListener('click', (event) => {
    event.preventDefault();
    reload().catch(failed);
  });

  const here = list.querySelector('.here');
  box.scrollTop = here ? here.offsetTop - list.offsetTop - 60 : box.scrollHeight;
  return {
    grow(number) {
      if (number != null) next = number;
      section.hidden = next === 0;
      if (end.hidden) update();
      else status.textContent = `${count(next)} lines`;
    },
  };
}

const lineText = (line) => (line.spans || []).map((s) => s.text).join('');
