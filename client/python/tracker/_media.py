"""What is logged beside numbers: images, figures, tables, histograms, text. Each becomes an artifact."""

from __future__ import annotations

import csv
import io
import json
import os
import struct
import zlib
from typing import Any, List, NamedTuple, Optional, Sequence


class File(NamedTuple):
    """The bytes of an artifact."""

    data: bytes
    suffix: str
    content_type: str


class Image:
    """An image: a path, PNG or JPEG bytes, a PIL image, a matplotlib figure, or an array of pixels.

    An array has the shape (height, width), or (height, width, 1, 3 or 4). Whole numbers are 0 to 255, others 0 to 1. It
    is read at once.
    """

    def __init__(self, data: Any, caption: Optional[str] = None, **_: Any) -> None:
        self.caption = caption
        self.file = picture(data)


class Text:
    """A text of any length."""

    def __init__(self, data: str) -> None:
        self.file = File(str(data).encode("utf-8", "replace"), ".txt", "text/plain; charset=utf-8")


Html = Text


class Table:
    """Rows under column names, kept as CSV. Also takes a pandas or polars frame as dataframe."""

    def __init__(self, columns: Optional[Sequence[Any]] = None, data: Sequence[Sequence[Any]] = (),
                 dataframe: Any = None) -> None:
        if dataframe is not None:
            columns = list(dataframe.columns)
            data = dataframe.rows() if hasattr(dataframe, "rows") else dataframe.values.tolist()
        self.columns = list(columns or ())
        self.data: List[List[Any]] = [list(row) for row in data]

    def add_data(self, *row: Any) -> None:
        """Add a row. Raises ValueError unless it has a value for each column."""
        if self.columns and len(row) != len(self.columns):
            raise ValueError(f"a row has {len(self.columns)} values, one for each column, not {len(row)}")
        self.data.append(list(row))

    @property
    def file(self) -> File:
        """The table as CSV."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(self.columns)
        writer.writerows(self.data)
        return File(out.getvalue().encode("utf-8", "replace"), ".csv", "text/csv; charset=utf-8")


class Histogram:
    """How values are distributed.

    values: numbers in an array, a tensor or lists, which are counted in num_bins bins of equal width between the least
    and the greatest finite one. np_histogram: counts and edges, as numpy.histogram gives them, in place of values.
    """

    def __init__(self, values: Any = None, num_bins: int = 64, np_histogram: Any = None) -> None:
        self.not_finite = 0
        if np_histogram is not None:
            counts, edges = np_histogram
            self.counts, self.edges = [float(v) for v in _leaves(counts)], [float(v) for v in _leaves(edges)]
            if len(self.edges) != len(self.counts) + 1:
                raise ValueError("np_histogram must be counts, and one edge more than counts")
            return
        if num_bins < 1:
            raise ValueError("a histogram needs at least one bin")
        flat = [float(v) for v in _leaves(values)]
        finite = [v for v in flat if abs(v) != float("inf") and v == v]
        low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
        width = (high - low) / num_bins or 1.0
        self.edges = [low + i * width for i in range(num_bins + 1)]
        self.counts = [0.0] * num_bins
        for value in finite:
            self.counts[min(num_bins - 1, int((value - low) / width))] += 1
        self.not_finite = len(flat) - len(finite)

    @property
    def file(self) -> File:
        """The bins as JSON."""
        counts = [int(c) if c.is_integer() else c for c in self.counts]
        text = json.dumps({"edges": self.edges, "counts": counts, "not_finite": self.not_finite})
        return File(text.encode(), ".histogram.json", "application/json")


def _leaves(values: Any) -> Any:
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from _leaves(value)
    else:
        yield values


def as_file(value: Any) -> Optional[File]:
    """The file that value is kept as; None when it is nothing that can be kept."""
    found = getattr(value, "file", None)
    if isinstance(found, File):
        return found
    if hasattr(value, "savefig") or type(value).__module__.startswith("PIL."):
        return picture(value)
    return None


def picture(data: Any) -> File:
    """An image as a PNG, or as it is when it is a file. Raises TypeError for what is no image."""
    if isinstance(data, (str, os.PathLike)):
        with open(data, "rb") as file:
            data = file.read()
    if isinstance(data, bytes):
        if data[:3] == b"\xff\xd8\xff":
            return File(data, ".jpg", "image/jpeg")
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            return File(data, ".png", "image/png")
        raise TypeError("an image must be PNG or JPEG")
    out = io.BytesIO()
    if hasattr(data, "savefig"):
        data.savefig(out, format="png")
    elif hasattr(data, "save"):
        data.save(out, format="PNG")
    else:
        out.write(_png(data))
    return File(out.getvalue(), ".png", "image/png")


def _png(pixels: Any) -> bytes:
    """An array of pixels as a PNG."""
    for name in ("detach", "cpu", "numpy"):  # of a tensor
        pixels = getattr(pixels, name)() if hasattr(pixels, name) else pixels
    rows = pixels.tolist() if hasattr(pixels, "tolist") else pixels
    try:
        height, width = len(rows), len(rows[0])
        depth = len(rows[0][0]) if isinstance(rows[0][0], (list, tuple)) else 0
    except (TypeError, IndexError):
        raise TypeError("an array of pixels must be (height, width) or (height, width, channels)") from None
    kinds = {0: 0, 1: 0, 3: 2, 4: 6}
    if depth not in kinds:
        raise TypeError(f"an array of pixels must have 1, 3 or 4 channels in its last dimension, not {depth}")
    flat = [[v for pixel in row for v in pixel] if depth else row for row in rows]
    scale = 1 if all(isinstance(v, int) for row in flat for v in row) else 255
    lines = b"".join(b"\0" + bytes(max(0, min(255, int(v * scale))) for v in row) for row in flat)
    header = struct.pack(">IIBBBBB", width, height, 8, kinds[depth], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks)
