"""Builds a pandas frame with the iterations of an experiment."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple

COLUMNS = 100
"""Maximum number of parameters and metrics in one listing request."""


def frame(keys: Sequence[Tuple[str, str]], iterations: Callable[[Optional[str]], Iterable[Dict[str, Any]]]) -> Any:
    """Return a frame with a row for each iteration. Its columns are the fields and the given parameters and metrics.

    keys holds the kind and the name of each parameter and metric. iterations(columns) returns the fields of all iterations,
    with the parameters and metrics in columns.
    """
    import pandas

    rows: Dict[str, Dict[str, Any]] = {}
    for start in range(0, max(1, len(keys)), COLUMNS):
        part = [f"{kind}.`{key.replace('`', '``')}`" for kind, key in keys[start:start + COLUMNS]]
        for record in iterations(",".join(part) or None):
            fields = dict(record)
            params, metrics = fields.pop("params", {}), fields.pop("metrics", {})
            row = rows.setdefault(fields["id"], fields)
            row.update({"param/" + name: value for name, value in params.items()})
            row.update({"metric/" + _unquoted(name): float(value) for name, value in metrics.items() if value is not None})
    table = pandas.DataFrame(list(rows.values()))
    for name in table.columns:
        if name in ("created_date", "end_date", "last_seen", "stop_requested"):
            table[name] = pandas.to_datetime(table[name], utc=True)
        elif name.startswith("param/"):
            numbers = pandas.to_numeric(table[name], errors="coerce")
            if numbers.notna().sum() == table[name].notna().sum():
                table[name] = numbers
    return table


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if len(name) > 1 and name[0] == name[-1] == "`" else name
