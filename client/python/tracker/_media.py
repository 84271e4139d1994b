"""Images, tables, histograms, texts, sounds and videos. Each logged object becomes an artifact.

Objects copy their data when they are created. Tables copy their rows when they are logged. The writer's thread encodes the
data later. Arrays and tensors are handled by numpy, which every program that has arrays or tensors has installed.
"""

from __future__ import annotations

import io
import os
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

from ._check import unused
from ._encode import (
    COMPRESSION,
    File,
    bins,
    channels_last,
    csv_file,
    gif,
    histogram_file,
    leaves,
    pixel_rows,
    png,
    scaled,
    scaled_rows,
    wave_file,
)


class Drawing(NamedTuple):
    """The content of an artifact before it is encoded.

    draw creates the file; it can be called at any time. size is the approximate memory in bytes until draw is called.
    ready reports whether the data needs no encoding, so that it can be stored at once.
    """

    draw: Callable[[], File]
    size: int
    caption: str = ""
    ready: bool = False


class Media:
    """Base class of values that can be logged and are not numbers."""

    caption: Optional[str] = None

    def drawing(self) -> Drawing:
        """Return a copy of the current content."""
        raise NotImplementedError

    @property
    def file(self) -> File:
        """Return the file of the artifact."""
        return self.drawing().draw()


class Image(Media):
    """An image: a path, PNG, JPEG, GIF or WebP bytes, a PIL image, a matplotlib figure, or an array of pixels.

    An array has the shape (height, width) or (height, width, channels) with 1, 3 or 4 channels. The channels can be the
    first dimension, as in tensors. Integers range from 0 to 255, other numbers from 0 to 1. The array is copied at once.
    Other arguments are W&B's and have no effect.
    """

    def __init__(self, data: Any, caption: Optional[str] = None, mode: Any = None, grouping: Any = None, classes: Any = None,
                 boxes: Any = None, masks: Any = None, file_type: Any = None, normalize: Any = None) -> None:
        unused("Image", {"boxes": boxes, "classes": classes, "masks": masks})
        self.caption = caption
        self._drawing = _image(data)._replace(caption=str(caption or ""))

    def drawing(self) -> Drawing:
        return self._drawing


class Text(Media):
    """Text of any length."""

    def __init__(self, data: str) -> None:
        self._text = str(data)

    def drawing(self) -> Drawing:
        text = self._text
        return Drawing(lambda: File(text.encode("utf-8", "replace"), ".txt", "text/plain; charset=utf-8"), len(text),
                       ready=True)


class Html(Media):
    """An HTML page: HTML as a string, the path of an .html file, or an open file. Other arguments are W&B's and have no
    effect."""

    def __init__(self, data: Any, inject: Any = None, data_is_not_path: bool = False) -> None:
        if hasattr(data, "read"):
            data = data.read()
        elif not data_is_not_path and os.fspath(data).endswith((".html", ".htm")) and os.path.isfile(data):
            with open(data, "rb") as file:
                data = file.read()
        self._page = bytes(data) if isinstance(data, (bytes, bytearray)) else str(data).encode("utf-8", "replace")

    def drawing(self) -> Drawing:
        page = self._page
        return Drawing(lambda: File(page, ".html", "text/html; charset=utf-8"), len(page), ready=True)


class Audio(Media):
    """A sound: a path, or samples with a column for each channel. Samples are numbers from -1 to 1, or 16-bit integers."""

    def __init__(self, data: Any, sample_rate: Optional[int] = None, caption: Optional[str] = None) -> None:
        self.caption = caption
        if isinstance(data, (str, os.PathLike)):
            self._drawing = _as_it_is(data, "audio/")
            return
        if not sample_rate:
            raise ValueError("Audio needs sample_rate, the number of samples a second, unless data is a path")
        samples, rate = _plain(data), int(sample_rate)
        self._drawing = Drawing(lambda: wave_file(samples, rate), 8 * getattr(samples, "size", len(samples)))

    def drawing(self) -> Drawing:
        return self._drawing._replace(caption=str(self.caption or ""))


