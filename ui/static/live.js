// What changes on the server, as it happens.
import { base } from './frame.js';

// live calls changed with each batch of changes since a cursor, that of the page,
// and reset when too much has happened to be told. A page that nobody looks at lets go of its connection,
// of which a browser has only a handful, and catches up when it is shown again.
export function live(path, cursor, { changed, reset }) {
  let source = null;
  const open = () => {
    const url = new URL(`data/${path}/events`, base);
    url.searchParams.set('cursor', cursor);
    source = new EventSource(url);
    source.addEventListener('open', () => { document.documentElement.dataset.live = 'yes'; });
    source.addEventListener('error', () => { delete document.documentElement.dataset.live; });
    source.addEventListener('change', (event) => {
      cursor = event.lastEventId;
      changed(JSON.parse(event.data));
    });
    source.addEventListener('reset', (event) => {
      cursor = event.lastEventId;
      reset();
    });
  };
  const close = () => {
    source?.close();
    source = null;
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close();
    else if (!source) open();
  });
  addEventListener('pagehide', close);
  addEventListener('pageshow', (event) => {
    if (event.persisted && !source) open();
  });
  if (!document.hidden) open();
}
