// The page of a sweep: its runs in the pictures of the Analyse tab.
import './record.js';
import { Analyse } from './analyse.js';
import { base } from './base.js';
import { State } from './state.js';

const section = document.getElementById('analyse');

/**
 * SweepState is the state of the page. The metric and the goal are the sweep's. A new filter leads to the table of the
 * runs that pass it, because this page always shows all runs of the sweep.
 */
class SweepState extends State {
  has(name) {
    return name === 'analyse' || super.has(name);
  }

  get(name, otherwise = '') {
    return super.get(name, section.dataset[name] ?? otherwise);
  }

  set(changes) {
    const { filter } = changes;
    if (!filter) super.set(changes);
    else location.assign(`${base}/experiment/${section.dataset.experiment}?${new URLSearchParams({ filter })}`);
  }
}

if (section) {
  const { experiment, filter } = section.dataset;
  new Analyse(section, new SweepState(), { experiment, filter: () => filter }).load();
}
