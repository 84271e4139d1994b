"""What is sent is found, whatever happens to the server and to the answers on the way."""

import http.client
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest

from conftest import Server, client_env

SCRIPT = """
import time, wandb
run = wandb.init(project="faults", name="run", id="run")
for i in range(3000):
    run.log({"loss": i, "acc": -i, "nest": {"a": i}})
    if i % 300 == 0:
        time.sleep(PAUSE)
open("w.bin", "wb").write(b"weights" * 1000)
run.save("w.bin", policy="now")
run.finish()
"""


def complete(server):
    """Check that all of the script is there, once."""
    run = server.runs("faults")["run"]
    points = server.points(run)
    assert points["loss"] == points["nest/a"] == [(i, i) for i in range(3000)]
    assert points["acc"] == [(i, -i) for i in range(3000)]
    assert run["status"] == "SUCCEEDED"
    assert server.read(server.artifacts(run)["w.bin"]) == b"weights" * 1000


def begin(folder, uri, pause):
    (folder / "script.py").write_text(textwrap.dedent(SCRIPT).replace("PAUSE", str(pause)))
    # The stream is sent often, so that faults meet it.
    env = client_env(folder, uri, WANDB__FILE_STREAM_TRANSMIT_INTERVAL="0.2", WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL="0.2",
                     WANDB_X_FILE_STREAM_RETRY_WAIT_MIN_SECONDS="0.1", WANDB_X_FILE_STREAM_RETRY_WAIT_MAX_SECONDS="1",
                     WANDB_X_GRAPHQL_RETRY_WAIT_MIN_SECONDS="0.1", WANDB_X_GRAPHQL_RETRY_WAIT_MAX_SECONDS="1")
    return subprocess.Popen([sys.executable, "script.py"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process):
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out


def test_killed_server(tmp_path):
    server = Server(tmp_path)
    port = urlsplit(server.uri).port
    process = begin(tmp_path, server.uri, 0.5)
    for _ in range(3):
        time.sleep(1.2)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        time.sleep(0.5)
        server.start(port)
    ended(process)
    complete(server)
    server.close()


class Proxy(socketserver.ThreadingMixIn, HTTPServer):
    """Passes requests on to a server, and does to every third stream and mutation what fault says."""

    daemon_threads = True

    def __init__(self, uri, fault):
        self.target, self.fault, self.count, self.lock = urlsplit(uri).netloc, fault, 0, threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def uri(self):
        return "http://127.0.0.1:%d" % self.server_address[1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.count += 1
            hit = self.server.count % 3 == 0 and "otel" not in self.path
        if hit and isinstance(self.server.fault, int):
            return self.answer(self.server.fault, b"", {})
        connection = http.client.HTTPConnection(self.server.target)
        # The host stays that of the proxy, so that the addresses for uploads lead through it.
        connection.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k.lower() != "connection"})
        answer = connection.getresponse()
        data = answer.read()
        if hit:  # the answer is lost
            self.close_connection = True
            return self.connection.close()
        self.answer(answer.status, data, dict(answer.getheaders()))

    def answer(self, status, data, headers):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = pass_on


@pytest.mark.parametrize("fault", [500, 429, "lost"])
def test_answers(tmp_path, fault):
    server = Server(tmp_path)
    proxy = Proxy(server.uri, fault)
    ended(begin(tmp_path, proxy.uri, 0.2))
    complete(server)
    proxy.shutdown()
    server.close()


def children(parent):
    """The processes that a process has started: clients have a service, which may outlive them."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def test_killed_client(tmp_path, wandb_command):
    """A script that is killed is synced from its folder."""
    server = Server(tmp_path)
    process = begin(tmp_path, server.uri, 0.4)
    deadline = time.monotonic() + 100
    while not (any(p["name"] == "faults" for p in server.all("/project")) and "loss" in server.points(server.runs("faults")["run"])):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    for pid in [process.pid, *children(process.pid)]:
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    folder = next((tmp_path / "wandb").glob("run-*"))
    for _ in range(2):
        wandb_command(server.uri, "sync", str(folder), "--include-synced")
    points = server.points(server.runs("faults")["run"])
    assert points["loss"] and points["loss"] == [(i, i) for i in range(len(points["loss"]))]
    server.close()
