"""Tests that each logged value is stored exactly once, whatever ends the process."""

from __future__ import annotations

import argparse
import errno
import json
import mmap
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List

import pytest

import tracker
from tracker import _spool
from tracker._call import MOST_POINTS, Encoder, points
from tracker._record import CALL, DONE, HEAD, ITEM, frame
from tracker._spool import Spool
from tracker._writer import Writer

from .conftest import Script, Server, drained, eventually, sync

ENDS = {"exit": "os._exit(1)", "success": "os._exit(0)", "kill": "os.kill(os.getpid(), signal.SIGKILL)",
        "thread": "threading.Thread(target=os._exit, args=(1,)).start(); time.sleep(600)"}

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)

MATRIX = """
import multiprocessing, os, signal, sys, threading, time, tracker
def work(run):
    for step in range(500): run.log({"a": step, "b": -step}, step=step)
    run.config["lr"] = 0.5
    run.tag("kept")
    run.log({"page": tracker.Html("<p>"), "picture": tracker.Image(%r), "note": tracker.Text("t")}, step=0)
    run.log_artifact(__file__)
    run.log_artifact(__file__, name="set", type="dataset")
    %s
if __name__ == "__main__":
    run = tracker.init(project="p", mode=sys.argv[2], capture=False)
    print(run.id, flush=True)
    if sys.argv[1] == "main":
        work(run)
    elif sys.argv[1] == "thread":
        threading.Thread(target=work, args=(run,)).start()
        time.sleep(600)
    elif sys.argv[1] == "fork":
        child = os.fork()
        if child == 0: work(run)
        os.waitpid(child, 0)
    else:
        worker = multiprocessing.get_context("spawn").Process(target=work, args=(run,))
        worker.start()
        worker.join()
"""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("place, mode", [("main", "offline"), ("main", "online"), ("thread", "offline"), ("fork", "offline"),
                                         ("fork", "online"), ("spawn", "offline")])
def test_what_was_logged_before_the_end_is_kept(server: Server, tmp_path: pathlib.Path, place: str, mode: str, end: str) -> None:
    (tmp_path / "work.py").write_text(MATRIX % (PNG, ENDS[end]))
    done = subprocess.run([sys.executable, "work.py", place, mode], capture_output=True, text=True, timeout=300)
    id = done.stdout.strip()
    assert sync().returncode == 0
    assert server.points(id, "a") == [(s, s) for s in range(500)], done.stderr
    assert server.points(id, "b") == [(s, -s) for s in range(500)]
    assert server.parameters(id) == {"lr": "0.5"}
    assert [tag["value"] for tag in server.get(f"/tag/iteration/{id}")["data"]] == ["kept"]
    assert set(server.artifacts(id)) >= {"page_0.html", "picture_0.png", "note_0.txt", "work.py", "set:v0/work.py"}
    assert not list((tmp_path / "spool").glob("*.spool*"))


def test_a_run_exists_once_init_has_returned(server: Server, script: Callable[..., Script]) -> None:
    one = script("""
        import os, tracker
        tracker.init(project="p", name="short", mode="offline", capture=False, config={"lr": 1}, tags=["t"])
        os._exit(1)
    """)
    one.end()
    assert sync().returncode == 0
    [it] = server.iterations()
    assert (it["name"], it["status"]) == ("short", "KILLED") and server.parameters(it["id"]) == {"lr": "1"}


