"""What init is given, looked at before anything is sent: a server that refuses how a run begins refuses all of it."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterable, Literal, TypeVar, cast

Mode = Literal["online", "offline", "disabled"]
"""Where what is logged goes."""
End = Literal["SUCCEEDED", "FAILED", "KILLED"]
"""How a run ends."""
Status = Literal["RUNNING", "SUCCEEDED", "FAILED", "KILLED"]
"""The status of a run."""
Reinit = Literal["default", "finish_previous", "return_previous", "create_new"]
"""What becomes of the run that is active."""
Capture = Literal["git", "command", "host", "packages", "system", "output"]
"""What belongs to a run and is recorded by itself."""

Function = TypeVar("Function", bound=Callable[..., Any])

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


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to add to a sentence about an unknown word when a known one is like it."""
    from difflib import get_close_matches

    found = get_close_matches(str(word), list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def known_arguments(function: Function) -> Function:
    """Have function refuse unknown keyword arguments with a TypeError that suggests the right one."""
    code = function.__code__
    names = frozenset(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not names >= kwargs.keys():
            for name in kwargs:
                if name not in names:
                    raise TypeError(f"{function.__name__} has no argument {name!r}{suggestion(name, names)}")
        return function(*args, **kwargs)

    return cast(Function, checked)


def unused(function: str, arguments: Dict[str, Any]) -> None:
    """Say once that arguments of W&B change nothing here, those that were given."""
    from ._value import tell

    given = sorted(name for name, value in arguments.items() if value)
    if given:
        tell(f"{function} takes {', '.join(given)} for W&B's sake; it changes nothing here", once=f"{function} {given}")
