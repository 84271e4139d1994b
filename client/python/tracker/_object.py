"""Sorts what is logged: numbers become points; images, figures, tables and texts become artifacts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ._value import flatten, scalar, tell

if TYPE_CHECKING:
    from ._run import Run


def numbers(run: Run, data: Mapping[str, Any], step: Optional[int]) -> Dict[str, float]:
    """The numbers in data by their flat names; what else is in it is logged as an artifact."""
    found: Dict[str, float] = {}
    for name, value in flatten(data):
        number = scalar(value)
        if number is not None:
            found[name] = number
        elif value is not None:
            keep(run, name, value, step)
    return found


def keep(run: Run, name: str, value: Any, step: Optional[int]) -> None:
    """Log value, or each of a list, as an artifact of the run. What can't be kept is told."""
    from ._media import as_file

    values = value if isinstance(value, (list, tuple)) and value else [value]
    for number, one in enumerate(values):
        try:
            file = as_file(one)
        except Exception as error:  # of the library that draws it
            tell(f"{name} could not be kept: {type(error).__name__}: {error}", once="object " + name)
            return
        if file is None:
            tell(f"{name} is not logged: {described(value)} is no number{advice(value)}", once="value " + name)
            return
        suffix = (f"_{step}" if step is not None else "") + (f"_{number}" if len(values) > 1 else "")
        path = os.path.join(run.folder, f"{run.id}.files", f"{os.getpid()}-{run._next_file()}{file.suffix}")
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb") as out:
                out.write(file.data)
        except OSError as error:
            tell(f"{name} could not be kept: {error}", once="object " + name)
            return
        run._artifact(path, name + suffix + file.suffix, str(getattr(one, "caption", None) or ""), file.content_type, True)


def described(value: Any) -> str:
    """What value is, as part of a sentence."""
    shape = getattr(value, "shape", None)
    kind = type(value).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    return f"{article} {kind} of shape {tuple(shape)}" if isinstance(shape, tuple) and shape else f"{article} {kind}"


def advice(value: Any) -> str:
    """What to do with value in place of logging it, when there is something."""
    shape: Any = getattr(value, "shape", None)
    if isinstance(value, (str, bytes)):
        return "; put it into config or notes, or log a tracker.Text"
    if isinstance(value, (list, tuple, set, frozenset)) or isinstance(shape, tuple) and shape:
        return "; log one number of it, or a tracker.Histogram"
    return ""
