"""Tests that no point, end or step is lost or wrong if a process ends abnormally."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional

import pytest

import tracker
from tracker import _spool
from tracker._spool import Spool
from tracker._value import timestamp

from .conftest import LOGGER, Proxy, Script, Server, drained, eventually, sync

POOL = """
import multiprocessing, sys, tracker
RUN = None
def setup(run):
    global RUN
    RUN = run
def work(n):
    for step in range(50):
        RUN.log({f"task/{n}": step}, step=step)
if __name__ == "__main__":
    run = tracker.init(capture=False)
    with multiprocessing.get_context(sys.argv[1]).Pool(4, setup, (run,)) as pool:
        pool.map(work, range(40))
    run.finish()
    print(run.id, flush=True)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_that_is_left_loses_nothing(server: Server, tmp_path: pathlib.Path, method: str) -> None:
    (tmp_path / "pool.py").write_text(POOL)
    done = subprocess.run([sys.executable, "pool.py", method], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    id = done.stdout.strip()
    assert sync().returncode == 0
    lost = [n for n in range(40) if server.points(id, f"task/{n}") != [(s, s) for s in range(50)]]
    assert not lost, done.stderr
    assert server.get(f"/iteration/{id}")["status"] == "SUCCEEDED"


def test_a_fork_waits_for_a_message_that_is_being_written(script: Callable[..., Script]) -> None:
    """A child that was forked during a write would wait forever for the lock of the stream when it ends."""
    one = script("""
        import os, threading, time, tracker
        from tracker._value import tell
        run = tracker.init(mode="offline", capture=False)
        reader, writer = os.pipe()
        full = 0
        os.set_blocking(writer, False)
        try:
            while True: full += os.write(writer, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(writer, True)
        stream = open(writer, "w")
        writing = threading.Thread(target=tell, args=("a message",), kwargs={"stream": stream})
        writing.start()
        time.sleep(0.5)  # it waits for room in the pipe now, and holds the lock of the stream
        def drain():
            time.sleep(0.5)
            left = full + len("tracker: a message\\n")
            while left: left -= len(os.read(reader, left))
        threading.Thread(target=drain).start()
        child = os.fork()
        if child == 0:
            stream.flush()
            os._exit(0)
        ended, limit = 0, time.monotonic() + 180
        while not ended and time.monotonic() < limit:
            ended = os.waitpid(child, os.WNOHANG)[0]
            time.sleep(0.01)
        if not ended:
            os.kill(child, 9)
        print("ended" if ended else "hangs", flush=True)
        run.finish()
    """)
    assert one.line() == "ended"
    one.end()


def test_a_fork_finds_nothing_half_imported(server: Server, script: Callable[..., Script], tmp_path: pathlib.Path) -> None:
    """A child would wait forever for a module that another thread was importing during the fork."""
    (tmp_path / "b.txt").write_text("b")
    one = script("""
        import os, sys, threading, tracker
        run = tracker.init(mode="offline", capture=False)
        run.finish()
        run = tracker.init(capture=False)
        child = os.fork()  # what is imported by now was imported before the fork
        if child == 0: os._exit(0)
        os.waitpid(child, 0)
        there = set(sys.modules)
        import builtins
        late, load = set(), builtins.__import__
        def note(name, *rest, **more):
            before = set(sys.modules)
            try:
                return load(name, *rest, **more)
            finally:
                if threading.current_thread().name in ("tracker-sender", "tracker-leftover", "tracker-writer"):
                    late.update(set(sys.modules) - before)
        builtins.__import__ = note
        run.log({"a": 1, "text": tracker.Text("t")})
        run.config["b"] = 2
        run.tag("c")
        run.log_artifact("b.txt").wait()
        run.finish()
        print(sorted(late - there), flush=True)
    """, TRACKER_URL=f"http://localhost:{server.port}")
    assert one.line() == "[]", one.end()


def test_a_signal_that_does_not_interrupt_the_main_thread_ends_the_run(server: Server, script: Callable[..., Script]) -> None:
    """A signal arrives just before the main thread begins to wait. This once made some pools hang."""
    one = script("""
        import signal, threading, tracker, tracker._recorder
        tracker._recorder.PATIENCE = 1e9  # the machine may be busy
        run = tracker.init(capture=False)
        run.log({"a": 1})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # another thread takes it
        print(run.id, flush=True)
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    """)
    id = one.line()
    one.signal(signal.SIGTERM)
    eventually(lambda: [(it["id"], it["status"]) for it in server.iterations()] == [(id, "KILLED")])
    assert len(server.points(id, "a")) == 1


def test_a_worker_that_is_terminated_while_it_ends_loses_nothing(server: Server, proxy: Proxy,
                                                                 script: Callable[..., Script]) -> None:
    proxy.fault = lambda method, path, body: 500  # the worker waits at its end
    one = script("""
        import multiprocessing, os, time, tracker, tracker._writer
        def slow(spool, append):
            def later(*args):
                time.sleep(0.05)
                append(*args)
            spool.append = later
        def work(run, started):
            run.log({"a": -1}, step=0)
            slow(run.recorder.spool, run.recorder.spool.append)
            for step in range(20_000): run.log({"a": step}, step=step)
            started.set()
        if __name__ == "__main__":
            run = tracker.init(mode="offline", capture=False)
            context = multiprocessing.get_context("fork")
            started = context.Event()
            worker = context.Process(target=work, args=(run, started))
            worker.start()
            started.wait()
            worker.terminate()  # it is in the middle of writing its queue
            worker.join()
            print(run.id, worker.exitcode, flush=True)
    """, TRACKER_URL=proxy.url)
    id, code = one.line().split()
    one.end()
    assert code == "-15"
    assert sync("--url", server.url).returncode == 0
    assert len(server.points(id, "a")) == 20_001


class Disk:
    """Simulate a disk with the given free space for a spool. Removing a file frees the space that it used."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room: Optional[int] = None
        write, remove = os.write, _spool._remove

        def limited(fd: int, data: bytes) -> int:
            if self.room is not None:
                if self.room < len(data):
                    raise OSError(errno.ENOSPC, "No space left on device")
                self.room -= len(data)
            return write(fd, data)

        def freed(path: str) -> None:
            if self.room is not None and os.path.exists(path):
                self.room += os.path.getsize(path)
            remove(path)

        monkeypatch.setattr(os, "write", limited)
        monkeypatch.setattr(_spool, "_remove", freed)


def test_the_end_of_a_run_whose_disk_was_full_is_kept(server: Server, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    disk = Disk(monkeypatch)
    run = tracker.init(url="http://127.0.0.1:1", capture=False)
    run.log({"a": 1})
    run.flush()
    disk.room = 0
    run.log({"a": 2})
    run.finish("FAILED", "no data", timeout=0)
    assert "1 requests of" in capfd.readouterr().err
    disk.room = None
    assert sync("--url", server.url).returncode == 0
    [it] = server.iterations()
    assert (it["status"], it["error_message"]) == ("FAILED", "no data") and server.points(run.id, "a") == [(0, 1)]


def test_nothing_is_lost_when_the_disk_has_room_again_at_the_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    run = tracker.init(url="http://127.0.0.1:1", capture=False)
    run.flush()
    disk.room = 0
    run.log({"a": 2})
    run.flush()
    disk.room = None
    run.finish(timeout=0)
    assert sync("--url", server.url).returncode == 0
    assert server.points(run.id, "a") == [(0, 2)] and server.iterations()[0]["status"] == "SUCCEEDED"


def test_the_reserve_of_a_spool_goes_with_it(server: Server, tmp_path: pathlib.Path) -> None:
    run = tracker.init(capture=False)
    run.log({"a": 1})
    assert list((tmp_path / "spool").glob("*.reserve"))
    with pytest.raises(_spool.Busy):
        Spool(str(tmp_path / "spool" / f"{run.id}.spool"))
    assert list((tmp_path / "spool").glob("*.reserve")), "who may not have the spool leaves its reserve"
    run.finish()
    assert not list((tmp_path / "spool").glob("*.reserve"))


MEMORY = """
    import sys, tracker
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096
    run = tracker.init(capture=False, mode=sys.argv[1])
    names = {f"metric/{n}": n / 7 for n in range(int(sys.argv[2]))}
    before = resident()
    for step in range(int(sys.argv[3])):
        run.log(names, step=step)
    print(run.id, (resident() - before) >> 20, flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the memory of the process from Linux")
@pytest.mark.parametrize("names, calls", [(10, 60_000), (1000, 600), (1, 300_000)])
def test_logging_faster_than_the_disk_holds_little_in_memory(server: Server, script: Callable[..., Script],
                                                             tmp_path: pathlib.Path, names: int, calls: int) -> None:
    one = script(MEMORY, "offline", str(names), str(calls))
    id, grown = one.line().split()
    one.end(300)
    assert int(grown) < 100, "MiB"
    spool = Spool(str(tmp_path / "spool" / f"{id}.spool"))
    found = sum(item.body.count(b'"key"') for item in drained(spool))
    spool.close()
    assert found == names * calls, "all data is on the server"


def test_what_is_held_in_memory_is_bounded_whatever_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._spool.MEMORY", 1000)
    (tmp_path / "file").write_text("")
    spool = Spool(str(tmp_path / "file" / "x.spool"), {"id": "x"})
    spool.append({"op": "begin"})
    for _ in range(100):
        spool.append({"op": "parameter"}, b"x" * 90)
    spool.append({"op": "end"})
    assert 80 < spool.lost < 100
    seen = [item.head["op"] for item in drained(spool)]
    assert seen[0] == "begin" and seen[-1] == "end"


def test_an_end_that_is_sent_late_has_its_own_date(server: Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._sender.LATE", 0.3)
    run = tracker.init(url=proxy.url, capture=False)
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.progress)
    proxy.fault = lambda method, path, body: 500
    run.finish(timeout=0.1)
    ended = time.time()
    time.sleep(1.5)
    proxy.fault = lambda method, path, body: None
    from tracker import _sync
    assert _sync.sync_file(run.folder + f"/{run.id}.spool", server.url) is None
    end = server.get(f"/iteration/{run.id}")["end_date"]
    assert end <= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ended + 1)), (end, ended)


