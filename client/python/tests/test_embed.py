"""Tests of the user's own server, which init starts if none is running."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import stat
import urllib.request
from typing import Callable, Dict

import pytest

from tracker import _embed

from .conftest import Script, Server, eventually, own_server, stop

LOG = """
    import tracker
    with tracker.init("p", "e", capture=False) as run:
        run.log({"loss": 1.0})
    print(run.server, run.id)
"""


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url + "/health", timeout=10).close()
    except OSError:
        return False
    return True


def logged(url: str) -> int:
    """Return the number of runs on the server at url."""
    reader = Server.__new__(Server)
    reader.url, reader.token = url, ""
    return len([run for run in reader.iterations() if run["status"] == "SUCCEEDED"])


def test_init_starts_a_server(home: pathlib.Path, script: Callable[..., Script]) -> None:
    first = script(LOG)
    url, _ = first.line().split()
    told = [line for line in first.end().splitlines() if "started a server" in line]
    assert len(told) == 1 and str(home) in told[0] and "TRACKER_EMBED=0" in told[0]
    page = told[0].partition("the dashboard at ")[2].split()[0]
    assert b"<title>" in urllib.request.urlopen(page).read()
    assert logged(url) == 1
    assert own_server(home)["url"] == url
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    second = script(LOG)
    assert second.line().split()[0] == url, "the running server is used again"
    assert "started" not in second.end()
    assert logged(url) == 2
    api = script("import tracker; print(len(tracker.Api().project('p').experiments()))")
    assert api.line() == "1", "tracker.Api finds the server, too"
    api.end()


def test_who_reads_has_it_started_again(home: pathlib.Path, script: Callable[..., Script]) -> None:
    read = "import tracker; print(len(tracker.Api().project('p').experiments()))"
    one = script(read)
    assert "does not answer" in one.end() and not own_server(home), "reading starts no server if no data was ever logged"
    one = script(LOG)
    url = one.line().split()[0]
    one.end()
    for reader, said in ((read, "1"), ("from tracker.__main__ import main; main(['status'])", f"server     {url}")):
        stop(home)
        one = script(reader)
        assert one.line() == said
        assert "started a server" in one.end()
    stop(home)
    one = script("import tracker; print(tracker.init('p', mode='offline', capture=False).server)")
    assert one.line() == url
    assert "started a server" not in one.end()


def test_two_starts_at_once_make_one_server(home: pathlib.Path, script: Callable[..., Script]) -> None:
    both = [script(LOG) for _ in range(4)]
    addresses = {one.line().split()[0] for one in both}
    told = [one.end() for one in both]
    assert len(addresses) == 1
    assert sum("started a server" in text for text in told) == 1, told
    assert logged(addresses.pop()) == 4


def test_a_server_that_was_killed_is_started_again_at_its_port(home: pathlib.Path, script: Callable[..., Script]) -> None:
    running = script("""
        import tracker
        run = tracker.init("p", "long", capture=False)
        print(run.server)
        input()
        run.log({"loss": 2.0})
        run.finish(timeout=180)
        print(run.id)
    """)
    url = running.line()
    eventually(lambda: answers(url))
    stop(home, signal.SIGKILL)
    other = script(LOG)
    assert other.line().split()[0] == url
    other.end()
    running.say("")
    running.line()
    running.end()
    assert logged(url) == 2, "the run that was active during the restart is complete"


def test_a_port_that_another_program_has_taken_is_left(home: pathlib.Path, script: Callable[..., Script]) -> None:
    one = script(LOG)
    url = one.line().split()[0]
    one.end()
    stop(home)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", int(url.rpartition(":")[2])))
        taken.listen()  # and never responds
        other = script(LOG)
        new = other.line().split()[0]
        other.end()
    assert new != url and logged(new) == 2, "with the same data"


def test_the_server_ends_when_it_is_idle(home: pathlib.Path, script: Callable[..., Script]) -> None:
    one = script("import tracker._embed; tracker._embed.IDLE_EXIT = '1s'\n" + LOG.replace("\n    ", "\n"))
    url = one.line().split()[0]
    one.end()
    eventually(lambda: not _embed.alive(own_server(home)["pid"]))  # a request would prevent it from ending
    again = script(LOG)
    assert again.line().split()[0] == url
    assert "started a server" in again.end()


@pytest.mark.parametrize("env", [{"TRACKER_EMBED": "0"}, {"TRACKER_URL": "http://127.0.0.1:1"}, {"TRACKER_MODE": "offline"},
                                 {"TRACKER_MODE": "disabled"}, {"TRACKER_PROGRAM": ""}])
def test_no_server_is_started(home: pathlib.Path, script: Callable[..., Script], env: Dict[str, str]) -> None:
    one = script("""
        import tracker
        run = tracker.init("p", "e", capture=False)
        run.finish(timeout=0)
    """, **env)
    assert "started a server" not in one.end()
    assert not (home / "server.json").exists()


def test_a_given_address_starts_no_server(home: pathlib.Path, server: Server, monkeypatch: pytest.MonkeyPatch,
                                          script: Callable[..., Script]) -> None:
    monkeypatch.delenv("TRACKER_URL")
    one = script("""
        import sys, tracker
        tracker.init("p", "e", capture=False, url=sys.argv[1]).finish()
    """, server.url)
    assert "started a server" not in one.end()
    assert logged(server.url) == 1 and not (home / "server.json").exists()


def test_a_server_at_the_default_address_is_used(home: pathlib.Path, server: Server, tmp_path: pathlib.Path,
                                                 monkeypatch: pytest.MonkeyPatch, script: Callable[..., Script]) -> None:
    monkeypatch.delenv("TRACKER_URL")
    patch = (tmp_path / "sitecustomize.py")
    patch.write_text(patch.read_text() + f"tracker._embed.DEFAULT_URL = tracker._http.DEFAULT_URL = {server.url!r}\n")
    one = script(LOG)
    assert one.line().split()[0] == server.url
    one.end()
    assert not (home / "server.json").exists()


def test_a_home_that_cannot_be_written(home: pathlib.Path, script: Callable[..., Script], tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    one = script("""
        import tracker
        run = tracker.init("p", "e", capture=False)
        run.log({"loss": 1.0})
        run.finish(timeout=0)
    """, TRACKER_HOME=str(tmp_path / "file" / "home"), TRACKER_SPOOL=str(tmp_path / "spool"))
    told = one.end()
    assert told.count("none could be started") == 1 and "TRACKER_HOME" in told, told
    assert list((tmp_path / "spool").glob("*.spool")), "logged data stays in the spool"


def test_the_folder_is_private(home: pathlib.Path, script: Callable[..., Script]) -> None:
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    log = home / "server.log"
    log.write_text("with a password\n")
    log.chmod(0o644)
    one = script(LOG)
    one.line()
    one.end()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700 and stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "password" not in log.read_text()
    for path in home.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    log.chmod(0o644)
    home.chmod(0o755)
    one = script(LOG)  # the server runs already
    one.line()
    one.end()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700 and stat.S_IMODE(log.stat().st_mode) == 0o600


OFFLINE = """
    import tracker, tracker._embed
    tracker._embed.PATIENCE = 3.0
    {}
    run = tracker.init("p", "e", capture=False)
    print(run.mode, run.recorder.spool.path)
    run.log({{"loss": 1.0}})
    run.finish()
