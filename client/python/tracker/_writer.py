"""Writes queued items to the spool: objects to encode, system metrics, console lines, and calls that could not be written
at once."""

from __future__ import annotations

import collections
import math
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, Tuple, Union

from . import _signal
from ._call import MOST_POINTS, Encoder, count, points
from ._spool import Spool
from ._value import tell, uuid7

PERIOD = 0.25
"""Seconds between two passes. Each pass writes the queued items and makes new records visible to the sender."""
WORKER_PERIOD = 0.05
"""Seconds between two passes in a worker process. A worker might be killed as soon as its work is done."""

Items = Callable[[], Iterable[Tuple[Dict[str, Any], bytes]]]
Entry = Union[bytes, Tuple[Dict[str, Any], bytes]]
"""A call to log, see _call.py, or the head and body of another spool item."""


class Writer:
    """The thread that encodes values, and writes items that could not be written to the spool file at once.

    Only this thread takes entries from the queues. stop takes no lock that the main thread might hold. So a signal handler
    can call stop wherever it interrupts the main thread. This thread also makes sure that signal handlers run.
    """

    def __init__(self, spool: Spool, period: float = PERIOD) -> None:
        self.spool, self.period = spool, period
        self.queue: Deque[Entry] = collections.deque()  # entries that could not be written at once
        self.drawings: Deque[Items] = collections.deque()
        self.sample: Optional[Callable[[], Dict[str, float]]] = None  # returns system metrics, or {} if they are not due
        self.printed: Optional[Callable[[bool], Iterable[Tuple[Dict[str, Any], bytes]]]] = None  # argument: is this the end?
        self._latest = 0  # time of the last point, in milliseconds
        self._encode = Encoder().encode
        self._stopping = False
        self._wakes: SimpleQueue[Optional[threading.Event]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tracker-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Start a pass now."""
        self._wakes.put(None)

    def stop(self, end: Optional[Tuple[Dict[str, Any], bytes]] = None, timeout: float = math.inf) -> None:
        """Write all queued entries and end the thread. Then append end, the item for the end of the run.

        A second call waits for the first call. timeout: maximum seconds to wait.
        """
        self._stopping = True
        self.wake()
        limit = time.monotonic() + timeout
        while self._thread.is_alive() and time.monotonic() < limit:
            self._thread.join(min(0.1, timeout))
        self.spool.seal()
        self.spool.publish()
        if end is not None:
            self.spool.append(*end)

    def flush(self) -> None:
        """Wait until all entries that are queued now are written."""
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
                    self._points([self._encode(values, None, time.time())], system=True)
            self._print(False)
            self.spool.publish()
            for done in waiting:
                done.set()
        self._empty()
        self._print(True)

    def _print(self, last: bool) -> None:
        printed = self.printed
        if printed is not None:
            self._make(lambda: printed(last))

    def _wait(self) -> List[threading.Event]:
        """Wait until the period has passed or wake is called. Return the events of waiting calls of flush."""
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
        drawings, queue = self.drawings, self.queue
        while drawings:
            self._make(drawings.popleft())
        while queue:  # an entry stays in the queue until it is written, to keep later entries behind it
            calls: List[bytes] = []
            number = 0
            while len(calls) < min(len(queue), MOST_POINTS):
                entry = queue[len(calls)]
                if not isinstance(entry, bytes) or calls and number + count(entry) > MOST_POINTS:
                    break
                calls.append(entry)
                number += count(entry)
            first = queue[0]
            if isinstance(first, bytes):
                self._points(calls)
            else:
                self.spool.append(*first)
            for _ in range(len(calls) or 1):
                queue.popleft()

    def _make(self, items: Items) -> None:
        try:
            for head, body in items():
                self.spool.append(head, body)
        except Exception as error:  # a bug must not end the thread
            tell(f"a logged value could not be stored: {type(error).__name__}: {error}")

    def _points(self, calls: List[bytes], system: bool = False) -> None:
        """Append one request with the points of calls."""
        body, relative, self._latest = points(calls, self._latest)
        head: Dict[str, Any] = {"op": "points", "key": uuid7().replace("-", "")}
        if relative:
            head["relative"] = True
        if system:
            head["system"] = True
        self.spool.append(head, body)