@pytest.mark.parametrize("known", [True, False])
def test_a_run_that_was_offline_has_its_own_dates(server: Server, proxy: Proxy, known: bool) -> None:
    sent: List[Any] = []

    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if method == "POST" and "/iteration/experiment/" in path:
            sent.append(json.loads(body))
            if not known and "created_date" in sent[-1]:
                proxy.page = b'{"code":"INVALID_PAYLOAD","message":"created_date is not a field.","field":"created_date"}'
                return 400
        return None

    with tracker.init("p", mode="offline", capture=False) as run:
        run.log({"a": 1})
    path = os.path.join(run.folder, f"{run.id}.spool")
    spool = Spool(path)  # as if it was written an hour ago
    items = list(drained(spool))
    head = spool.head
    spool.close(remove=True)
    again = Spool(path, head)
    for item, minutes in zip(items, (60, 50, 40)):
        at = timestamp(int((time.time() - 60 * minutes) * 1000))
        again.append({**item.head, "at": at} if item.head["op"] in ("begin", "end") else item.head, item.body)
    again.close()
    proxy.fault = fault
    assert sync("--url", proxy.url).returncode == 0
    assert sent[0]["created_date"] < timestamp(int((time.time() - 3500) * 1000))
    assert known or "created_date" not in sent[1] and len(sent) == 2
    it = server.get(f"/iteration/{run.id}")
    assert it["status"] == "SUCCEEDED" and server.points(run.id, "a") == [(0, 1)]
    if len(sent) == 1:
        assert it["created_date"] == sent[0]["created_date"] < it["end_date"] < timestamp(int((time.time() - 2300) * 1000))


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_run_with_an_id_of_its_own_counts_its_steps(server: Server, mode: Any) -> None:
    id = "01234567-89ab-7def-8123-456789abcdef"
    for _ in range(2):
        with tracker.init(id=id, resume="allow", mode=mode, capture=False) as run:
            for value in range(3):
                run.log({"a": value})
                run.log({"b": value}, commit=False)
                run.log({"c": value})
        if mode == "offline":
            assert sync().returncode == 0
    assert [step for step, _ in server.points(id, "a")] == [0, 2, 4, 6, 8, 10]
    assert [step for step, _ in server.points(id, "b")] == [1, 3, 5, 7, 9, 11] == [step for step, _ in server.points(id, "c")]