RANDOM = """
    import mmap, struct, sys, threading, time, tracker, tracker._spool
    tracker._spool.SHRINK = int(sys.argv[2])
    with open(sys.argv[1], "r+b") as file:
        returned = mmap.mmap(file.fileno(), 32)
    run = tracker.init(project="p", capture=False)
    run.recorder.writer.period = 0.002
    def work(n):
        for step in range(200_000):
            run.log({f"a/{n}": step, f"b/{n}": -step}, step=step)
            struct.pack_into("<q", returned, 8 * n, step + 1)
            if step % 50 == 49: time.sleep(0.001)
    for n in range(4): threading.Thread(target=work, args=(n,)).start()
    print(run.id, flush=True)
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_kill_at_a_random_moment_costs_nothing(server: Server, script: Callable[..., Script], tmp_path: pathlib.Path,
                                                 seed: int) -> None:
    """In half of the rounds, the kill may come while the spool file is replaced by a smaller file."""
    (tmp_path / "returned").write_bytes(b"\0" * 32)
    one = script(RANDOM, str(tmp_path / "returned"), "20000" if seed % 2 else "4000000")
    id = one.line()
    with open(tmp_path / "returned", "r+b") as file:
        returned = mmap.mmap(file.fileno(), 32)
    eventually(lambda: min(struct.unpack("<4q", returned)) > 20)
    time.sleep(random.Random(seed).uniform(0, 1.5))
    one.signal(signal.SIGKILL)
    one.end()
    counts = struct.unpack("<4q", returned)
    returned.close()
    assert sync().returncode == 0
    for n, count in enumerate(counts):
        [series] = server.get(f"/metric/iteration/{id}/series?key=a%2F{n}&points=100000")["series"]
        assert series["step"] == list(range(len(series["step"]))) and series["value"] == series["step"]
        assert count <= len(series["step"]) <= count + 1
        [other] = server.get(f"/metric/iteration/{id}/series?key=b%2F{n}&points=100000")["series"]
        assert other["step"] == series["step"] and other["value"] == [-step for step in other["step"]]
    assert not list((tmp_path / "spool").glob("*.spool*"))


def test_a_signal_handler_may_log_while_log_is_interrupted(server: Server, script: Callable[..., Script]) -> None:
    one = script("""
        import itertools, os, signal, tracker
        run = tracker.init(project="p", mode="offline", capture=False)
        print(run.id, flush=True)
        numbers, returned = itertools.count(), []
        def handler(number, frame):  # may be interrupted itself
            n = next(numbers)
            run.log({"signal": n}, step=n)
            returned.append(n)
            if n == 500:
                signal.setitimer(signal.ITIMER_REAL, 0)
                print(step, *returned, flush=True)
                os._exit(1)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        step = 0
        while True:
            run.log({"a": step}, step=step)
            step += 1
    """)
    id = one.line()
    count, *returned = map(int, one.line().split())
    one.end()
    assert sync().returncode == 0
    [series] = server.get(f"/metric/iteration/{id}/series?key=a&points=10000000")["series"]
    assert series["count"] in (count, count + 1)
    found = server.points(id, "signal")
    assert len(found) == len(set(found)) and {(n, n) for n in returned} <= set(found)


def test_a_signal_that_ends_the_run_in_the_middle_of_log_ends_it(server: Server, script: Callable[..., Script]) -> None:
    """The writer and sender threads do not wait for locks that the interrupted thread holds."""
    one = script("""
        import os, signal, tracker
        run = tracker.init(project="p", capture=False)
        print(run.id, flush=True)
        spool, write = run.recorder.spool, os.write
        def interrupted(fd, data):
            if fd == spool._fd and b"now" in data:
                os.write = write
                os.kill(os.getpid(), signal.SIGTERM)  # the handler runs before this function returns
                for _ in range(1000): pass
            return write(fd, data)
        for step in range(300): run.log({"a": step}, step=step)
        os.write = interrupted
        run.log({"now": 1}, step=0)
    """)
    id = one.line()
    said = one.end()
    assert one.process.returncode == -signal.SIGTERM, said
    assert sync().returncode == 0
    assert server.get(f"/iteration/{id}")["status"] == "KILLED"
    assert server.points(id, "a") == [(s, s) for s in range(300)]


def logged(spool: Spool) -> List[Any]:
    """Return (key, step, value) of all points in a spool."""
    found = [point for item in drained(spool) for point in json.loads(item.body)["metrics"]]
    return [(point["key"], point.get("step"), point["value"]) for point in found]


@pytest.mark.parametrize("size", [1, 8, 9, 40, -1])
def test_a_record_that_was_written_in_part_is_left_out(tmp_path: pathlib.Path, size: int) -> None:
    encode = Encoder().encode
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    assert spool.put(CALL, encode({"a": 1.0}, 0, 1e9))
    os.write(spool._fd, frame(CALL, encode({"lost": 1.0}, 0, 1e9))[:size])
    spool._torn = True
    assert spool.put(CALL, encode({"a": 2.0}, 1, 1e9))
    os.write(spool._fd, frame(CALL, encode({"lost": 1.0}, 0, 1e9))[:size])
    spool.close()
    again = Spool(spool.path)
    assert logged(again) == [("a", 0, 1.0), ("a", 1, 2.0)]
    again.close()


def test_what_the_disk_takes_in_part_is_kept_in_memory_and_written_later(tmp_path: pathlib.Path, server: Server) -> None:
    run = tracker.init(project="p", mode="offline", capture=False)
    spool, limits = run.recorder.spool, resource.getrlimit(resource.RLIMIT_FSIZE)
    assert spool is not None
    for step in range(100):
        run.log({"a": step})
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(spool.path) + 70, limits[1]))
        for step in range(100, 200):
            run.log({"a": step})
        run.config["lr"] = 1
        assert spool.failure is not None and spool.failure.errno in (errno.ENOSPC, errno.EFBIG)
        run.config["lr"] = 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    run.flush()
    for step in range(200, 300):
        run.log({"a": step})
    run.config["lr"] = 3
    run.finish()
    assert sync().returncode == 0
    assert server.points(run.id, "a") == [(s, s) for s in range(300)] and server.parameters(run.id) == {"lr": "3"}


def test_a_call_at_the_last_moment_is_not_removed_with_the_spool(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    writer = Writer(spool)

    def printed(last: bool) -> List[Any]:
        if last:
            spool.put(CALL, Encoder().encode({"a": 1.0}, 0, 1e9))  # by a thread that is executing log
        return []

    writer.printed = printed
    writer.start()
    writer.stop()
    assert not spool.empty and logged(spool) == [("a", 0, 1.0)]
    assert not spool.put(CALL, Encoder().encode({"a": 2.0}, 1, 1e9)), "later calls are rejected"
    spool.close()


def test_a_spool_whose_head_the_disk_does_not_take_is_no_file(tmp_path: pathlib.Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
        spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert spool.failure is not None and not list(tmp_path.iterdir())
    assert not spool.put(CALL, Encoder().encode({"a": 1.0}, 0, 1e9))
    spool.append({"op": "points"}, b'{"metrics":[{"key":"a","value":1}]}')
    assert logged(spool) == [("a", None, 1)]


def test_a_call_that_is_interrupted_by_the_end_writes_to_no_other_file(script: Callable[..., Script],
                                                                       tmp_path: pathlib.Path) -> None:
    one = script("""
        import os, sys, tracker
        run = tracker.init(project="p", mode="offline", capture=False, quiet=True)
        write, fd = os.write, run.recorder.spool._fd
        def interrupted(number, data):
            if number == fd:
                os.write = write
                tracker.log({"b": 1})  # as the handler of a signal may do
                tracker.finish()
                other = open(sys.argv[1], "wb")  # gets a free number
            return write(number, data)
        os.write = interrupted
        run.log({"a": 1})
        print(os.path.getsize(sys.argv[1]), flush=True)
    """, str(tmp_path / "other"))
    assert one.line() == "0", one.end()


def test_the_same_calls_are_the_same_request_for_the_next_process(tmp_path: pathlib.Path) -> None:
    encode = Encoder().encode
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    for step in range(10):
        assert spool.put(CALL, encode({"a": step}, step, 1e9))
    spool.publish()
    first = spool.next()
    for step in range(10, 20):
        assert spool.put(CALL, encode({"a": step}, step, 1e9))
    spool.close()
    again = Spool(spool.path)
    same = again.next()
    assert first is not None and first == same
    again.done(first)
    rest = again.next()
    assert rest is not None and rest.head["key"] != first.head["key"] and rest.body.count(b'"key"') == 10
    assert b"01:46:40.000Z" in first.body and b"01:46:40.001Z" in rest.body and b".000Z" not in rest.body
    again.close()


def test_a_spool_that_is_written_to_all_the_time_gives_its_room_back(tmp_path: pathlib.Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spool, "SHRINK", 20_000)
    encode = Encoder().encode
    spool = Spool(str(tmp_path / "x.spool"), {"id": "x"})
    spool.keep_base(7)
    found, largest = [], 0
    for step in range(5000):
        assert spool.put(CALL, encode({"a": step}, step, 1e9 + step))
        if step % 10 == 5:
            item = spool.next()
            spool.publish()
            if item is not None:
                found.append(item)
                spool.done(item)
        largest = max(largest, os.path.getsize(spool.path))
    spool.publish()
    found += drained(spool)
    assert largest < 40_000
    assert sum(item.body.count(b'"key"') for item in found) == 5000
    spool.close()
    again = Spool(spool.path)
    assert again.base == 7 and again.next() is None
    again.close(remove=True)
    assert not list(tmp_path.iterdir())


REPLACED = """
    import os, sys, tracker._spool
    from tracker._call import Encoder
    from tracker._record import CALL
    tracker._spool.SHRINK = 1
    spool = tracker._spool.Spool(sys.argv[1], {"id": "x"})
    spool.keep_base(7)
    for step in range(10):
        spool.put(CALL, Encoder().encode({"a": step}, step, 1e9 + step))
    spool.publish()
    item = spool.next()
    spool.put(CALL, Encoder().encode({"a": 10}, 10, 1e9 + 10))
    if sys.argv[2] == "full":
        def full(*_): raise OSError(28, "No space left on device")
        os.replace = full
    elif sys.argv[2] == "done":
        spool.publish()
        spool.done(item)
        item = spool.next()
    else:
        replace = os.replace
        def killed(*paths):
            if sys.argv[2] == "after": replace(*paths)
            os._exit(1)
        os.replace = killed
    spool.done(item)
    os._exit(1)
