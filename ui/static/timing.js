// Functions that limit how often a function is called, or which of its results count.

/**
 * latestOnly returns a function that calls fn. After a later call, the promises of earlier calls never settle, so an
 * older response cannot replace a newer one.
 * @param {function(...*): Promise} fn
 * @returns {function(...*): Promise}
 */
export function latestOnly(fn) {
  let last = 0;
  return async (...args) => {
    last += 1;
    const mine = last;
    const result = await fn(...args).catch((error) => {
      if (mine === last) throw error;
    });
    return mine === last ? result : new Promise(() => {});
  };
}

/**
 * throttle returns a function that calls fn once for each burst of calls. fn is called wait milliseconds after
 * the first call.
 * @param {number} wait milliseconds
 * @param {function()} fn
 * @returns {function()}
 */
export function throttle(wait, fn) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      fn();
    }, wait);
  };
}

/**
 * debounce returns a function that calls fn with the latest arguments after wait milliseconds without calls.
 * @param {number} wait milliseconds
 * @param {function(...*)} fn
 * @returns {function(...*)}
 */
export function debounce(wait, fn) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), wait);
  };
}
