"""Tests of the data that a run records, and of its end."""

from __future__ import annotations

import decimal
import fractions
import json
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Optional

import pytest

import tracker

from .conftest import Proxy, Script, Server, eventually


def test_a_run_records_numbers_parameters_and_what_it_is_made_of(server: Server) -> None:
    with tracker.init(project="iris", experiment="sweep", config={"lr": 0.1, "net": {"layers": [1, 2], "bias": True}},
                      name="first", notes="a note", tags=["blue", "small"]) as run:
        for step in range(50):
            run.log({"train/loss": 1 / (step + 1), "val": {"acc": fractions.Fraction(1, 2)}}, step=step)
        run.log({"exact": decimal.Decimal("1.5"), "whole": 7, "yes": True, "bad": float("nan")}, step=50)
        tracker.config.update({"lr": 0.2, "extra": None})
        tracker.summary["best"] = 3
        tracker.summary["winner"] = "ada"
    [it] = server.iterations()
    assert (it["id"], it["name"], it["notes"], it["status"], it["tags"]) == (
        run.id, "first", "a note", "SUCCEEDED", ["blue", "small"])
    assert server.points(run.id, "train/loss") == [(s, 1 / (s + 1)) for s in range(50)]
    assert len(server.points(run.id, "val/acc")) == 50
    assert [server.points(run.id, k) for k in ("exact", "whole", "yes", "bad", "summary/best")] == [
        [(50, 1.5)], [(50, 7)], [(50, 1)], [(50, "NaN")], [(0, 3)]]
    assert server.parameters(run.id) == {"lr": "0.2", "net/layers": "[1, 2]", "net/bias": "true", "extra": "null"}
    assert tracker.Api().run(run.id).summary["winner"] == "ada"
    snapshot = server.get(f"/iteration/{run.id}/snapshot")
    assert sys.executable in snapshot["command"] and "pytest==" in snapshot["dependencies"] and "Python" in snapshot["runtime"]


def test_the_state_of_the_code_is_recorded(server: Server, tmp_path: Any) -> None:
    def git(*args: str) -> str:
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], check=True, capture_output=True,
                              text=True, cwd=tmp_path).stdout.strip()

    (tmp_path / "train.py").write_text("lr = 1\n")
    git("init", "-q")
    git("add", "train.py")
    git("commit", "-qm", "first")
    git("remote", "add", "origin", "https://ada:secret@example.com/ada/train.git")
    (tmp_path / "train.py").write_text("lr = 2\n")
    with tracker.init(capture=["git"]) as run:
        pass
    found = server.get(f"/iteration/{run.id}/snapshot")
    assert (found["git_sha"], found["git_dirty"]) == (git("rev-parse", "HEAD"), True)
    assert found["git_remote"] == "https://example.com/ada/train.git"
    assert "-lr = 1\n+lr = 2" in found["git_diff"] and not found["command"]


def test_calls_without_a_step_share_the_next_one(server: Server) -> None:
    with tracker.init(capture=False) as run:
        tracker.log({"a": 1.0})
        tracker.log({"b": 2.0}, commit=False)
        tracker.log({"c": 3.0})
        tracker.log({"a": 4.0}, step=10)
        tracker.log({"a": 5.0})
    assert server.points(run.id, "a") == [(0, 1), (10, 4), (11, 5)]
    assert server.points(run.id, "b") == [(1, 2)] and server.points(run.id, "c") == [(1, 3)]


def test_what_is_changed_after_log_is_recorded_as_it_was(server: Server) -> None:
    data = {"plain": 1.0}
    with tracker.init(capture=False) as run:
        run.log(data)
        data["plain"] = 9.0
    assert server.points(run.id, "plain") == [(0, 1)]


def test_what_is_no_number_is_told_and_harms_nothing(server: Server, capfd: Any) -> None:
    with tracker.init(capture=False) as run:
        run.log({"raw": b"hello", "none": None, "many": {1, 2}, "loss": 1.0, 7: 2.0})  # type: ignore[dict-item]
    assert server.points(run.id, "loss") == [(0, 1)] and server.points(run.id, "7") == [(0, 2)]
    said = capfd.readouterr().err
    assert "raw is not logged" in said and "many is not logged" in said


def test_an_exception_ends_the_run_as_failed_with_its_traceback(server: Server) -> None:
    with pytest.raises(ZeroDivisionError):
        with tracker.init(capture=False):
            print(1 / 0)
    [it] = server.iterations()
    assert it["status"] == "FAILED" and "ZeroDivisionError" in it["error_message"] and "1 / 0" in it["error_message"]


ENDINGS = [
    ("raise ValueError('no data')", None, "FAILED", "no data"),
    ("pass", None, "SUCCEEDED", ""),
    ("print('ready', flush=True); time.sleep(600)", signal.SIGTERM, "KILLED", "SIGTERM"),
    ("print('ready', flush=True); time.sleep(600)", signal.SIGINT, "KILLED", "keyboard"),
]


@pytest.mark.parametrize("end, number, status, message", ENDINGS)
def test_the_end_of_the_process_ends_the_run(server: Server, script: Callable[..., Script], end: str, number: Any,
                                             status: str, message: str) -> None:
    one = script(f"import time, tracker\ntracker.init(capture=False)\ntracker.log({{'a': 1}})\n{end}")
    if number:
        assert one.line() == "ready"
        one.signal(number)
    one.end()
    [it] = server.iterations()
    assert it["status"] == status and message in it["error_message"]
    assert server.points(it["id"], "a") == [(0, 1)]


