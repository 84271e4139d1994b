"""Tests that an artifact has the bytes that its file had when it was logged."""

from __future__ import annotations

import os
import pathlib
import signal
import tempfile
import urllib.request
from typing import Any, Callable, Dict, List, Optional

import pytest

import tracker
from tracker import _keep

from .conftest import Proxy, Script, Server, eventually, sync


def contents(server: Server, id: str) -> Dict[str, List[bytes]]:
    """Return the bytes of all artifacts of a run by name, oldest first."""
    experiment = server.get(f"/iteration/{id}")["experiment_id"]
    found: Dict[str, List[bytes]] = {}
    for row in server.get(f"/resource/experiment/{experiment}?iteration_id={id}&limit=1000")["data"]:
        with urllib.request.urlopen(f"{server.url}/resource/{row['id']}/data") as answer:
            found.setdefault(row["name"], []).append(answer.read())
    return found


def test_five_checkpoints_from_one_path_are_five_artifacts(server: Server, proxy: Proxy, tmp_path: pathlib.Path) -> None:
    proxy.fault = lambda method, path, body: 500  # nothing is sent while the copies are made
    run = tracker.init(url=proxy.url, capture=False)
    for epoch in range(5):
        (tmp_path / "last.pt").write_bytes(b"weights of epoch %d" % epoch)  # in place, as torch.save does
        run.log_artifact("last.pt", name=f"epoch{epoch}.pt")
        run.log_artifact("last.pt")
    (tmp_path / "last.pt").unlink()
    proxy.fault = lambda method, path, body: None
    run.finish()
    found = contents(server, run.id)
    assert [found[f"epoch{epoch}.pt"] for epoch in range(5)] == [[b"weights of epoch %d" % epoch] for epoch in range(5)]
    assert sorted(found["last.pt"]) == [b"weights of epoch %d" % epoch for epoch in range(5)]
    assert not list((tmp_path / "spool").glob("*.files")), "the copies are removed"


def test_a_temporary_folder_may_go(server: Server) -> None:
    with tracker.init(mode="offline", capture=False) as run:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.txt").write_text("a")
            (pathlib.Path(folder) / "deep").mkdir()
            (pathlib.Path(folder) / "deep" / "b.txt").write_text("b")
            artifact = tracker.Artifact("data")
            artifact.add_dir(folder)
            run.log_artifact(artifact)
    assert sync().returncode == 0
    found = contents(server, run.id)
    assert found == {"data:v0/a.txt": [b"a"], "data:v0/deep/b.txt": [b"b"]}


