"""Separates logged values: numbers become points; images, figures, tables and texts become artifacts."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ._media import Drawing, Media, Table, drawing
from ._value import flatten, metric, tell, text_name


def split(data: Mapping[str, Any]) -> Tuple[Dict[str, float], List[Tuple[str, Any]]]:
    """Return the numbers in data by flattened name, and the names and values of all other objects."""
    numbers: Dict[str, float] = {}
    objects: List[Tuple[str, Any]] = []
    for name, value in flatten({text_name(key): value for key, value in data.items()}):
        number = metric(name, value)
        if number is not None:
            numbers[name] = number
        else:
            objects.append((name, value))
    return numbers, objects


def drawings(name: str, value: Any, step: Optional[int]) -> List[Tuple[str, Drawing]]:
    """Return the drawings of value, or of each value in a list, with the names of their artifacts without suffix.

    Values that cannot be stored are reported.
    """
    found: List[Tuple[str, Drawing]] = []
    values = value if isinstance(value, (list, tuple)) and value else [value]
    for number, one in enumerate(values):
        label = name + (f"_{step}" if step is not None else "") + (f"_{number}" if len(values) > 1 else "")
        try:
            made = _table(name, label, one, found) if isinstance(one, Table) else drawing(one)
        except Exception as error:  # the drawing library failed
            tell(f"{name} could not be stored: {type(error).__name__}: {error}", once="object " + name)
            return found
        if made is None:
            why = f"{described(value)} is not a number{advice(value)}"
            if isinstance(value, Mapping):
                why = "an empty dict has no numbers"
            tell(f"{name} is not logged: {why}", once="value " + name)
            return found
        found.append((label, made))
    return found


def _table(of: str, label: str, table: Table, found: List[Tuple[str, Drawing]]) -> Drawing:
    lengths, width = {len(row) for row in table.data}, len(table.columns)
    if width and lengths - {width}:
        cells = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else str(*lengths)
        tell(f"{of} has rows with {cells} cells for {width} columns; missing cells are stored empty, and extra values in "
             "additional columns", once="table " + of)

    def name(row: int, column: str, media: Media) -> str:
        inner = f"{label}/{column.strip('/') or 'cell'}_{row}"
        found.append((inner, media.drawing()))
        return inner

    return table.with_names(name)


def described(value: Any) -> str:
    """Return a description of value that fits into a sentence."""
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    kind = type(value).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    return f"{article} {kind} of shape {tuple(shape)}" if isinstance(shape, tuple) and shape else f"{article} {kind}"


def advice(value: Any) -> str:
    """Return advice on what to log instead of value, or "" if there is none."""
    shape: Any = getattr(value, "shape", None)
    if isinstance(value, bytes):
        return "; decode it to a string"
    if isinstance(value, (list, tuple, set, frozenset)) or isinstance(shape, tuple) and shape:
        return "; log a single number, or a tracker.Histogram"
    return ""
