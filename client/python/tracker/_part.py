"""Chooses the size of the parts in which files are sent to a server, and counts the progress of requests."""

from __future__ import annotations

from typing import Dict

FIRST = 256 << 10
"""Size in bytes of the first part that is sent to a server."""
SMALLEST = 64 << 10
"""Minimum bytes of a part. If a proxy rejects a part of this size, files cannot be sent through it."""
LARGEST = 32 << 20
"""Maximum bytes of a part."""
FAST, SLOW = 1.0, 3.0
"""Seconds. Parts get larger after a part that took less than FAST, and smaller after one that took more than SLOW."""
CALM = 20
"""Number of parts in a row that must arrive after a broken connection before a larger part is tried."""


class Parts:
    """The size in bytes of the next part to send to a server.

    After a 413 response, all later parts are smaller than the rejected part. After a broken connection, parts are smaller
    for a while, because a 413 response might have been lost.
    """

    def __init__(self) -> None:
        self.size, self._limit, self._final, self._calm = FIRST, LARGEST, LARGEST, 0

    def arrived(self, size: int, seconds: float) -> None:
        """Record that a part arrived. size is in bytes; seconds is how long the request took."""
        self._calm += 1
        if self._calm >= CALM:
            self._limit, self._calm = min(self._final, self._limit * 2), 0
        if seconds > SLOW:
            self.size = max(SMALLEST, min(self.size, size) // 2)
        elif seconds < FAST and size >= self.size:
            self.size = max(SMALLEST, min(self._limit, self.size * 2))

    def broke(self, size: int) -> None:
        """Record that the connection broke while a part was sent, and that nothing arrived. size is in bytes."""
        self._calm = 0
        self.size = self._limit = max(SMALLEST, min(self._limit, size) // 2)

    def refused(self, size: int) -> bool:
        """Record that a part of size bytes was too large. Return whether a smaller part can be tried."""
        self.broke(size)
        self._final = self._limit
        return size > SMALLEST


_servers: Dict[str, Parts] = {}


def parts_for(url: str) -> Parts:
    """Return the Parts of a server, which all runs of this process share."""
    return _servers.setdefault(url, Parts())


class Progress:
    """The progress of a run's requests. It is read by the thread that waits for the requests."""

    def __init__(self) -> None:
        self.moves = 0  # increases when bytes of a body are sent for the first time, and with each response
        self.grace = 0.0  # additional seconds that the server might need for the current request

    def move(self) -> None:
        """Record progress."""
        self.moves += 1
