// The movable line between table and charts.

const [least, middle, most] = [20, 50, 80]; // percent

/**
 * enableSplitter lets the user move the line between table and charts by pointer and keyboard.
 * @param {HTMLElement} root element with both parts
 * @param {HTMLElement} handle the line
 * @param {import('./state.js').State} state
 */
export function enableSplitter(root, handle, state) {
  const show = () => {
    const at = Math.min(most, Math.max(least, state.number('split', middle)));
    root.style.setProperty('--split', `${at}%`);
    handle.setAttribute('aria-valuenow', Math.round(at));
  };
  const move = (at) => state.set({ split: Math.round(Math.min(most, Math.max(least, at))) });
  handle.addEventListener('pointerdown', (event) => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  handle.addEventListener('pointermove', (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = root.getBoundingClientRect();
    move((100 * (event.clientX - box.left)) / box.width);
  });
  handle.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (!step) return;
    move(state.number('split', middle) + step);
    event.preventDefault();
  });
  state.addEventListener('change', ({ detail }) => {
    if (detail.has('split')) show();
  });
  show();
}
