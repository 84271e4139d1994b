// Functions that limit how often another function is called, or which of its results count.

// newest returns a function that calls fn. A call never ends if there was a later one,
// so that an older answer does not replace a newer one.
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

// later returns a function that calls fn once, so many milliseconds after the
// first of a burst of calls.
export function throttle(wait, fn) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      fn();
    }, wait);
  };
}

// debounce returns a function that calls fn when its calls have paused.
export function debounce(wait, fn) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), wait);
  };
}
