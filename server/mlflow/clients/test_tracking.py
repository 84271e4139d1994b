"""MLflow's client logs to tracker. The tests read the data back through MLflow's protocol and the native API."""

import math
import os
import pathlib
import random
import subprocess
import sys

import mlflow
import pytest
import requests
from conftest import PASSWORD, folder_of, uuid
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

VERSION = tuple(int(part) for part in mlflow.__version__.split(".")[:2])


def test_fluent(server, experiment):
    with mlflow.start_run(run_name="first", description="a note", tags={"team": "red"}) as parent:
        mlflow.log_param("lr", 0.1)
        mlflow.log_params({"depth": 3, "net": "ResNet"})
        for step in range(5):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"acc": 0.5, "nan": math.nan, "inf": -math.inf}, step=7)
        mlflow.set_tag("stage", "test")
        with mlflow.start_run(nested=True, run_name="child") as child:
            mlflow.log_metric("acc", 1)
    client = MlflowClient()
    run = client.get_run(parent.info.run_id)
    assert (run.info.status, run.info.run_name, run.info.lifecycle_stage) == ("FINISHED", "first", "active")
    assert run.data.params == {"lr": "0.1", "depth": "3", "net": "ResNet"}
    assert run.data.metrics.pop("nan") != 0
    assert run.data.metrics == {"loss": 0.2, "acc": 0.5, "inf": -math.inf}
    assert run.data.tags["mlflow.note.content"] == "a note"
    assert (run.data.tags["team"], run.data.tags["stage"]) == ("red", "test")
    points = client.get_metric_history(parent.info.run_id, "loss")
    assert [(p.step, p.value) for p in points] == [(s, 1 / (s + 1)) for s in range(5)]
    assert client.get_run(child.info.run_id).data.tags["mlflow.parentRunId"] == parent.info.run_id

    native = server.get("/iteration/" + uuid(parent.info.run_id))
    assert (native["name"], native["notes"], native["status"]) == ("first", "a note", "SUCCEEDED")
    summary = server.get(f"/iteration/{uuid(parent.info.run_id)}/summary")
    assert summary["params"] == run.data.params
    assert summary["metrics"]["loss"]["count"] == 5
    assert server.get("/iteration/" + uuid(child.info.run_id))["parent_iteration_id"] == native["id"]
    properties = server.get(f"/property/iteration/{native['id']}?limit=1000")["data"]
    assert {"key": "stage", "value": "test"} in properties
    assert server.get(f"/experiment/{experiment}")["name"] == "test_fluent"


def test_resumed_and_late(experiment):
    with mlflow.start_run() as run:
        pass
    client = MlflowClient()
    client.log_metric(run.info.run_id, "score", 1)
    client.log_param(run.info.run_id, "late", "yes")
    ended = client.get_run(run.info.run_id)
    assert (ended.info.status, ended.data.metrics, ended.data.params) == ("FINISHED", {"score": 1}, {"late": "yes"})
    with mlflow.start_run(run_id=run.info.run_id):
        assert client.get_run(run.info.run_id).info.status == "RUNNING"
        mlflow.log_metric("more", 2)
    with pytest.raises(RuntimeError), mlflow.start_run() as failed:
        raise RuntimeError
    assert client.get_run(failed.info.run_id).info.status == "FAILED"
    with pytest.raises(MlflowException, match="late"):
        client.log_param(run.info.run_id, "late", "no")


def test_batches(experiment):
    client = MlflowClient()
    run = client.create_run(experiment).info.run_id
    points = [Metric(f"m{i % 20}", i * 0.5, 1_700_000_000_000 + i, i // 20) for i in range(2500)]
    params = [Param(f"p{i}", str(i)) for i in range(150)]
    tags = [RunTag(f"t{i}", str(i)) for i in range(150)]
    for i in range(0, 2500, 1000):
        client.log_batch(run, metrics=points[i : i + 1000])
        client.log_batch(run, metrics=points[i : i + 1000])  # as a client that got no response would do
    for i in range(0, 150, 100):
        client.log_batch(run, params=params[i : i + 100], tags=tags[i : i + 100])
    got = client.get_run(run)
    assert got.data.params == {f"p{i}": str(i) for i in range(150)}
    assert {k: v for k, v in got.data.tags.items() if k[0] == "t"} == {f"t{i}": str(i) for i in range(150)}
    history = client.get_metric_history(run, "m3")
    assert [(p.step, p.value, p.timestamp) for p in history] == [(p.step, p.value, p.timestamp) for p in points if p.key == "m3"]


@pytest.mark.skipif(not hasattr(mlflow, "set_workspace"), reason="older clients have no workspaces")
def test_workspace(server, experiment, monkeypatch):
    project = requests.post(server.uri + "/project", json={"name": "team-a"}, timeout=60).json()["id"]
    monkeypatch.setenv("MLFLOW_WORKSPACE", "team-a")
    of = mlflow.set_experiment("in a workspace").experiment_id
    assert server.get(f"/experiment/{of}")["project_id"] == project
    with mlflow.start_run() as run:
        mlflow.log_text("hello", "a.txt")
    assert mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/a.txt") == "hello"
    assert [e.name for e in mlflow.search_experiments()] == ["in a workspace"]
    monkeypatch.setenv("MLFLOW_WORKSPACE", "nothing")
    with pytest.raises(MlflowException, match="project"):
        mlflow.search_experiments()


@pytest.mark.skipif(VERSION < (2, 10), reason="in 2.9, only a method of the client logs asynchronously")
def test_async(experiment):
    with mlflow.start_run() as run:
        for step in range(500):
            mlflow.log_metric("loss", step, step=step, synchronous=False)
        mlflow.log_params({"a": 1}, synchronous=False)
        mlflow.flush_async_logging()
    assert len(MlflowClient().get_metric_history(run.info.run_id, "loss")) == 500


def test_autolog_of_a_grid_search(experiment):
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    mlflow.sklearn.autolog(log_models=False, silent=True)
    x, y = load_iris(return_X_y=True)
    search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1, 10]}, cv=2)
    with mlflow.start_run() as run:
        search.fit(x, y)
    search.score(x, y)  # autologging writes this after the run has ended
    mlflow.sklearn.autolog(disable=True)
    parent = MlflowClient().get_run(run.info.run_id)
    assert parent.data.metrics["best_cv_score"] > 0.9
    children = MlflowClient().search_runs([experiment], f"tags.mlflow.parentRunId = '{run.info.run_id}'")
    assert sorted(c.data.params["C"] for c in children) == ["0.1", "1", "10"]
    assert any("score" in key for key in parent.data.metrics)


