"""Writes to the spool what the threads that log leave to it: pictures, what the machine does, what is printed."""

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
"""Seconds between two times that what was logged is handed to the sender."""
WORKER_PERIOD = 0.05
"""The same in a worker process, which may be killed as soon as its work is done."""

Items = Callable[[], Iterable[Tuple[Dict[str, Any], bytes]]]
Entry = Union[bytes, Tuple[Dict[str, Any], bytes]]
"""A call to log, see _call.py; or the head and body of another item of the spool."""


class Writer:
    """The thread that draws values and writes items that the spool file did not accept.

    Only this thread takes from the queues and writes. So a signal handler that interrupts the main thread at any place
    can still have them written: stop takes no lock that the main thread may hold. The thread also makes sure that the
    handler of such a signal runs.
    """

    def __init__(self, spool: Spool, period: float = PERIOD) -> None:
        self.spool, self.period = spool, period
        self.queue: Deque[Entry] = collections.deque()  # what the file does not take
        self.drawings: Deque[Items] = collections.deque()
        self.sample: Optional[Callable[[], Dict[str, float]]] = None  # system metrics, when they are due
        self.printed: Optional[Callable[[bool], Iterable[Tuple[Dict[str, Any], bytes]]]] = None  # whether it is the end
        self._latest = 0  # time of a point, in milliseconds
        self._encode = Encoder().encode
        self._stopping = False
        self._wakes: SimpleQueue[Optional[threading.Event]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tracker-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Process the queues now."""
        self._wakes.put(None)

    def stop(self, end: Optional[Tuple[Dict[str, Any], bytes]] = None, timeout: float = math.inf) -> None:
        """Write everything in the queues and end the thread. Only end, the item of the end, is written after that.

        A second call waits for the first one. timeout: maximum seconds to wait.
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
        """Write everything that is queued now."""
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
        """Wait for the period or until woken. Return the callers of flush."""
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
        while queue:  # an entry stays there until it is written, so that what follows is not written before it
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
        except Exception as error:  # a fault here must not end the thread
            tell(f"something that was logged could not be kept: {type(error).__name__}: {error}")

    def _points(self, calls: List[bytes], system: bool = False) -> None:
        """Append one request with the points of these calls."""
        body, relative, self._latest = points(calls, self._latest)
        head: Dict[str, Any] = {"op": "points", "key": uuid7().replace("-", "")}
        if relative:
            head["relative"] = True
        if system:
            head["system"] = True
        self.spool.append(head, body)
