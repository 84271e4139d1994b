"""Workers that are forked from a process with a run."""

from __future__ import annotations

from typing import Callable

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
    one.say("go on")
    assert "elsewhere" not in one.end()
    assert sync().returncode == 0
    assert server.points(id, "worker") == [(0, 1)]
    assert same_end(iteration(server, id), before)
