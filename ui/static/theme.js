// Applies the theme that the user chose in this browser. It runs before the page is painted, so that the default
// theme does not flash.
{
  const key = 'tracker.theme';
  const themes = ['system', 'light', 'dark'];
  const root = document.documentElement;

  // Storage might be forbidden in a frame or in private mode. The choice then lasts only as long as the page.
  let chosen = 'system';
  const load = () => {
    try {
      const stored = localStorage.getItem(key);
      chosen = themes.includes(stored) ? stored : 'system';
    } catch { /* the default remains */ }
  };
  const store = () => {
    try {
      localStorage.setItem(key, chosen);
    } catch { /* the choice lasts as long as the page */ }
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
    root.dataset.ready = ''; // when all scripts have run, style.css shows the buttons that need them
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
