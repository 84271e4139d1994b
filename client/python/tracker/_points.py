"""Sends points exactly once, even if a response was lost. Sends smaller requests if a proxy rejects large bodies."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Tuple

from ._http import ENDED, Client, Refused, Unreachable
from ._part import SMALLEST
from ._repeat import is_old, missing
from ._value import digest, tell


class Points:
    """Sends the points of one iteration. If doubt is set, the server might already have the next points, see _repeat.py."""

    def __init__(self, client: Client, id: str, doubt: bool, reopen_for: Callable[[Callable[[], Any]], None],
                 keep: Callable[[Dict[str, Any], bytes, Refused], None]) -> None:
        """reopen_for makes a request, and reopens the iteration first if necessary. keep stores rejected points."""
        self.doubt = doubt
        self._client, self._id, self._reopen_for, self._keep = client, id, reopen_for, keep
        self._broken: Tuple[str, int] = ("", 0)  # key of the request whose connection broke, and the number of times it broke

    def send(self, body: bytes, key: str) -> None:
        """Send points. If the server might already have some of them, find out which ones are missing, and send only these.

        A proxy that rejects a large body might close the connection before its response is read. So after the connection
        broke twice, a request is sent in parts. Parts of each size are tried twice before smaller parts are used.
        """
        broke = self._broken[1] if self._broken[0] == key else 0
        try:
            if self.doubt and is_old(key) or broke > 1:
                points = json.loads(body)["metrics"]
                left = missing(self._client, self._id, points)
                if len(left) == len(points):
                    self.doubt = False  # requests are sent in order, so the server does not have any later points either
                if len(left) < len(points) or broke > 1:
                    size, new = max(1, len(points) >> broke // 2), {id(point) for point in left}
                    parts = (points[start:start + size] for start in range(0, len(points), size))
                    self._split(key, *([point for point in part if id(point) in new] for part in parts))
                    return
            self._post(body, key)
        except Unreachable as failure:
            if failure.begun and len(body) > SMALLEST:
                self._broken = key, broke + 1
            raise

    def _split(self, key: str, *parts: List[Any]) -> None:
        """Send each part as a request, with an idempotency key that is derived from its content, so that equal parts have
        equal keys."""
        for part in filter(None, parts):
            text = json.dumps({"metrics": part}).encode()
            self._post(text, key[:32] + "-" + digest(text))

    def _post(self, body: bytes, key: str) -> None:
        """Send points. If the server rejects them, send each half separately. A point that is rejected alone is omitted."""
        try:
            self._reopen_for(lambda: self._client.call("POST", f"/metric/iteration/{self._id}/bulk", body, key))
            return
        except Refused as refused:
            if refused.code == ENDED or refused.status not in (400, 413, 422):
                raise
            points = json.loads(body)["metrics"]
            if len(points) == 1:
                point = points[0]
                tell(f"the server rejected the point {point['key'][:80]!r} at step {point.get('step')}: {refused.message}")
                self._keep({"op": "points", "key": key}, body, refused)
                return
        self._split(key, points[:len(points) // 2], points[len(points) // 2:])
