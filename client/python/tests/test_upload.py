"""Tests of file uploads over slow connections, connections that break, and proxies. Files that can't be sent are stored
and reported."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

import tracker
from tracker import _part

from .conftest import Proxy, Script, Server, eventually, sync
from .line import Line, Nginx
from .test_kept import contents

HTML = b"<html><body>Request Entity Too Large</body></html>"


@pytest.fixture(autouse=True)
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts with the default part sizes."""
    monkeypatch.setattr(_part, "_servers", {})


@pytest.fixture
def line(server: Server) -> Iterator[Line]:
    made = Line(server.port)
    yield made
    made.close()


@pytest.fixture
def nginx(server: Server, tmp_path: pathlib.Path) -> Iterator[Nginx]:
    made = Nginx(tmp_path / "nginx", server.port)
    yield made
    made.close()


def data_file(path: pathlib.Path, size: int) -> bytes:
    data = os.urandom(size)
    path.write_bytes(data)
    return data


def missing(server: Server, id: str) -> str:
    """Return the message about missing data on the run's page, or ""."""
    found = {one["key"]: one["value"] for one in server.get(f"/property/iteration/{id}")["data"]}
    return str(found.get("tracker.not_sent", ""))


def nothing_left(tmp_path: pathlib.Path) -> bool:
    return not [path for path in (tmp_path / "spool").iterdir() if not path.name.startswith("last-")]


def status() -> str:
    return subprocess.run([sys.executable, "-m", "tracker", "status"], capture_output=True, text=True, timeout=180).stdout


