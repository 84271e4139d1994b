"""Tests of event files that TensorBoard's libraries write while a run reads them."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
import sys
import textwrap
import urllib.request
from typing import Any, Dict, List

import numpy
import pytest

import tracker
from tracker import _tensorboard, _tfevents

from .conftest import Proxy, Server, eventually, sync


def data(server: Server, artifact: Dict[str, Any]) -> bytes:
    with urllib.request.urlopen(f"{server.url}/resource/{artifact['id']}/data") as answer:
        return bytes(answer.read())


def test_the_writer_of_tensorboard_is_followed(server: Server, tmp_path: pathlib.Path) -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.plugins.histogram import summary_v2 as histogram
    from tensorboard.plugins.hparams import summary_v2 as hparams
    from tensorboard.plugins.image import metadata
    from tensorboard.plugins.scalar import summary_v2 as scalar
    from tensorboard.plugins.text import summary_v2 as text
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util import tensor_util

    def write(writer: Any, summary: Any, step: int = 0, plain: bool = False) -> None:
        for value in summary.value:
            if plain:  # like writers, which omit the plugin after the first event of a tag
                value.ClearField("metadata")
        writer.add_event(event_pb2.Event(step=step, summary=summary, wall_time=1700000000 + step))

    run = tracker.init(project="p", sync_tensorboard=True, capture=False, quiet=True)
    writer = EventFileWriter(str(tmp_path / "elsewhere" / "train"))
    write(writer, hparams.hparams_pb({"lr": 0.5, "layers": 2.0, "name": "net", "fast": True}))
    for step in range(50):
        write(writer, scalar.scalar_pb("tensor", step / 4), step, plain=step > 0)
        write(writer, summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="simple", simple_value=step / 2)]), step)
    write(writer, scalar.scalar_pb("nan", float("nan")))
    write(writer, text.text_pb("note", "hello"), 3)
    picture = tracker.Image(numpy.zeros((4, 6, 3), numpy.uint8)).file.data
    write(writer, summary_pb2.Summary(value=[summary_pb2.Summary.Value(
        tag="picture", metadata=metadata.create_summary_metadata(None, None),
        tensor=tensor_util.make_tensor_proto([b"6", b"4", picture]))]), 4)
    write(writer, histogram.histogram_pb("weights", [0.0, 1.0, 1.0, 4.0], buckets=4), 5)
    other = EventFileWriter(str(tmp_path / "elsewhere" / "validation"))
    write(other, scalar.scalar_pb("loss", 2.5), 7)
    run.log({"own": 1})
    run.finish()  # writes the buffers of writers that are not closed
    assert server.points(run.id, "train/tensor") == [(s, s / 4) for s in range(50)]
    assert server.points(run.id, "train/simple") == [(s, s / 2) for s in range(50)]
    assert server.points(run.id, "train/nan") == [(0, "NaN")]
    assert server.points(run.id, "validation/loss") == [(7, 2.5)] and server.points(run.id, "own") == [(0, 1)]
    page = server.get(f"/metric/iteration/{run.id}?key=train%2Fsimple&limit=1")
    assert page["data"][0]["recorded_at"].startswith("2023-11-14T22:13:20")
    assert server.parameters(run.id) == {"lr": "0.5", "layers": "2", "name": "net", "fast": "true"}
    found = server.artifacts(run.id)
    assert set(found) == {"train/note_3.txt", "train/picture_4.png", "train/weights_5.histogram.json"}
    assert data(server, found["train/note_3.txt"]) == b"hello"
    assert data(server, found["train/picture_4.png"]).startswith(b"\x89PNG")
    drawn = json.loads(data(server, found["train/weights_5.histogram.json"]))
    assert sum(drawn["counts"]) == 4 and (drawn["edges"][0], drawn["edges"][-1]) == (0, 4)
    writer.close()
    other.close()


def test_tensorboardx_is_followed_while_it_writes(server: Server, tmp_path: pathlib.Path) -> None:
    from tensorboardX import SummaryWriter

    run = tracker.init(project="p", sync_tensorboard=True, capture=False, quiet=True)
    with SummaryWriter("logs/first", flush_secs=0) as writer:
        writer.add_scalar("loss", 0.5, 0)
        eventually(lambda: server.iterations() and server.points(run.id, "loss") == [(0, 0.5)])
        writer.add_scalars("both", {"train": 1, "test": 2}, 4)
        writer.add_hparams({"lr": 0.25}, {"score": 9})
        writer.add_histogram("weights", numpy.arange(10.0), 5)
        writer.add_text("note", "hello", 6)
        writer.add_image("picture", numpy.zeros((3, 4, 6)), 7)
    with SummaryWriter("logs/second") as writer:
        writer.add_scalar("loss", 7, 0)
    run.finish()
    assert (server.points(run.id, "both/train"), server.points(run.id, "both/test")) == ([(4, 1)], [(4, 2)])
    assert server.points(run.id, "second/loss") == [(0, 7)] and server.parameters(run.id) == {"lr": "0.25"}
    assert server.points(run.id, "score") == [(0, 9)]
    found = server.artifacts(run.id)
    assert set(found) == {"weights_5.histogram.json", "note_6.txt", "picture_7.png"}
    assert sum(json.loads(data(server, found["weights_5.histogram.json"]))["counts"]) == 10


def test_what_was_there_before_is_not_logged(server: Server) -> None:
    from tensorboardX import SummaryWriter

    with SummaryWriter("logs") as former:
        former.add_scalar("former", 1, 0)
    for value in range(2):  # each run has the values that were written while it was active
        run = tracker.init(project="p", sync_tensorboard=True, capture=False, quiet=True)
        with SummaryWriter("logs", filename_suffix=f".{value}") as writer:
            writer.add_scalar("loss", value, 0)
        run.finish()
        assert server.points(run.id, "loss") == [(0, value)] and not server.points(run.id, "former")
    with tracker.init(project="p", capture=False, quiet=True) as run, SummaryWriter("logs") as writer:
        writer.add_scalar("loss", 9, 0)
    assert not server.points(run.id, "loss"), "logging of event files is off by default"


def test_folders_may_be_named(server: Server, tmp_path: pathlib.Path) -> None:
    run = tracker.init(project="p", sync_tensorboard=str(tmp_path / "logs"), capture=False, quiet=True)
    program = """
        import sys
        from tensorboardX import SummaryWriter
        with SummaryWriter(sys.argv[1]) as writer:
            for step in range(100): writer.add_scalar("loss", step, step)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "logs" / "deep" / "run")], check=True)
    run.finish()
    assert server.points(run.id, "loss") == [(s, s) for s in range(100)]


