"""What init is given, looked at before anything is sent: a server that refuses how a run begins refuses all of it."""

from __future__ import annotations

from typing import Any

MOST_CHARACTERS = 250
"""Characters of a name or tag, as the API takes them."""
MOST_BYTES = 1 << 20
"""Bytes of a text, as the API takes them."""


def name(what: str, value: Any) -> str:
    """value as the name of something. Raises TypeError and ValueError when the API does not take it."""
    text(what, value)
    if not value.strip():
        raise ValueError(f"{what} must not be empty")
    if len(value) > MOST_CHARACTERS:
        raise ValueError(f"{what} must have at most {MOST_CHARACTERS} characters, not {len(value)}")
    if not value.isprintable():
        from unicodedata import category

        for one in value:
            if category(one) in ("Cc", "Cf", "Zl", "Zp") and one not in "\u200c\u200d":
                raise ValueError(f"{what} must consist of printable characters; {one!r} is not one")
    return str(value)


def text(what: str, value: Any) -> str:
    """value as free text. Raises TypeError and ValueError when the API does not take it."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{what} has half of a surrogate pair in it, which is no text") from None
    if size > MOST_BYTES:
        raise ValueError(f"{what} must have at most {MOST_BYTES} bytes, not {size}")
    return value


def identity(what: str, value: Any) -> str:
    """value as the id of a run. Raises TypeError and ValueError when it is no UUID."""
    from uuid import UUID

    try:
        return str(UUID(text(what, value)))
    except ValueError:
        raise ValueError(f"{what} must be the id of a run, a UUID, not {value[:80]!r}") from None


def step(value: Any) -> int:
    """value as a step. Raises ValueError when it is no whole number, such as 0.5."""
    try:
        whole = int(value)
        if whole == value:
            return whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"step must be a whole number, not {value!r}") from None
