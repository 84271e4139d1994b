"""Tests that log objects of other libraries, such as arrays, figures, images and frames, and read them back."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request
from typing import Any, Tuple

import jax.numpy
import matplotlib
import numpy
import pandas
import PIL.Image
import polars
import pyarrow
import pytest

import tracker

from .conftest import ROOT, Server, eventually

matplotlib.use("agg")
from matplotlib import pyplot


def content(server: Server, run: tracker.Run, name: str) -> bytes:
    with urllib.request.urlopen(f"{server.url}/resource/{server.artifacts(run.id)[name]['id']}/data") as answer:
        data: bytes = answer.read()
        return data


def test_scalars(server: Server) -> None:
    value = numpy.zeros(())
    with tracker.init(capture=False, config={"lr": numpy.float64(0.1), "n": numpy.int64(3), "jax": jax.numpy.array(2)}) as run:
        run.log({"numpy": numpy.float32(0.5), "zero": value, "one": numpy.array([[2.0]]),
                 "jax": jax.numpy.mean(jax.numpy.arange(4)), "low": jax.numpy.array(1.5, dtype="bfloat16"),
                 "flag": numpy.bool_(True)}, step=0)
        value += 5
        run.log({"pandas": pandas.Series([1, 2]).mean(), "polars": polars.Series([1, 2]).mean()}, step=0)
        run.log({"many": jax.numpy.zeros(3), "left": 1}, step=1)
    got = {name: server.points(run.id, name) for name in ("numpy", "zero", "one", "jax", "low", "flag", "pandas", "polars")}
    assert got == {"numpy": [(0, 0.5)], "zero": [(0, 0)], "one": [(0, 2)], "jax": [(0, 1.5)], "low": [(0, 1.5)],
                   "flag": [(0, 1)], "pandas": [(0, 1.5)], "polars": [(0, 1.5)]}
    assert server.parameters(run.id) == {"lr": "0.1", "n": "3", "jax": "2"}
    assert server.points(run.id, "left") == [(1, 1)]


def test_figures_and_images(server: Server) -> None:
    figure, axes = pyplot.subplots(figsize=(2, 1), dpi=50)
    axes.plot([1, 2])
    pixels: Any = numpy.zeros((3, 4, 3), dtype="uint8")
    pixels[0, 1] = (255, 128, 0)
    with tracker.init(capture=False) as run:
        run.log({"figure": figure, "pil": PIL.Image.fromarray(pixels), "array": tracker.Image(pixels, caption="of numbers"),
                 "grey": tracker.Image(jax.numpy.eye(5)), "wrapped": tracker.Image(figure)}, step=7)
        pixels[:] = 9
    pyplot.close(figure)
    drawn = PIL.Image.open(io.BytesIO(content(server, run, "figure_7.png")))
    assert drawn.size == (100, 50) == PIL.Image.open(io.BytesIO(content(server, run, "wrapped_7.png"))).size
    for name in ("pil_7.png", "array_7.png"):
        image = numpy.asarray(PIL.Image.open(io.BytesIO(content(server, run, name))))
        assert image.shape == (3, 4, 3) and image[0, 1].tolist() == [255, 128, 0] and image.sum() == 383
    assert (numpy.asarray(PIL.Image.open(io.BytesIO(content(server, run, "grey_7.png")))) == numpy.eye(5) * 255).all()
    assert server.artifacts(run.id)["array_7.png"]["description"] == "of numbers"


def test_tables_and_histograms(server: Server) -> None:
    columns = {"name": ["a", "b,c"], "value": [1.5, float("nan")]}
    counts, edges = numpy.histogram([1, 2, 2, 4], bins=3)
    with tracker.init(capture=False) as run:
        run.log({"pandas": tracker.Table(dataframe=pandas.DataFrame(columns)),
                 "polars": tracker.Table(dataframe=polars.DataFrame(columns)),
                 "values": tracker.Histogram(numpy.array([[0.0, 1.0], [1.0, numpy.inf]]), num_bins=2),
                 "counted": tracker.Histogram(np_histogram=(counts, edges))}, step=0)
    for name in ("pandas_0.csv", "polars_0.csv"):
        rows = list(csv.reader(io.StringIO(content(server, run, name).decode())))
        assert rows == [["name", "value"], ["a", "1.5"], ["b,c", "nan"]]
    values = json.loads(content(server, run, "values_0.histogram.json"))
    assert values == {"edges": [0, 0.5, 1], "counts": [1, 2], "not_finite": 1}
    assert json.loads(content(server, run, "counted_0.histogram.json"))["counts"] == counts.tolist()


def test_a_history_becomes_a_frame(server: Server) -> None:
    with tracker.init("p", "e", capture=False) as run:
        for step in range(3):
            run.log({"loss": step / 2, "odd": float("inf")}, step=step)
    history = tracker.Api().iteration(run.id).history(["loss", "odd"], wide=False)
    frame = history.to_pandas()
    assert frame.columns.tolist() == ["key", "step", "value", "recorded_at"] and frame["step"].dtype == "int64"
    assert frame[frame.key == "loss"].value.tolist() == [0, 0.5, 1] and str(frame.recorded_at.dtype).startswith("datetime64")
    same: Any = history.to_polars()
    assert same.filter(polars.col("key") == "loss")["value"].to_list() == [0, 0.5, 1]
    assert same.schema["recorded_at"] == polars.Datetime("ms", "UTC") and same.schema["value"] == polars.Float64
    table = history.to_arrow()
    assert table.num_rows == 6 and table.schema.field("recorded_at").type == pyarrow.timestamp("ms", "UTC")
    assert table.column("value").to_pylist()[-1] == float("inf")
    empty = tracker.Api().iteration(run.id).history([], wide=False)
    assert len(empty.to_pandas()) == len(empty.to_polars()) == empty.to_arrow().num_rows == 0


def test_the_machine_is_watched_with_psutil(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_SYSTEM_PERIOD", "0.1")
    names = ["system/" + name for name in ("cpu_percent", "memory_percent", "disk_percent", "process.cpu_percent",
                                           "process.memory_bytes", "network.sent_bytes_per_second")]
    import psutil  # psutil is used if it is installed

    with tracker.init(capture=["system"]) as run:
        eventually(lambda: server.iterations() and all(server.points(run.id, name) for name in names))
    assert server.points(run.id, names[4])[0][1] == pytest.approx(psutil.Process().memory_info().rss, rel=0.5)
    assert 0 <= server.points(run.id, names[0])[0][1] <= 100


def test_a_wide_history_becomes_a_frame(server: Server) -> None:
    with tracker.init("p", "e", capture=False) as run:
        for step in range(4):
            run.log({"loss": step / 2, **({"acc": float("inf")} if step % 2 else {})}, step=step)
    history = tracker.Api().iteration(run.id).history()
    assert numpy.asarray(history["step"]).dtype == numpy.int64 and numpy.asarray(history["loss"]).dtype == numpy.float64
    frame: Any = history.to_pandas()
    assert sorted(frame.columns) == ["acc", "loss", "step"] and frame.step.tolist() == [0, 1, 2, 3]
    assert frame.loss.tolist() == [0, 0.5, 1, 1.5] and frame.acc.isna().tolist() == [True, False, True, False]
    same: Any = history.to_polars()
    assert same["loss"].to_list() == history.to_arrow().column("loss").to_pylist() == [0, 0.5, 1, 1.5]


def test_an_experiment_becomes_a_frame(server: Server) -> None:
    for n in range(3):
        with tracker.init("p", "e", {"lr": n / 10, "net/kind": "a`b", "only": 1} if n else {"lr": 0}, name=f"run {n}", tags=["t"],
                          capture=False) as run:
            run.log({"loss": n, "odd name.min": 2 * n})
    frame = tracker.Api().project("p").experiment("e").to_pandas(filter='name != "run 1"', sort="name")
    assert frame.name.tolist() == ["run 0", "run 2"] and frame.status.tolist() == ["SUCCEEDED"] * 2
    assert frame["param/lr"].tolist() == [0, 0.2] and frame["metric/loss"].tolist() == [0, 2]
    assert frame["metric/odd name.min"].tolist() == [0, 4] and frame["param/net/kind"].tolist()[1] == "a`b"
    assert str(frame.created_date.dtype).startswith("datetime64") and frame.tags.tolist() == [["t"], ["t"]]
    assert [run.name for run in tracker.Api().runs("p", "e", sort="name")] == ["run 0", "run 1", "run 2"]
    assert len(tracker.Api().runs("p")) == 3 and tracker.Api().run(run.id).name == "run 2"


MISSPELT = """
import tracker
run = tracker.init(project="p")
tracker.lgo({"a": 1})
run.lgo({"a": 1})
run.finish("DONE")
tracker.init(mode="ofline")
tracker.Api().run("x").nmae
tracker.Imge([1])
tracker.init(projct="q")
tracker.log_artifact("model.pt", tpye="model")
tracker.callback.kears()
tracker.autolog("sklaern")
"""
"""The first three lines are correct. Each of the later lines has a mistake."""


@pytest.mark.parametrize("checker", [("mypy", "--no-incremental"), ("pyright",)], ids=lambda checker: checker[0])
def test_type_checkers_find_misspellings(tmp_path: pathlib.Path, checker: Tuple[str, ...]) -> None:
    (tmp_path / "script.py").write_text(MISSPELT)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "client" / "python")]}))
    done = subprocess.run([sys.executable, "-m", *checker, "script.py"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "MYPYPATH": str(ROOT / "client" / "python")})
    found = {int(number) for number in re.findall(r"^\s*\S*script\.py:(\d+):.*error", done.stdout, re.M)}
    assert found == set(range(4, 14)), done.stdout + done.stderr