TRAINING = """
import sys
from tensorboardX import SummaryWriter
first, last, value = map(int, sys.argv[2:5])
purge = {"purge_step": int(sys.argv[5])} if sys.argv[5:] else {}
with SummaryWriter(sys.argv[1], filename_suffix=f".{value}", **purge) as writer:
    for step in range(first, last):
        writer.add_scalar("train/loss", value, step)
        if step % 10 == 0: writer.add_scalar("eval", value, step)
"""


@pytest.mark.parametrize("place", ["one run", "resumed", "offline"])
def test_a_restart_replaces_what_it_repeats(server: Server, tmp_path: pathlib.Path, place: str) -> None:
    """A training that continues from a checkpoint at step 50 writes the later steps again. They replace the former
    points, as with `tracker follow`."""
    logs = str(tmp_path / "logs")
    mode: Any = "offline" if place == "offline" else "online"

    def train(*numbers: int) -> None:
        subprocess.run([sys.executable, "-c", TRAINING, logs, *map(str, numbers)], check=True)

    run = tracker.init(project="p", sync_tensorboard=logs, mode=mode, capture=False, quiet=True)
    train(0, 70, 1)
    if place == "resumed":
        run.finish()
        run = tracker.init(project="p", resume=run.id, sync_tensorboard=logs, capture=False, quiet=True)
    else:  # a poll while only the first file exists
        eventually(lambda: run.last().get("train/loss") == 1)
    run.log({"own": 1})
    train(51, 80, 2)
    if place == "one run":
        eventually(lambda: run.last().get("train/loss") == 2)
        train(80, 90, 3)  # without a repeated step
        eventually(lambda: run.last().get("train/loss") == 3)
        train(84, 88, 4, 82)  # with purge_step
    run.finish()
    if place == "offline":
        assert sync().returncode == 0
    end = [(s, 3) for s in (80, 81)] + [(s, 4) for s in range(84, 88)] if place == "one run" else []
    assert server.points(run.id, "train/loss") == [(s, 1 if s < 51 else 2) for s in range(80)] + end
    assert server.points(run.id, "eval") == [(s, 1) for s in range(0, 60, 10)] + [(s, 2) for s in (60, 70)] + [
        (80, 3)] * (place == "one run")
    assert len(server.points(run.id, "own")) == 1


