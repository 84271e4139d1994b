"""Finds the points of a request that are already on the server, in case the server might have forgotten the request's key.

The server remembers idempotency keys for a day. If the response to a request was lost, and the request is repeated after
more than a day, its points are compared with the stored points. The comparison is exact for two reasons: the server stores
a request completely or not at all, and no two requests of one writer have points with equal times, see _call.py.
"""

from __future__ import annotations

import collections
import time
from typing import Any, Counter, Dict, List, Tuple
from urllib.parse import urlencode

from ._http import Client

REMEMBERED = 23 * 3600.0
"""Seconds for which the server certainly remembers a key."""
MOST = 100_000
"""Maximum number of points of one series that the server returns individually."""
KEYS = 50
"""Maximum number of series in one query. Their names must fit into the URL."""

Point = Dict[str, Any]
Mark = Tuple[str, str, str]
"""Key, value and time of a point. The value is a string."""


def is_old(key: str) -> bool:
    """Return whether the server might have forgotten key, a UUIDv7 without hyphens. Clocks might differ by an hour."""
    return not 0 <= time.time() - int(key[:12], 16) / 1000 < REMEMBERED


def missing(client: Client, iteration: str, points: List[Point]) -> List[Point]:
    """Return the points of one request that are not on the server, in order."""
    by_key: Dict[str, List[Point]] = {}
    for point in points:
        by_key.setdefault(point["key"], []).append(point)
    there: Dict[Mark, Counter[int]] = {}
    names = list(by_key)
    for start in range(0, len(names), KEYS):
        some = names[start:start + KEYS]
        times = [point["recorded_at"] for name in some for point in by_key[name]]
        for series in _shown(client, iteration, some, min(times), max(times)):
            if series["count"] <= MOST:
                _count(there, series)
                continue
            for at in sorted({point["recorded_at"] for point in by_key[series["key"]]}):  # too many points for one response
                for part in _shown(client, iteration, [series["key"]], at, at):
                    _count(there, part)
    found = [False] * len(points)
    for with_step in (True, False):  # points without a step come last, because they match any point that is still unmatched
        for number, point in enumerate(points):
            if (point.get("step") is not None) is with_step:
                steps = there.get(_mark(point["key"], point["value"], point["recorded_at"]), collections.Counter())
                candidates = [point["step"]] if with_step else list(+steps)
                if candidates and steps[candidates[0]] > 0:
                    steps[candidates[0]] -= 1
                    found[number] = True
    return [point for number, point in enumerate(points) if not found[number]]


def _shown(client: Client, iteration: str, keys: List[str], first: str, last: str) -> List[Dict[str, Any]]:
    query = urlencode([("key", key) for key in keys] + [("x", "time"), ("from", first), ("to", last), ("points", str(MOST))])
    return list(client.call("GET", f"/metric/iteration/{iteration}/series?{query}")["series"])


def _count(there: Dict[Mark, Counter[int]], series: Dict[str, Any]) -> None:
    for step, value, at in zip(series["step"], series["value"], series["recorded_at"]):
        there.setdefault(_mark(series["key"], value, at), collections.Counter())[step] += 1


def _mark(key: str, value: Any, at: str) -> Mark:
    return key, repr(float(value) + 0.0), at
