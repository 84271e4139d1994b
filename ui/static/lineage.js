// The pages of artifact versions, and pictures of lineage.
import './artifact.js';

// A picture of a lineage begins with its record in the middle.
for (const figure of document.querySelectorAll('[data-lineage]')) {
  const here = figure.querySelector('[aria-current]')?.getBoundingClientRect();
  if (!here) continue;
  const frame = figure.getBoundingClientRect();
  figure.scrollLeft += here.left - frame.left - (frame.width - here.width) / 2;
  figure.scrollTop += here.top - frame.top - (frame.height - here.height) / 2;
}
