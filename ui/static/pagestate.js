// State of a page that is restored when the user returns to it. Pages are not cached, so the browser
// forgets everything that is not in the address.

const key = () => `back ${location.href}`;

/**
 * saveOnLeave stores the result of collect in the session when the page is left. It does nothing if storage
 * is forbidden or full.
 * @param {function(): *} collect
 */
export function saveOnLeave(what) {
  addEventListener('pagehide', () => {
    try {
      sessionStorage.setItem(key(), JSON.stringify(what()));
    } catch { /* is not kept */ }
  });
}

/**
 * restoreOnReturn returns the state that was stored when the page was left, or null if the page was not
 * opened with the Back or Forward button.
 */
export function restoreOnReturn() {
  if (performance.getEntriesByType('navigation')[0]?.type !== 'back_forward') return null;
  try {
    return JSON.parse(sessionStorage.getItem(key()));
  } catch {
    return null;
  }
}
