// Applies the theme that was chosen in this browser, and keeps clicks that come before
// the other scripts are loaded. It runs before the page is drawn, so that no other theme
// is shown for a moment.
{
  const key = 'tracker.theme';
  const themes = ['system', 'light', 'dark'];
  const root = document.documentElement;

  // Storage may be forbidden, in a frame or in private mode; the choice then
  // lasts as long as the page.
  let chosen = 'system';
  const load = () => {
    try {
      const stored = localStorage.getItem(key);
      chosen = themes.includes(stored) ? stored : 'system';
    } catch { /* stays as it is */ }
  };
  const store = () => {
    try {
      localStorage.setItem(key, chosen);
    } catch { /* lasts as long as the page */ }
  };

  const show = () => {
    root.dataset.theme = chosen;
    const button = document.querySelector('button.theme');
    if (button) {
      button.title = `Theme: ${chosen}`;
      button.setAttribute('aria-label', button.title);
    }
  };

  load();
  show();
  document.addEventListener('DOMContentLoaded', show);
  document.addEventListener('click', (event) => {
    if (event.target.closest('button.theme')) {
      chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
      store();
      show();
    }
  });
  addEventListener('storage', (event) => {
    if (event.key === key) {
      load();
      show();
    }
  });
}

// A button that needs a script is there before the script, on a slow connection for
// seconds. Its first click is repeated once all scripts of the page have run.
{
  const clicked = new Set();
  const keep = (event) => {
    const button = event.target.closest?.('button.script');
    if (button) clicked.add(button);
  };
  document.addEventListener('click', keep, true);
  document.addEventListener('DOMContentLoaded', () => {
    document.removeEventListener('click', keep, true);
    for (const button of clicked) if (button.isConnected) button.click();
  });
}
