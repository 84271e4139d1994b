// The ids of panels and of the sections in which charts are by default.

/** panelID returns the id of a panel on the page. The chart that a metric has by default has the metric's name. */
export const panelID = (panel) => (panel.type === 'metric' ? panel.metrics[0] : `panel:${panel.id}`);

/** sectionOf returns the part of a metric's name before the first slash, which names its section, '' for none. */
export const sectionOf = (key) => key.slice(0, Math.max(0, key.indexOf('/')));
