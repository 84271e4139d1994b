"""Tests that no data is lost and no call waits, whatever the network, the server or the process does."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import random
import resource
import signal
import threading
import time
from typing import Any, Callable, Optional

import pytest

import tracker
from tracker import _sync
from tracker._record import MAGIC
from tracker._spool import Busy, Spool

from .conftest import Proxy, Script, Server, drained, eventually, sync

LOGGER = """
    import sys, time, tracker
    run = tracker.init(project="p", name=sys.argv[1], capture=False)
    print(run.id, flush=True)
    for step in range(int(sys.argv[2])):
        run.log({"a": step, "b": -step}, step=step)
        time.sleep(float(sys.argv[3]))
    print("logged", flush=True)
    if sys.argv[4:]: time.sleep(600)
"""


def test_the_server_is_killed_while_four_processes_log(server: Server, script: Callable[..., Script]) -> None:
    loggers = [script(LOGGER, f"run {n}", "1500", "0.002") for n in range(4)]
    ids = [one.line() for one in loggers]
    for _ in range(4):
        time.sleep(random.uniform(0.2, 0.8))
        server.kill()
        server.start()
    for one in loggers:
        assert "lost" not in one.end()
    assert sync().returncode == 0
    for id in ids:
        assert server.points(id, "a") == [(s, s) for s in range(1500)]
        assert server.points(id, "b") == [(s, -s) for s in range(1500)]
    assert {it["status"] for it in server.iterations()} == {"SUCCEEDED"}


def test_the_client_is_killed_and_sync_sends_what_was_spooled(server: Server, script: Callable[..., Script],
                                                              tmp_path: pathlib.Path) -> None:
    server.kill()
    one = script(LOGGER, "killed", "1000", "0", "stay")
    id = one.line()
    assert one.line() == "logged"
    [path] = (tmp_path / "spool").glob("*.spool")
    assert "skipped, because another process uses it" in sync().stdout, "sync skips the spool of a live run"
    one.signal(signal.SIGKILL)
    one.end()
    with open(path, "ab") as file:
        file.write(b"\x40\x00\x00\x00torn")
    server.start()
    done = sync()
    assert done.returncode == 0, done.stderr
    assert not path.exists() and "no unsent data" in sync().stdout
    assert server.points(id, "a") == [(s, s) for s in range(1000)]


def test_the_client_is_killed_at_random_and_the_next_one_sends_the_rest(server: Server, script: Callable[..., Script],
                                                                        tmp_path: pathlib.Path) -> None:
    ids = []
    for n in range(3):
        one = script(LOGGER, f"run {n}", "100000", "0.0005")
        ids.append(one.line())
        assert b'"begin"' in (tmp_path / "spool" / f"{ids[-1]}.spool").read_bytes()
        time.sleep(random.uniform(0.1, 0.7))
        one.signal(signal.SIGKILL)
        one.end()
    with tracker.init(project="p", capture=False) as run:
        run.log({"a": 1})
        eventually(lambda: not [p for p in _sync.spool_files(run.folder) if run.id not in p])
    for id in ids:
        points = server.points(id, "a")
        assert points == [(s, s) for s in range(len(points))], "in order, once, without a gap"


def test_offline_runs_are_sent_by_sync(server: Server) -> None:
    with tracker.init(mode="offline", name="away", config={"lr": 1}, capture=False) as run:
        run.log({"a": 1})
    assert server.iterations() == []
    assert sync().returncode == 0
    [it] = server.iterations()
    assert (it["id"], it["name"], it["status"]) == (run.id, "away", "SUCCEEDED")
    assert server.points(run.id, "a") == [(0, 1)] and server.parameters(run.id) == {"lr": "1"}


@pytest.mark.parametrize("status", [500, 503, 429, -1])
def test_failing_answers_and_lost_ones_cost_nothing(server: Server, proxy: Proxy, status: int) -> None:
    chance = random.Random(7)
    proxy.fault = lambda method, path, body: status if chance.random() < 0.2 else None
    with tracker.init(url=proxy.url, capture=False, config={"lr": 1}, tags=["t"]) as run:
        for step in range(10):
            run.log({"a": step}, step=step)
            run.flush()
    assert server.points(run.id, "a") == [(s, s) for s in range(10)]
    assert len(server.iterations()) == 1


def test_points_that_are_not_allowed_now_are_sent_when_they_are(server: Server, proxy: Proxy) -> None:
    refusals = iter([401, 403])
    proxy.fault = lambda method, path, body: next(refusals, None) if "bulk" in path else None
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log({"a": 1})
    assert server.points(run.id, "a") == [(0, 1)]


def test_a_server_that_hangs_stops_nobody(server: Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_TIMEOUT", "3")  # a busy machine responds later than announced
    proxy.fault = lambda method, path, body: 0
    run = tracker.init(url=proxy.url, capture=False)
    run.log({"a": 1})
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.failure)
    proxy.fault = lambda method, path, body: None
    run.log({"a": 2})
    run.finish()
    assert server.points(run.id, "a") == [(0, 1), (1, 2)]


def test_finish_leaves_the_rest_in_the_spool(server: Server, proxy: Proxy) -> None:
    proxy.fault = lambda method, path, body: 500 if "bulk" in path else None
    run = tracker.init(url=proxy.url, capture=False)
    run.log({"a": 1})
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.progress)  # its point is not on the server
    run.finish(timeout=0.5)
    assert server.points(run.id, "a") == []
    assert sync("--url", server.url).returncode == 0
    assert server.points(run.id, "a") == [(0, 1)] and server.iterations()[0]["status"] == "SUCCEEDED"


def test_a_second_interrupt_leaves(server: Server, proxy: Proxy, script: Callable[..., Script]) -> None:
    waiting = threading.Event()
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if "bulk" in path:
            waiting.set()
            return 0
        return None
    proxy.fault = fault
    one = script("import time, tracker\ntracker._recorder.PATIENCE = 1e9\ntracker.init(capture=False)\ntracker.log({'a': 1})\n"
                 "print('ready', flush=True)\ntime.sleep(600)", TRACKER_URL=proxy.url)
    assert one.line() == "ready" and waiting.wait(180)
    one.signal(signal.SIGINT)
    assert one.process.stderr is not None
    while "KeyboardInterrupt" not in one.process.stderr.readline():
        pass
    end = time.monotonic() + 180
    while one.process.poll() is None and time.monotonic() < end:
        one.signal(signal.SIGINT)
        time.sleep(0.1)
    assert one.process.poll() is not None, "it would stay forever"
    assert sync("--url", server.url).returncode == 0
    [it] = server.iterations()
    assert it["status"] == "KILLED" and server.points(it["id"], "a") == [(0, 1)]


def test_a_refused_point_takes_no_other_with_it(server: Server, capfd: Any) -> None:
    with tracker.init(capture=False) as run:
        for step in range(40):
            run.log({"a": step, "b" * 251 if step == 17 else "b": step}, step=step)
    assert server.points(run.id, "a") == [(s, s) for s in range(40)]
    assert len(server.points(run.id, "b")) == 39
    said = capfd.readouterr().err
    assert "bbbb" in said and "at step 17" in said and "250 characters" in said
    [kept] = pathlib.Path(run.folder).glob("*.rejected")
    assert '"step": 17' in json.loads(kept.read_text())["body"]


def test_a_body_that_is_too_large_is_cut(server: Server, proxy: Proxy) -> None:
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        return 413 if "bulk" in path and body.count(b'"key"') > 30 else None
    proxy.fault = fault
    with tracker.init(url=proxy.url, capture=False) as run:
        for step in range(300):
            run.log({"a": step}, step=step)
    assert server.points(run.id, "a") == [(s, s) for s in range(300)]


def test_names_are_made_once_by_processes_that_start_together(server: Server, proxy: Proxy,
                                                              script: Callable[..., Script]) -> None:
    both = threading.Barrier(2)  # both must notice that it is missing before one of them creates it
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if (method, path) == ("POST", "/project"):
            both.wait(180)
        return None
    proxy.fault = fault
    program = "import tracker\nwith tracker.init(project='one', experiment='one', capture=False) as r: r.log({'a': 1})"
    for one in [script(program, TRACKER_URL=proxy.url) for _ in range(2)]:
        one.end()
    assert server.get("/project")["total"] == 1 and len(server.iterations()) == 2


def test_strict_runs_raise(server: Server, proxy: Proxy) -> None:
    proxy.fault = lambda method, path, body: 500
    with pytest.raises(tracker.TrackerError, match="could not be started"):
        tracker.init(url=proxy.url, strict=True, capture=False)
    proxy.fault = lambda method, path, body: None
    run = tracker.init(url=proxy.url, strict=True, capture=False)
    run.log({"b" * 251: 1})
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.refused)
    with pytest.raises(tracker.Refused, match="250 characters"):
        run.log({"a": 1})
    run.finish()


def test_a_worker_that_is_forked_logs_beside_its_parent(server: Server, script: Callable[..., Script]) -> None:
    program = """
        import multiprocessing, sys, tracker
        def work(run, n):
            for step in range(100):
                run.log({f"worker/{n}": step}, step=step)
        if __name__ == "__main__":
            run = tracker.init(capture=False)
            for step in range(100):
                run.log({"parent": step}, step=step)
            context = multiprocessing.get_context("fork")
            workers = [context.Process(target=work, args=(run, n)) for n in range(2)]
            for worker in workers: worker.start()
            for worker in workers: worker.join()
            tracker.log({"parent": 100}, step=100)
    """
    one = script(program)
    one.end()
    assert sync().returncode == 0
    [it] = server.iterations()
    assert it["status"] == "SUCCEEDED"
    assert server.points(it["id"], "parent") == [(s, s) for s in range(101)]
    for n in range(2):
        assert server.points(it["id"], f"worker/{n}") == [(s, s) for s in range(100)]


SPAWNING = """
import multiprocessing, tracker
run = tracker.init(name="main", capture=False)
def work(run, n):
    run.log({"worker": n}, step=n)
