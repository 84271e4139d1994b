"""Tests of requests that are repeated after the server has forgotten their idempotency keys."""

from __future__ import annotations

import json
import pathlib
import sqlite3
from typing import Any, Callable, Dict, List, Optional

import pytest

import tracker
from tracker import _repeat
from tracker._http import Client
from tracker._sync import sync_file

from .conftest import Proxy, Script, Server, drained, eventually

LOGGER = """
    import sys, time, tracker
    run = tracker.init(capture=False)
    print(run.id, flush=True)
    run.log({"nan": float("nan"), "zero": -0.0, "a/b": 1e-300, "é": 3}, step=-5)
    for step in range(200):
        run.log({"a": step / 7}, step=step)
        run.log({"a": step / 7}, step=step)
    run.flush()
    sys.stdin.readline()
    run.log({"a": 7.0, "late": 1}, step=200)
    print("logged", flush=True)
    time.sleep(600)
"""


def forget(server: Server) -> None:
    """Make the server forget its idempotency keys, as if a day had passed."""
    server.kill()
    with sqlite3.connect(server.folder / "tracker.db") as database:
        assert database.execute("DELETE FROM idempotency").rowcount
    database.close()
    server.start()


@pytest.mark.parametrize("compared", [True, False])
def test_what_was_written_a_day_ago_is_not_written_again(server: Server, proxy: Proxy, script: Callable[..., Script],
                                                         tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                                         compared: bool) -> None:
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        return -1 if "bulk" in path else None  # the points are written, and the response is lost
    proxy.fault = fault
    one = script(LOGGER, TRACKER_URL=proxy.url)
    id = one.line()
    eventually(lambda: server.iterations() and len(server.points(id, "a")) == 400)
    one.say("continue")
    assert one.line() == "logged"
    one.process.kill()
    one.end()
    forget(server)
    monkeypatch.setattr(_repeat, "REMEMBERED", 0.0 if compared else 1e9)
    [path] = (tmp_path / "spool").glob("*.spool")
    assert sync_file(str(path), server.url) is None
    times = 1 if compared else 2
    assert len(server.points(id, "a")) == 400 * times + 1, "without the comparison, the point would be stored twice"
    for key, value in (("nan", "NaN"), ("zero", 0), ("a/b", 1e-300), ("é", 3)):
        assert server.points(id, key) == [(-5, value)] * times
    assert server.points(id, "late") == [(200, 1)], "unsent data is sent"


def test_in_a_process_that_lives_on(server: Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_repeat, "REMEMBERED", 0.0)
    lost = iter([-1, -1])
    proxy.fault = lambda method, path, body: next(lost, None) if "bulk" in path else None
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log({"a": 1})
        run.flush()
        run.log({"a": 2})
    assert server.points(run.id, "a") == [(0, 1), (1, 2)]
    assert [seen.split()[0] for seen in proxy.seen if "series" in seen]


def point(key: str, value: Any, second: int, step: Optional[int] = None) -> Dict[str, Any]:
    found = {"key": key, "value": value, "recorded_at": f"2026-11-21T09:30:{second:02d}.123Z"}
    return found if step is None else {**found, "step": step}


def test_what_is_missing_is_exact(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with tracker.init(capture=False) as run:
        pass
    client = Client(server.url)
    client.call("PATCH", f"/iteration/{run.id}", {"status": "RUNNING"})

    def written(points: List[Dict[str, Any]]) -> None:
        client.call("POST", f"/metric/iteration/{run.id}/bulk", {"metrics": points})

    def missing(*points: Dict[str, Any]) -> List[Dict[str, Any]]:
        return _repeat.missing(client, run.id, list(points))

    there = [point("a", 1, 1, 0), point("a", 1, 1, 0), point("a", 2, 2, 1), point("b", "-Infinity", 1), point("b", 1, 2)]
    assert missing(*there) == there
    written(there)
    assert missing(*there) == []
    new = [point("a", 1, 1, 1), point("a", 1, 1, 0), point("a", 1, 3, 0), point("a", 3, 2, 1), point("b", 1, 3), point("c", 1, 1)]
    assert missing(*there, *new) == new
    written([point(f"key {n}", n, 5) for n in range(120)])
    assert missing(*(point(f"key {n}", n, 5) for n in range(121))) == [point("key 120", 120, 5)]
    monkeypatch.setattr(_repeat, "MOST", 2)  # more points than the server returns individually
    assert missing(*there, point("a", 9, 2, 9)) == [point("a", 9, 2, 9)]


def test_requests_of_a_run_differ_in_their_times(tmp_path: pathlib.Path) -> None:
    with tracker.init(mode="offline", capture=False) as run:
        bodies: List[bytes] = []
        spool = run.recorder.spool
        assert spool is not None
        for _ in range(100):
            run.log({"a": 1}, step=0)
            run.flush()
            bodies += [item.body for item in drained(spool) if item.head["op"] == "points"]
    times = [{p["recorded_at"] for p in json.loads(body)["metrics"]} for body in bodies]
    assert len(times) >= 100 and len(set().union(*times)) == sum(len(t) for t in times)
