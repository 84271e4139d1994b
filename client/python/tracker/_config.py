"""The parameters and the summary of a run, as dictionaries."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any, Callable, Dict, Iterator, Optional

from ._value import flatten, parameter_text


class Config(MutableMapping):  # type: ignore[type-arg]
    """A dictionary whose items are also attributes. An item is recorded as a parameter when it is set."""

    def __init__(self, record: Callable[[str, str], None]) -> None:
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_recorded", {})
        object.__setattr__(self, "_record", record)

    _values: Dict[str, Any]
    _recorded: Dict[str, str]
    _record: Callable[[str, str], None]

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[key] = value
        for name, leaf in flatten({key: value}):
            text = parameter_text(leaf)
            if self._recorded.get(name) != text:
                self._recorded[name] = text
                self._record(name, text)

    def __delitem__(self, key: str) -> None:
        raise TypeError("a recorded parameter can't be removed; set it to another value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"the run has no parameter {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several parameters. Mappings and namespaces, such as argparse's, are accepted; allow_val_change is
        ignored."""
        kwargs.pop("allow_val_change", None)
        for source in args:
            for name, value in as_mapping(source).items():
                self[name] = value
        for name, value in kwargs.items():
            self[name] = value

    def as_dict(self) -> Dict[str, Any]:
        """Return a copy of all parameters."""
        return dict(self._values)

    def setdefaults(self, values: Dict[str, Any]) -> None:
        """Set the given parameters, except for parameters that are already set."""
        for name, value in values.items():
            self.setdefault(name, value)

    def __repr__(self) -> str:
        return f"Config({self._values!r})"


def as_mapping(source: Any) -> Dict[str, Any]:
    """Return the items of a mapping, of a sequence of pairs, or of an object with attributes."""
    if isinstance(source, (dict, MutableMapping)) or hasattr(source, "keys"):
        return {str(key): source[key] for key in source.keys()}
    if hasattr(source, "__dict__"):
        return dict(vars(source))
    try:
        return dict(source)
    except (TypeError, ValueError):
        raise TypeError(f"config takes a dictionary, or an object with attributes, not {type(source).__name__}") from None


SUMMARY = "summary/"
"""Prefix of the metrics that store the numbers of a run's summary."""
TEXT = "tracker.summary."
"""Prefix of the properties that store the other values of a run's summary."""
MAX_TEXT = 8192
"""Maximum length of a value of the summary that is not a number, in characters."""


def summary_text(value: Any) -> Optional[str]:
    """Return None, a string, a boolean, or a list or tuple of these and of numbers in the form in which a summary stores it.

    Strings are stored unchanged, except strings that look like one of the other values. Return None for another value.
    """
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
        looks = value in ("true", "false", "null") or value[:1] in ('"', "[")
        return json.dumps(value, ensure_ascii=False) if looks else value[:MAX_TEXT]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)) and all(isinstance(one, (str, bool, int, float, list, tuple)) for one in value):
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return None
        return text if len(text) <= MAX_TEXT else None
    return None


class Summary(Dict[str, Any]):
    """Values that are recorded when the run ends. Items are also attributes. If a name was not set, its value is the last
    value that was logged under this name."""

    def __init__(self, last: Callable[[], Dict[str, float]] = dict) -> None:
        super().__init__()
        object.__setattr__(self, "_last", last)

    _last: Callable[[], Dict[str, float]] = dict  # the class attribute is used while the object is unpickled

    def __missing__(self, key: str) -> Any:
        return self._last()[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._last()

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value that was set for key. If there is none, return the last logged value, or else default."""
        return self[key] if key in self else default

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value
