"""Tests of the folder for spools if the default folder is not writable."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
from typing import Callable

import pytest

import tracker
from tracker import _folder

from .conftest import Script, Server

RUN = """
    import sys, tempfile, tracker
    tempfile.tempdir = sys.argv[1]
    run = tracker.init("p", "e", capture=False, mode=sys.argv[2])
    run.log({"loss": 1.0})
    run.finish(timeout=0)
    print(run.id)
"""


@pytest.fixture
def unwritable(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A home folder that can't be written to, not even by root, because a parent of its path is a file."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setenv("TRACKER_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("TRACKER_SPOOL")
    return str(tmp_path / "file" / "home")


@pytest.fixture
def temporary(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_runs_are_kept_in_the_temporary_folder(unwritable: str, temporary: pathlib.Path, server: Server,
                                               script: Callable[..., Script], mode: str) -> None:
    one = script(RUN, str(temporary), mode, TRACKER_URL="http://127.0.0.1:1")
    id = one.line()
    told = one.end()
    [spool] = temporary.rglob("*.spool")
    assert told.count("can't be written to") == 1 and unwritable in told and "TRACKER_HOME" in told, told
    assert f"is stored in {spool}" in told
    for folder in (spool.parent, spool.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    command = [sys.executable, "-m", "tracker"]
    status = subprocess.run([*command, "status"], capture_output=True, text=True)
    assert spool.name in status.stdout and str(spool.parent) in status.stdout, status
    done = subprocess.run([*command, "sync", "--url", server.url], capture_output=True, text=True)
    assert done.returncode == 0 and f"{spool}: sent" in done.stdout, done
    assert [it["id"] for it in server.iterations()] == [id] and not spool.exists()
    status = subprocess.run([*command, "status", "--url", server.url], capture_output=True, text=True)
    assert str(spool.parent) not in status.stdout and "spool      " in status.stdout, status


def test_without_any_folder(unwritable: str, script: Callable[..., Script]) -> None:
    one = script(RUN, os.path.join(unwritable, "temporary"), "online")
    one.line()
    told = one.end()
    assert told.count("in memory only;") == 1 and "its unsent data is lost" in told and "is stored in /" not in told, told
    one = script(RUN, os.path.join(unwritable, "temporary"), "offline")
    assert one.line() == ""
    told = one.end()
    assert "TrackerError: an offline run needs a writable folder" in told and unwritable in told, told
    one = script(RUN, os.path.join(unwritable, "temporary"), "disabled")
    assert one.line() and one.end() == ""


def test_a_folder_that_another_account_has_made_is_not_used(unwritable: str, temporary: pathlib.Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    account = os.geteuid()
    made = temporary / f"tracker-{account + 1}"
    made.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: account + 1)
    found = _folder.writable_folder()
    assert found.failure is not None and found.path == os.path.join(unwritable, "spool") and not list(made.iterdir())
    made.rmdir()
    (temporary / "elsewhere").mkdir()
    made.symlink_to(temporary / "elsewhere")
    assert _folder.writable_folder().failure is not None and not list((temporary / "elsewhere").iterdir())


def test_a_shared_folder_stays_as_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracker._trust import close_to_others

    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o1777)
    own.mkdir()
    own.chmod(0o755)
    close_to_others(str(shared))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    monkeypatch.setenv("HOME", str(own))
    close_to_others(str(own))
    assert stat.S_IMODE(own.stat().st_mode) == 0o755, "the home folder itself"
    monkeypatch.setenv("HOME", str(tmp_path))
    close_to_others(str(own))
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert tracker.run is None