def test_a_restart_that_may_delete_nothing_loses_nothing(server: Server, proxy: Proxy, tmp_path: pathlib.Path,
                                                         capfd: Any) -> None:
    proxy.fault = lambda method, path, body: 403 if path.endswith("/rewind") else None
    logs = str(tmp_path / "logs")
    run = tracker.init(project="p", sync_tensorboard=logs, url=proxy.url, capture=False, quiet=True)
    for value in (1, 2):
        subprocess.run([sys.executable, "-c", TRAINING, logs, "1", "4", str(value)], check=True)
        eventually(lambda value=value: run.last().get("train/loss") == value)  # type: ignore[misc]
    run.finish()
    assert server.points(run.id, "train/loss") == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]
    assert capfd.readouterr().err.count("points that a restart repeated are stored twice: The proxy says no.") == 1


PROGRAM = """
import sys
from tensorboardX import SummaryWriter
if "--join" in sys.argv:
    import tracker
    tracker.init(sync_tensorboard="--sync" in sys.argv).log({"own": 1}, step=0)
with SummaryWriter("runs/now" if "--here" in sys.argv else sys.argv[sys.argv.index("--log-dir") + 1]) as writer:
    for step in range(100): writer.add_scalar("loss", step, step)
"""


@pytest.mark.parametrize("arguments, points", [
    (["--here"], 100), (["--log-dir", "OUTSIDE"], 100), (["--here", "--join"], 0), (["--here", "--join", "--sync"], 100)])