def test_wait_waits_for_the_server(server: Server, proxy: Proxy, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    proxy.fault = lambda method, path, body: 500 if "/resource/" in path else None
    run = tracker.init(url=proxy.url, capture=False)
    upload = run.log_artifact("a.txt")
    with pytest.raises(tracker.TrackerError, match="a.txt is not sent yet"):
        upload.wait(timeout=0.2)
    proxy.fault = lambda method, path, body: None
    assert upload.wait() is upload and contents(server, run.id) == {"a.txt": [b"a"]}
    with pytest.raises(tracker.Refused):
        run.log_artifact("a.txt", name="../a").wait()
    run.finish()
    with tracker.init(mode="offline", capture=False) as away, pytest.raises(tracker.TrackerError, match="the run is offline"):
        away.log_artifact("a.txt").wait()


def test_a_read_only_file_is_kept_without_a_copy(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"fixed")
    (tmp_path / "model.bin").chmod(0o444)
    with tracker.init(mode="offline", capture=False) as run:
        run.log_artifact("model.bin")
        run.flush()
        [kept] = (tmp_path / "spool" / f"{run.id}.files").iterdir()
        assert kept.stat().st_ino == (tmp_path / "model.bin").stat().st_ino
        (tmp_path / "model.bin").unlink()
        (tmp_path / "model.bin").write_bytes(b"another")
    assert sync().returncode == 0 and contents(server, run.id) == {"model.bin": [b"fixed"]}


def test_a_file_that_changes_while_it_is_copied_is_an_error(server: Server, tmp_path: pathlib.Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.txt").write_text("one")
    copy = _keep._copy

    def slow(source: int, target: int) -> None:
        copy(source, target)
        with open("log.txt", "a") as file:
            file.write("more")

    monkeypatch.setattr(_keep, "_copy", slow)
    monkeypatch.setattr(_keep, "_clone", lambda source, target: False)
    with tracker.init(capture=False) as run:
        with pytest.raises(OSError, match="log.txt was changed while it was copied"):
            run.log_artifact("log.txt")
    assert contents(server, run.id) == {} and not list((tmp_path / "spool").glob("*.files/*"))


@pytest.mark.parametrize("change", [
    lambda path: path.write_bytes(b"other bytes"), lambda path: path.write_bytes(b""), lambda path: path.unlink(),
    lambda path: os.truncate(path, 1_500_000)])
def test_without_room_for_a_copy_the_file_is_sent_unless_it_changes(server: Server, tmp_path: pathlib.Path, capfd: Any,
                                                                    monkeypatch: pytest.MonkeyPatch,
                                                                    change: Callable[[pathlib.Path], Any]) -> None:
    def full(source: int, target: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_keep, "_copy", full)
    monkeypatch.setattr(_keep, "_clone", lambda source, target: False)
    data = os.urandom(3_000_000)
    run = tracker.init(capture=False)
    for name in ("good.bin", "bad.bin"):
        (tmp_path / name).write_bytes(data)
    run.log_artifact("good.bin").wait()
    assert "No space left on device; the original file is sent later" in capfd.readouterr().err
    sender = run.recorder.sender
    assert sender is not None
    send = sender.client.send

    def changing(method: str, path: str, data: Any, headers: Any) -> Any:
        change(tmp_path / "bad.bin")
        return send(method, path, data, headers)

    with monkeypatch.context() as patched:
        patched.setattr(sender.client, "send", changing)
        upload, refused = run.log_artifact("bad.bin"), None
        try:
            upload.wait()
        except tracker.Refused as error:
            refused = str(error)
    run.finish()
    found = contents(server, run.id)
    assert found.pop("good.bin") == [data]
    assert found in ({}, {"bad.bin": [data]}), "only the logged bytes"
    assert bool(found) == (refused is None) and (found or "bad.bin" in str(refused))


def test_an_upload_that_shrinks_is_told_and_nothing_is_kept(server: Server, tmp_path: pathlib.Path, capfd: Any,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    from tracker import _artifact

    (tmp_path / "big.bin").write_bytes(os.urandom(3 << 20))
    with tracker.init(capture=False) as run:
        run.log({"a": 1})
        pieces = _artifact.Transfer._pieces

        def shrinking(transfer: Any, file: Any, path: str, offset: int, length: int) -> Any:
            for part in pieces(transfer, file, path, offset, length):
                yield part
                if offset >= 1 << 20:
                    os.truncate(path, 1 << 20)

        monkeypatch.setattr(_artifact.Transfer, "_pieces", shrinking)
        run.log_artifact("big.bin")
        run.log({"a": 2})
    assert contents(server, run.id) == {} and server.points(run.id, "a") == [(0, 1), (1, 2)]
    assert "not sent: big.bin:" in capfd.readouterr().err


def test_the_artifacts_of_a_killed_process_are_sent(server: Server, script: Callable[..., Script],
                                                    tmp_path: pathlib.Path) -> None:
    one = script("""
        import time, tracker
        run = tracker.init(mode="offline", capture=False)
        for n in range(3):
            open("model.pt", "w").write(str(n))
            run.log_artifact("model.pt", name=f"model{n}.pt")
        run.flush()
        print(run.id, flush=True)
        time.sleep(600)
    """)
    id = one.line()
    one.signal(signal.SIGKILL)
    one.end()
    (tmp_path / "model.pt").unlink()
    assert sync().returncode == 0
    assert contents(server, id) == {f"model{n}.pt": [b"%d" % n] for n in range(3)}


def test_files_that_copy_badly_are_copied_all_the_same(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = os.urandom(2_500_000)
    (tmp_path / "a").write_bytes(data)

    def part(source: int, target: int, count: int, at: int, to: int) -> int:
        if at:
            raise OSError(18, "Invalid cross-device link")
        os.pwrite(target, data[:1000], 0)
        return 1000

    monkeypatch.setattr(os, "copy_file_range", part)
    monkeypatch.setattr(_keep, "_clone", lambda source, target: False)
    name = _keep.take(str(tmp_path / "a"), str(tmp_path), "id", 1)
    assert (tmp_path / name).read_bytes() == data


def test_a_large_artifact_is_given_on_in_parts(server: Server, proxy: Proxy, tmp_path: pathlib.Path) -> None:
    seen: List[Optional[int]] = []

    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        if method == "POST" and "/resource/" in path:
            seen.append(len(body))
        return None

    proxy.fault = fault
    (tmp_path / "big.bin").write_bytes(os.urandom(5_000_000))
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log_artifact("big.bin")
        eventually(lambda: seen)
    assert len(contents(server, run.id)["big.bin"][0]) == 5_000_000
