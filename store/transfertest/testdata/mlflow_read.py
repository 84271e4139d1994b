"""Prints the data that MLflow's client reads from a store as JSON. argv[2] is the address or the folder of the store. If argv[1] is client, the client reads the
store directly. If it is server, the client reads the store through an MLflow server, which the program starts."""
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["MLFLOW_MAINTENANCE_MODE"] = "true"
os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
warnings.simplefilter("ignore")
import logging

logging.disable(logging.WARNING)
import mlflow
from mlflow.tracking import MlflowClient


def files(uri, client_uri):
    """Return the hashes of the files at an artifact URI, by path. Return None if MLflow finds no files there."""
    mlflow.set_tracking_uri(client_uri)
    with tempfile.TemporaryDirectory() as to:
        try:
            at = pathlib.Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=to))
        except mlflow.exceptions.MlflowException:
            return None
        return {str(f.relative_to(at)): hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(at.rglob("*")) if f.is_file()}


def read(uri):
    client = MlflowClient(uri)
    result = {"experiments": {}, "runs": {}, "logged": {}, "registered": {}}
    for e in client.search_experiments():
        if e.name == "Default":
            continue
        result["experiments"][e.name] = {"tags": e.tags, "created": e.creation_time}
        for run in client.search_runs([e.experiment_id]):
            points = {}
            for key in run.data.metrics:
                points[key] = [[m.step, repr(m.value), m.timestamp] for m in client.get_metric_history(run.info.run_id, key)]
            result["runs"][run.info.run_id] = {
                "experiment": e.name, "name": run.info.run_name, "status": run.info.status, "start": run.info.start_time, "end": run.info.end_time,
                "user": run.info.user_id, "params": run.data.params, "tags": run.data.tags, "points": points,
                "datasets": [[d.dataset.name, d.dataset.digest, d.dataset.source_type, d.dataset.source, d.dataset.schema, d.dataset.profile,
                              {t.key: t.value for t in d.tags}] for d in run.inputs.dataset_inputs],
                "outputs": [[m.model_id, m.step] for m in run.outputs.model_outputs] if run.outputs else [],
                "artifacts": files(run.info.artifact_uri, uri) if client.list_artifacts(run.info.run_id) else {}}
        for m in client.search_logged_models([e.experiment_id]):
            m = client.get_logged_model(m.model_id)
            result["logged"][m.model_id] = {
                "name": m.name, "type": m.model_type, "status": str(m.status), "params": m.params, "tags": m.tags, "created": m.creation_timestamp,
                "run": m.source_run_id, "metrics": [[x.key, x.value, x.step] for x in m.metrics or []], "files": files("models:/" + m.model_id, uri)}
    for m in client.search_registered_models():
        versions = {}
        for v in client.search_model_versions(f"name = '{m.name}'"):
            versions[v.version] = {"stage": v.current_stage, "description": v.description, "source": v.source, "run": v.run_id, "tags": v.tags,
                                   "created": v.creation_timestamp, "files": files(f"models:/{m.name}/{v.version}", uri)}
        result["registered"][m.name] = {"description": m.description, "tags": m.tags, "aliases": {a: str(n) for a, n in m.aliases.items()}, "created": m.creation_timestamp, "versions": versions}
    return result


def serve(folder):
    """Read a store through an MLflow server."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    args = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", folder, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with tempfile.TemporaryDirectory() as cwd, tempfile.TemporaryFile() as log:
        server = subprocess.Popen(args, cwd=cwd, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(uri + "/health").close()
                    break
                except OSError:
                    if server.poll() is not None:
                        break
                    time.sleep(0.2)
            else:
                raise TimeoutError("the server does not answer")
            if server.poll() is not None:
                log.seek(0)
                raise RuntimeError(log.read().decode())
            return read(uri)
        finally:
            try:
                os.killpg(server.pid, 15)
            except ProcessLookupError:
                pass
            server.wait(60)


how, store = sys.argv[1:]
json.dump(serve(store) if how == "server" else read(store), sys.stdout, sort_keys=True)
