"""Tests of the console of a run: printed lines are sent while the run continues."""

from __future__ import annotations

import json
import signal
from typing import Callable, List

from tracker._console import MOST_LINE, MOST_LINES, Console

from .conftest import Script, Server, eventually, sync


def lines(console: Console, last: bool = True) -> List[str]:
    """Return the requests with printed lines, as number:line."""
    bodies = [json.loads(body) for _, body in console.items(last)]
    return [f"{body['from'] + i}:{line}" for body in bodies for i, line in enumerate(body["lines"])]


def test_lines_are_numbered_and_incomplete_ones_sent_again() -> None:
    console = Console(live=True, resumed=False)
    for text in ("epoch 1\n", " 10%|#", "\r 20%|##"):
        console.keep(text)
    assert lines(console) == ["0:epoch 1", "1: 20%|##"]
    assert lines(console) == []
    console.keep("\r 30%|###\r")
    assert lines(console) == ["1: 30%|###"]
    console.keep("done      \r\nepoch 2\n")
    assert lines(console) == ["1:done      ", "2:epoch 2"]
    console.keep("x" * (3 * MOST_LINE))
    console.keep("\ud800\n")
    assert lines(console) == ["3:" + "x" * MOST_LINE]
    console.keep("\ud800\n")
    assert lines(console) == ["4:?"]


def test_incomplete_lines_wait_when_nobody_looks_on() -> None:
    console = Console(live=False, resumed=False)
    console.keep(" 10%|#")
    assert [body for _, body in console.items()] == []
    console.keep("\r 20%|##")
    assert lines(console) == ["0: 20%|##"]


def test_requests_are_small() -> None:
    console = Console(live=True, resumed=False)
    console.keep("a\n" * (MOST_LINES + 1))
    assert [len(json.loads(body)["lines"]) for _, body in console.items()] == [MOST_LINES, 1]
    console.keep("b\n")
    assert [body for _, body in console.items()] == []  # it is too early


def shown(server: Server, id: str) -> List[str]:
    return [line["text"] for line in server.get(f"/iteration/{id}/console")["lines"]]


def test_the_console_follows_a_run_and_goes_on_when_it_is_resumed(server: Server, script: Callable[..., Script]) -> None:
    one = script("""
        import sys, tracker
        run = tracker.init("p", "e", capture=["output"], resume=sys.argv[1] if sys.argv[1:] else None)
        print("run", run.id, flush=True)
        print("\\x1b[31mred\\x1b[0m", flush=True)
        sys.stderr.write("\\r 10%")
        sys.stderr.write("\\r 20%")
        sys.stdin.readline()
        sys.stderr.write("\\r100%\\n")
    """, TRACKER_URL=server.url)
    id = one.line().split()[1]
    wanted = [f"run {id}", "\x1b[31mred\x1b[0m", " 20%"]
    eventually(server.iterations)
    eventually(lambda: shown(server, id) == wanted)
    one.say("")
    one.end()
    wanted[2] = "100%"
    assert shown(server, id) == wanted
    two = script("""
        import sys, tracker
        run = tracker.init("p", "e", capture=["output"], resume=sys.argv[1])
        print("again", flush=True)
    """, id, TRACKER_URL=server.url)
    two.line()
    two.end()
    assert shown(server, id) == wanted + ["again"]


def test_what_a_killed_run_has_printed_is_sent_by_sync(server: Server, script: Callable[..., Script]) -> None:
    one = script("""
        import sys, time, tracker
        run = tracker.init("p", "e", capture=["output"], mode="offline")
        print("one", run.id, flush=True)
        time.sleep(3)
        print("two", flush=True)
        time.sleep(600)
    """, TRACKER_URL=server.url)
    said, id = one.line().split()
    one.line()
    one.signal(signal.SIGKILL)
    one.end()
    done = sync()
    assert done.returncode == 0, done.stderr
    assert shown(server, id)[0] == f"one {id}"
