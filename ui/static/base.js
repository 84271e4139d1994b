/** base is the URL of the dashboard with its base path. Every script is one level below it, in static/. */
export const base = new URL('../', import.meta.url);
