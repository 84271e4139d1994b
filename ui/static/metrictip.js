// The details of a metric's value in the table of runs.
import { ownValue } from './columnname.js';
import { el } from './dom.js';
import { number, pointCount } from './format.js';

const tip = el('div', { class: 'tip', id: 'cell-tip', role: 'status', hidden: true });

/**
 * showMetricTip shows the last, smallest and largest value of a metric with their steps, beside a cell.
 * @param {Object} metrics metrics of the summary of the run
 * @param {HTMLElement} td
 */
export function showMetricTip(metrics, td) {
  const m = ownValue(metrics, td.dataset.metric);
  if (!m) return;
  const lines = [
    `last ${number(m.last)} at step ${m.last_step}`,
    ...(m.min == null
      ? ['no finite value']
      : [`min ${number(m.min)} at step ${m.min_step}`, `max ${number(m.max)} at step ${m.max_step}`]),
    pointCount(m.count),
  ];
  td.title = lines.join('\n');
  if (document.activeElement !== td) return;
  tip.replaceChildren(...lines.map((line) => el('div', {}, line)));
  if (!tip.isConnected) document.body.append(tip);
  tip.hidden = false;
  const cell = td.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(cell.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${cell.bottom + tip.offsetHeight > innerHeight ? cell.top - tip.offsetHeight : cell.bottom}px`;
  const gone = () => {
    tip.hidden = true;
    removeEventListener('scroll', gone, true);
  };
  td.addEventListener('blur', gone, { once: true });
  addEventListener('scroll', gone, true);
}
