"""Writes two MLflow stores with the same runs into argv[1], db (SQLite) and folder (mlruns). Prints the data that MLflow reads from them as JSON."""
import json
import math
import os
import sys
import warnings

os.environ["MLFLOW_ENABLE_ASYNC_LOGGING"] = "false"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["MLFLOW_MAINTENANCE_MODE"] = "true"
warnings.simplefilter("ignore")
import logging

logging.disable(logging.WARNING)
import mlflow
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelOutput, Metric, Param
from mlflow.tracking import MlflowClient


def fill(client, root):
    default = client.create_experiment("größe/实验", artifact_location=os.path.join(root, "artifacts"))
    client.set_experiment_tag(default, "owner", "ada")
    client.set_experiment_tag(default, "mlflow.note.content", "What it is about")
    client.create_experiment("plans", artifact_location=os.path.join(root, "artifacts3"), tags={"when": "soon"})
    parent = client.create_run(default, run_name="parent", start_time=1_700_000_000_000, tags={
        "mlflow.user": "ada", "mlflow.source.name": "train.py", "mlflow.source.git.commit": "0123abcd", "mlflow.note.content": "# Notes\nsecond line",
        "team": "vision", "long": "x" * 400, "mlflow.source.type": "LOCAL"})
    child = client.create_run(default, run_name="child", start_time=1_700_000_000_500, tags={"mlflow.parentRunId": parent.info.run_id})
    metrics = [Metric("loss", 1 / (s + 1), 1_700_000_000_000 + s, s) for s in range(100)]
    metrics += [Metric("odd", v, 1_700_000_000_000 + i, i) for i, v in enumerate([math.nan, math.inf, -math.inf, 1e300, -0.5])]
    metrics += [Metric("a/b c.d", 3.0, 1_700_000_000_000, -5)]
    client.log_batch(parent.info.run_id, metrics=metrics, params=[Param("lr", "0.1"), Param("p" * 250, "y" * 500), Param("optimizer/name", "ада")])
    path = os.path.join(root, "model.bin")
    with open(path, "wb") as f:
        f.write(bytes(range(256)) * 10)
    client.log_artifact(parent.info.run_id, path, "sub/folder")
    client.log_text(parent.info.run_id, "hello", "notes.txt")
    client.set_terminated(parent.info.run_id, "FINISHED", 1_700_000_100_000)
    client.set_terminated(child.info.run_id, "FAILED", 1_700_000_200_000)
    client.log_inputs(parent.info.run_id, [DatasetInput(dataset=Dataset("größe", "0123", "local", "src", "schema", "profile"),
                                                        tags=[InputTag("mlflow.data.context", "train")])])
    model = client.create_logged_model(default, name="net", source_run_id=parent.info.run_id, tags={"team": "vision"}, params={"depth": "3"}, model_type="agent")
    os.makedirs(os.path.join(root, "weights", "sub"))
    with open(os.path.join(root, "weights", "sub", "w.bin"), "wb") as f:
        f.write(b"weights")
    client.log_model_artifacts(model.model_id, os.path.join(root, "weights"))
    client.finalize_logged_model(model.model_id, "READY")
    client.log_outputs(parent.info.run_id, [LoggedModelOutput(model.model_id, 0)])
    client.log_metric(parent.info.run_id, "f1", 0.75, timestamp=1_700_000_050_000, step=3, model_id=model.model_id)
    client.create_registered_model("größe net", tags={"owner": "ada"}, description="the\nmodel")
    for number in (1, 2, 3):
        client.create_model_version("größe net", "models:/" + model.model_id if number > 1 else "runs:/x/model", parent.info.run_id, tags={"n": str(number)},
                                    description="version " + str(number))
    client.delete_model_version("größe net", "2")
    client.set_registered_model_alias("größe net", "champion", "3")
    client.transition_model_version_stage("größe net", "1", "Archived")
    client.transition_model_version_stage("größe net", "3", "Production")
    killed = client.create_run(default, run_name="killed", start_time=1_700_000_300_000)
    client.set_terminated(killed.info.run_id, "KILLED", 1_700_000_400_000)
    client.create_run(default, run_name="running", start_time=1_700_000_500_000)
    gone = client.create_run(default, run_name="gone", start_time=1_700_000_600_000)
    client.log_metric(gone.info.run_id, "loss", 1.0, 1_700_000_600_000, 1)
    client.delete_run(gone.info.run_id)
    other = client.create_experiment("deleted experiment", artifact_location=os.path.join(root, "artifacts2"))
    client.create_run(other, run_name="in deleted", start_time=1_700_000_700_000)
    client.delete_experiment(other)


def read(client):
    found = []
    for view in (1, 2):  # active, deleted
        for e in client.search_experiments(view_type=3):
            for run in client.search_runs([e.experiment_id], run_view_type=view):
                points = []
                for key in run.data.metrics:
                    points += [[key, m.step, repr(m.value), m.timestamp] for m in client.get_metric_history(run.info.run_id, key)]
                found.append({"id": run.info.run_id, "name": run.info.run_name, "experiment": e.name, "status": run.info.status, "start": run.info.start_time,
                              "end": run.info.end_time, "deleted": run.info.lifecycle_stage == "deleted" or e.lifecycle_stage == "deleted",
                              "params": run.data.params, "tags": run.data.tags, "points": points})
    return found


root = os.path.abspath(sys.argv[1])
result = {}
for kind in sys.argv[2:]:
    at = os.path.join(root, kind)
    os.makedirs(at)
    os.chdir(at)
    uri = "sqlite:///" + os.path.join(at, "mlflow.db") if kind == "db" else "file://" + os.path.join(at, "mlruns")
    client = MlflowClient(uri)
    fill(client, at)
    result[kind] = read(client)
json.dump(result, sys.stdout)
