// The position on a page, for when somebody comes back to it: pages are not cached,
// so the browser forgets all that is not in the address.

const key = () => `back ${location.href}`;

// keep stores the result of a function when the page is left. Storage may be
// forbidden, or full.
export function saveOnLeave(what) {
  addEventListener('pagehide', () => {
    try {
      sessionStorage.setItem(key(), JSON.stringify(what()));
    } catch { /* is not kept */ }
  });
}

// kept returns what was stored when the page was left, null unless somebody comes
// back to the page.
export function restoreOnReturn() {
  if (performance.getEntriesByType('navigation')[0]?.type !== 'back_forward') return null;
  try {
    return JSON.parse(sessionStorage.getItem(key()));
  } catch {
    return null;
  }
}
