"""Tests that wrong use of the client leads to a clear message and does not affect other, valid data."""

from __future__ import annotations

import math
import pathlib
import re
import subprocess
import sys
from typing import Any, Dict, Tuple

import pytest

import tracker

from .conftest import Proxy, Server, eventually


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"url": "ftp://127.0.0.1"}, ValueError, "'ftp://127.0.0.1' is not the address of a server; write it like http://"),
    ({"url": "http://127.0.0.1:port"}, ValueError, "is not the address of a server"),
    ({"url": "http://"}, ValueError, "is not the address of a server"),
    ({"token": "two words"}, ValueError, "the token contains spaces"),
    ({"project": 7}, TypeError, "project must be text, not int"),
    ({"project": {"lr": 1}}, TypeError, "project must be text, not dict"),
    ({"project": " "}, ValueError, "project must not be empty"),
    ({"experiment": "e" * 251}, ValueError, "experiment must have at most 250 characters, not 251"),
    ({"name": 5}, TypeError, "name must be text, not int"),
    ({"name": "a\nb"}, ValueError, "name must consist of printable characters; '\\n' is not printable"),
    ({"notes": "n" * (1 << 20) + "n"}, ValueError, "notes must have at most 1048576 bytes, not 1048577"),
    ({"notes": "\ud800"}, ValueError, "notes contains an unpaired surrogate"),
    ({"tags": ["a", 1]}, TypeError, "a tag must be text, not int"),
    ({"id": "a\nb"}, ValueError, "id must consist of printable characters"),
    ({"resume": "abc"}, ValueError, "resume must be the id of a run, a UUID, not 'abc'"),
    ({"parent": "abc"}, ValueError, "parent must be the id of a run, a UUID, not 'abc'"),
    ({"config": "lr=1"}, TypeError, "config takes a dictionary"),
    ({"projct": "p"}, TypeError, "init has no argument 'projct'; did you mean 'project'?"),
])
def test_what_init_does_not_take(arguments: Dict[str, Any], error: Any, sentence: str) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        tracker.init(**{"mode": "offline" if "token" not in arguments else "online", "capture": False, **arguments})
    assert tracker.run is None, "nothing was started"


def test_names_that_the_server_takes_are_taken(server: Server) -> None:
    name = "näht 2\u00a0µm \U0001f469\u200d\U0001f52c " + "x" * 200
    with tracker.init(name, name, name=name, notes="two\nlines", tags=[name], token=" x\n", strict=True, capture=False) as run:
        run.log({name: 1})
    [it] = server.iterations()
    assert (it["name"], it["notes"], it["tags"]) == (name, "two\nlines", [name])