def test_tracker_run_follows_what_the_program_writes(server: Server, tmp_path: pathlib.Path, arguments: List[str],
                                                     points: int) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(PROGRAM)
    arguments = [str(tmp_path / "outside") if word == "OUTSIDE" else word for word in arguments]
    done = subprocess.run([sys.executable, "-m", "tracker", "run", "--project", "p", "--", sys.executable, "train.py",
                           *arguments], cwd=work, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    [one] = server.iterations()
    assert one["status"] == "SUCCEEDED"
    assert server.points(one["id"], "loss") == [(s, s) for s in range(points)]
    assert ("are not logged" in done.stderr) is (points == 0)
    assert not list((tmp_path / "spool").glob("*.joined"))


def written(path: pathlib.Path, steps: int) -> bytes:
    """An event file of the real writer, with the metric loss."""
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter

    with open(path, "wb") as file:
        writer = RecordWriter(file)
        for step in range(1, steps + 1):
            summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss", simple_value=step)])
            writer.write(event_pb2.Event(step=step, wall_time=1.5e9, summary=summary).SerializeToString())
    return path.read_bytes()


class Log:
    """A replacement for a recorder."""

    def __init__(self) -> None:
        self.queue: List[Any] = []
        self.rewound: List[Any] = []
        self.finished = False
        self.begin: Dict[str, Any] = {}

    def log(self, data: Any, step: Any, at: float) -> None:
        self.queue.append((data, None, step, at))

    def rewind(self, name: str, step: int) -> None:
        self.rewound.append((len(self.queue), name, step))

    @property
    def steps(self) -> List[int]:
        return [entry[2] for entry in self.queue]


@pytest.fixture
def follower(tmp_path: pathlib.Path) -> Any:
    (tmp_path / "logs").mkdir()
    log: Any = Log()
    made = _tensorboard.Follower(log, lambda settings: None, lambda: None)
    made.watch(str(tmp_path / "logs"))
    return made


def test_a_half_record_is_waited_for(follower: Any, tmp_path: pathlib.Path) -> None:
    whole = written(tmp_path / "source", 3)
    path, third = tmp_path / "logs" / "events.out.tfevents.1.host", len(whole) // 3
    log = follower._recorder
    for end in range(len(whole) + 1):  # whatever part of the file is on disk
        path.write_bytes(whole[:end])
        follower.poll()
        assert log.steps == list(range(1, end // third + 1)), end
    path.write_bytes(written(tmp_path / "source", 1))  # rewritten, and shorter
    follower.poll()
    assert log.steps == [1, 2, 3, 1] and log.rewound == [(3, "loss", 1)]


@pytest.mark.parametrize("place, steps, told", [
    ("data", [1, 3], "is damaged; it is omitted"), ("length", [1], "is not the beginning of a record")])
def test_damage_is_told(follower: Any, tmp_path: pathlib.Path, capfd: Any, place: str, steps: List[int], told: str) -> None:
    whole = bytearray(written(tmp_path / "source", 3))
    third = len(whole) // 3
    whole[third + (20 if place == "data" else 0)] ^= 1
    (tmp_path / "logs" / "tfevents").write_bytes(whole)
    for _ in range(3):
        follower.poll()
    assert follower._recorder.steps == steps
    assert capfd.readouterr().err.count(told) == 1


def test_what_is_no_event_is_left_out(follower: Any, tmp_path: pathlib.Path, capfd: Any) -> None:
    chosen = numpy.random.default_rng(7)
    whole = written(tmp_path / "source", 1)
    with open(tmp_path / "logs" / "tfevents", "wb") as file:
        for number in range(500):
            noise = chosen.integers(0, 256, 1 + number % 60).astype("uint8").tobytes()
            noise = noise if number % 2 else whole[12:-4][:number % 30] + noise  # this includes a file whose beginning is valid
            head = struct.pack("<Q", len(noise))
            file.write(head + struct.pack("<I", _tfevents.masked_crc(head)) + noise
                       + struct.pack("<I", _tfevents.masked_crc(noise)))
        file.write(whole)
    follower.poll()
    assert follower._recorder.steps[-1] == 1 and "can't be read, and is omitted" in capfd.readouterr().err


def test_files_of_another_program_are_left_alone(follower: Any, tmp_path: pathlib.Path) -> None:
    import socket

    host = socket.gethostname()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    source = written(tmp_path / "source", 1)
    try:
        for number in (os.getppid(), child.pid, os.getpid()):
            (tmp_path / "logs" / f"events.out.tfevents.1.{host}.{number}.0").write_bytes(source)
        follower.poll()
        expected = 2 if sys.platform == "linux" else 3
        assert len(follower._recorder.steps) == expected, "the parent's steps are not logged"
    finally:
        child.communicate(b"\n")


@pytest.mark.parametrize("kind, content, number", [
    (1, struct.pack("<f", 0.5), 0.5), (2, struct.pack("<d", 0.1), 0.1), (9, struct.pack("<q", -3), -3), (10, b"\1", 1),
    (14, struct.pack("<f", 1.5)[2:], 1.5), (19, struct.pack("<e", -2.5), -2.5)])
def test_a_tensor_may_hold_its_numbers_as_bytes(kind: int, content: bytes, number: float) -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2

    value = summary_pb2.Summary.Value(tag="a", tensor=tensor_pb2.TensorProto(dtype=kind, tensor_content=content))
    found = _tfevents.event(event_pb2.Event(step=-2, summary=summary_pb2.Summary(value=[value])).SerializeToString(), {})
    assert (found.step, found.values) == (-2, [_tfevents.Value("a", "scalar", number)])


def test_a_tensor_may_hold_its_numbers_one_by_one() -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2

    for name, number in {"float_val": 0.5, "double_val": 0.1, "int_val": -7, "int64_val": 1 << 40, "bool_val": True,
                         "uint32_val": 9, "uint64_val": (1 << 64) - 1}.items():
        value = summary_pb2.Summary.Value(tag="a", tensor=tensor_pb2.TensorProto(**{name: [number]}))
        found = _tfevents.event(event_pb2.Event(summary=summary_pb2.Summary(value=[value])).SerializeToString(), {})
        assert found.values == [_tfevents.Value("a", "scalar", float(number))], name


def test_the_checksum_is_that_of_record_files() -> None:
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    for text in (b"", b"123456789", bytes(range(256)) * 3):
        assert _tfevents.masked_crc(text) == masked_crc32c(text)
