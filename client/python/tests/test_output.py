"""Tests of the printed output of a run, and of the client's own messages."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import urllib.request
from typing import Callable, List, Optional

import pytest

import tracker
from tracker import _sync

from .conftest import Proxy, Script, Server, eventually, sync

PRINTING = """
    import sys, time, tracker, tracker._output
    tracker._output.MOST_OUTPUT = 3_000_000
    run = tracker.init("p", "e", capture=["output"], resume=sys.argv[2] if sys.argv[2:] else None)
    run.log({"loss": 1.0})
    run.flush()
    print(sys.argv[1], run.id, flush=True)
    print("x" * 4_000_000, flush=True)
    time.sleep(600)
"""


def killed(one: Script, word: str, server: Optional[Server] = None) -> str:
    """Start a run that prints word, and kill it after the server has its points. Return its id."""
    said, id = one.line().split()
    assert said == word
    assert len(one.line()) == 4_000_000
    if server is not None:
        eventually(lambda: server.iterations() and server.points(id, "loss"))
    one.signal(signal.SIGKILL)
    one.end()
    return id


def printed(server: Server, id: str) -> List[bytes]:
    """Return the contents of a run's artifacts called output.log, oldest first."""
    experiment = server.get(f"/iteration/{id}")["experiment_id"]
    rows = server.get(f"/resource/experiment/{experiment}?iteration_id={id}&name=output.log")["data"]
    found = []
    for row in sorted(rows, key=lambda row: str(row["created_date"])):
        with urllib.request.urlopen(f"{server.url}/resource/{row['id']}/data") as answer:
            found.append(answer.read())
    return found


def status() -> str:
    return subprocess.run([sys.executable, "-m", "tracker", "status"], capture_output=True, text=True, timeout=180).stdout


def test_what_a_killed_process_has_printed_is_sent_by_sync(server: Server, proxy: Proxy, script: Callable[..., Script],
                                                           tmp_path: pathlib.Path) -> None:
    lost = iter([-1])  # the first upload arrives, but its response is lost
    proxy.fault = lambda method, path, body: next(lost, None) if method == "POST" and "/resource/" in path else None
    id = killed(script(PRINTING, "first", TRACKER_URL=server.url), "first")
    said = status()
    assert f"{id}.spool: unsent data of a run of p/e for {server.url} and its output, 3.0 MB" in said, said
    done = sync("--url", proxy.url)
    assert done.returncode == 0, done.stderr
    [text] = printed(server, id)
    assert text.startswith(b"first") and text.endswith(b"[further output is omitted]\n")
    assert 2_900_000 < len(text) < 3_100_000
    assert not list((tmp_path / "spool").glob(id + "*")) and "spool, empty" in status()
    assert "no unsent data" in sync().stdout and len(printed(server, id)) == 1


def test_what_a_killed_process_has_printed_is_sent_by_the_next_run(server: Server, script: Callable[..., Script]) -> None:
    id = killed(script(PRINTING, "first"), "first")
    with tracker.init("p", "e", capture=False) as run:
        run.log({"loss": 1.0})
        eventually(lambda: not [p for p in _sync.spool_files(run.folder) if run.id not in p])
    [text] = printed(server, id)
    assert text.startswith(b"first")


def test_a_resumed_run_keeps_what_was_printed_before(server: Server, script: Callable[..., Script]) -> None:
    id = killed(script(PRINTING, "first"), "first")
    assert killed(script(PRINTING, "again", id), "again") == id
    assert sync().returncode == 0
    assert [text[:5] for text in printed(server, id)] == [b"first", b"again"]


def test_output_that_no_server_takes_stays_and_is_counted(server: Server, script: Callable[..., Script],
                                                          tmp_path: pathlib.Path) -> None:
    id = killed(script(PRINTING, "first"), "first", server)
    experiment = server.get(f"/iteration/{id}")["experiment_id"]
    tracker.Api().client.call("PATCH", f"/experiment/{experiment}", {"status": "FINISHED"})
    assert "rejected output.log" in sync().stderr
    assert (tmp_path / "spool" / f"{id}.out").exists()
    assert "rejected: output.log (3.0 MB): The experiment is FINISHED" in status()
    assert sync().returncode == 1 and status().count("rejected: output.log") == 1, "each sync tries it once"
    tracker.Api().client.call("PATCH", f"/experiment/{experiment}", {"status": "IN_PROGRESS"})
    assert sync().returncode == 0 and len(printed(server, id)) == 1


@pytest.mark.parametrize("name", ["first", None])
def test_a_run_says_where_it_is(server: Server, capsys: pytest.CaptureFixture[str], name: Optional[str]) -> None:
    run = tracker.init("p", "e", name=name, capture=["output"])
    page = f"http://127.0.0.1:{server.ui_port}/iteration/{run.id}"
    assert capsys.readouterr().err == f"tracker: run {'first ' if name else ''}of p/e: {page}\n"
    assert tracker.init("p", "e", reinit="return_previous") is run
    run.finish("FAILED")
    said = capsys.readouterr().err
    assert said == f"tracker: run {server.iterations()[0]['name']} of p/e ended as FAILED: {page}\n"
    assert printed(server, run.id) == [], "the program has not printed this"


def test_a_run_says_where_it_is_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    with tracker.init("p", "e", url="http://127.0.0.1:1", capture=False) as run:
        assert capsys.readouterr().err == f"tracker: run of p/e: http://127.0.0.1:2/iteration/{run.id}\n"
        run.finish(timeout=0)
    assert "ended as" not in capsys.readouterr().err, "the run has not ended on the server"
    with tracker.init("p", "e", mode="offline", capture=False):
        assert capsys.readouterr().err == "tracker: run of p/e: offline, see python -m tracker sync\n"
    with tracker.init("p", "e", mode="disabled"):
        assert capsys.readouterr().err == ""


def test_a_quiet_run_says_nothing(server: Server, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tracker.init("p", "e", quiet=True, capture=False).finish()
    tracker.init("p", "e", mode="offline", quiet=True, capture=False).finish()
    monkeypatch.setenv("TRACKER_QUIET", "1")
    tracker.init("p", "e", capture=False).finish()
    assert " of p/e: " not in (said := capfd.readouterr().err) and "ended" not in said
    tracker.init("p", "e", quiet=False, capture=False).finish(quiet=True)
    assert " of p/e: " in (said := capfd.readouterr().err) and "ended" not in said
