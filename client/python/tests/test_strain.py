"""Tests that each logged value is stored exactly once if the clock jumps, the server hangs or many threads log."""

from __future__ import annotations

import random
import signal
import time
from typing import Any, Callable, List

import pytest

import tracker
from tracker._http import ENDED

from .conftest import Proxy, Script, Server, eventually, sync

CLOCK = """
    import sys, time, tracker
    shift = 0.0
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + shift
    time.time_ns = lambda: now_ns() + int(shift * 1e9)
    run = tracker.init(capture=False)
    for step in range(300):
        if step == 100: shift = float(sys.argv[1])
        if step == 200 and sys.argv[2] == "back": shift = 0.0
        run.log({"a": step, "b": -step})
        if step % 20 == 0: run.flush()
    run.flush()
    print(run.id, flush=True)
    if sys.argv[3] == "killed": time.sleep(600)
    run.finish()
"""


def points(server: Server, id: str, key: str) -> List[Any]:
    """Return the points of a metric. This takes fewer requests than server.points."""
    [series] = server.get(f"/metric/iteration/{id}/series?key={key}&points=100000")["series"]
    return list(zip(series["step"], series["value"]))


@pytest.mark.parametrize("seconds", [3600.0, -3600.0, 3 * 86400.0, -3 * 86400.0])
@pytest.mark.parametrize("then, end", [("back", "finished"), ("stays", "finished"), ("stays", "killed")])
def test_a_clock_that_jumps(server: Server, proxy: Proxy, script: Callable[..., Script], seconds: float, then: str,
                            end: str) -> None:
    chance = random.Random(7)
    # Lost responses make the client repeat requests. Because the clock jumps, the client computes wrong ages for these
    # requests.
    proxy.fault = lambda method, path, body: (-1 if "/bulk" in path else 500) if chance.random() < 0.3 else None
    one = script(CLOCK, str(seconds), then, end, TRACKER_URL=proxy.url)
    id = one.line()
    if end == "killed":
        one.signal(signal.SIGKILL)
    one.end(300)
    assert sync("--url", server.url).returncode == 0
    assert points(server, id, "a") == [(s, s) for s in range(300)]
    assert points(server, id, "b") == [(s, -s) for s in range(300)]
    it = server.get(f"/iteration/{id}")
    assert it["status"] == ("KILLED" if end == "killed" else "SUCCEEDED") and it["created_date"] <= it["end_date"]


def test_a_server_that_hangs_for_half_a_minute(server: Server) -> None:
    """The server still executes earlier requests, even if the client has abandoned and repeated them."""
    run = tracker.init(capture=False, config={"lr": 1})
    sender = run.recorder.sender
    assert sender is not None and server.process is not None
    eventually(lambda: sender.progress)
    server.process.send_signal(signal.SIGSTOP)
    try:
        end, step = time.monotonic() + 31, 0
        while time.monotonic() < end:
            run.log({"a": step}, step=step)
            step += 1
            time.sleep(0.01)
        eventually(lambda: sender.failure is not None)
    finally:
        server.process.send_signal(signal.SIGCONT)
    run.finish(timeout=180)
    assert getattr(sender.failure, "code", "") != ENDED
    assert points(server, run.id, "a") == [(s, s) for s in range(step)]
    assert server.get(f"/iteration/{run.id}")["status"] == "SUCCEEDED"


def test_many_threads_log_to_one_run(server: Server, proxy: Proxy, script: Callable[..., Script]) -> None:
    chance = random.Random(7)
    proxy.fault = lambda method, path, body: chance.choice([500, -1]) if chance.random() < 0.2 else None
    one = script("""
        import threading, tracker
        run = tracker.init(capture=False)
        def work(n):
            for step in range(2000):
                run.log({f"own/{n}": step, "shared": n}, step=step)
                if step % 500 == 0:
                    run.config[f"p{n}"] = step
                    run.flush()
        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(run.id, flush=True)
    """, TRACKER_URL=proxy.url)
    id = one.line()
    said = one.end(300)
    assert sync("--url", server.url).returncode == 0
    for n in range(16):
        assert points(server, id, f"own%2F{n}") == [(s, s) for s in range(2000)], said
    shared = points(server, id, "shared")
    assert sorted(shared) == [(s, n) for s in range(2000) for n in range(16)]
    assert server.parameters(id) == {f"p{n}": "1500" for n in range(16)}