def test_datasets(experiment):
    import numpy as np

    data = mlflow.data.from_numpy(np.arange(6).reshape(3, 2), name="numbers")
    with mlflow.start_run() as run:
        mlflow.log_input(data, context="training")
    got = MlflowClient().get_run(run.info.run_id).inputs.dataset_inputs
    assert [(d.dataset.name, d.dataset.digest, d.tags[0].value) for d in got] == [("numbers", data.digest, "training")]
    found = MlflowClient().search_runs([experiment], "dataset.name = 'numbers' AND dataset.context = 'training'")
    assert [r.info.run_id for r in found] == [run.info.run_id]


def test_artifacts(server, experiment, tmp_path):
    source = tmp_path / "source"
    random.seed(1)
    for i in range(1000):
        file = source / f"part {i % 7}" / f"ü{i}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(random.randbytes(i))
    with mlflow.start_run() as run:
        mlflow.log_artifacts(str(source), "data")
        mlflow.log_text("first", "note.txt")
        mlflow.log_text("second", "note.txt")
        mlflow.log_dict({"a": [1]}, "config/a.json")
    uri = run.info.artifact_uri
    listed = get_artifact_repository(uri).list_artifacts()
    assert [(f.path, f.is_dir) for f in listed] == [("config", True), ("data", True), ("note.txt", False)]
    assert mlflow.artifacts.load_text(uri + "/note.txt") == "second"
    assert mlflow.artifacts.load_dict(uri + "/config/a.json") == {"a": [1]}
    got = mlflow.artifacts.download_artifacts(artifact_uri=uri + "/data", dst_path=str(tmp_path))
    assert folder_of(pathlib.Path(got)) == folder_of(source)
    assert server.get(f"/resource/experiment/{experiment}?name=note")["total"] == 1


def test_table(server, experiment):
    with mlflow.start_run() as run:
        mlflow.log_table({"question": ["red?", "blue?"], "score": [0.5, 1.0], "ok": [True, False]}, "answers/table.json")
        mlflow.log_table({"question": ["größe?"], "score": [math.nan], "ok": [True]}, "answers/table.json")
    table = server.get(f"/iteration/{uuid(run.info.run_id)}/table?key=answers/table.json")
    assert table["columns"] == ["question", "score", "ok"]
    assert table["data"] == [["red?", 0.5, True], ["blue?", 1.0, False], ["größe?", None, True]]
    assert mlflow.load_table("answers/table.json", run_ids=[run.info.run_id])["question"].tolist() == ["red?", "blue?", "größe?"]


def test_large_artifact(experiment, tmp_path):
    large = tmp_path / "large.bin"
    block = random.randbytes(1 << 20)
    with large.open("wb") as f:
        for _ in range(200):
            f.write(block)
    with mlflow.start_run() as run:
        mlflow.log_artifact(str(large))
    got = mlflow.artifacts.download_artifacts(artifact_uri=run.info.artifact_uri + "/large.bin", dst_path=str(tmp_path / "got"))
    assert os.path.getsize(got) == 200 << 20
    with open(got, "rb") as f:
        assert f.read(1 << 20) == block


