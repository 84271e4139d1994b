"""Tests of the dashboard in Jupyter, with the real jupyter-server-proxy."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Iterator

import pytest

from .conftest import Script, eventually, free_ports, own_server

BASE = "/user/ada"


@pytest.fixture
def jupyter(home: pathlib.Path, wheel: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a Jupyter server in an environment with the wheel, and return its address."""
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "--isolated", "install", "--quiet", "--no-index",
                    "--disable-pip-version-check", "--target", str(site), wheel], check=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path) + os.pathsep + str(site))  # the folder contains sitecustomize.py, see home
    port, _ = free_ports()
    settings = {"ServerApp": {"port": port, "ip": "127.0.0.1", "base_url": BASE, "token": "", "password": "",
                              "open_browser": False, "allow_root": True, "allow_remote_access": True,
                              "jpserver_extensions": {"jupyter_server_proxy": True}}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    with open(tmp_path / "jupyter.log", "wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "jupyter_server", "--config", str(tmp_path / "config.json")],
                                   cwd=tmp_path, env={**os.environ, "JUPYTER_DATA_DIR": str(tmp_path / "jupyter"),
                                                      "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")},
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}{BASE}"
    try:
        eventually(lambda: fetched(address + "/api/status"))
        yield address
    finally:
        process.terminate()
        try:
            process.wait(180)
        except subprocess.TimeoutExpired:  # the server is waiting for a connection from its proxy
            process.kill()
            process.wait()


def fetched(url: str) -> bytes:
    """Return the response from url, or None if no server responds."""
    try:
        with urllib.request.urlopen(url, timeout=180) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError:
        raise
    except OSError:
        return b""


def test_the_launcher_shows_it(jupyter: str) -> None:
    [entry] = json.loads(fetched(jupyter + "/server-proxy/servers-info"))["server_processes"]
    assert entry["name"] == "tracker"
    assert entry["launcher_entry"]["enabled"] and entry["launcher_entry"]["title"] == "tracker"


def test_the_dashboard_behind_the_proxy(jupyter: str, home: pathlib.Path, script: Callable[..., Script]) -> None:
    page = fetched(jupyter + "/tracker/").decode()
    links = re.findall(r'(?:href|src)="(/[^"]*)"', page)
    assert links and all(link.startswith(BASE + "/tracker") for link in links), links
    host = jupyter[:-len(BASE)]
    for link in re.findall(r'"([^"]*/static/[^"]*)"', page):
        assert fetched(host + link), link
    # Without sign-in, the server accepts only host names of this machine. Jupyter can have any name.
    named = urllib.request.Request(jupyter + "/tracker/", headers={"Host": "hub.example.com"})
    with urllib.request.urlopen(named, timeout=180) as answer:
        assert b"<title>" in answer.read()
    # tracker.init uses the same server.
    one = script("""
        import tracker
        with tracker.init("p", "e", capture=False) as run:
            run.log({"loss": 1.0})
        print(run.server, run.id)
    """)
    url, run = one.line().split()
    assert "started" not in one.end()
    assert url == own_server(home)["url"]
    assert "loss" in fetched(f"{jupyter}/tracker/iteration/{run}").decode()
    # Changes from the dashboard's pages are accepted, and changes from other pages are rejected.
    assert posted(jupyter, "/tracker/", {"Origin": host, "Sec-Fetch-Site": "same-origin"}) < 400
    assert posted(jupyter, "/tracker/", {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}) == 403
    # An event stream arrives without delay.
    experiment = json.loads(fetched(f"{url}/iteration/{run}"))["experiment_id"]
    request = urllib.request.Request(f"{jupyter}/tracker/data/events?on=experiment/{experiment}/",
                                     headers={"Accept": "text/event-stream"})
    with urllib.request.urlopen(request, timeout=180) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        assert stream.readline()


def posted(jupyter: str, path: str, headers: Dict[str, str]) -> int:
    request = urllib.request.Request(jupyter + path, b"name=made+here", {**headers, "Host": jupyter.split("/")[2]}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=180) as answer:
            status: Any = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    return int(status)


def test_a_server_that_ended_is_started_again(jupyter: str, home: pathlib.Path) -> None:
    from .conftest import stop

    fetched(jupyter + "/tracker/")
    first = own_server(home)["pid"]
    stop(home)
    assert b"<title>" in fetched(jupyter + "/tracker/")
    assert own_server(home)["pid"] != first
