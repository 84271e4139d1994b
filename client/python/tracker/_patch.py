"""Replaces functions of libraries, at once or when a library is imported, and restores them."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from ._value import tell

Undo = List[Callable[[], None]]
"""Functions that undo the changes of a library."""


class _Change(NamedTuple):
    modules: Sequence[str]  # make is called when one of these modules is imported
    make: Callable[[Undo], None]
    undo: Undo


_changes: Dict[str, _Change] = {}
_finding = threading.local()


def change(library: str, modules: Sequence[str], make: Callable[[Undo], None]) -> None:
    """Call make to change a library, at once or when one of the modules is imported.

    A second call for a library does nothing. make(undo) appends to undo functions that undo its changes.
    """
    if library in _changes:
        return
    _changes[library] = _Change(modules, make, [])
    if any(module in sys.modules for module in modules):
        _make(library)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def restore(library: str) -> None:
    """Undo the changes of a library."""
    if library in _changes:
        for undo in _changes.pop(library).undo:
            undo()


def replace(owner: Any, name: str, new: Callable[[Callable[..., Any]], Callable[..., Any]], undo: Undo) -> None:
    """Replace the function owner.name by new(function). Append to undo a function that restores it."""
    before = owner.__dict__[name]
    setattr(owner, name, functools.wraps(before)(new(before)))
    undo.append(lambda: setattr(owner, name, before))


def _make(library: str) -> None:
    found = _changes.get(library)
    if found is not None and not found.undo:
        try:
            found.make(found.undo)
        except Exception as error:  # make does not support the library's version; the library stays unchanged
            tell(f"{library} can't be logged automatically: {type(error).__name__}: {error}")


class _Finder(importlib.abc.MetaPathFinder):
    """Changes a library when it is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        library = next((one for one, change in list(_changes.items()) if name in change.modules), None)
        if library is None or getattr(_finding, "active", False):
            return None
        _finding.active = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            _finding.active = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_change(module: Any) -> None:
            execute(module)
            _make(str(library))

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec
