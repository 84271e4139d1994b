"""Takes what a run logs off the training thread's hands and puts it into the spool."""

from __future__ import annotations

import collections
import json
import math
import threading
import time
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from ._spool import Spool
from ._value import number_text, timestamp, uuid7

PERIOD = 0.25
"""Seconds between two looks into the queue."""
MOST_POINTS = 5000
"""Points in one request."""
MOST_NAMES = 100_000
"""Names that are held in memory; a new one for each step must not fill it."""
FULL = 200_000
"""Calls to log that may wait in the queue; what comes on top is dropped and counted."""

Entry = Tuple[Any, Any, Any, float]
"""(numbers by name, None, step, Unix seconds) of a log call; (head, body, None, 0) of a request."""


class Writer:
    """The queue of a run and the thread that empties it."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.queue: Deque[Entry] = collections.deque()
        self.sample: Optional[Callable[[], Dict[str, float]]] = None  # system metrics, when they are due
        self.dropped = 0
        self.wake = threading.Event()
        self.last: Dict[Any, float] = {}  # of each metric
        self.calls = 0  # to log, that were written
        self._latest = 0  # time of a point, in milliseconds
        self._names: Dict[Any, str] = {}  # as JSON
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracker-writer", daemon=True)
        self._busy = threading.Lock()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, end: Optional[bytes] = None) -> None:
        """Write all that is queued and end the thread; then nothing more is written but end, that of the run."""
        self._stopping.set()
        self.wake.set()
        self._thread.join()
        if end is not None:
            self.spool.append({"op": "end"}, end)

    def flush(self) -> None:
        """Write all that is queued so far, in the calling thread."""
        with self._busy:
            if not self._stopping.is_set():
                self._empty()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.wake.wait(PERIOD)
            self.wake.clear()
            with self._busy:
                self._empty()
                if self.sample is not None:
                    values = self.sample()
                    if values:
                        self._points([(values, None, None, time.time())])
        with self._busy:
            self._empty()

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
            self.spool.append(entry[0], entry[1])
        if logged:
            self._points(logged)

    def _points(self, logged: List[Entry]) -> None:
        """Append one request with the points of these calls.

        Their times are after those of the request before, if only by a millisecond: so a point tells its request.
        """
        parts: List[str] = []
        self.calls += len(logged)
        names, last, after = self._names, self.last, self._latest
        for data, _, step, at in logged:
            moment = int(at * 1000)
            if after - 1000 < moment <= after:  # not when the clock was set back by more
                moment = after + 1
            self._latest = moment if moment <= after - 1000 else max(self._latest, moment)
            tail = f',"recorded_at":"{timestamp(moment)}"}}'
            if step is not None:
                tail = f',"step":{step}{tail}'
            for key, value in data.items():
                name = names.get(key)
                if name is None:
                    # Half of a surrogate pair is no text, and would make the whole request unreadable.
                    name = json.dumps(str(key).encode("utf-8", "replace").decode())
                    if len(names) < MOST_NAMES:
                        names[key] = name
                try:
                    number = float(value)
                except OverflowError:  # of a whole number with hundreds of digits
                    value = number = math.inf if value > 0 else -math.inf
                if key in names:
                    last[key] = value
                parts.append(f'{{"key":{name},"value":{number_text(number)}{tail}')
        for start in range(0, len(parts), MOST_POINTS):
            body = '{"metrics":[' + ",".join(parts[start:start + MOST_POINTS]) + "]}"
            self.spool.append({"op": "points", "key": uuid7().replace("-", "")}, body.encode())
