"""A tracker server for W&B's clients.

TRACKER_BINARY names the program. The clients get only WANDB_BASE_URL and a key.
"""

import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request

import pytest

PASSWORD = "correct horse battery"
KEY = "a" * 40  # without sign-in, any key is accepted

# The client sends its stream often and retries soon, so that the tests need not wait.
QUICK = {"WANDB__FILE_STREAM_TRANSMIT_INTERVAL": "0.2", "WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL": "0.2",
         "WANDB_X_FILE_STREAM_RETRY_WAIT_MIN_SECONDS": "0.1", "WANDB_X_FILE_STREAM_RETRY_WAIT_MAX_SECONDS": "1",
         "WANDB_X_GRAPHQL_RETRY_WAIT_MIN_SECONDS": "0.1", "WANDB_X_GRAPHQL_RETRY_WAIT_MAX_SECONDS": "1"}


PORTS = 500
claimed = []  # the ports of this process and the bound socket that claims them


def own_port():
    """Return a port that a server can close and use again. It is below the ports that the system assigns, and no other test
    process uses it. The tests of tracker's own client claim their ports in the same way."""
    for first in range(12000, 32000, PORTS) if not claimed else []:
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", first))
        except OSError:
            claim.close()
            continue  # claimed by another process
        claimed.extend((itertools.cycle(range(first + 2, first + PORTS)), claim))
        break
    for port in itertools.islice(claimed[0], PORTS):
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise OSError("none of the ports for tests is free")


class Server:
    """A running server and its native API."""

    def __init__(self, folder, *flags, port=0):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SERVICE_")}
        env["SERVICE_ADMIN_PASSWORD"] = PASSWORD
        self.env = {**env, "SERVICE_JWT_SECRET": "the secret of these tests"}
        self.binary = os.environ["TRACKER_BINARY"]
        self.db = folder / "tracker.db"
        self.flags = ["--db-file", self.db, "--artifact-root", folder / "artifacts", *flags]
        self.start(port)

    def start(self, port=0):
        args = ["serve", "--host", "127.0.0.1", "--port", str(port), "--enable-ui=false", "--log-level", "error"]
        self.process = subprocess.Popen([self.binary, *args, *self.flags], env=self.env, stdout=subprocess.PIPE, text=True)
        self.uri = re.search(r"http://\S+", self.process.stdout.readline())[0]

    def get(self, path):
        """Return the response of the native API."""
        with urllib.request.urlopen(self.uri + path) as answer:
            return json.load(answer)

    def command(self, *args):
        """Return the output of a command of the program."""
        return subprocess.run([self.binary, *args, "--db-file", self.db], env=self.env, check=True, text=True,
                              capture_output=True).stdout

    def all(self, path):
        """Return the records of all pages of a list."""
        found, sign = [], "&" if "?" in path else "?"
        while True:
            page = self.get(f"{path}{sign}limit=1000&offset={len(found)}")
            found += page["data"]
            if len(found) >= page["total"]:
                return found

    def experiment(self, project):
        """Return the experiment of the runs in a project."""
        found = [p for p in self.all("/project") if p["name"] == project]
        return self.all(f"/experiment/project/{found[0]['id']}")[0]

    def runs(self, project):
        """Return the runs in a project, by name."""
        return {r["name"]: r for r in self.all(f"/iteration/experiment/{self.experiment(project)['id']}")}

    def points(self, run):
        """Return the points of a run: a list of steps and values for each metric."""
        out = {}
        for p in self.all(f"/metric/iteration/{run['id']}"):
            out.setdefault(p["key"], []).append((p["step"], p["value"]))
        return out

    def params(self, run):
        """Return the parameters of a run."""
        return {p["key"]: p["value"] for p in self.all(f"/parameter/iteration/{run['id']}")}

    def artifacts(self, run):
        """Return the artifacts of a run, by name."""
        return {a["name"]: a for a in self.all(f"/resource/experiment/{run['experiment_id']}?iteration_id={run['id']}")}

    def read(self, artifact):
        """Return the bytes of an artifact."""
        with urllib.request.urlopen(f"{self.uri}/resource/{artifact['id']}/data") as answer:
            return answer.read()

    def close(self):
        self.process.terminate()
        assert self.process.wait(300) == 0


def until_points(server, project, name, process, least=1):
    """Wait until the server has the given number of points of a run's metric "loss". Return the current number."""
    deadline = time.monotonic() + 600
    while True:
        goes_on = process.poll() is None
        if any(p["name"] == project for p in server.all("/project")):
            run = server.runs(project).get(name)
            found = len(server.points(run).get("loss", [])) if run else 0
            if found >= least:
                return found
        assert goes_on and time.monotonic() < deadline
        time.sleep(0.2)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Return a server without sign-in."""
    s = Server(tmp_path_factory.mktemp("server"))
    yield s
    s.close()


@pytest.fixture
def closed(tmp_path):
    """Return a server with sign-in."""
    s = Server(tmp_path, "--enable-auth")
    yield s
    s.close()


def client_env(folder, uri, key=KEY, **more):
    """Return the environment of a script that logs to the server at uri."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB_", "SERVICE_"))}
    for name in ("WANDB_DIR", "WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_ARTIFACT_DIR"):
        env[name] = str(folder)
    return {**env, "WANDB_BASE_URL": uri, "WANDB_API_KEY": key, "WANDB_CONSOLE": "off", "WANDB_ERROR_REPORTING": "false",
            "HOME": str(folder), "NO_COLOR": "1", **more}


def end_services(folder):
    """Kill the service processes that clients with this home folder left behind."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # the process has ended or belongs to another user


# A script that hangs prints the stacks of its threads, and ends.
STACKS = "import faulthandler\nfaulthandler.dump_traceback_later(570, exit=True)\n"


def run_client(folder, uri, *args, **env):
    """Run a Python script with a client of the server at uri. Return its exit code and its output.

    The output goes to files, because a service process that outlives the client would keep a pipe open. The service of
    client 0.17 announces its port before it listens. On a busy machine, the client may connect too early and end before it
    has sent any data. In this case, run_client starts the client again.
    """
    for _ in range(5):
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run([sys.executable, *args], cwd=folder, env=client_env(folder, uri, **env), stdout=out,
                                  stderr=err, timeout=600)
            out.seek(0)
            err.seek(0)
            text = out.read() + err.read()
        if done.returncode == 0 or "Connection to wandb service failed" not in text:
            break
        end_services(folder)
    return done.returncode, text


@pytest.fixture
def script(tmp_path):
    """Return a function that runs a Python script with a client of the server at uri and returns its output."""

    def run(uri, code, code_of_exit=0, **env):
        path = tmp_path / "script.py"
        path.write_text(STACKS + "import wandb\n" + textwrap.dedent(code))
        returned, output = run_client(tmp_path, uri, path, **env)
        assert returned == code_of_exit, output
        return output

    yield run
    end_services(tmp_path)


@pytest.fixture
def wandb_command(tmp_path):
    """Return a function that runs the command line of the client."""

    def run(uri, *args, **env):
        returned, output = run_client(tmp_path, uri, "-m", "wandb", *args, **env)
        assert returned == 0, output
        return output

    return run
