"""A tracker server for MLflow's clients.

TRACKER_BINARY names the program. The clients get only MLFLOW_TRACKING_URI.
"""

import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import urllib.request

import pytest

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "2"
# Older scikit-learn imports setuptools, which fails if Python's own distutils has already been imported.
os.environ["SETUPTOOLS_USE_DISTUTILS"] = "stdlib"

# Clients older than 3.0 have no logged models.
collect_ignore = [] if int(importlib.metadata.version("mlflow-skinny").split(".")[0]) >= 3 else ["test_logged_models.py"]

PASSWORD = "correct horse battery"


class Server:
    """A running server and its native API."""

    def __init__(self, folder, *flags):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SERVICE_")}
        env["SERVICE_ADMIN_PASSWORD"] = PASSWORD
        self.binary = os.environ["TRACKER_BINARY"]
        self.db = folder / "tracker.db"
        args = ["serve", "--host", "127.0.0.1", "--port", "0", "--enable-ui=false", "--log-level", "error"]
        self.process = subprocess.Popen(
            [self.binary, *args, "--db-file", self.db, "--artifact-root", folder / "artifacts", *flags],
            env={**env, "SERVICE_JWT_SECRET": "the secret of these tests"},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.uri = re.search(r"http://\S+", self.process.stdout.readline())[0]

    def get(self, path):
        """Return the response of the native API."""
        with urllib.request.urlopen(self.uri + path) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        assert self.process.wait(60) == 0


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Return a server without sign-in."""
    s = Server(tmp_path_factory.mktemp("server"))
    yield s
    s.close()


@pytest.fixture
def experiment(server, request, monkeypatch):
    """Make the client use the server, create an experiment for the test, and return its id."""
    import mlflow

    mlflow.set_tracking_uri(None)  # this may unset the variable
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    e = mlflow.set_experiment(request.node.name)
    yield e.experiment_id
    while mlflow.active_run():
        mlflow.end_run()


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Return a new server without sign-in, and make the client use it."""
    import mlflow

    s = Server(tmp_path)
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(None)  # this may unset the variable
    mlflow.set_registry_uri(None)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", s.uri)
    yield s
    while mlflow.active_run():
        mlflow.end_run()
    s.close()


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """Return a server with sign-in, and make the client use it."""
    import mlflow

    s = Server(tmp_path, "--enable-auth")
    mlflow.set_tracking_uri(None)  # this may unset the variable
    monkeypatch.setenv("MLFLOW_TRACKING_URI", s.uri)
    yield s
    s.close()


def uuid(run_id):
    """Return the id of a run in the native API."""
    return "-".join([run_id[:8], run_id[8:12], run_id[12:16], run_id[16:20], run_id[20:]])


def folder_of(path: pathlib.Path):
    """Return the contents of all files below a folder, by path."""
    return {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}
