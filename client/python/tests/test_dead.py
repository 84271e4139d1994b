"""Tests of runs whose process has died. Such a run is ended exactly once, with the right status."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from typing import Callable

import pytest

import tracker
from tracker import _spool
from tracker._spool import Spool

from .conftest import LOGGER, Script, Server, eventually, sync


def killed(one: Script) -> str:
    id = one.line()
    one.signal(signal.SIGKILL)
    one.end()
    return id


@pytest.mark.parametrize("sent", [False, True])
def test_the_run_of_a_dead_process_is_ended_by_sync(server: Server, script: Callable[..., Script], tmp_path: pathlib.Path,
                                                    sent: bool) -> None:
    one = script(LOGGER, TRACKER_MODE="online" if sent else "offline")
    id = one.line()
    if sent:
        eventually(lambda: server.iterations() and server.points(id, "a"))
    one.signal(signal.SIGKILL)
    one.end()
    assert sync().returncode == 0
    it = server.get(f"/iteration/{id}")
    assert it["status"] == "KILLED" and "process ended" in it["error_message"]
    assert server.points(id, "a") == [(0, 1)] and not list((tmp_path / "spool").glob(f"{id}*"))


STUCK = """
    import sys, threading, time, tracker
    tracker.init(project="p", capture=["system"])
    tracker.log({"a": 1})
    def hold():
        threading.main_thread().join()
        if sys.argv[2] == "continues":
            tracker.log({"a": 2})
        tracker.run.flush()
        print(tracker.run.id, flush=True)
        time.sleep(600)
    threading.Thread(target=hold).start()
    if sys.argv[1] == "raise":
        raise ValueError("no data")
    sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("end, then, status, message", [
    ("raise", "", "FAILED", "ValueError: no data"), ("3", "", "FAILED", "exit status 3"), ("0", "", "KILLED", ""),
    ("raise", "continues", "KILLED", "")])
def test_a_process_that_had_failed_before_it_was_killed_has_failed(
        server: Server, script: Callable[..., Script], end: str, then: str, status: str, message: str) -> None:
    id = killed(script(STUCK, end, then, TRACKER_SYSTEM_PERIOD="0.01", TRACKER_MODE="offline"))
    assert sync().returncode == 0
    it = server.get(f"/iteration/{id}")
    assert it["status"] == status and it["error_message"].endswith("The process ended without ending the run.")
    assert message in it["error_message"] and (status == "FAILED") is ("\n\n" in it["error_message"])


def test_what_a_process_had_come_to_stays_in_a_spool_that_is_cut(tmp_path: pathlib.Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spool, "SHRINK", 1)
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    spool.append({"op": "points"})
    spool.keep_fate({"status": "FAILED"})
    item = spool.next()
    assert item is not None
    spool.done(item)
    spool.append({"op": "points", "system": True})
    spool.close()
    again = Spool(spool.path)
    assert again.fate == {"status": "FAILED"}
    again.append({"op": "points"})
    again.close()
    last = Spool(spool.path)
    assert last.fate is None, "it continued"
    last.close()


def test_the_run_of_a_dead_process_is_ended_by_the_next_run(server: Server, script: Callable[..., Script]) -> None:
    id = killed(script(LOGGER))
    with tracker.init(project="p", capture=False) as run:
        run.log({"a": 1})
        eventually(lambda: {it["id"]: it["status"] for it in server.iterations()}.get(id) == "KILLED")


def test_a_dead_process_does_not_end_the_run_that_was_resumed(server: Server, script: Callable[..., Script]) -> None:
    id = killed(script(LOGGER))
    run = tracker.init(project="p", resume=id, capture=False)
    run.log({"a": 2})
    eventually(lambda: len(server.points(id, "a")) == 2 if server.iterations() else False)
    assert sync().returncode == 0
    assert server.get(f"/iteration/{id}")["status"] == "RUNNING"
    run.finish()
    assert server.get(f"/iteration/{id}")["status"] == "SUCCEEDED"


def test_a_dead_process_does_not_end_the_run_that_goes_on_elsewhere(server: Server, script: Callable[..., Script],
                                                                    tmp_path: pathlib.Path) -> None:
    one = script(LOGGER)
    id = one.line()
    eventually(lambda: server.iterations() and server.points(id, "a"))
    one.signal(signal.SIGKILL)
    one.end()
    path = tmp_path / "spool" / f"{id}.spool"
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))  # the run has written to the server since then
    assert sync().returncode == 0
    assert server.get(f"/iteration/{id}")["status"] == "RUNNING"