def test_a_resumed_run_counts_on_from_a_step_that_it_gives(server: Server) -> None:
    with tracker.init("p", capture=False) as run:
        run.log({"a": 0}, step=7)
    with tracker.init("p", resume=run.id, capture=False) as run:
        run.log({"a": 1})
        run.log({"a": 2}, step=20)
        run.log({"a": 3})
    assert server.points(run.id, "a") == [(7, 0), (8, 1), (20, 2), (21, 3)]


def test_steps_of_a_resumed_run_stay_the_same_when_their_answer_was_lost(server: Server, proxy: Proxy,
                                                                         script: Callable[..., Script]) -> None:
    with tracker.init("p", capture=False) as run:
        run.log({"a": 0})
    proxy.fault = lambda method, path, body: -1 if "bulk" in path else None
    one = script(LOGGER, run.id, TRACKER_URL=proxy.url)
    assert one.line() == run.id
    eventually(lambda: len(server.points(run.id, "a")) == 2)
    one.signal(signal.SIGKILL)
    one.end()
    assert sync("--url", server.url).returncode == 0
    assert server.points(run.id, "a") == [(0, 0), (1, 1)]


def test_children_do_not_wait_for_a_server_that_is_away(server: Server, proxy: Proxy, capfd: Any,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._recorder.PATIENCE", 1e9)
    proxy.fault = lambda method, path, body: 500
    run = tracker.init("p", url=proxy.url, capture=False)
    for n in range(3):
        child = tracker.init("p", name=f"trial {n}", parent=run, capture=False, quiet=True)
        child.log({"value": n})
        child.recorder.hasty = True
        run.recorder.adopt(child.recorder)
        child.finish(quiet=True)
    proxy.fault = lambda method, path, body: None
    run.finish()
    children: Dict[str, Any] = {it["name"]: it for it in server.get(f"/iteration/{run.id}/children")["data"]}
    assert {name: it["status"] for name, it in children.items()} == {f"trial {n}": "SUCCEEDED" for n in range(3)}
