"""Tests of images, histograms, tables, sounds and videos: the resulting files, and the thread that encodes them."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import threading
import wave
from typing import Any, List

import numpy
import PIL.Image
import pytest

import tracker
from tracker import _encode, _media

from .conftest import Server, sync

random = numpy.random.default_rng(7)


def opened(image: Any) -> Any:
    return numpy.asarray(PIL.Image.open(io.BytesIO(image.file.data)))


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (5, 7, 3), (5, 7, 4)])
@pytest.mark.parametrize("kind", ["uint8", "int64", "float32", "bool"])
def test_an_array_and_lists_of_the_same_pixels_are_the_same_picture(shape: Any, kind: str) -> None:
    pixels = random.uniform(-0.2, 1.2, shape) if kind == "float32" else random.integers(0, 2 if kind == "bool" else 256, shape)
    pixels = pixels.astype(kind)
    drawn = opened(tracker.Image(pixels))
    expected = (pixels.astype("float64") * (255 if kind == "float32" else 1)).clip(0, 255).astype("uint8")
    assert (drawn.reshape(shape) == expected).all()
    if kind != "bool":
        assert tracker.Image(pixels.tolist()).file == tracker.Image(pixels).file


def test_channels_may_come_first() -> None:
    pixels = random.integers(0, 256, (3, 20, 30)).astype("uint8")
    assert (opened(tracker.Image(pixels)) == pixels.transpose(1, 2, 0)).all()
    with pytest.raises(TypeError, match="1, 3 or 4 channels in its last dimension, not 9"):
        tracker.Image(numpy.zeros((7, 8, 9)))


@pytest.mark.parametrize("values", [[], [1.0], [1, 2, 2, 4], [0.0, 1.0, float("inf"), float("nan")],
                                    random.normal(size=1000).tolist()])
def test_an_array_and_a_list_of_the_same_values_have_the_same_histogram(values: List[float]) -> None:
    one, other = tracker.Histogram(values, num_bins=10), tracker.Histogram(numpy.array(values, "float64"), num_bins=10)
    assert one.file == other.file
    assert json.loads(one.file.data)["not_finite"] == sum(not numpy.isfinite(v) for v in values)


def test_drawing_is_done_in_the_thread_of_the_writer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    for name in ("png", "bins", "csv_file", "_saved"):
        def noting(*args: Any, draw: Any = getattr(_media, name)) -> Any:
            threads.append(threading.current_thread().name)
            return draw(*args)
        monkeypatch.setattr(_media, name, noting)
    pixels, values, table = numpy.zeros((8, 8, 3)), numpy.arange(10.0), tracker.Table(["a"], [[1]])
    with tracker.init(mode="offline", capture=False) as run:
        run.log({"picture": tracker.Image(pixels), "values": tracker.Histogram(values), "rows": table,
                 "pil": PIL.Image.new("RGB", (4, 4))}, step=0)
        pixels[:], values[:] = 1, 0  # the logged data is a copy
        table.add_data(2)
    assert threads == ["tracker-writer"] * 4
    assert sync().returncode == 0
    found = server.artifacts(run.id)
    assert set(found) == {"picture_0.png", "values_0.histogram.json", "rows_0.csv", "pil_0.png"}

    def size(name: str) -> Any:
        return found[name]["size_bytes"]

    assert size("rows_0.csv") == len("a\r\n1\r\n")
    assert size("picture_0.png") == len(tracker.Image(numpy.zeros((8, 8, 3))).file.data)
    assert size("values_0.histogram.json") == len(tracker.Histogram(numpy.arange(10.0)).file.data)


def test_pictures_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._recorder.MOST_DRAWN", 100_000)
    waiting, most = 0, 0
    draw = _encode.png

    def noting(*args: Any) -> Any:
        nonlocal waiting
        waiting -= 1
        return draw(*args)

    monkeypatch.setattr(_media, "png", noting)
    with tracker.init(mode="offline", capture=False) as run:
        for step in range(50):
            waiting += 1
            run.log({"picture": tracker.Image(numpy.zeros((100, 100, 3), "uint8"))}, step=step)
            most = max(most, waiting)
    assert most <= 5 and waiting == 0


def test_a_picture_that_can_not_be_drawn_harms_nothing(server: Server, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise RuntimeError("no ink")

    monkeypatch.setattr(_media, "png", broken)
    with tracker.init(capture=False) as run:
        run.log({"picture": tracker.Image([[1]]), "text": tracker.Text("kept"), "a": 1}, step=0)
    assert "picture could not be stored: RuntimeError: no ink" in capfd.readouterr().err
    assert list(server.artifacts(run.id)) == ["text_0.txt"] and server.points(run.id, "a") == [(0, 1)]


def test_columns_and_pictures_of_tables(server: Server) -> None:
    table = tracker.Table(["id"], [[7], [8]])
    table.add_column("picture", [tracker.Image([[0.0]], caption="dark"), tracker.Image([[1.0]])])
    with pytest.raises(ValueError, match="a column has 2 values, one for each row, not 1"):
        table.add_column("more", [1])
    assert table.get_column("id") == [7, 8]
    with tracker.init(mode="offline", capture=False) as run:
        run.log({"rows": table}, step=3)
        run.flush()
        kept = {path.suffix: path for path in (pathlib.Path(run.folder) / f"{run.id}.files").iterdir()}
        rows = list(csv.reader(io.StringIO(kept[".csv"].read_text())))
    assert rows == [["id", "picture"], ["7", "rows_3/picture_0"], ["8", "rows_3/picture_1"]]
    assert sync().returncode == 0
    found = server.artifacts(run.id)
    assert set(found) == {"rows_3.csv", "rows_3/picture_0.png", "rows_3/picture_1.png"}
    assert found["rows_3/picture_0.png"]["description"] == "dark"


def test_sounds(tmp_path: pathlib.Path) -> None:
    for samples in (numpy.array([0.0, 1.0, -2.0]), [0.0, 1.0, -2.0]):
        file = tracker.Audio(samples, sample_rate=8000).file
        with wave.open(io.BytesIO(file.data)) as found:
            assert (found.getframerate(), found.getnchannels(), found.getnframes()) == (8000, 1, 3)
            assert numpy.frombuffer(found.readframes(3), "int16").tolist() == [0, 32767, -32768]
    stereo = tracker.Audio(numpy.zeros((10, 2)), sample_rate=8000).file
    with wave.open(io.BytesIO(stereo.data)) as found:
        assert (found.getnchannels(), found.getnframes()) == (2, 10)
    (tmp_path / "a.mp3").write_bytes(b"mp3")
    assert tracker.Audio("a.mp3").file == (b"mp3", ".mp3", "audio/mpeg")
    with pytest.raises(ValueError, match="Audio needs sample_rate"):
        tracker.Audio([0.0])


def test_films(tmp_path: pathlib.Path) -> None:
    frames = random.integers(0, 256, (3, 3, 8, 6)).astype("uint8")
    film: Any = PIL.Image.open(io.BytesIO(tracker.Video(frames, fps=10).file.data))
    assert (film.n_frames, film.size) == (3, (6, 8))
    (tmp_path / "a.mp4").write_bytes(b"mp4")
    assert tracker.Video("a.mp4").file == (b"mp4", ".mp4", "video/mp4")
    with pytest.raises(TypeError, match="frames, channels, height, width"):
        tracker.Video(numpy.zeros((3, 3)))
    with pytest.raises(ValueError, match="frames are stored as gif, not 'mp4'"):
        tracker.Video(frames, format="mp4")