def test_search(experiment):
    for i in range(5):
        with mlflow.start_run(run_name=f"run{i}"):
            mlflow.log_metric("loss", i / 10)
            mlflow.log_param("lr", f"1e-{i}")
            mlflow.set_tag("kind", "even" if i % 2 == 0 else "odd")
    for query, want in {
        "metrics.loss < 0.2": [1, 0],
        "metrics.loss >= 0.3 and tags.kind = 'odd'": [3],
        "params.lr IN ('1e-1')" if VERSION < (2, 0) else "params.lr = '1e-1'": [1],
        "params.lr LIKE '1e%' and tags.kind != 'odd'": [4, 2, 0],
        "attributes.run_name ILIKE 'RUN3'": [3],
        "attributes.status = 'FINISHED'": [4, 3, 2, 1, 0],
        "attributes.status != 'FINISHED'": [],
    }.items():
        found = mlflow.search_runs([experiment], query, order_by=["start_time DESC"], output_format="list")
        assert [r.info.run_name for r in found] == [f"run{i}" for i in want], query
    frame = mlflow.search_runs(experiment_names=["test_search"], order_by=["metrics.loss DESC"], max_results=3)
    assert list(frame["metrics.loss"]) == [0.4, 0.3, 0.2]
    pages = MlflowClient().search_runs([experiment], max_results=2)
    assert len(pages) == 2 and pages.token
    assert len(MlflowClient().search_runs([experiment], max_results=2, page_token=pages.token)) == 2


def test_deleted_and_restored(server, experiment):
    client = MlflowClient()
    run = client.create_run(experiment).info.run_id
    client.delete_run(run)
    assert client.get_run(run).info.lifecycle_stage == "deleted"
    assert [r.info.run_id for r in client.search_runs([experiment], run_view_type=ViewType.DELETED_ONLY)] == [run]
    with pytest.raises(MlflowException):
        client.log_metric(run, "m", 1)
    assert server.get("/trash")["total"] == 1
    client.restore_run(run)
    client.log_metric(run, "m", 1)
    client.delete_experiment(experiment)
    with pytest.raises(MlflowException):
        mlflow.set_experiment("test_deleted_and_restored")
    client.restore_experiment(experiment)
    assert client.get_run(run).info.lifecycle_stage == "active"


def test_experiments(experiment):
    client = MlflowClient()
    with pytest.raises(MlflowException) as refused:
        client.create_experiment("test_experiments")
    assert refused.value.error_code == "RESOURCE_ALREADY_EXISTS"
    client.set_experiment_tag(experiment, "team", "red")
    found = client.search_experiments(filter_string="tags.team = 'red' AND name LIKE 'test_exp%'")
    assert [e.experiment_id for e in found] == [experiment]
    client.rename_experiment(experiment, "renamed")
    assert client.get_experiment_by_name("renamed").experiment_id == experiment
    assert client.get_experiment_by_name("test_experiments") is None
    assert client.get_experiment("0").name == "Default"


@pytest.mark.parametrize("name", ["flowers", "花とアヤメ", "زهور", "цветы 🌷", "a/b: c.d-e_f"])
def test_names_in_any_script(server, experiment, name):
    e = mlflow.set_experiment(name)
    word = name.replace("🌷", "x").strip()
    with mlflow.start_run(run_name=name) as run:
        mlflow.log_param(word, name)
        mlflow.log_metric(word, 1)
        mlflow.set_tag(word, name)
    got = MlflowClient().search_runs([e.experiment_id], f"tags.`{word}` = '{name}' and metrics.`{word}` = 1")
    assert [(r.info.run_name, r.data.params, r.data.tags[word]) for r in got] == [(name, {word: name}, name)]
    assert server.get("/iteration/" + uuid(run.info.run_id))["name"] == name


def test_processes(experiment):
    program = """
import sys, mlflow
with mlflow.start_run(run_name=sys.argv[1]):
    for step in range(50):
        mlflow.log_metric("loss", step, step=step)
"""
    env = {**os.environ, "MLFLOW_EXPERIMENT_ID": experiment}
    all_of_them = [subprocess.Popen([sys.executable, "-c", program, str(i)], env=env) for i in range(8)]
    assert [p.wait(200) for p in all_of_them] == [0] * 8
    runs = MlflowClient().search_runs([experiment])
    assert sorted(r.info.run_name for r in runs) == [str(i) for i in range(8)]
    assert all(len(MlflowClient().get_metric_history(r.info.run_id, "loss")) == 50 for r in runs)


def test_command_line(experiment):
    with mlflow.start_run(run_name="from the shell"):
        pass
    command = [sys.executable, "-m", "mlflow", "runs", "list", "--experiment-id", experiment]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout
    assert "from the shell" in out


def test_sign_in(closed, monkeypatch):
    with pytest.raises(MlflowException):
        mlflow.set_experiment("e")
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "default")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORD)
    mlflow.set_experiment("e")
    with mlflow.start_run():
        for step in range(20):
            mlflow.log_metric("loss", step, step=step)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong")
    with pytest.raises(MlflowException):
        MlflowClient().search_experiments()
    monkeypatch.delenv("MLFLOW_TRACKING_USERNAME")
    monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD")
    token = subprocess.run(
        [closed.binary, "token", "--user", "default", "--db-file", closed.db], capture_output=True, text=True, check=True,
        env={**os.environ, "SERVICE_JWT_SECRET": "the secret of these tests"},
    ).stdout.strip()
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", token)
    assert [e.name for e in MlflowClient().search_experiments()] == ["e"]
