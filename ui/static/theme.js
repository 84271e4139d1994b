// Applies the theme that was chosen in this browser. It runs before the page is drawn, so
// that no other theme is shown for a moment.
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
  document.addEventListener('DOMContentLoaded', () => {
    show();
    root.dataset.ready = ''; // all scripts of the page have run; style.css shows their buttons
  });
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