def test_what_log_does_not_take(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(capture=False) as run:
        for step in (0.5, "x", math.nan, math.inf):
            with pytest.raises(ValueError, match=f"step must be a whole number, not {step!r}"):
                run.log({"a": 1}, step=step)  # type: ignore[arg-type]
        run.log({"a": 1}, step=2.0)  # type: ignore[arg-type]
        run.log({"word": "x", "pair": [1, 2], "raw": b"x", "kind": {1, 2}, "call": len, "ok": 1}, step=3)
        run.log({"large": 10 ** 400, "small": -10 ** 400}, step=4)
        run.log({"after": 1, "": 2, "k" * 251: 3, "half \ud800": 4}, step=5)
        assert run.last()["large"] == math.inf
    told = capfd.readouterr().err
    for sentence in ("kind is not logged: a set is not a number; log a single",
                     "raw is not logged: a bytes is not a number; decode it to a string",
                     "call is not logged: a builtin_function_or_method is not a",
                     "key must not be empty", "key must have at most 250 characters"):
        assert sentence in told, told
    summary = tracker.Api().run(run.id).summary
    assert (summary["word"], summary["pair"]) == ("x", [1, 2])
    assert server.points(run.id, "a") == [(2, 1)] and server.points(run.id, "ok") == [(3, 1)]
    assert server.points(run.id, "large") == [(4, "Infinity")] and server.points(run.id, "small") == [(4, "-Infinity")]
    assert server.points(run.id, "after") == [(5, 1)] and server.points(run.id, "half ?") == [(5, 4)]


def test_what_a_run_does_not_take(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(mode="offline", capture=False, config={"lr": 1}) as run:
        with pytest.raises(AttributeError, match="the run has no parameter 'rate'"):
            print(run.config.rate)
        with pytest.raises(TypeError, match="a tag must be text, not int"):
            run.tag(1)  # type: ignore[arg-type]
        with pytest.raises(FileNotFoundError, match=".*/model.pt does not exist, so it can't be stored as an artifact"):
            run.log_artifact("model.pt")
        with pytest.raises(IsADirectoryError, match="is a folder; to log it as a version of an artifact, give a type"):
            run.log_artifact(tmp_path / "spool")
        with pytest.raises(ValueError, match="a row has 2 values, one for each column, not 1"):
            tracker.Table(["flower", "petals"]).add_data("iris")
        with pytest.raises(ValueError, match="a run ends as SUCCEEDED, FAILED or KILLED, not as 'DONE'"):
            run.finish("DONE")  # type: ignore[arg-type]
    run.log({"a": 1})
    assert f"{run.label} has finished; values that are logged to it now are not recorded" in capfd.readouterr().err
    with pytest.raises(RuntimeError, match="tracker.log needs a run: call tracker.init first"):
        tracker.log({"a": 1})


def test_the_address_of_the_dashboard_is_enough(server: Server) -> None:
    address = f"http://127.0.0.1:{server.ui_port}"
    with tracker.init(url=address, strict=True, capture=False) as run:
        run.log({"a": 1})
    assert server.points(run.id, "a") == [(0, 1)]
    assert len(list(tracker.Api(address).projects())) == 1
    command = [sys.executable, "-m", "tracker", "status", "--url", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert "is not the address of the API" not in done.stdout + done.stderr


def test_https_at_a_server_without_tls(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    run = tracker.init(url=f"https://127.0.0.1:{server.port}", capture=False)
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.failure)
    assert "does not answer: the server does not use https; write http://; logged data is stored in" in capfd.readouterr().err


@pytest.mark.parametrize("command, sentence", [
    (("status", "--url", "ftp://x"), "'ftp://x' is not the address of a server"),
    (("sync", "none.spool"), "none.spool: No such file or directory"),
])
def test_what_the_command_line_does_not_take(server: Server, command: Tuple[str, ...], sentence: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tracker", *command], input="", capture_output=True, text=True, timeout=180)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and sentence in said and "Traceback" not in said, said


@pytest.mark.parametrize("status", [200, 302, 404])
def test_pages_of_a_proxy_lose_nothing(server: Server, proxy: Proxy, status: int, capfd: pytest.CaptureFixture[str]) -> None:
    proxy.page = b"<html>Sign in</html>"
    proxy.fault = lambda method, path, body: None if f"{method} {path}" in proxy.seen else status  # once each
    with tracker.init(url=proxy.url, capture=False, config={"lr": 1}, tags=["t"]) as run:
        for step in range(5):
            run.log({"a": step}, step=step)
            run.flush()
    assert server.points(run.id, "a") == [(s, s) for s in range(5)] and server.parameters(run.id) == {"lr": "1"}
    assert f"{proxy.url} is not the address of the API: it answered {status} with text/html" in capfd.readouterr().err


def test_json_of_another_service_loses_nothing(server: Server, proxy: Proxy, capfd: pytest.CaptureFixture[str]) -> None:
    proxy.page = b'["hello"]'
    proxy.fault = lambda method, path, body: 200
    run = tracker.init(url=proxy.url, capture=False)
    run.log({"a": 1})
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.failure)
    proxy.fault = lambda method, path, body: None
    run.finish()
    assert server.points(run.id, "a") == [(0, 1)]
    assert f"{proxy.url} does not respond like the API" in capfd.readouterr().err
