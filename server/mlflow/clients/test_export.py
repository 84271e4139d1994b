"""Logs to tracker, exports with --format mlflow, and reads the exported folder with the same client."""

import pathlib
import subprocess

import conftest
import mlflow
import pytest


@pytest.fixture
def exported(fresh, tmp_path, monkeypatch):
    """Return the id of a run with artifacts, and the folder to which it was exported."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_experiment("größe")
    with mlflow.start_run(run_name="first", tags={"team": "vision"}) as run:
        mlflow.log_params({"lr": "0.1", "optimizer/name": "ада"})
        for step, value in enumerate([0.5, float("inf"), 0.25]):
            mlflow.log_metric("loss", value, step=step)
        mlflow.log_text("hello", "notes/a b.txt")
    client = mlflow.MlflowClient()
    client.create_registered_model("net", tags={"owner": "ada"})
    client.create_model_version("net", run.info.artifact_uri + "/notes", run.info.run_id, tags={"n": "1"})
    out = tmp_path / "a folder"
    subprocess.run([fresh.binary, "export", out, "--format", "mlflow", "--db-file", fresh.db, "--artifact-root", fresh.db.parent / "artifacts"],
                   check=True, stdout=subprocess.PIPE)
    return run.info.run_id, out / "mlruns"


def test_folder(exported, tmp_path):
    """The MLflow client can read every value and file in the exported folder."""
    run_id, folder = exported
    uri = folder.as_uri()
    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient(uri, uri)
    run = client.get_run(run_id)
    assert client.get_experiment_by_name("größe").experiment_id == run.info.experiment_id
    assert run.info.run_name == "first" and run.info.status == "FINISHED" and run.data.tags["team"] == "vision"
    assert run.data.params == {"lr": "0.1", "optimizer/name": "ада"}
    assert [(m.step, m.value) for m in client.get_metric_history(run_id, "loss")] == [(0, 0.5), (1, float("inf")), (2, 0.25)]
    files = conftest.folder_of(pathlib.Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="notes", dst_path=str(tmp_path / "got"))))
    assert files == {"a b.txt": b"hello"}
    version = client.get_model_version("net", "1")
    assert version.run_id == run_id and version.tags == {"n": "1"}
    at = client.get_model_version_download_uri("net", "1")
    files = conftest.folder_of(pathlib.Path(mlflow.artifacts.download_artifacts(artifact_uri=at, dst_path=str(tmp_path / "model"))))
    assert files == {"a b.txt": b"hello"}
