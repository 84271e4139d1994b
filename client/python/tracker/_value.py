"""Converts logged values to the API's format, and prints messages."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

EXACT = 1 << 53
"""Integers with a smaller absolute value can be represented exactly as floats."""
PLAIN = frozenset((float, int))
"""Types whose values need no conversion. Their values are immutable."""

_told: Dict[str, bool] = {}

printing = threading.RLock()
"""A lock that is held while a thread writes to a Python stream, and during a fork. Without it, a child that is forked
during a write would inherit a locked stream that no thread unlocks."""


def tell(text: str, once: Optional[str] = None, stream: Any = None) -> None:
    """Print a message on stream, or on the original stderr. If once is set, print only the first message with that key."""
    if once is not None:
        if once in _told:
            return
        _told[once] = True
    try:
        stream = stream or sys.__stderr__ or sys.stderr
        with printing:
            stream.write("tracker: " + text + "\n")
            stream.flush()
    except (OSError, ValueError, AttributeError, RuntimeError):
        pass  # the stream is closed, or a signal handler interrupted a write


def is_quiet(quiet: Optional[bool]) -> bool:
    """Return whether to omit the lines about the start and end of a run: quiet, or TRACKER_QUIET if quiet is None."""
    return os.environ.get("TRACKER_QUIET", "").lower() not in ("", "0", "false", "no") if quiet is None else quiet


def uuid7() -> str:
    """Return a new UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then random bits."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def flatten(data: Mapping[Any, Any], prefix: str = "") -> Iterator[Tuple[str, Any]]:
    """Return the leaves of nested mappings, with names joined by a slash. A nested empty mapping is a leaf."""
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from flatten(value, name + "/")
        else:
            yield name, value


def scalar(value: Any) -> Optional[float]:
    """Return value as a number, or None if it is not one.

    Accepts an object with one element that converts to a float: numpy scalars, torch and jax tensors, Decimal, Fraction.
    The value is converted at once, because the next step might change a tensor in place.
    """
    if isinstance(value, (float, int)):
        return _float(value)
    if isinstance(value, (str, bytes, bytearray)) or value is None:
        return None
    item = getattr(value, "item", None)
    if callable(item):
        try:
            value = item()
        except Exception:  # the object has several elements or no data, or its device is lost
            return None
        if isinstance(value, (str, bytes)):
            return None
    return _float(value)


def metric(name: str, value: Any) -> Optional[float]:
    """Return value as a number, or None if it is not one. If precision is lost, this is reported once."""
    number = scalar(value)
    if number is not None and abs(number) >= EXACT:
        item = getattr(value, "item", None)
        exact = item() if callable(item) else value
        if exact != number:
            inexact(name, number)
    return number


def inexact(name: Any, number: float) -> None:
    """Report once that the stored number of a metric differs from the logged number."""
    tell(f"{name} is logged as {number!r}: a 64-bit float cannot represent the given number",
         once=f"inexact {name}")


def floats(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return data. Integers that a float can't represent are replaced by the nearest float, and reported once."""
    changed: Dict[Any, Any] = {}
    for name, value in data.items():
        if type(value) is int and not -EXACT < value < EXACT:
            number = _float(value)
            if number is not None and number != value:
                inexact(name, number)
                changed[name] = number
    return {**data, **changed} if changed else data


def text_name(key: Any) -> str:
    """Return the name of a metric as a string. A name that is not a string is reported once."""
    name = str(key)
    if not isinstance(key, str):
        kind = type(key).__name__
        what = "None" if key is None else f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
        tell(f"the name of a metric is {what}, not text; it is logged as {name!r}", once="name " + name)
    return name


def _float(value: Any) -> Optional[float]:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except Exception:  # __float__ of value's type failed, so value is not a number
        return None


def number_text(value: float) -> str:
    """Return a metric's value as JSON, with the strings NaN, Infinity and -Infinity."""
    text = repr(value)
    if text[-1] in "nf":
        return {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}[text]
    return text


def parameter_text(value: Any) -> str:
    """Return the text that is stored for a parameter's value: a number in its shortest form, a list as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        try:
            return json.dumps(value)
        except (TypeError, ValueError):
            return str(value)
    if not isinstance(value, (int, float)) and callable(getattr(value, "item", None)):
        try:
            value = value.item()
        except Exception:  # the framework failed, as in scalar
            return str(value)
        return parameter_text(value)
    try:
        return str(value)
    except ValueError:  # value is an integer with thousands of digits
        return hex(value)


def timestamp(milliseconds: int) -> str:
    """Return a Unix time in milliseconds as RFC 3339 text in UTC."""
    t = time.gmtime(milliseconds // 1000)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (
        t.tm_year, t.tm_mon, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, milliseconds % 1000)


def digest(data: bytes) -> str:
    """Return the SHA-256 of data in hexadecimal."""
    from hashlib import sha256

    return sha256(data).hexdigest()
