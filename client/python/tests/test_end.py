"""Tests of the end of a run. No data is recorded after the end, and an end that was set elsewhere is preserved."""

from __future__ import annotations

import pathlib
import signal
import threading
from typing import Any, Callable, Dict, Optional

import pytest

import tracker
from tracker._http import Client
from tracker._spool import Spool
from tracker._value import uuid7

from .conftest import Proxy, Script, Server, drained, eventually, sync


def end_elsewhere(server: Server, id: str) -> Dict[str, Any]:
    """End a run as its page in the dashboard does. Return the record of the ended run."""
    Client(server.url).call("PATCH", f"/iteration/{id}", {"status": "KILLED", "error_message": "Enough of it."})
    return iteration(server, id)


def iteration(server: Server, id: str) -> Dict[str, Any]:
    found: Dict[str, Any] = server.get(f"/iteration/{id}")
    return found


def same_end(one: Dict[str, Any], other: Dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("status", "end_date", "error_message"))


def test_a_sample_of_the_machine_comes_before_the_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_SYSTEM_PERIOD", "0.0001")
    for _ in range(10):
        with tracker.init(capture=["system"]) as run:
            run.log({"loss": 1.0})
        assert server.points(run.id, "loss") == [(0, 1)]
    assert {it["status"] for it in server.iterations()} == {"SUCCEEDED"}


def test_nothing_follows_the_end_in_the_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_SYSTEM_PERIOD", "0.0001")
    with tracker.init(mode="offline", capture=["system"]) as run:
        run.log({"loss": 1.0})
        run.summary["best"] = 1.0
        writer = run.recorder.writer
        assert writer is not None
        append = writer.spool.append

        def late(head: Any, body: bytes = b"") -> None:
            append(head, body)
            if head["op"] == "end":
                run.recorder.log({"late": 1.0}, 0, 0.0)  # in a thread that is executing log

        monkeypatch.setattr(writer.spool, "append", late)
    writer.flush()
    spool = Spool(str(pathlib.Path(run.folder) / f"{run.id}.spool"))
    operations = [item.head["op"] for item in drained(spool)]
    spool.close()
    assert operations[-1] == "end" and operations.count("end") == 1


@pytest.mark.parametrize("end, status, message", [
    ("sys.exit()", "SUCCEEDED", None), ("sys.exit(0)", "SUCCEEDED", None), ("sys.exit(3)", "FAILED", "exit status 3"),
    ("sys.exit('no data')", "FAILED", "no data"),
    ("try: sys.exit(3)\nexcept SystemExit: tracker.log({'a': 2})", "SUCCEEDED", None),
    ("sys.excepthook = lambda *what: print('pretty')\nraise ValueError('no data')", "FAILED", "ValueError: no data"),
    ("sys.excepthook = lambda *what: print('pretty')", "SUCCEEDED", None)])
def test_how_a_program_ends_its_run_ends(server: Server, script: Callable[..., Script], end: str, status: str,
                                         message: Optional[str]) -> None:
    one = script("import sys, tracker\ntracker.init(capture=False)\ntracker.log({'a': 1})\n" + end)
    said = one.end()
    [it] = server.iterations()
    assert it["status"] == status, said
    assert message is None and not it["error_message"] or message in it["error_message"]
    assert one.process.returncode == (3 if end == "sys.exit(3)" else int(status == "FAILED"))


def test_what_an_ended_run_has_left_does_not_open_it(server: Server, tmp_path: pathlib.Path) -> None:
    with tracker.init("p", "e", capture=False) as run:
        pass
    before = iteration(server, run.id)
    spool = Spool(str(tmp_path / "late.spool"), {"id": run.id, "url": server.url})
    spool.append({"op": "points", "key": uuid7().replace("-", "")}, b'{"metrics": [{"key": "late", "value": 1}]}')
    spool.close()
    done = sync(spool.path)
    assert done.returncode == 0, done.stderr
    assert server.points(run.id, "late") == [(0, 1)]
    assert same_end(iteration(server, run.id), before)


def test_the_end_that_somebody_else_sets_stands(server: Server, capfd: Any) -> None:
    run = tracker.init(capture=False)
    run.log({"loss": 0.0})
    eventually(lambda: server.iterations() and server.points(run.id, "loss"))
    assert not run.ended
    killed = end_elsewhere(server, run.id)
    assert killed["status"] == "KILLED"
    step = 1
    while not run.ended:  # as a training loop does
        run.log({"loss": float(step)}, step=step)
        run.flush()
        step += 1
    for more in range(step, step + 5):
        run.log({"loss": float(more)}, step=more)
        run.flush()
    assert same_end(iteration(server, run.id), killed)
    assert run.status == "RUNNING", "this process has not ended it"
    run.finish()
    assert run.status == "KILLED" and run.ended
    assert same_end(iteration(server, run.id), killed)
    assert server.points(run.id, "loss") == [(s, s) for s in range(step + 5)], "nothing is lost"
    said = capfd.readouterr().err
    assert said.count("ended elsewhere") == 1 and "KILLED" in said and "rejected" not in said
    assert not list(pathlib.Path(run.folder).glob(run.id + "*"))


