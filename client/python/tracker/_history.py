"""Reads all points of metrics, as a row for each step or as a row for each point."""

from __future__ import annotations

from array import array
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple
from urllib.parse import urlencode

from ._http import Client

MOST = 100_000
"""Maximum number of points of one series that the server returns individually."""
PART = 80_000
"""Number of points to request at once. It is less than MOST, because steps might be unevenly spaced."""

Columns = Tuple["array[int]", "array[float]", List[str]]
"""Steps, values and times of points, ordered by step, and in the order of writing within a step."""


class History(Dict[str, Any]):
    """Metrics as columns of equal length: step, and a column for each metric. A missing value is NaN.

    step is an array of 64-bit integers. The other columns are arrays of doubles. numpy.asarray converts them without a
    copy. If a metric has several values at one step, the column contains the last value.
    """

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        import numpy
        import pandas

        return pandas.DataFrame({name: numpy.asarray(column) for name, column in self.items()})

    def to_polars(self) -> Any:
        """Return a polars frame."""
        import numpy
        import polars

        return polars.DataFrame({name: numpy.asarray(column) for name, column in self.items()})

    def to_arrow(self) -> Any:
        """Return an Arrow table."""
        import numpy
        import pyarrow

        return pyarrow.table({name: numpy.asarray(column) for name, column in self.items()})


class Points(Dict[str, Any]):
    """Points as columns of equal length: key, step, value, and recorded_at as RFC 3339 text in UTC.

    In frames, step is a 64-bit integer, value a double, and recorded_at a time in UTC with milliseconds.
    """

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        import pandas

        frame = pandas.DataFrame({**self, "step": list(self["step"]), "value": list(self["value"])})
        frame = frame.astype({"step": "int64", "value": "float64"})
        frame["recorded_at"] = pandas.to_datetime(frame["recorded_at"], utc=True)
        return frame

    def to_polars(self) -> Any:
        """Return a polars frame."""
        import polars

        return polars.DataFrame(self._timed(), schema={
            "key": polars.String, "step": polars.Int64, "value": polars.Float64, "recorded_at": polars.Datetime("ms", "UTC")})

    def to_arrow(self) -> Any:
        """Return an Arrow table."""
        import pyarrow

        return pyarrow.table(self._timed(), schema=pyarrow.schema([
            ("key", pyarrow.string()), ("step", pyarrow.int64()), ("value", pyarrow.float64()),
            ("recorded_at", pyarrow.timestamp("ms", "UTC"))]))

    def _timed(self) -> Dict[str, List[Any]]:
        from datetime import datetime

        return {"key": self["key"], "step": list(self["step"]), "value": list(self["value"]),
                "recorded_at": [datetime.fromisoformat(at.replace("Z", "+00:00")) for at in self["recorded_at"]]}


def history(client: Client, iteration: str, keys: Sequence[str]) -> History:
    """Return the given metrics of an iteration as columns by step."""
    series = {key: read(client, iteration, key)[:2] for key in keys}
    steps = next(iter(series.values()))[0] if series else array("q")
    if all(one == steps for one, _ in series.values()) and _ascending(steps):
        return History({"step": steps, **{key: values for key, (_, values) in series.items()}})
    every = array("q", sorted({step for one, _ in series.values() for step in one}))
    rows = {step: row for row, step in enumerate(every)}
    found = History({"step": every})
    for key, (own, values) in series.items():
        column = array("d", [float("nan")]) * len(every)
        for step, value in zip(own, values):
            column[rows[step]] = value
        found[key] = column
    return found


def points(client: Client, iteration: str, keys: Sequence[str]) -> Points:
    """Return all points of the given metrics of an iteration."""
    names: List[str] = []
    steps, values, times = array("q"), array("d"), []  # type: array[int], array[float], List[str]
    for key in keys:
        own = read(client, iteration, key)
        names += [key] * len(own[0])
        steps += own[0]
        values += own[1]
        times += own[2]
    return Points({"key": names, "step": steps, "value": values, "recorded_at": times})


def read(client: Client, iteration: str, key: str) -> Columns:
    """Return all points of a metric. Return empty columns if the metric does not exist."""
    outline = _series(client, iteration, key, 2)
    if outline is None:
        return array("q"), array("d"), []
    found: Columns = (array("q"), array("d"), [])

    def part(first: int, last: int, count: int) -> None:
        """Add the points from step first to step last. count is their approximate number."""
        parts = min(-(-count // PART), last - first + 1)
        if parts > 1:
            width = -(-(last - first + 1) // parts)
            for start in range(first, last + 1, width):
                part(start, min(start + width - 1, last), PART)
            return
        answer = _series(client, iteration, key, MOST, first, last)
        if answer is None:
            return
        if answer["shown"] < answer["count"]:  # the steps are unevenly spaced
            if first == last:
                _add(found, *_listed(client, iteration, key, first))
            else:
                part(first, last, max(answer["count"], PART + 1))
            return
        _add(found, answer["step"], answer["value"], answer["recorded_at"])

    part(outline["step"][0], outline["step"][-1], outline["count"])
    return found


def _add(found: Columns, steps: List[int], values: List[Any], times: List[str]) -> None:
    found[0].extend(steps)
    try:
        found[1].extend(array("d", values))
    except TypeError:  # values contains NaN or infinities, which are strings in JSON
        found[1].extend(map(float, values))
    found[2].extend(times)


def _series(client: Client, iteration: str, key: str, points: int, first: Optional[int] = None,
            last: Optional[int] = None) -> Optional[Dict[str, Any]]:
    query = [("key", key), ("points", str(points))]
    query += [(name, str(at)) for name, at in (("from", first), ("to", last)) if at is not None]
    answer = client.call("GET", f"/metric/iteration/{iteration}/series?{urlencode(query)}")["series"]
    return dict(answer[0]) if answer and answer[0]["count"] else None


def _listed(client: Client, iteration: str, key: str, step: int) -> Tuple[List[int], List[Any], List[str]]:
    """Return the points of one step. It is needed if the step has more points than the server returns in a curve."""
    ask: Callable[[int], Any] = lambda offset: client.call(  # noqa: E731
        "GET", f"/metric/iteration/{iteration}?{urlencode({'key': key, 'limit': 1000, 'offset': offset})}")
    offset, found = 0, []  # type: int, List[Dict[str, Any]]
    while True:
        rows = ask(offset)["data"]
        found += [row for row in rows if row["step"] == step]
        offset += len(rows)
        if not rows or rows[-1]["step"] > step:
            return [row["step"] for row in found], [row["value"] for row in found], [row["recorded_at"] for row in found]


def _ascending(steps: "array[int]") -> bool:
    return all(one < other for one, other in zip(steps, steps[1:]))
