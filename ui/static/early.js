// The curves that the browser requests while it loads the scripts.
import { base } from './base.js';
import { queryKey } from './curves.js';

/**
 * earlyCurves returns a function that adds the early request of the page to the jobs of Curves, null if the page
 * has none.
 * @returns {?function(import('./curves.js').Curves)}
 */
export function earlyCurves() {
  const link = document.querySelector('link[as="fetch"]');
  if (!link) return null;
  const path = link.href.slice(new URL('data/', base).href.length);
  const request = JSON.parse(new URL(link.href).searchParams.get('q'));
  return (curves) => {
    const figures = request.keys.map((key) => curves.of(key)).filter(Boolean);
    const lacking = curves.runs().filter((r) => request.iterations.includes(r.id));
    if (figures.length === 0 || lacking.length === 0) return;
    const { x, against, points } = request;
    const question = queryKey({ x, against, logx: request.scale === 'log', from: null, to: null }, points, null);
    const b = {
      like: `${question} ${lacking.map((r) => r.id).join(' ')}`,
      path,
      figures,
      lacking,
      question,
      view: curves.view(),
    };
    for (const f of figures) f.flight = b;
    curves.jobs.push(b);
  };
}