def test_an_end_that_is_first_seen_by_finish_stands(server: Server, capfd: Any) -> None:
    run = tracker.init(capture=False, config={"lr": 1})
    eventually(lambda: server.iterations() and server.parameters(run.id))
    killed = end_elsewhere(server, run.id)
    run.finish("FAILED", "no data")
    assert same_end(iteration(server, run.id), killed)
    assert run.status == "KILLED" and "ended elsewhere" in capfd.readouterr().err


def test_a_strict_run_raises_when_it_was_ended(server: Server) -> None:
    run = tracker.init(capture=False, strict=True)
    end_elsewhere(server, run.id)
    run.log({"loss": 1})
    eventually(lambda: run.ended)
    with pytest.raises(tracker.Refused, match="ended") as raised:
        run.log({"loss": 2})
    assert raised.value.code == "ITERATION_ENDED"
    run.finish()
    assert iteration(server, run.id)["status"] == "KILLED"


def test_a_run_that_was_opened_again_goes_on(server: Server) -> None:
    run = tracker.init(capture=False)
    eventually(lambda: run.name)
    end_elsewhere(server, run.id)
    run.log({"loss": 1})
    eventually(lambda: run.ended)
    Client(server.url).call("PATCH", f"/iteration/{run.id}", {"status": "RUNNING"})
    eventually(lambda: not run.ended)
    assert server.points(run.id, "loss") == [(0, 1)]
    run.finish()
    assert iteration(server, run.id)["status"] == run.status == "SUCCEEDED"


def test_a_run_with_nothing_to_say_learns_of_its_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._sender.HEARTBEAT", 0.0)
    run = tracker.init(capture=False)
    eventually(lambda: run.name)
    end_elsewhere(server, run.id)
    eventually(lambda: run.ended)
    Client(server.url).call("PATCH", f"/iteration/{run.id}", {"status": "RUNNING"})
    eventually(lambda: not run.ended)
    run.finish()
    assert iteration(server, run.id)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_that_was_ended_elsewhere_is_resumed(server: Server, finished: bool) -> None:
    run = tracker.init("p", capture=False)
    run.log({"loss": 1})
    eventually(lambda: server.iterations() and server.points(run.id, "loss"))
    end_elsewhere(server, run.id)
    run.log({"loss": 2})
    eventually(lambda: run.ended)
    if finished:
        run.finish()
    again = tracker.init("p", resume=run.id, capture=False)
    assert again is not run and run.finished
    again.log({"loss": 3})
    again.flush()
    eventually(lambda: len(server.points(run.id, "loss")) == 3)
    assert iteration(server, run.id)["status"] == "RUNNING" and not again.ended
    again.finish()
    assert iteration(server, run.id)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("late", [True, False])
def test_the_end_stands_when_the_process_is_killed_while_it_sends_the_rest(
        server: Server, proxy: Proxy, script: Callable[..., Script], late: bool) -> None:
    opened, killed = threading.Event(), threading.Event()
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if opened.is_set() and not killed.is_set() and "bulk" in path:
            return 0
        if method == "PATCH" and b"RUNNING" in body:
            opened.set()
        return None
    proxy.fault = fault
    one = script("""
        import sys, tracker
        run = tracker.init(capture=False)
        run.log({"loss": 0}, step=0)
        run.flush()
        print(run.id, flush=True)
        sys.stdin.readline()
        run.log({"loss": 1}, step=1)
        run.finish()
    """, TRACKER_URL=proxy.url)
    id = one.line()
    eventually(lambda: server.iterations() and server.points(id, "loss"))
    before = end_elsewhere(server, id)
    one.say("continue")
    assert opened.wait(180)
    eventually(lambda: iteration(server, id)["status"] == "RUNNING")
    one.signal(signal.SIGKILL)
    one.end()
    killed.set()
    if late:  # the spool contains the end of the dead process, and the end that was set elsewhere
        Client(server.url).call("PATCH", f"/iteration/{id}", {k: before[k] for k in ("status", "end_date", "error_message")})
    done = sync("--url", server.url)
    assert done.returncode == 0, done.stderr
    assert same_end(iteration(server, id), before)
    assert server.points(id, "loss") == [(0, 0), (1, 1)]