"""


@pytest.mark.parametrize("moment, left", [("before", [*range(11)]), ("after", [10]), ("full", [10]), ("done", [])])
def test_a_kill_while_the_spool_is_replaced_leaves_one_of_both(script: Callable[..., Script], tmp_path: pathlib.Path, moment: str,
                                                               left: List[int]) -> None:
    path = str(tmp_path / "x.spool")
    said = script(REPLACED, path, moment).end()
    spool = Spool(path)
    assert logged(spool) == [("a", step, step) for step in left] and spool.base == 7, said
    spool.close(remove=True)
    assert not list(tmp_path.glob("x*"))


def test_a_spool_of_an_earlier_version_is_read(tmp_path: pathlib.Path) -> None:
    item = frame(ITEM, b'{"op": "points"}\n{}')
    data = b"TRACKER1" + frame(HEAD, b'{"id": "x"}') + item
    path = tmp_path / "x.spool"
    path.write_bytes(data + item + frame(DONE, str(len(data)).encode()))
    path.chmod(0o600)
    spool = Spool(str(path))
    assert spool.head == {"id": "x"} and [one.body for one in drained(spool)] == [b"{}"]
    spool.close()


def test_any_name_step_and_number_is_kept(server: Server) -> None:
    wide = {f"n/{n}": float(n) for n in range(2 * MOST_POINTS + 3)}
    with tracker.init(project="p", capture=False) as run:
        odd: Dict[Any, Any] = {"a": 10 ** 400, "b": -10 ** 400, "c": float("nan"), "é\ud800": 1, 5: 2, "big": 2 ** 53}
        run.log(odd, step=3)
        run.log({"a": 1}, step=-1)
        run.log({"a": 1}, step=1 << 70)
        run.log({"a": True, "nested": {"b": 2}}, step=4)
        run.log(wide, step=0)
        run.log({})
    assert server.points(run.id, "a")[-2:] == [(3, "Infinity"), (4, 1)]
    assert server.points(run.id, "b") == [(3, "-Infinity")] and server.points(run.id, "c") == [(3, "NaN")]
    assert server.points(run.id, "é?") == [(3, 1)] and server.points(run.id, "5") == [(3, 2)]
    assert server.points(run.id, "big") == [(3, 2 ** 53)] and server.points(run.id, "nested/b") == [(4, 2)]
    assert server.points(run.id, f"n/{2 * MOST_POINTS + 2}") == [(0, 2 * MOST_POINTS + 2)]
    assert run.last()["a"] == 1.0 and points([Encoder().encode({"a": 1}, 1 << 70, 0)], 0).body.count(str(1 << 70).encode()) == 1


def test_a_child_that_ends_at_once_keeps_what_it_logged_while_the_parent_goes_on(server: Server,
                                                                                script: Callable[..., Script]) -> None:
    one = script("""
        import os, tracker
        run = tracker.init(project="p", capture=False)
        print(run.id, flush=True)
        for n in range(3):
            if os.fork() == 0:
                for step in range(100): tracker.log({f"child/{n}": step}, step=step)
                os._exit(0)
            os.wait()
            run.log({"parent": n}, step=n)
        run.finish()
    """)
    id = one.line()
    said = one.end()
    assert server.get(f"/iteration/{id}")["status"] == "SUCCEEDED", said
    assert server.points(id, "parent") == [(n, n) for n in range(3)]
    for n in range(3):
        assert server.points(id, f"child/{n}") == [(s, s) for s in range(100)]


def test_a_spool_that_another_process_has_just_sent_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    import tracker.__main__ as command

    gone = str(tmp_path / "gone.spool")
    monkeypatch.setattr(command, "spool_folders", lambda: [str(tmp_path)])
    monkeypatch.setattr(command, "spool_files", lambda folder, suffix=".spool": [gone] if suffix == ".spool" else [])
    assert command.sync(argparse.Namespace(path=[], url=None)) == 0
    assert "sent by another process" in capsys.readouterr().out
    assert command.sync(argparse.Namespace(path=[gone], url=None)) == 1
