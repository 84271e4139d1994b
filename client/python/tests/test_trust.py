"""Tests of spool folders in which other accounts have planted files."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

import tracker
from tracker._spool import Spool
from tracker._sync import sync_file
from tracker._value import uuid7

from .conftest import Server, eventually, sync

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files have no owners there")
BEGIN = {"op": "begin", "id": "", "project": "p", "experiment": "e", "name": "planted", "resume": False}


def plant(folder: pathlib.Path, url: str, *items: Dict[str, Any], id: str = "") -> pathlib.Path:
    """Write a spool file with the given items after the beginning of a run."""
    id = id or uuid7()
    spool = Spool(str(folder / f"{uuid7()}.spool"), {"version": 1, "id": id, "url": url, "project": "p", "experiment": "e"})
    for item in ({**BEGIN, "id": id}, *items):
        spool.append({k: v for k, v in item.items() if k != "body"}, json.dumps(item.get("body", {})).encode())
    spool.close()
    return pathlib.Path(spool.path)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "spool"
    made.mkdir()
    return made


def test_the_spool_of_another_account_is_not_sent(server: Server, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = plant(folder, server.url)
    account = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: account + 1)
    with pytest.raises(PermissionError, match="belongs to another account"):
        sync_file(str(path), server.url)
    monkeypatch.setattr(os, "geteuid", lambda: account)
    assert server.iterations() == [] and path.exists()
    assert sync_file(str(path), server.url) is None and len(server.iterations()) == 1


@pytest.mark.parametrize("change, sentence", [
    (lambda path: path.chmod(0o620), "other accounts can write to it"),
    (lambda path: path.chmod(0o602), "other accounts can write to it"),
    (lambda path: (path.rename(path.with_suffix(".old")), path.symlink_to(path.with_suffix(".old"))), "it is a link"),
    (lambda path: [path.unlink(), os.system(f"mkfifo {path}")], "not a regular file"),
])
def test_a_spool_that_others_can_change_is_not_sent(server: Server, folder: pathlib.Path, change: Callable[[pathlib.Path], Any],
                                                    sentence: str) -> None:
    path = plant(folder, server.url)
    change(path)
    done = sync(str(path))
    assert done.returncode == 1 and sentence in done.stderr and "Traceback" not in done.stderr, done.stderr
    with tracker.init(capture=False) as run:
        run.log({"a": 1})
    assert [it["id"] for it in server.iterations()] == [run.id]


@pytest.mark.parametrize("item", [
    {"op": "request", "method": "PATCH", "path": "/user/1", "body": {"is_admin": True}},
    {"op": "request", "method": "DELETE", "path": "/iteration/{id}"},
    {"op": "request", "method": "POST", "path": "/tag/iteration/{id}/../../project", "body": {"name": "made"}},
    {"op": "request", "method": "POST", "path": "/project", "body": {"name": "made"}},
    {"op": "other", "method": "POST", "path": "/project", "body": {"name": "made"}},
])
def test_a_spool_asks_for_nothing_but_its_run(server: Server, folder: pathlib.Path, item: Dict[str, Any]) -> None:
    path = plant(folder, server.url, item)
    done = sync(str(path))
    assert "is not a request about the run" in done.stderr, done.stderr
    assert [it["name"] for it in server.iterations()] == ["planted"], "the run itself is sent"
    assert [project["name"] for project in server.get("/project")["data"]] == ["p"]


@pytest.mark.parametrize("id", ["..", "1/../../user/1", "", 7])
def test_a_spool_names_a_run_by_its_id(server: Server, folder: pathlib.Path, id: Any) -> None:
    spool = Spool(str(folder / "x.spool"), {"version": 1, "id": id, "url": server.url, "project": "p", "experiment": "e"})
    spool.close()
    done = sync(spool.path)
    assert done.returncode == 1 and "the id in the spool must be" in done.stderr


def test_only_files_of_the_spool_are_uploaded_and_removed(server: Server, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    id, secret = uuid7(), tmp_path / "id_rsa"
    secret.write_text("secret")
    (folder / f"{id}.files").mkdir(mode=0o700)
    (folder / f"{id}.files" / "link").symlink_to(secret)
    (folder / f"{id}.files" / "own").write_text("own")
    (folder / "other.out").write_text("of another run")
    names = [str(secret), "../id_rsa", f"{id}.files/../../id_rsa", f"{id}.files/link", f"{id}.files/", f"{id}.files/..",
             "other.out", f"{id}.files/own"]
    items = [{"op": "artifact", "file": name, "name": f"file{n}", "temporary": True} for n, name in enumerate(names)]
    done = sync(str(plant(folder, server.url, *items, id=id)))
    assert done.stderr.count("tracker: not sent: ") == 7, done.stderr
    assert list(server.artifacts(id)) == ["file7"]
    assert secret.read_text() == "secret" and (folder / "other.out").exists()


def test_files_in_a_folder_that_others_can_write_to_stay(server: Server, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    id, secret = uuid7(), tmp_path / "id_rsa"
    secret.write_text("secret")
    (folder / f"{id}.files").mkdir(mode=0o700)
    os.link(secret, folder / f"{id}.files" / "1-1")  # like another account on a system that does not protect hard links
    (folder / f"{id}.files").chmod(0o777)
    planted = plant(folder, server.url, {"op": "artifact", "file": f"{id}.files/1-1", "name": "a", "temporary": True}, id=id)
    done = sync(str(planted))
    assert "other accounts can write to it" in done.stderr, done.stderr
    assert list(server.artifacts(id)) == [] and secret.exists()


class Listener:
    """A server that records the headers of requests and rejects all of them."""

    def __init__(self) -> None:
        self.seen: List[Tuple[str, Any]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.seen.append((self.path, self.headers.get("Authorization")))
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_PATCH = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.httpd = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.httpd.server_address[1]}"
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.httpd.shutdown()
    made.httpd.server_close()


def test_a_token_goes_only_to_the_server_it_is_for(server: Server, folder: pathlib.Path, listener: Listener,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "secret")
    path = plant(folder, listener.url)
    assert sync(str(path)).returncode == 1
    assert listener.seen and {token for _, token in listener.seen} == {None}
    monkeypatch.setenv("TRACKER_URL", listener.url)  # now it is the configured one
    listener.seen.clear()
    assert sync(str(path)).returncode == 1
    assert {token for _, token in listener.seen} == {"Bearer secret"}
    monkeypatch.setenv("TRACKER_URL", server.url)
    listener.seen.clear()
    assert sync("--url", listener.url, str(path)).returncode == 1
    assert {token for _, token in listener.seen} == {"Bearer secret"}, "the user has named the address"


def test_a_redirect_gets_no_token(server: Server, listener: Listener, proxy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "secret")
    proxy.fault = lambda method, path, body: 302
    with pytest.raises(tracker.TrackerError):
        tracker.Api(proxy.url).projects()
    assert listener.seen == []


def test_nobody_else_reads_what_is_kept(server: Server, tmp_path: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        with tracker.init(mode="offline", capture=["output"]) as run:
            print("said")
            run.log({"picture": tracker.Image([[0.5]])})
            run.flush()
            found = {path: stat.S_IMODE(path.stat().st_mode) for path in [*(tmp_path / "spool").rglob("*"), tmp_path / "spool"]}
    finally:
        os.umask(before)
    assert {path.suffix for path in found} >= {".out", ".spool", ".files", ".png", ".json"}
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o600}


def test_the_spool_folder_of_the_home_is_closed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKER_SPOOL")
    monkeypatch.delenv("TRACKER_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".tracker" / "spool").mkdir(parents=True)
    (tmp_path / ".tracker" / "spool").chmod(0o777)
    with tracker.init(mode="offline", capture=False) as run:
        assert run.folder == str(tmp_path / ".tracker" / "spool")
    assert stat.S_IMODE((tmp_path / ".tracker" / "spool").stat().st_mode) == 0o700


def test_the_last_run_is_not_read_from_what_others_wrote(server: Server, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ZeroDivisionError):
        with tracker.init("p", capture=False) as first:
            print(1 / 0)
    [path] = folder.glob("last-*.json")
    target = tmp_path / "target"
    target.write_text(path.read_text())
    path.unlink()
    path.symlink_to(target)
    with tracker.init("p", resume="auto", capture=False) as second:
        pass
    assert second.id != first.id and json.loads(target.read_text()) == {"id": first.id}, "a link is neither read nor written"


def test_a_run_goes_on_beside_planted_folders(server: Server, folder: pathlib.Path, tmp_path: pathlib.Path, capfd: Any) -> None:
    run = tracker.init(capture=False)
    (tmp_path / "elsewhere").mkdir()
    (folder / f"{run.id}.files").symlink_to(tmp_path / "elsewhere")
    run.log({"picture": tracker.Image([[0.5]]), "a": 1})
    run.finish()
    assert list((tmp_path / "elsewhere").iterdir()) == [] and server.points(run.id, "a") == [(0, 1)]
    assert "could not be stored" in capfd.readouterr().err


def test_status_says_which_files_are_not_trusted(server: Server, folder: pathlib.Path) -> None:
    plant(folder, server.url).chmod(0o666)
    done = subprocess.run([sys.executable, "-m", "tracker", "status"], capture_output=True, text=True, timeout=180)
    assert "other accounts can write to it" in done.stdout and eventually(lambda: True)
