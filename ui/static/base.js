// base is the address of the dashboard, with the path that it is served under. Every
// script is one level below it, in static/.
export const base = new URL('../', import.meta.url);
