"""Tests of tracker.Api and of signing in."""

from __future__ import annotations

import base64
import copy
import datetime
import hashlib
import hmac
import json
import math
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import time
from typing import Any, Iterator, Optional, Tuple

import pytest

import tracker
from tracker._http import Client, claims, read_credentials, write_credentials

from .conftest import Proxy, Server, eventually, sync

SECRET = "a secret for tests, with the minimum length"


def test_what_was_logged_is_read_back(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "model.bin").write_bytes(os.urandom(300_000))
    for lr in (0.1, 0.2):
        with tracker.init("p", "e", {"lr": lr}, capture=False) as run:
            for step in range(1500):
                run.log({"loss": lr * step, "bad": float("inf")})
            run.log_artifact("model.bin")
    api = tracker.Api()
    assert [p.name for p in api.projects()] == ["p"]
    [best, other] = api.iterations("p", "e", sort="-metric.loss", columns="metric.loss,param.lr")
    assert best.metrics["metric.loss" if "metric.loss" in best.metrics else "loss"] == pytest.approx(0.2 * 1499)
    assert [i.id for i in api.iterations("p", "e", filter="param.lr < 0.15")] == [other.id]
    assert best.id == run.id and best.parameters == {"lr": "0.2"}
    history = best.history(["loss", "bad"], wide=False)
    assert len(history["step"]) == 3000 and history["value"][1499] == 0.2 * 1499 and history["value"][-1] == float("inf")
    assert len(best.series("loss", points=100)["step"]) <= 102
    assert {s["iteration_id"] for s in api.series([best, other], ["loss"])} == {best.id, other.id}
    [artifact] = best.artifacts()
    (tmp_path / "got").mkdir()
    path = artifact.download(str(tmp_path / "got"))
    assert pathlib.Path(path).read_bytes() == (tmp_path / "model.bin").read_bytes()
    artifact.fields["content_hash"] = "0" * 64
    with pytest.raises(tracker.TrackerError, match="damaged"):
        artifact.download(str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_what_is_deleted_is_restored(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "fraud.bin").write_bytes(b"weights")
    with tracker.init("p", "e", capture=False) as run:
        run.log({"loss": 1})
        run.log_artifact("fraud.bin")
    api = tracker.Api()
    project = api.project("p")
    experiment = project.experiment("e")
    iteration = api.iteration(run.id)
    [artifact] = iteration.artifacts()
    for kind, record in (("resource", artifact), ("iteration", iteration), ("experiment", experiment), ("project", project)):
        record.delete()
        with pytest.raises(tracker.Refused):
            record.delete()
        [entry] = api.trash()
        assert (entry.kind, entry.id, entry.held_by) == (kind, record.id, "")
        assert api.trash(kind=kind)[0].id == record.id
        record.restore()
        assert api.trash() == []
    assert artifact.download(str(tmp_path / "got")) and api.iteration(run.id).artifacts()[0].id == artifact.id
    iteration.delete()
    [entry] = api.trash("iteration")
    assert entry.artifacts == 1 and entry.size_bytes == 7
    entry.delete()
    assert api.trash() == []
    with pytest.raises(tracker.Refused):
        iteration.restore()
    experiment.delete()
    assert api.empty_trash(datetime.datetime(2020, 1, 1)) == 0 and len(api.trash()) == 1
    assert api.empty_trash() == 1 and api.trash() == []


def test_the_model_in_production_is_downloaded(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "fraud.bin").write_bytes(b"weights")
    with tracker.init("p", "e", capture=False) as run:
        run.log_artifact("fraud.bin")
    api = tracker.Api()
    project = api.project("p")
    model = api.client.call("POST", f"/model/project/{project.id}", {"name": "fraud"})["id"]
    with pytest.raises(KeyError):
        api.model("fraud").production()
    [artifact] = api.iteration(run.id).artifacts()
    version = api.client.call("POST", f"/modelversion/model/{model}", {"iteration_id": run.id, "resource_id": artifact.id})
    api.client.call("PATCH", f"/modelversion/{version['id']}", {"stage": "PRODUCTION"})
    (tmp_path / "got").mkdir()
    assert pathlib.Path(api.model("fraud").production().download(str(tmp_path / "got"))).read_bytes() == b"weights"


@pytest.fixture
def guarded(binary: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with sign-in on."""
    folder = tmp_path / "guarded"
    folder.mkdir()
    running = Server(binary, folder, SERVICE_ENABLE_AUTH="true", SERVICE_JWT_SECRET=SECRET,
                     SERVICE_ADMIN_PASSWORD="correct horse")
    running.token = token(sign_in(running), 3600)
    monkeypatch.setenv("TRACKER_URL", running.url)
    yield running
    running.kill()


def sign_in(server: Server) -> str:
    answer = Client(server.url, "none").call("POST", "/auth", {"username": "default", "password": "correct horse"})
    return str(answer["access_token"])


def token(of: str, left: float, life: float = 24 * 3600) -> str:
    """Return a token of the same account that expires after the given number of seconds."""
    end = time.time() + left
    said = {**claims(of), "iat": int(end - life), "exp": int(end)}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "HS256", "typ": "JWT"}, said)]
    signature = hmac.new(SECRET.encode(), b".".join(parts), hashlib.sha256).digest()
    return b".".join((*parts, base64.urlsafe_b64encode(signature).rstrip(b"="))).decode()


def test_login_keeps_a_token_that_nobody_else_reads(guarded: Server, tmp_path: pathlib.Path) -> None:
    login = [sys.executable, "-m", "tracker", "login", "--username", "default"]
    wrong = subprocess.run(login, input="wrong\n", capture_output=True, text=True)
    assert wrong.returncode == 1 and "tracker:" in wrong.stderr
    done = subprocess.run(login, input="correct horse\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((tmp_path / "credentials.json").stat().st_mode) == 0o600
    with tracker.init(capture=False) as run:
        run.log({"a": 1})
    assert guarded.points(run.id, "a") == [(0, 1)]


def run_tracker(*arguments: str, said: str = "") -> Any:
    return subprocess.run([sys.executable, "-m", "tracker", *arguments], input=said, capture_output=True, text=True, timeout=180)


def test_status_says_where_one_is(guarded: Server, tmp_path: pathlib.Path) -> None:
    with tracker.init("p", mode="offline", capture=False):
        pass
    done = run_tracker("status")
    assert done.returncode == 1 and f"python -m tracker login --url {guarded.url}" in done.stdout
    assert "unsent data of a run of p/default" in done.stdout and f":{guarded.ui_port}" in done.stdout
    write_credentials(guarded.url, guarded.token)
    done = run_tracker("status")
    assert done.returncode == 0 and "default, until 20" in done.stdout, done
    guarded.kill()
    done = run_tracker("status")
    assert done.returncode == 1 and "does not answer: Connection refused" in done.stdout
    done = run_tracker("login")
    assert done.returncode == 1 and "does not answer" in done.stderr and "User name" not in done.stdout
    guarded.start()


def test_without_a_permission_it_is_told_which_and_kept(guarded: Server, capfd: Any) -> None:
    write_credentials(guarded.url, guarded.token)
    with tracker.init("shared", capture=False):
        pass
    api = tracker.Api()
    user = api.client.call("POST", "/user", {"username": "ada", "password": "password1"})["id"]
    project = api.project("shared").id
    api.client.call("POST", f"/userpermission/user/{user}/project/{project}", {"read_permission": True})
    assert run_tracker("login", "--username", "ada", said="password1\n").returncode == 0
    capfd.readouterr()
    with tracker.init("shared", capture=False) as run:
        run.log({"a": 1})
    said = capfd.readouterr().err
    assert "permission" in said and run.id + ".spool" in said
    with pytest.raises(tracker.TrackerError, match="permission"):
        tracker.init("shared", strict=True)
    [permission] = api.client.call("GET", f"/user/{user}/permissions")["data"]
    api.client.call("PATCH", f"/userpermission/{permission['id']}", {"create_permission": True, "update_permission": True})
    assert sync().returncode == 0
    assert guarded.points(run.id, "a") == [(0, 1)]


def test_a_token_that_ends_is_told_and_nothing_is_lost(guarded: Server, capfd: Any) -> None:
    write_credentials(guarded.url, token(guarded.token, -60))
    run = tracker.init(capture=False)
    run.log({"a": 1})
    eventually(lambda: run.recorder.sender is not None and run.recorder.sender.failure)
    assert "logged data is stored in" in capfd.readouterr().err
    write_credentials(guarded.url, guarded.token)  # the user signs in while the program runs
    run.log({"a": 2})
    run.finish()
    assert guarded.points(run.id, "a") == [(0, 1), (1, 2)]


def test_without_a_sign_in_the_run_is_left_in_the_spool(guarded: Server) -> None:
    with tracker.init(capture=False) as run:
        run.log({"a": 1})
    assert sync().returncode == 1
    write_credentials(guarded.url, guarded.token)
    assert sync().returncode == 0
    assert guarded.points(run.id, "a") == [(0, 1)]


def test_a_token_is_refreshed_before_it_ends(guarded: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = token(guarded.token, 1800)
    write_credentials(guarded.url, soon)
    with tracker.init(capture=False) as run:
        run.log({"a": 1})
    kept = read_credentials()[guarded.url]
    assert kept != soon and claims(kept)["exp"] > time.time() + 20 * 3600
    monkeypatch.setenv("TRACKER_TOKEN", soon)
    api = tracker.Api()
    assert api.projects() and api.client.token != soon, "a token from the environment is renewed for this process only"
    assert read_credentials()[guarded.url] == kept


def test_an_upload_whose_answer_was_lost_is_not_repeated(server: Server, proxy: Proxy, tmp_path: pathlib.Path) -> None:
    lost = iter([True])
    def fault(method: str, path: str, body: bytes) -> Optional[int]:
        return -1 if method == "POST" and "/resource/" in path and next(lost, None) else None
    proxy.fault = fault
    (tmp_path / "big.bin").write_bytes(os.urandom(3_000_000))
    with tracker.init(url=proxy.url, capture=False) as run:
        run.log_artifact("big.bin", description="large")
    [it] = server.iterations()
    [found] = server.get(f"/resource/experiment/{it['experiment_id']}")["data"]
    assert (found["size_bytes"], found["iteration_id"], found["description"]) == (3_000_000, run.id, "large")


def test_a_summary_reads_as_it_did_while_the_run_went_on(server: Server) -> None:
    with tracker.init("p", "e", capture=False) as run:
        for accuracy in (0.5, 0.9, 0.75):
            run.log({"val": {"acc": accuracy}, "bad": float("nan"), "grows": float("inf")})
        run.summary.update({"best": 0.9, "net": {"depth": 3}, "winner": "ada", "val/loss": 0.25})
        live = dict(run.summary), run.summary["val/acc"], run.summary.get("val/acc"), run.summary.get("none", 7)
        assert "val/acc" in run.summary and "none" not in run.summary
    assert live == ({"best": 0.9, "net": {"depth": 3}, "winner": "ada", "val/loss": 0.25}, 0.75, 0.75, 7)
    [it] = tracker.Api().iterations("p", "e")
    found = it.summary
    assert (found["val/acc"], found.get("val/acc"), found.get("none")) == (0.75, 0.75, None)
    assert (found.best, found["net/depth"], found.winner, found["val/loss"]) == (0.9, 3, "ada", 0.25)
    assert math.isnan(found["bad"]) and found["grows"] == math.inf
    assert set(found) == {"val/acc", "bad", "grows", "best", "net/depth", "winner", "val/loss"}
    with pytest.raises(KeyError):
        found["none"]
    assert pickle.loads(pickle.dumps(found))["winner"] == copy.copy(found).winner == "ada"
    statistics = it.statistics["val/acc"]
    assert statistics == {"count": 3, "last": 0.75, "last_step": 2, "min": 0.5, "min_step": 0, "max": 0.9, "max_step": 1,
                          "mean": pytest.approx(0.7166667)}
    assert it.statistics["bad"]["min"] is None and math.isnan(it.statistics["bad"]["last"])
    assert it.statistics["grows"]["last"] == math.inf


@pytest.mark.parametrize("limits", [(100_000, 80_000), (100, 80), (4, 2)])
def test_a_history_is_read_in_parts(server: Server, monkeypatch: pytest.MonkeyPatch, limits: Tuple[int, int]) -> None:
    monkeypatch.setattr("tracker._history.MOST", limits[0])
    monkeypatch.setattr("tracker._history.PART", limits[1])
    steps = [-5, -5, 0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 7, 8, 1000, 1001, 10 ** 9]
    with tracker.init(capture=False) as run:
        for number, step in enumerate(steps):
            run.log({"a": number}, step=step)
        for step in range(150):
            run.log({"b": float("nan") if step == 7 else step}, step=step)
    it = tracker.Api().run(run.id)
    found = it.history(["a", "b", "none"], wide=False)
    ends = [key for key in found["key"]]
    assert ends == ["a"] * len(steps) + ["b"] * 150
    assert list(found["step"][:len(steps)]) == steps and list(found["value"][:len(steps)]) == list(range(len(steps)))
    assert len(found["recorded_at"]) == len(ends) and math.isnan(found["value"][len(steps) + 7])
    wide = it.history()
    assert list(wide["step"]) == sorted({*steps, *range(150)}) and set(wide) == {"step", "a", "b"}
    row = list(wide["step"]).index(5)
    assert (wide["a"][row], wide["b"][row]) == (12, 5), "the last value at a step"
    assert list(it.history("b")["step"]) == list(range(150))


def test_a_table_is_read_back(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "eval.json").write_text('{"columns": ["q", "ok"], "data": [["a", true], ["b", null]]}')
    (tmp_path / "notes.txt").write_text("no table")
    with tracker.init("p", "e", capture=False) as run:
        for step in (3, 7):
            rows = [[number, "text, 1" if number else "", number / 4] for number in range(step * 500)]
            run.log({"guesses": tracker.Table(columns=["n", "word", "share"], data=rows)}, step=step)
        for path in ("eval.json", "notes.txt"):
            run.log_artifact(tmp_path / path)
    [it] = tracker.Api().runs("p", "e")
    last = it.table("guesses")
    assert (last.columns, len(last), last.omitted) == (["n", "word", "share"], 3500, "")
    assert last.rows[:2] == [[0, None, 0], [1, "text, 1", 0.25]] and last.rows[-1] == [3499, "text, 1", 874.75]
    assert len(it.table("guesses", step=3)) == 1500 and it.table("guesses", step=3).column("n")[-1] == 1499
    assert it.table("eval.json").rows == [["a", True], ["b", None]]
    frame = pytest.importorskip("pandas") and last.to_pandas()
    assert list(frame.columns) == last.columns and frame["share"].sum() == sum(range(3500)) / 4
    for key, at in (("none", None), ("guesses", 4), ("notes.txt", None)):
        with pytest.raises(KeyError):
            it.table(key, at)
    with pytest.raises(KeyError):
        last.column("none")