class Video(Media):
    """A video: a path, or frames of shape (frames, channels, height, width) with 1, 3 or 4 channels, which need Pillow.

    Frames are stored as a GIF.
    """

    def __init__(self, data: Any, caption: Optional[str] = None, fps: int = 4, format: Optional[str] = None) -> None:
        self.caption = caption
        if isinstance(data, (str, os.PathLike)):
            self._drawing = _as_it_is(data, "video/")
            return
        if format not in (None, "gif"):
            raise ValueError(f"frames are stored as gif, not {format!r}; write a video file, for example with imageio, and log "
                             "its path")
        frames = _plain(data)
        if getattr(frames, "ndim", 0) != 4:
            raise TypeError("frames must be an array of the shape (frames, channels, height, width)")
        from PIL import Image as _  # noqa: F401  # raises ImportError in the caller, not later in the writer's thread
        self._drawing = Drawing(lambda: gif(frames, fps), int(frames.nbytes))

    def drawing(self) -> Drawing:
        return self._drawing._replace(caption=str(self.caption or ""))


class Table(Media):
    """Rows under column names, stored as CSV. The rows can also be a pandas or polars frame, as dataframe or as data.

    An image or another Media in a cell is stored as an artifact, and the cell contains the artifact's name. Other
    arguments are W&B's and have no effect.
    """

    def __init__(self, columns: Optional[Sequence[Any]] = None, data: Any = None, rows: Any = None, dataframe: Any = None,
                 dtype: Any = None, optional: Any = None, allow_mixed_types: Any = None, log_mode: Any = None) -> None:
        data = rows if data is None else data
        if dataframe is None and hasattr(data, "columns"):
            dataframe = data
        if dataframe is not None:
            columns = list(dataframe.columns)
            data = dataframe.rows() if hasattr(dataframe, "rows") else dataframe.values.tolist()
        self.columns = list(columns or ())
        self.data: List[List[Any]] = [list(row) for row in (() if data is None else data)]

    def add_data(self, *row: Any) -> None:
        """Add a row. Raises ValueError if the row does not have one value for each column."""
        if self.columns and len(row) != len(self.columns):
            raise ValueError(f"a row has {len(self.columns)} values, one for each column, not {len(row)}")
        self.data.append(list(row))

    def add_column(self, name: str, data: Sequence[Any]) -> None:
        """Add a column. Raises ValueError if the column does not have one value for each row of a table with columns."""
        values = list(data)
        if self.columns and len(values) != len(self.data):
            raise ValueError(f"a column has {len(self.data)} values, one for each row, not {len(values)}")
        if not self.columns:
            self.data = [[] for _ in values]
        self.columns.append(name)
        for row, value in zip(self.data, values):
            row.append(value)

    def get_column(self, name: str) -> List[Any]:
        """Return the values of a column."""
        at = self.columns.index(name)
        return [row[at] for row in self.data]

    def drawing(self) -> Drawing:
        return self.with_names(lambda row, column, media: "")

    def with_names(self, name: Callable[[int, str, Media], str]) -> Drawing:
        """Return a copy of the current rows. Each Media in a cell is replaced by name(row number, column, media)."""
        width = max([len(self.columns), *map(len, self.data)])
        columns = self.columns + [f"column {number + 1}" for number in range(len(self.columns), width)]
        rows = [[name(number, str(column), value) if isinstance(value, Media) else value for column, value in zip(columns, row)]
                + [None] * (width - len(row)) for number, row in enumerate(self.data)]
        return Drawing(lambda: csv_file(columns, rows), 64 * sum(map(len, rows)))


