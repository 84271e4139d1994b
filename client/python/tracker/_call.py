"""Encodes calls to log for the spool, and combines them into requests.

A call is stored as its numbers and their names. Encoding costs the logging thread a few microseconds. Later, the sender
thread converts many calls to JSON at once.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Tuple, TypeVar, Union

from ._value import number_text, text_name, timestamp

MOST_POINTS = 5000
"""Maximum number of points in one request."""
MOST_NAMES = 100_000
"""Maximum number of cached names. A program might make up a new name at each step."""
_HEAD = struct.Struct("<HBqd")
"""The head of a payload: number of values, kind of the step, the step, Unix seconds. After it come the values as doubles
and a JSON list of their names. A step that does not fit into 64 bits is the first element of the list."""
_NONE, _STEP, _RELATIVE, _LONG = range(4)

Step = Union[None, int, str]
"""A step, or text such as "+2", which means the third step of a resumed run."""


Key = TypeVar("Key")
Value = TypeVar("Value")


class _Cache(Dict[Key, Value]):
    """A cache that is cleared when it is full."""

    _size = 0

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Set the value of key. size is the number of names in key."""
        if self._size + size > MOST_NAMES:
            self.clear()
            self._size = 0
        self._size += size
        self[key] = value


class Encoder:
    """Encodes calls as payloads. Safe for concurrent use."""

    def __init__(self) -> None:
        self._shapes: _Cache[Tuple[Any, ...], Tuple[Callable[..., bytes], bytes]] = _Cache()

    def encode(self, data: Mapping[Any, Any], step: Step, at: float) -> bytes:
        """Return the payload of a call of log. It has at most MOST_POINTS values, which are floats or ints."""
        try:
            pack, names = self._shapes[tuple(data)]
            if type(step) is int:
                return pack(len(data), _STEP, step, at, *data.values()) + names
            if step is None:
                return pack(len(data), _NONE, 0, at, *data.values()) + names
        except (KeyError, OverflowError, struct.error):
            pass
        return self._slowly(data, step, at)

    def _slowly(self, data: Mapping[Any, Any], step: Step, at: float) -> bytes:
        keys, found = tuple(data), [text_name(key).encode("utf-8", "replace").decode() for key in data]
        pack = struct.Struct(f"{_HEAD.format}{len(keys)}d").pack
        names = json.dumps(found).encode()
        if all(type(key) is str for key in keys):
            self._shapes.keep(keys, (pack, names), len(keys))
        kind = _NONE if step is None else _RELATIVE if isinstance(step, str) else _STEP
        number = int(step or 0)
        if not -1 << 63 <= number < 1 << 63:
            kind, number, names = _LONG, 0, json.dumps([number, *found]).encode()
        return pack(len(keys), kind, number, at, *map(_double, data.values())) + names


def count(payload: bytes) -> int:
    """Return the number of values in a call's payload."""
    return int.from_bytes(payload[:2], "little")


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # value is an integer with hundreds of digits
        return math.inf if value > 0 else -math.inf


class Points(NamedTuple):
    """The body of a request made from calls."""

    body: bytes
    relative: bool  # whether the body contains steps such as "+2"
    latest: int  # latest time of a point in milliseconds; the argument after for the next request


_prefixes: _Cache[bytes, List[str]] = _Cache()


def points(calls: Iterable[bytes], after: int) -> Points:
    """Return one request with the points of calls.

    The times of the points are at least a millisecond later than the time after. So no two requests of one spool have
    points with equal times, on which _repeat.py relies. If the clock was set back by a second or more, times are not
    corrected.
    """
    parts: List[str] = []
    latest, relative = after, False
    for payload in calls:
        number, kind, step, at = _HEAD.unpack_from(payload)
        end = _HEAD.size + 8 * number
        names = payload[end:]
        prefixes = _prefixes.get(names)
        if prefixes is None:
            found = json.loads(names)
            if kind == _LONG:
                step = found.pop(0)
            prefixes = [f'{{"key":{json.dumps(name)},"value":' for name in found]
            if kind != _LONG:
                _prefixes.keep(names, prefixes, number)
        moment = int(at * 1000)
        if after - 1000 < moment <= after:  # the clock was set back by less than a second, or calls are simultaneous
            moment = after + 1
        latest = moment if moment <= after - 1000 else max(latest, moment)
        tail = f',"recorded_at":"{timestamp(moment)}"}}'
        if kind == _RELATIVE:
            tail, relative = f',"step":"+{step}"{tail}', True
        elif kind != _NONE:
            tail = f',"step":{step}{tail}'
        for prefix, value in zip(prefixes, struct.unpack_from(f"<{number}d", payload, _HEAD.size)):
            parts.append(prefix + number_text(value) + tail)
    return Points(b'{"metrics":[' + ",".join(parts).encode() + b"]}", relative, latest)
