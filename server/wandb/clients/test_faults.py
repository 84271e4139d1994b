"""All data that clients send is stored, whatever happens to the server and its responses."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import QUICK, STACKS, Server, client_env, end_services, own_port, until_points
from proxy import Proxy

SCRIPT = """
import time, wandb
run = wandb.init(project="faults", name="run", id="run")
print("begun", flush=True)
for i in range(3000):
    run.log({"loss": i, "acc": -i, "nest": {"a": i}})
    if i % 300 == 0:
        time.sleep(PAUSE)
open("w.bin", "wb").write(b"weights" * 1000)
run.save("w.bin", policy="now")
run.finish()
"""


def complete(server):
    """Check that the server has all data of the script exactly once."""
    run = server.runs("faults")["run"]
    points = server.points(run)
    assert points["loss"] == points["nest/a"] == [(i, i) for i in range(3000)]
    assert points["acc"] == [(i, -i) for i in range(3000)]
    assert run["status"] == "SUCCEEDED"
    assert server.read(server.artifacts(run)["w.bin"]) == b"weights" * 1000


def begin(folder, uri, pause):
    """Start the script and wait until its run has begun.

    The output goes to a file, because a service process that outlives the script keeps a pipe open.
    """
    (folder / "script.py").write_text(STACKS + textwrap.dedent(SCRIPT).replace("PAUSE", str(pause)))
    output = folder / "output"
    while True:
        with open(output, "w") as out:
            process = subprocess.Popen([sys.executable, "script.py"], cwd=folder, env=client_env(folder, uri, **QUICK), stdout=out,
                                       stderr=subprocess.STDOUT)
        while process.poll() is None and "begun" not in output.read_text():
            time.sleep(0.05)
        # The client can end before it has sent any data, see run_client.
        if not process.returncode or "Connection to wandb service failed" not in output.read_text():
            return process
        end_services(folder)


def ended(folder, process):
    returned = process.wait(timeout=600)
    assert returned == 0, (folder / "output").read_text()


def test_killed_server(tmp_path):
    port = own_port()
    server = Server(tmp_path, port=port)
    process = begin(tmp_path, server.uri, 0.5)
    for _ in range(3):
        time.sleep(1.2)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        time.sleep(0.5)
        server.start(port)
    ended(tmp_path, process)
    complete(server)
    server.close()


@pytest.mark.parametrize("fault", [500, 429, "lost"])
def test_answers(tmp_path, fault):
    server = Server(tmp_path)
    proxy = Proxy(server.uri, fault)
    ended(tmp_path, begin(tmp_path, proxy.uri, 0.2))
    complete(server)
    proxy.close()
    server.close()


@pytest.mark.parametrize("fault", [500, 429, "lost", "refused"])
def test_outage(tmp_path, fault):
    """The server is unreachable for a while. The script ends in this time, and its client waits until all data is sent."""
    server = Server(tmp_path)
    proxy = Proxy(server.uri, port=own_port())
    process = begin(tmp_path, proxy.uri, 0.3)
    until_points(server, "faults", "run", process)
    if fault == "refused":
        proxy.close()
    else:
        proxy.fault, proxy.every = fault, 1
    time.sleep(5)
    if fault == "refused":
        proxy = Proxy(server.uri, port=proxy.server_address[1])
    proxy.fault = None
    ended(tmp_path, process)
    complete(server)
    proxy.close()
    server.close()


def children(parent):
    """Return the processes that a process has started. Clients start a service that can outlive them."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
        except OSError:
            continue  # the process has ended
    return found


def test_killed_client(tmp_path, wandb_command):
    """The data of a killed script is synced from its folder."""
    server = Server(tmp_path)
    process = begin(tmp_path, server.uri, 5)  # the script takes most of a minute and is killed early
    sent = until_points(server, "faults", "run", process, 2)
    for pid in [process.pid, *children(process.pid)]:
        with contextlib.suppress(ProcessLookupError):  # the service may have ended with the script
            os.kill(pid, signal.SIGKILL)
    process.wait(timeout=600)
    folder = next((tmp_path / "wandb").glob("run-*"))
    for _ in range(2):
        wandb_command(server.uri, "sync", str(folder), "--include-synced")
    points = server.points(server.runs("faults")["run"])
    assert len(points["loss"]) >= sent and points["loss"] == points["nest/a"] == [(i, i) for i in range(len(points["loss"]))]
    server.close()