class Histogram(Media):
    """The distribution of values.

    values: numbers in an array, a tensor or lists. They are counted in num_bins bins of equal width, from the smallest to
        the largest finite value.
    np_histogram: counts and edges from numpy.histogram, instead of values.
    sequence: W&B's name for values.
    """

    def __init__(self, values: Any = None, num_bins: int = 64, np_histogram: Any = None, sequence: Any = None) -> None:
        values = sequence if values is None else values
        if np_histogram is not None:
            counts, edges = ([float(v) for v in leaves(part)] for part in np_histogram)
            if len(edges) != len(counts) + 1:
                raise ValueError("np_histogram must be a pair of counts and edges, with one edge more than counts")
            self._bins: Callable[[], Tuple[List[float], List[float], int]] = lambda: (counts, edges, 0)
            self._size = 16 * len(edges)
            return
        if num_bins < 1:
            raise ValueError("a histogram needs at least one bin")
        plain = _plain(values)
        self._bins = lambda: bins(plain, num_bins)
        self._size = int(getattr(plain, "nbytes", 64 * len(plain)))

    @property
    def counts(self) -> List[float]:
        """The number of values in each bin."""
        return self._bins()[0]

    @property
    def edges(self) -> List[float]:
        """The lower edges of the bins and the upper edge of the last bin."""
        return self._bins()[1]

    def drawing(self) -> Drawing:
        bins = self._bins
        return Drawing(lambda: histogram_file(*bins()), self._size)


def drawing(value: Any) -> Optional[Drawing]:
    """Return a drawing with a copy of the data of value, or None if value is not an image, a figure or another Media."""
    if isinstance(value, Media):
        return value.drawing()
    if hasattr(value, "savefig") or type(value).__module__.startswith("PIL."):
        return _image(value)
    return None


def _image(data: Any) -> Drawing:
    if isinstance(data, (str, os.PathLike)):
        with open(data, "rb") as file:
            data = file.read()
    if isinstance(data, bytes):
        found = _signature(data)
        if found is None:
            raise TypeError("an image must be PNG, JPEG, GIF or WebP")
        return _drawn(File(data, *found))
    if hasattr(data, "savefig"):  # drawn at once: matplotlib needs this thread, and the caller might close the figure
        out = io.BytesIO()
        data.savefig(out, format="png")
        return _drawn(File(out.getvalue(), ".png", "image/png"))
    if hasattr(data, "save"):
        copied = data.copy()
        return Drawing(lambda: _saved(copied), copied.size[0] * copied.size[1] * 4)
    pixels = _plain(data)
    if hasattr(pixels, "ndim"):
        pixels = channels_last(pixels)
        return Drawing(lambda: png(*scaled(pixels)), int(pixels.nbytes))
    rows, depth = pixel_rows(pixels)
    return Drawing(lambda: png(*scaled_rows(rows, depth)), 32 * sum(map(len, rows)))


def _signature(data: bytes) -> Optional[Tuple[str, str]]:
    """Return the suffix and the media type of an image file. Return None if the format is not supported."""
    if data[:3] == b"\xff\xd8\xff":
        return ".jpg", "image/jpeg"
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return ".png", "image/png"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return ".gif", "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp", "image/webp"
    return None


def _drawn(file: File) -> Drawing:
    return Drawing(lambda: file, len(file.data), ready=True)


def _as_it_is(path: Any, kind: str) -> Drawing:
    """Return a drawing of a file that is stored unchanged. Raises TypeError if the file's suffix does not match kind."""
    import mimetypes

    name = os.fspath(path)
    content_type = mimetypes.guess_type(name)[0] or ""
    if not content_type.startswith(kind) and content_type != "image/gif":
        raise TypeError(f"{name} does not have the suffix of {'an' if kind[0] == 'a' else 'a'} {kind[:-1]} file; store it with "
                        "log_artifact")
    with open(path, "rb") as file:
        return _drawn(File(file.read(), os.path.splitext(name)[1], content_type))


def _saved(image: Any) -> File:
    out = io.BytesIO()
    image.save(out, format="PNG", compress_level=COMPRESSION)
    return File(out.getvalue(), ".png", "image/png")


def _plain(data: Any) -> Any:
    """Return a copy of data: a numpy array for arrays and tensors, and lists for other data."""
    for name in ("detach", "cpu", "numpy"):  # methods of tensors
        data = getattr(data, name)() if hasattr(data, name) else data
    if hasattr(data, "__array__"):
        import numpy

        array = numpy.array(data)
        return array if array.dtype.kind in "biuf" else array.astype("float64")
    if hasattr(data, "tolist"):
        return data.tolist()
    return [_plain(one) if isinstance(one, (list, tuple)) else one for one in data] if isinstance(data, (list, tuple)) else data
