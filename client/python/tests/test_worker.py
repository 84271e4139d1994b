"""Tests of the workers of a process that has a run."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Callable

import pytest

from .conftest import Script, Server, sync
from .test_end import iteration, same_end

FORKED_EARLY = """
    import os, sys, threading
    begun, main = threading.Event(), os.getpid()
    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "email.parser" and os.getpid() == main:  # http.client is half-made now
                begun.set()
                threading.Event().wait(0.5)
    sys.meta_path.insert(0, Slow())
    import tracker
    run = tracker.init(capture=False)
    assert begun.wait(180)
    child = os.fork()
    if child == 0:
        run.log({"worker": 1}, step=0)
        sys.exit()
    os.waitpid(child, 0)
    print(run.id, flush=True)
"""


def test_a_worker_that_is_forked_while_the_client_is_imported(server: Server, script: Callable[..., Script]) -> None:
    one = script(FORKED_EARLY)
    id = one.line()
    said = one.end()
    assert "ImportError" not in said, said
    assert sync().returncode == 0
    assert server.points(id, "worker") == [(0, 1)]


def test_a_worker_that_outlives_its_run_does_not_open_it(server: Server, script: Callable[..., Script]) -> None:
    one = script("""
        import os, sys, tracker
        run = tracker.init(capture=False)
        run.log({"parent": 1})
        print(run.id, flush=True)
        if os.fork() == 0:
            sys.stdin.readline()
            run.log({"worker": 1}, step=0)
            sys.exit()
        run.finish()
        print("finished", flush=True)
    """)
    id = one.line()
    assert one.line() == "finished"
    before = iteration(server, id)
    assert before["status"] == "SUCCEEDED"
    one.say("continue")
    assert "elsewhere" not in one.end()
    assert sync().returncode == 0
    assert server.points(id, "worker") == [(0, 1)]
    assert same_end(iteration(server, id), before)


UNGUARDED = """
import concurrent.futures, multiprocessing, os, sys, tracker
run = tracker.init(project="p", mode=sys.argv[2], capture=False, config={"lr": 1}, tags=["t"])
run.log({"before": 1})
def work(n):
    for step in range(50):
        run.log({f"own/{n}": step}, step=step)
    tracker.log({f"current/{n}": 1}, step=0)
    if n == 7: os._exit(0)
if __name__ == "__main__":
    print(run.id, flush=True)
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool: pool.map(work, range(3))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool: list(pool.map(work, range(3, 6)))
    for n in (6, 7):
        worker = context.Process(target=work, args=(n,))
        worker.start()
        worker.join()
    run.log({"after": 1})
    run.finish()
    assert "TRACKER_PARENT_RUN" not in os.environ
"""


@pytest.mark.parametrize("method, mode", [("spawn", "online"), ("spawn", "offline"), ("forkserver", "offline"),
                                          ("fork", "offline")])
def test_workers_log_to_the_run_of_a_program_that_does_not_ask_for_main(server: Server, tmp_path: pathlib.Path, method: str,
                                                                        mode: str) -> None:
    (tmp_path / "program.py").write_text(UNGUARDED)
    done = subprocess.run([sys.executable, "program.py", method, mode], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "init does nothing" not in done.stderr, done.stderr
    assert sync().returncode == 0
    [it] = server.iterations()
    assert it["id"] == done.stdout.strip() and it["status"] == "SUCCEEDED"
    assert server.parameters(it["id"]) == {"lr": "1"}
    assert len(server.points(it["id"], "before")) == 1 and len(server.points(it["id"], "after")) == 1
    for n in range(8):
        assert server.points(it["id"], f"own/{n}") == [(s, s) for s in range(50)], done.stderr
        assert server.points(it["id"], f"current/{n}") == [(0, 1)]
    assert not list((tmp_path / "spool").glob("*.spool*"))


def test_a_program_that_a_run_starts_has_a_run_of_its_own(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "inner.py").write_text("import tracker\n"
                                       "with tracker.init('p', name='inner', capture=False) as run: run.log({'a': 1})\n")
    (tmp_path / "outer.py").write_text("import subprocess, sys, tracker\nwith tracker.init('p', name='outer', capture=False):\n"
                                       "    subprocess.run([sys.executable, 'inner.py'], check=True)\n")
    subprocess.run([sys.executable, "outer.py"], check=True, timeout=300)
    assert sorted(it["name"] for it in server.iterations()) == ["inner", "outer"]


def test_a_worker_whose_parent_has_no_run_is_told_how_to_log(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text("""
import multiprocessing, tracker
if __name__ != "__main__": run = tracker.init("p", capture=False)
def work(): run.log({"a": 1})
if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
""")
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "pass the run to the worker" in done.stderr, done.stderr
    assert server.iterations() == []