def test_a_run_goes_on_where_it_was_left(server: Server, script: Callable[..., Script]) -> None:
    one = script("import tracker\ntracker.init(project='p', capture=False)\ntracker.log({'a': 1})\nraise SystemError")
    one.end()
    [before] = server.iterations()
    with tracker.init(project="p", resume="auto", capture=False) as run:
        run.log({"a": 2.0})
    [after] = server.iterations()
    assert run.id == before["id"] and (before["status"], after["status"]) == ("FAILED", "SUCCEEDED")
    assert server.points(run.id, "a") == [(0, 1), (1, 2)]
    with tracker.init(project="p", resume="auto", capture=False) as fresh:
        pass
    assert fresh.id != run.id, "a successful run is not continued"


def test_a_child_waits_for_its_parent(server: Server, proxy: Proxy, capfd: Any) -> None:
    asked = threading.Event()  # for the child, before the parent exists
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if method == "POST" and path.startswith("/iteration/experiment/"):
            if b"parent_iteration_id" in body:
                asked.set()
            else:
                asked.wait(180)
        return None
    proxy.fault = fault
    with tracker.init(url=proxy.url, capture=False) as parent:
        with tracker.init(url=proxy.url, parent=parent, capture=False) as child:
            child.log({"a": 1})
    assert [c["id"] for c in server.get(f"/iteration/{parent.id}/children")["data"]] == [child.id]
    assert server.points(child.id, "a") == [(0, 1)] and "stored in" not in capfd.readouterr().err


def test_a_run_has_children(server: Server) -> None:
    with tracker.init(name="parent", capture=False) as parent:
        with tracker.init(name="child", parent=parent, capture=False) as child:
            assert tracker.run is child
        assert tracker.run is parent
        tracker.log({"a": 1})
    assert [c["id"] for c in server.get(f"/iteration/{parent.id}/children")["data"]] == [child.id]
    assert server.points(parent.id, "a") == [(0, 1)]


def test_images_tables_files_and_the_output_are_artifacts(server: Server, tmp_path: Any, capsys: Any) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights" * 1000)
    with tracker.init(capture=["output"]) as run:
        print("some output")
        run.log({"pixels": tracker.Image([[[0, 0, 0]] * 5] * 4, caption="black"),
                 "rows": tracker.Table(["a", "b"], [[1, 2]]), "spread": tracker.Histogram([1, 2, 2, 4])}, step=3)
        run.log_artifact("model.bin")
    [it] = server.iterations()
    found = {r["name"]: r for r in server.get(f"/resource/experiment/{it['experiment_id']}?iteration_id={run.id}")["data"]}
    assert set(found) == {"pixels_3.png", "rows_3.csv", "spread_3.histogram.json", "model.bin", "output.log"}
    assert found["model.bin"]["size_bytes"] == 7000 and found["pixels_3.png"]["description"] == "black"
    counts = server.get(f"/resource/{found['spread_3.histogram.json']['id']}/data")
    assert sum(counts["counts"]) == 4 and json.dumps(counts)
    assert not list((tmp_path / "spool").glob("*.files"))


def test_init_while_a_run_is_active(server: Server) -> None:
    first = tracker.init("p", name="first", capture=False)
    first.log({"a": 1})
    assert tracker.init("p", config={"lr": 1}, reinit="return_previous") is first
    assert tracker.init("p", resume="auto", tags="more") is first, "it continues"
    assert tracker.init("p", resume=first.id) is first
    beside = tracker.init("p", name="beside", reinit="create_new", capture=False)
    assert not first.finished and tracker.run is beside
    beside.finish("FAILED", "no reason")
    assert tracker.run is first
    first.log({"a": 2})
    last = tracker.init("p", name="last", capture=False)
    assert first.finished and tracker.run is last
    last.finish()
    found = {it["name"]: it for it in server.iterations()}
    assert {name: it["status"] for name, it in found.items()} == {"first": "SUCCEEDED", "beside": "FAILED", "last": "SUCCEEDED"}
    assert server.points(first.id, "a") == [(0, 1), (1, 2)] and server.parameters(first.id) == {"lr": "1"}
    assert found["first"]["tags"] == ["more"]


@pytest.mark.parametrize("arguments, message", [
    ({"mode": "ofline"}, "online, offline or disabled"), ({"reinit": "perhaps"}, "finish_previous"),
    ({"capture": ["git", "gpu"]}, "not gpu")])
def test_wrong_arguments_are_told(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tracker.init(**arguments)


def test_what_has_no_names_is_told() -> None:
    with tracker.init(mode="offline", capture=False) as run:
        with pytest.raises(TypeError, match="values by name, not float"):
            run.log(0.5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a dictionary, .* not str"):
            run.config.update("lr=1")
        run.config.update([("lr", 1)], epochs=3)
        assert dict(run.config) == {"lr": 1, "epochs": 3}


def test_a_wrong_status_leaves_the_run_as_it_is(server: Server) -> None:
    run = tracker.init(capture=False)
    with pytest.raises(ValueError, match="SUCCEEDED, FAILED or KILLED"):
        run.finish("DONE")  # type: ignore[arg-type]
    assert not run.finished
    run.finish()


def test_the_server_gives_a_name_and_the_dashboard_an_address(server: Server) -> None:
    with tracker.init(capture=False) as run:
        eventually(lambda: run.name)
        assert run.name == server.iterations()[0]["name"] and str(run.name) in repr(run)
        run.log({"loss": 0.25})
        assert run.last() == {"loss": 0.25} and run.summary["loss"] == 0.25 and run.summary.loss == 0.25
        with pytest.raises(KeyError):
            run.summary["none"]
    assert run.url == f"http://127.0.0.1:{server.ui_port}/iteration/{run.id}"
    assert server.points(run.id, "summary/loss") == [], "only values that were set are recorded again"
