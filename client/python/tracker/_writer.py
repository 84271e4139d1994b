"""Writes what a run logs to the spool, in a thread of its own."""

from __future__ import annotations

import collections
import json
import math
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, Tuple

from . import _signal
from ._spool import Spool
from ._value import inexact, number_text, tell, text_name, timestamp, uuid7

PERIOD = 0.25
"""Seconds between two times that the queue is emptied."""
WORKER_PERIOD = 0.05
"""The same in a worker process, which may be killed as soon as its work is done."""
MOST_POINTS = 5000
"""Points in one request."""
MOST_NAMES = 100_000
"""Names of metrics that are cached; a program may make up a new one at each step."""

Entry = Tuple[Any, Any, Any, float]
"""(numbers by name, None, step, Unix seconds) of a log call; (head, body, None, 0) of another item of the spool. In place of
body there may be a function that makes items; it is called in the writer's thread."""
Items = Callable[[], Iterable[Tuple[Dict[str, Any], bytes]]]


class Writer:
    """The queue of a run and the thread that empties it.

    Only that thread takes from the queue and writes. So a signal that interrupts the main thread, wherever that is, can
    still have the queue written: stop takes no lock that the main thread may hold. It also sees to it that the handler of
    such a signal runs.
    """

    def __init__(self, spool: Spool, period: float = PERIOD) -> None:
        self.spool, self.period = spool, period
        self.queue: Deque[Entry] = collections.deque()
        self.sample: Optional[Callable[[], Dict[str, float]]] = None  # system metrics, when they are due
        self.printed: Optional[Callable[[bool], Iterable[Tuple[Dict[str, Any], bytes]]]] = None  # whether it is the end
        self.last: Dict[Any, float] = {}  # of each metric
        self.calls = 0  # calls to log that were written
        self._latest = 0  # time of a point, in milliseconds
        self._names: Dict[Any, str] = {}  # as JSON
        self._stopping = False
        self._wakes: SimpleQueue[Optional[threading.Event]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tracker-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Empty the queue now."""
        self._wakes.put(None)

    def stop(self, end: Optional[Tuple[Dict[str, Any], bytes]] = None, timeout: float = math.inf) -> None:
        """Write all that is queued and end the thread; after that nothing more is written but end, the item of the end.

        A second call waits for the first one. timeout: seconds to wait at most.
        """
        self._stopping = True
        self.wake()
        limit = time.monotonic() + timeout
        while self._thread.is_alive() and time.monotonic() < limit:
            self._thread.join(min(0.1, timeout))
        if end is not None:
            self.spool.append(*end)

    def flush(self) -> None:
        """Write all that is queued so far."""
        done = threading.Event()
        self._wakes.put(done)
        while not self._stopping and self._thread.is_alive() and not done.wait(0.1):
            pass

    def _run(self) -> None:
        while not self._stopping:
            waiting = self._wait()
            _signal.interrupt()
            self._empty()
            if self.sample is not None:
                values = self.sample()
                if values:
                    self._points([(values, None, None, time.time())], system=True)
            self._print(False)
            for done in waiting:
                done.set()
        self._empty()
        self._print(True)

    def _print(self, last: bool) -> None:
        printed = self.printed
        if printed is not None:
            self._make(lambda: printed(last))

    def _wait(self) -> List[threading.Event]:
        """Wait for the period or until woken; the callers of flush so far."""
        found: List[threading.Event] = []
        try:
            wake = self._wakes.get(timeout=self.period)
            while True:
                if wake is not None:
                    found.append(wake)
                wake = self._wakes.get_nowait()
        except Empty:
            return found

    def _empty(self) -> None:
        queue, logged = self.queue, []  # type: Deque[Entry], List[Entry]
        count = 0
        while queue:
            entry = queue.popleft()
            if entry[1] is None:
                if count and count + len(entry[0]) > MOST_POINTS:
                    self._points(logged)
                    logged, count = [], 0
                logged.append(entry)
                count += len(entry[0])
                continue
            if logged:
                self._points(logged)
                logged, count = [], 0
            if callable(entry[1]):
                self._make(entry[1])
            else:
                self.spool.append(entry[0], entry[1])
        if logged:
            self._points(logged)

    def _make(self, items: Items) -> None:
        try:
            for head, body in items():
                self.spool.append(head, body)
        except Exception as error:  # a fault here must not end the thread
            tell(f"something that was logged could not be kept: {type(error).__name__}: {error}")

    def _points(self, logged: List[Entry], system: bool = False) -> None:
        """Append one request with the points of these calls.

        Their times are later than those of the request before, by a millisecond at least: so no two requests have points of
        the same time, on which _repeat.py relies.
        """
        parts: List[str] = []
        self.calls += 0 if system else len(logged)
        names, last, after = self._names, self.last, self._latest
        relative = False
        for data, _, step, at in logged:
            moment = int(at * 1000)
            if after - 1000 < moment <= after:  # not when the clock was set back by more
                moment = after + 1
            self._latest = moment if moment <= after - 1000 else max(self._latest, moment)
            tail = f',"recorded_at":"{timestamp(moment)}"}}'
            if step is not None:
                tail = f',"step":{step}{tail}'
                relative = relative or type(step) is str
            for key, value in data.items():
                name = names.get(key)
                if name is None:
                    # Half of a surrogate pair is no text, and would make the whole request unreadable.
                    name = json.dumps(text_name(key).encode("utf-8", "replace").decode())
                    if len(names) < MOST_NAMES:
                        names[key] = name
                try:
                    number = float(value)
                except OverflowError:  # of a whole number with hundreds of digits
                    number = math.inf if value > 0 else -math.inf
                if number != value and number == number:
                    inexact(key, number)
                    value = number
                if key in names:
                    last[key] = value
                parts.append(f'{{"key":{name},"value":{number_text(number)}{tail}')
        for start in range(0, len(parts), MOST_POINTS):
            body = '{"metrics":[' + ",".join(parts[start:start + MOST_POINTS]) + "]}"
            head: Dict[str, Any] = {"op": "points", "key": uuid7().replace("-", "")}
            if relative:
                head["relative"] = True
            if system:
                head["system"] = True
            self.spool.append(head, body.encode())