"""


def test_what_never_answers_at_the_default_address(home: pathlib.Path, script: Callable[..., Script]) -> None:
    with socket.socket() as hanging:
        hanging.bind(("127.0.0.1", 0))
        hanging.listen()
        url = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        one = script(OFFLINE.format(f"tracker._embed.DEFAULT_URL = tracker._http.DEFAULT_URL = {url!r}"))
        mode, path = one.line().split()
        told = one.end()
    assert mode == "offline" and os.path.exists(path) and not (home / "server.json").exists()
    assert told.count(f"a program listens at {url} and has not answered") == 1 and told.count("tracker:") == 3, told
    assert "/iteration/" not in told, "an address without a server"


def test_a_server_that_never_listens_is_ended(home: pathlib.Path, tmp_path: pathlib.Path, script: Callable[..., Script]) -> None:
    stub, number = tmp_path / "stub", tmp_path / "number"
    stub.write_text(f"#!/bin/sh\necho $$ > {number}\nexec sleep 600\n")
    stub.chmod(0o755)
    one = script(OFFLINE.format(""), TRACKER_PROGRAM=str(stub))
    mode, path = one.line().split()
    told = one.end()
    assert mode == "offline" and os.path.exists(path)
    assert told.count("does not listen; see") == 1 and "/iteration/" not in told, told
    assert not number.exists() or not _embed.alive(int(number.read_text()))
    assert not (home / "server.json").exists()


def test_no_loopback(home: pathlib.Path, script: Callable[..., Script]) -> None:
    one = script(OFFLINE.format("import socket\n    def connect(*_): raise OSError(101, 'Network is unreachable')\n"
                                "    socket.socket.connect = connect"))
    mode, path = one.line().split()
    told = one.end()
    assert mode == "offline" and os.path.exists(path)
    assert told.count("can't connect to 127.0.0.1 (Network is unreachable)") == 1 and "/iteration/" not in told, told
    assert not (home / "server.log").exists(), "no server was started"


def test_a_strict_run_without_an_answer(home: pathlib.Path, script: Callable[..., Script]) -> None:
    raising = "def check(end): raise tracker._embed.Hangs('it hangs')\n    tracker._embed._check_loopback = check"
    one = script(OFFLINE.format(raising).replace("capture=False", "capture=False, strict=True"))
    assert one.line() == "" and "TrackerError: it hangs" in one.end()


def test_a_server_of_another_user_is_not_used(home: pathlib.Path, script: Callable[..., Script],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    one = script(LOG)
    url = one.line().split()[0]
    one.end()
    own = os.geteuid()
    assert not _embed.foreign(url)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert _embed.foreign(url)
    assert not _embed.foreign(url, own), "who is trusted"
    monkeypatch.undo()
    stranger = script("import os; own = os.geteuid(); os.geteuid = lambda: own + 1\n" + LOG.replace("\n    ", "\n"),
                      TRACKER_HOME=str(home), TRACKER_EMBED="", TRACKER_SPOOL=str(home / "spool"))
    assert stranger.line().split()[0] != url
    stranger.end()