if __name__ == "__main__":
    run.log({"parent": 1})
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(run, n)) for n in range(2)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
"""


def test_a_worker_that_is_spawned_starts_no_run_of_its_own(server: Server, script: Callable[..., Script],
                                                           tmp_path: pathlib.Path) -> None:
    (tmp_path / "spawning.py").write_text(SPAWNING)
    one = script("import subprocess, sys; sys.exit(subprocess.run([sys.executable, 'spawning.py']).returncode)")
    said = one.end()
    assert one.process.returncode == 0, said
    assert sync().returncode == 0
    [it] = server.iterations()
    assert it["status"] == "SUCCEEDED"
    assert server.points(it["id"], "worker") == [(0, 0), (1, 1)] and server.points(it["id"], "parent") == [(0, 1)]


def test_a_full_disk_is_no_end(server: Server, proxy: Proxy, script: Callable[..., Script]) -> None:
    down = threading.Event()
    proxy.fault = lambda method, path, body: None if down.is_set() else 500
    one = script("""
        import resource, sys, tracker
        run = tracker.init(capture=False)
        run.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        for step in range(2000):
            run.log({"a": step}, step=step)
            if step % 100 == 0: run.flush()
        run.flush()
        print(run.recorder.spool.failure is not None, flush=True)
        run.finish()
    """, TRACKER_URL=proxy.url)
    assert one.line() == "True", "the disk should be full"
    down.set()
    said = one.end()
    [it] = server.iterations()
    assert server.points(it["id"], "a") == [(s, s) for s in range(2000)], said
    assert it["status"] == "SUCCEEDED"


def test_a_disk_that_was_full_is_written_on(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        for n in range(10):
            spool.append({"op": "points", "n": n}, b"x" * 3000)
        assert spool.failure is not None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    spool.append({"op": "points", "n": 10}, b"x")
    assert spool.failure is None
    spool.close()
    again = Spool(spool.path)
    assert [item.head["n"] for item in drained(again)] == list(range(11))
    again.close()


def test_where_there_is_no_spool_the_run_goes_on(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with tracker.init(dir=str(tmp_path / "file"), capture=False) as run:
        run.log({"a": 1})
    assert server.points(run.id, "a") == [(0, 1)]


def test_memory_is_bounded_when_the_disk_takes_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._spool.MEMORY", 1000)
    (tmp_path / "file").write_text("")
    spool = Spool(str(tmp_path / "file" / "x.spool"), {"id": "x"})
    for _ in range(100):
        spool.append({"op": "points"}, b"x" * 90)
    assert 80 < spool.lost < 100 and not spool.empty


@pytest.mark.parametrize("damage", ["cut", "flip", "grow"])
def test_a_spool_is_read_up_to_where_it_is_damaged(tmp_path: pathlib.Path, damage: str) -> None:
    path = tmp_path / "x.spool"
    spool = Spool(str(path), {"id": "x"})
    for n in range(5):
        spool.append({"op": "points", "n": n}, b"body")
    first = spool.next()
    assert first is not None
    spool.done(first)
    with pytest.raises(Busy):
        Spool(str(path))
    for n in range(5, 8):
        spool.append({"op": "points", "n": n}, b"body")
    spool.close()
    raw = bytearray(path.read_bytes())
    if damage == "cut":
        del raw[-3:]
    elif damage == "flip":
        raw[-2] ^= 1
    else:
        raw += b"\xff" * 20
    path.write_bytes(raw)
    again = Spool(str(path))
    assert [item.head["n"] for item in drained(again)] == list(range(1, 8 if damage == "grow" else 7))
    again.close(remove=True)
    assert raw.startswith(MAGIC) and not path.exists()


def test_a_spool_gives_its_room_back(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    for _ in range(30):
        spool.append({"op": "points"}, b"x" * 500_000)
        item = spool.next()
        assert item is not None
        spool.done(item)
    assert os.path.getsize(spool.path) < 6 << 20
    spool.close()

