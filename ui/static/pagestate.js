// State of a page that is restored when the user returns to the page. Pages are not cached, so the browser loses
// all state that is not in the address.

const key = () => `back ${location.href}`;

/**
 * saveOnLeave stores the result of what() in the session storage when the user leaves the page. It does nothing if
 * storage is forbidden or full.
 * @param {function(): *} what
 */
export function saveOnLeave(what) {
  addEventListener('pagehide', () => {
    try {
      sessionStorage.setItem(key(), JSON.stringify(what()));
    } catch { /* the state is lost */ }
  });
}

/**
 * restoreOnReturn returns the state that saveOnLeave stored. It returns null if the user did not open the page
 * with the Back or Forward button.
 */
export function restoreOnReturn() {
  if (performance.getEntriesByType('navigation')[0]?.type !== 'back_forward') return null;
  try {
    return JSON.parse(sessionStorage.getItem(key()));
  } catch {
    return null;
  }
}
