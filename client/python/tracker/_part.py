"""Sizes of the parts in which files are sent to a server, and the progress of requests."""

from __future__ import annotations

from typing import Dict

FIRST = 256 << 10
"""Bytes of the first part for a server."""
SMALLEST = 64 << 10
"""A smaller part, in bytes, is not tried: a proxy that refuses this one takes no files."""
LARGEST = 32 << 20
"""Maximum bytes of a part."""
FAST, SLOW = 1.0, 3.0
"""Seconds: after a part that took less than FAST the next one is larger, after one that took more than SLOW it is smaller."""
CALM = 20
"""Parts in a row that arrive before a larger one is tried again, after a connection broke in a part of that size."""


class Parts:
    """The size in bytes of the next part for one server.

    A 413 response is final: no part will be as large again. A broken connection may have been such a response that was
    lost.
    """

    def __init__(self) -> None:
        self.size, self._limit, self._final, self._calm = FIRST, LARGEST, LARGEST, 0

    def arrived(self, size: int, seconds: float) -> None:
        """Record that a part of size bytes took so many seconds."""
        self._calm += 1
        if self._calm >= CALM:
            self._limit, self._calm = min(self._final, self._limit * 2), 0
        if seconds > SLOW:
            self.size = max(SMALLEST, min(self.size, size) // 2)
        elif seconds < FAST and size >= self.size:
            self.size = max(SMALLEST, min(self._limit, self.size * 2))

    def broke(self, size: int) -> None:
        """Record that the connection broke in a part of size bytes, of which nothing arrived."""
        self._calm = 0
        self.size = self._limit = max(SMALLEST, min(self._limit, size) // 2)

    def refused(self, size: int) -> bool:
        """Record that a part of size bytes was too large. Return whether a smaller one can be tried."""
        self.broke(size)
        self._final = self._limit
        return size > SMALLEST


_servers: Dict[str, Parts] = {}


def parts_for(url: str) -> Parts:
    """Return the parts for a server, which all runs of this process share."""
    return _servers.setdefault(url, Parts())


class Progress:
    """The progress of the requests of a run, for the thread that waits for them."""

    def __init__(self) -> None:
        self.moves = 0  # changes with each piece of a body that is sent for the first time, and with each answer
        self.grace = 0.0  # seconds that the server may need for the present request, more than for others

    def move(self) -> None:
        """Record progress."""
        self.moves += 1
