"""Checks arguments before they are sent. If the server rejected the start of a run, all data of the run would be lost."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterable, Literal, TypeVar, cast

Mode = Literal["online", "offline", "disabled"]
"""The mode of a run: whether its data is sent, only stored, or discarded."""
End = Literal["SUCCEEDED", "FAILED", "KILLED"]
"""The statuses with which a run can end."""
Status = Literal["RUNNING", "SUCCEEDED", "FAILED", "KILLED"]
"""The status of a run."""
Reinit = Literal["default", "finish_previous", "return_previous", "create_new"]
"""What init does with an active run."""
Capture = Literal["git", "command", "host", "packages", "system", "output"]
"""The parts of the environment that are recorded automatically."""

Function = TypeVar("Function", bound=Callable[..., Any])

MOST_CHARACTERS = 250
"""Maximum characters of a name or tag. The API has the same limit."""
MOST_BYTES = 1 << 20
"""Maximum bytes of a text value. The API has the same limit."""


def name(what: str, value: Any) -> str:
    """Return value if it is a valid name. Raises TypeError and ValueError if the API would not accept it."""
    text(what, value)
    if not value.strip():
        raise ValueError(f"{what} must not be empty")
    if len(value) > MOST_CHARACTERS:
        raise ValueError(f"{what} must have at most {MOST_CHARACTERS} characters, not {len(value)}")
    if not value.isprintable():
        from unicodedata import category

        for one in value:
            if category(one) in ("Cc", "Cf", "Zl", "Zp") and one not in "\u200c\u200d":
                raise ValueError(f"{what} must consist of printable characters; {one!r} is not printable")
    return str(value)


def text(what: str, value: Any) -> str:
    """Return value if it is a valid text. Raises TypeError and ValueError if the API would not accept it."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{what} contains an unpaired surrogate") from None
    if size > MOST_BYTES:
        raise ValueError(f"{what} must have at most {MOST_BYTES} bytes, not {size}")
    return value


def identity(what: str, value: Any) -> str:
    """Return the run id in value in canonical form. Raises TypeError and ValueError if value is not a UUID."""
    from uuid import UUID

    try:
        return str(UUID(text(what, value)))
    except ValueError:
        raise ValueError(f"{what} must be the id of a run, a UUID, not {value[:80]!r}") from None


def step(value: Any) -> int:
    """Return value as an integer. Raises ValueError if it is not a whole number."""
    try:
        whole = int(value)
        if whole == value:
            return whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"step must be a whole number, not {value!r}") from None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" if word is similar to a known word. Otherwise return ""."""
    from difflib import get_close_matches

    found = get_close_matches(str(word), list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def known_arguments(function: Function) -> Function:
    """Return a wrapper that raises TypeError for unknown keyword arguments. The error suggests the right name."""
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
    """Print once that the given W&B arguments have no effect. Arguments without a value are ignored."""
    from ._value import tell

    given = sorted(name for name, value in arguments.items() if value)
    if given:
        tell(f"{function} takes {', '.join(given)} for compatibility with W&B; it has no effect", once=f"{function} {given}")
