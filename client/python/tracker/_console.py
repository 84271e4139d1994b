"""Sends the lines that a process prints to the console of its run."""

from __future__ import annotations

import collections
import json
import time
from typing import Any, Deque, Dict, Iterator, List, Tuple

PERIOD = 2.0
"""Seconds after which new lines are sent."""
MOST_LINE = 8000
"""Characters of a line that are sent."""
MOST_LINES = 1000
"""Lines in one request."""


class Console:
    """Cuts printed text into numbered lines.

    keep may be called by any thread and in signal handlers. items must be called by one thread; it returns requests for
    new lines. An incomplete line, such as a progress bar, is sent as it is, and again with the same number after it has
    changed.
    """

    def __init__(self, live: bool, resumed: bool) -> None:
        """live: also send incomplete lines, because somebody may be watching. resumed: the run may have earlier lines."""
        self._live, self._resumed = live, resumed
        self._texts: Deque[str] = collections.deque()
        self._line = ""  # the incomplete one
        self._sent = ""  # what was sent of it
        self._number = 0  # of the incomplete one
        self._next = 0.0  # when items makes the next requests

    def keep(self, text: str) -> None:
        """Add printed text."""
        self._texts.append(text)

    def items(self, last: bool = False) -> Iterator[Tuple[Dict[str, Any], bytes]]:
        """Return the spool items for new lines, if they are due. last: the process will print nothing more."""
        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + PERIOD
        parts: List[str] = [self._line]
        while self._texts:
            parts.append(self._texts.popleft())
        *lines, self._line = "".join(parts).split("\n")
        lines = [_seen(line) for line in lines]
        number = self._number
        self._number += len(lines)
        rest = _seen(self._line)
        if self._line.endswith("\r"):
            self._line = rest + "\r"
        elif len(self._line) > 2 * MOST_LINE:
            self._line = rest
        if lines:
            self._sent = ""
        if rest != self._sent and (self._live or last):
            self._sent = rest
            lines.append(rest)
        for start in range(0, len(lines), MOST_LINES):
            body = {"from": number + start, "lines": lines[start:start + MOST_LINES]}
            yield {"op": "console", "resumed": self._resumed}, json.dumps(body).encode()


def _seen(line: str) -> str:
    """Return the visible part of a line after its carriage returns, cut to the maximum length."""
    line = line.rstrip("\r").rpartition("\r")[2]
    return line[:MOST_LINE].encode("utf-8", "replace").decode()