def test_finish_waits_while_bytes_move(server: Server, line: Line, tmp_path: pathlib.Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._recorder.PATIENCE", 4.0)
    data = data_file(tmp_path / "model.bin", 2_500_000)
    run = tracker.init(url=line.url, capture=False)
    run.flush()
    line.speed = 250_000
    run.log_artifact("model.bin")
    run.finish()
    assert contents(server, run.id) == {"model.bin": [data]}
    assert server.get(f"/iteration/{run.id}")["status"] == "SUCCEEDED"


def test_a_run_is_alive_while_it_sends_a_file(server: Server, proxy: Proxy, tmp_path: pathlib.Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._sender.HEARTBEAT", 0.0)
    data_file(tmp_path / "model.bin", 2_000_000)
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log_artifact("model.bin")
    begun = next(number for number, seen in enumerate(proxy.seen) if seen.startswith("PATCH /upload/"))
    ended = max(number for number, seen in enumerate(proxy.seen) if seen.startswith("PATCH /upload/"))
    assert f"POST /iteration/{run.id}/heartbeat" in proxy.seen[begun:ended]


def test_finish_gives_up_when_nothing_moves_and_names_what_is_missing(server: Server, proxy: Proxy, tmp_path: pathlib.Path,
                                                                      monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setattr("tracker._recorder.PATIENCE", 3.0)
    data = data_file(tmp_path / "model.bin", 300_000)
    proxy.fault = lambda method, path, body: 503 if "/upload" in path or method == "POST" and "/resource/" in path else None
    run = tracker.init(url=proxy.url, capture=False)
    run.log({"a": 1})
    run.log_artifact("model.bin")
    run.finish()
    assert "1 file and 1 other request: model.bin (300.0 kB), the end" in capfd.readouterr().err
    assert missing(server, run.id).startswith("1 file and 1 other request were not sent: model.bin (300.0 kB), the end. Run ")
    assert "not sent yet: 1 file and 1 other request: model.bin (300.0 kB), the end" in status()
    assert sync("--url", server.url).returncode == 0
    assert contents(server, run.id) == {"model.bin": [data]} and missing(server, run.id) == ""


def test_a_file_goes_through_nginx_as_it_is_installed(server: Server, nginx: Nginx, tmp_path: pathlib.Path) -> None:
    data = data_file(tmp_path / "model.bin", 3_000_000)
    more = data_file(tmp_path / "more.bin", 5_000_000)
    with tracker.init(url=nginx.url, capture=False) as run:
        run.log_artifact("model.bin").wait()
        refusals = nginx.refusals
        run.log_artifact("more.bin")
    assert contents(server, run.id) == {"model.bin": [data], "more.bin": [more]}
    assert refusals and nginx.refusals == refusals, "the size that works is remembered"
    assert nothing_left(tmp_path)


def test_metrics_go_through_a_proxy_that_takes_little(server: Server, tmp_path: pathlib.Path) -> None:
    nginx = Nginx(tmp_path / "nginx", server.port, "client_max_body_size 64k;")
    with tracker.init(url=nginx.url, capture=["output"]) as run:
        for step in range(40):
            run.log({f"{os.urandom(40).hex()}/{n}": 1 / (n + 1) for n in range(100)}, step=step)
        print("\n".join(os.urandom(60).hex() for _ in range(900)))
    assert nginx.refusals
    nginx.close()
    assert points(server, run.id) == 4000
    assert server.get(f"/iteration/{run.id}/console")["next"] >= 900
    assert nothing_left(tmp_path)


def points(server: Server, id: str) -> int:
    return int(server.get(f"/metric/iteration/{id}?limit=1")["total"])


def test_a_connection_that_breaks_in_a_body_may_be_a_refusal(server: Server, line: Line, tmp_path: pathlib.Path) -> None:
    """A proxy that rejects a body might not read it to its end, and its response might be lost with the connection."""
    run = tracker.init(url=line.url, capture=False)
    eventually(lambda: run.name)
    line.cut = 110_000
    names = [f"{os.urandom(60).hex()}/{n}" for n in range(4000)]
    run.log({name: 1.0 for name in names}, step=0)
    run.flush()
    run.finish()
    assert line.breaks and points(server, run.id) == 4000


def test_a_line_that_breaks_again_and_again_does_not_restart(server: Server, line: Line, tmp_path: pathlib.Path) -> None:
    data = data_file(tmp_path / "model.bin", 3_000_000)
    run = tracker.init(url=line.url, capture=False)
    eventually(lambda: run.name)
    line.cut, line.passed = 400_000, 0
    run.log_artifact("model.bin")
    run.finish()
    assert 7 <= line.breaks <= 15, "most bytes of a broken connection arrive, and some are lost"
    assert contents(server, run.id) == {"model.bin": [data]}


def test_a_line_to_nginx_that_breaks_again_and_again(server: Server, nginx: Nginx, tmp_path: pathlib.Path) -> None:
    """nginx forwards only complete requests, so a part must be smaller than the bytes that arrive before the connection
    breaks."""
    line = Line(nginx.port)
    data = data_file(tmp_path / "model.bin", 2_000_000)
    run = tracker.init(url=line.url, capture=False)
    eventually(lambda: run.name)
    line.cut, line.passed = 200_000, 0
    run.log_artifact("model.bin")
    run.finish()
    line.close()
    assert line.breaks and contents(server, run.id) == {"model.bin": [data]}


def test_sync_goes_on_where_a_killed_process_was(server: Server, line: Line, script: Callable[..., Script],
                                                 tmp_path: pathlib.Path) -> None:
    data = data_file(tmp_path / "model.bin", 4_000_000)
    line.speed = 400_000
    one = script("""
        import time, tracker
        run = tracker.init(capture=False)
        run.log_artifact("model.bin")
        run.flush()
        print(run.id, flush=True)
        time.sleep(600)
    """, TRACKER_URL=line.url)
    id = one.line()
    eventually(lambda: line.passed > 2_000_000)
    one.signal(signal.SIGKILL)
    one.end()
    (tmp_path / "model.bin").unlink()
    line.passed, line.speed = 0, 0
    done = sync()
    assert done.returncode == 0, done.stderr
    assert contents(server, id) == {"model.bin": [data]} and line.passed < 2_500_000
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("status_code", [413, 403, 406])
def test_a_file_that_a_proxy_refuses_is_named_and_sent_by_sync(server: Server, proxy: Proxy, tmp_path: pathlib.Path, capfd: Any,
                                                               status_code: int) -> None:
    data = data_file(tmp_path / "model.bin", 3_000_000)
    proxy.page = HTML
    proxy.fault = lambda method, path, body: status_code if len(body) > 1000 else None
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log({"a": 1})
        run.log_artifact("model.bin")
        run.log({"a": 2})
    said = capfd.readouterr().err
    assert "1 file was not sent: model.bin (3.0 MB)." in said and "Try again with: python -m tracker sync" in said
    assert server.points(run.id, "a") == [(0, 1), (1, 2)], "later requests are sent"
    assert missing(server, run.id).startswith("1 file was not sent: model.bin (3.0 MB). Run `tracker sync` on the run's machine")
    found = status()
    assert "rejected requests; sync retries them" in found and "rejected: model.bin (3.0 MB): " in found
    (tmp_path / "model.bin").unlink()
    again = sync()
    assert again.returncode == 1 and "1 file was not sent: model.bin" in again.stderr
    proxy.fault = lambda method, path, body: None
    done = sync()
    assert done.returncode == 0, done.stderr
    assert contents(server, run.id) == {"model.bin": [data]} and missing(server, run.id) == ""
    assert server.get(f"/iteration/{run.id}")["status"] == "SUCCEEDED"
    assert nothing_left(tmp_path)


def test_what_was_refused_is_sent_once_by_sync(server: Server, proxy: Proxy, tmp_path: pathlib.Path) -> None:
    proxy.fault = lambda method, path, body: 422 if b'"bad"' in body or "/parameter/" in path else None
    with tracker.init(url=proxy.url, capture=False, config={"lr": 1}) as run:
        run.log({"good": 1, "bad": 2}, step=5)
    proxy.fault = lambda method, path, body: None
    [kept] = (tmp_path / "spool").glob("*.rejected")
    text = kept.read_text()
    for _ in range(2):  # as after a sync that was killed before it removed the file
        assert sync().returncode == 0
        assert server.points(run.id, "bad") == [(5, 2)] and server.parameters(run.id) == {"lr": "1"}
        kept.write_text(text)
        kept.chmod(0o600)


def test_what_an_earlier_version_has_kept_is_sent(server: Server, tmp_path: pathlib.Path) -> None:
    with tracker.init(capture=False) as run:
        run.log({"a": 1})
    (tmp_path / "spool").mkdir(exist_ok=True)
    (tmp_path / "spool" / f"{run.id}.files").mkdir(mode=0o700)
    (tmp_path / "spool" / f"{run.id}.files" / "1-1").write_bytes(b"weights")
    (tmp_path / "spool" / f"{run.id}.files" / "1-1").chmod(0o600)
    kept = tmp_path / "spool" / f"{run.id}.spool.rejected"
    kept.write_text(json.dumps({"op": "artifact", "name": "model.bin", "description": "", "content_type": None, "number": 1,
                                "file": f"{run.id}.files/1-1", "temporary": True, "error": "413", "body": ""}) + "\n")
    kept.chmod(0o600)
    done = sync()
    assert done.returncode == 0, done.stderr
    assert contents(server, run.id) == {"model.bin": [b"weights"]} and nothing_left(tmp_path)


@pytest.mark.parametrize("status_code", [502, 503, 504])
def test_a_proxy_that_fails_for_a_while_costs_nothing(server: Server, proxy: Proxy, tmp_path: pathlib.Path,
                                                      status_code: int) -> None:
    data = data_file(tmp_path / "model.bin", 1_000_000)
    left = iter([status_code] * 4)
    proxy.page = HTML
    proxy.fault = lambda method, path, body: next(left, None) if "/resource/" in path or "/upload/" in path else None
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log_artifact("model.bin")
    assert contents(server, run.id) == {"model.bin": [data]} and next(left, None) is None


def test_a_part_whose_answer_was_lost_counts_once(server: Server, proxy: Proxy, tmp_path: pathlib.Path) -> None:
    data = data_file(tmp_path / "model.bin", 2_000_000)
    turn: Dict[str, int] = {}

    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        turn[method] = turn.get(method, 0) + 1
        return -1 if "/upload/" in path and method == "PATCH" and turn[method] % 2 else None

    proxy.fault = fault
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log_artifact("model.bin")
    assert contents(server, run.id) == {"model.bin": [data]}


def test_a_second_interrupt_leaves_a_file_in_the_spool(server: Server, line: Line, script: Callable[..., Script],
                                                       tmp_path: pathlib.Path) -> None:
    data = data_file(tmp_path / "model.bin", 3_000_000)
    line.speed = 100_000
    one = script("""
        import time, tracker
        run = tracker.init(capture=False)
        run.flush()  # sends the beginning
        run.log_artifact("model.bin")
        print(run.id, flush=True)
        run.finish()
    """, TRACKER_URL=line.url)
    id = one.line()
    said: List[str] = []
    assert one.process.stderr is not None
    stderr = one.process.stderr
    reader = threading.Thread(target=lambda: said.extend(stderr))
    reader.start()
    eventually(lambda: "Ctrl-C leaves it" in "".join(said))
    one.signal(signal.SIGINT)
    eventually(lambda: "Ctrl-C again" in "".join(said))
    one.signal(signal.SIGINT)
    one.process.wait(180)
    reader.join(180)
    assert "1 file and 1 other request: model.bin (3.0 MB), the end" in "".join(said)
    line.speed = 0
    assert sync().returncode == 0
    assert contents(server, id) == {"model.bin": [data]}


def test_a_long_description_is_kept(server: Server, tmp_path: pathlib.Path) -> None:
    data_file(tmp_path / "model.bin", 2_000_000)
    with tracker.init(capture=False) as run:
        run.log_artifact("model.bin", description="é" * 9000)
    assert server.artifacts(run.id)["model.bin"]["description"] == "é" * 9000
