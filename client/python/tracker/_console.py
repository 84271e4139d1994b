"""Sends printed lines to the console of a run."""

from __future__ import annotations

import collections
import json
import time
from typing import Any, Deque, Dict, Iterator, List, Tuple

PERIOD = 2.0
"""Minimum seconds between two sends."""
MOST_LINE = 8000
"""Maximum characters of a line. Longer lines are truncated."""
MOST_LINES = 1000
"""Maximum lines in one request."""


class Console:
    """Splits printed text into numbered lines.

    Any thread and any signal handler can call keep. Only one thread can call items, which returns requests for new lines.
    An incomplete line, such as a progress bar, is sent in its current state. If it changes, it is sent again with the same
    number.
    """

    def __init__(self, live: bool, resumed: bool) -> None:
        """live: send incomplete lines, because a user might be watching. resumed: the run might have earlier lines."""
        self._live, self._resumed = live, resumed
        self._texts: Deque[str] = collections.deque()
        self._line = ""  # the incomplete line
        self._sent = ""  # the part of the incomplete line that was sent
        self._number = 0  # number of the incomplete line
        self._next = 0.0  # time of the next requests

    def keep(self, text: str) -> None:
        """Add printed text."""
        self._texts.append(text)

    def items(self, last: bool = False) -> Iterator[Tuple[Dict[str, Any], bytes]]:
        """Yield the spool items for new lines if PERIOD has passed. last: whether the process will print nothing more."""
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
    """Return the part of a line after its last carriage return, which is visible on a terminal. It is truncated to
    MOST_LINE characters."""
    line = line.rstrip("\r").rpartition("\r")[2]
    return line[:MOST_LINE].encode("utf-8", "replace").decode()
