"""Tests of `tracker run`, which records any program as a run."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import urllib.request
from typing import Any, Dict, List

import pytest

from tracker._command import parameters

from .conftest import Server, eventually


def run(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "tracker", "run", *arguments], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **env})


def output(server: Server, iteration: str) -> str:
    artifact = server.artifacts(iteration)["output.log"]
    with urllib.request.urlopen(f"{server.url}/resource/{artifact['id']}/data") as answer:
        return str(answer.read().decode())


def test_a_shell_script_becomes_a_run(server: Server) -> None:
    done = run("--project", "p", "--name", "echo", "--tag", "shell", "--",
               "sh", "-c", "echo out; echo err >&2", "x", "--lr", "0.1")
    assert done.returncode == 0
    assert done.stdout == "out\n" and "err\n" in done.stderr
    [one] = server.iterations()
    assert (one["name"], one["status"], one["tags"]) == ("echo", "SUCCEEDED", ["shell"])
    assert server.parameters(one["id"])["lr"] == "0.1"
    assert sorted(output(server, one["id"]).split()) == ["err", "out"]
    snapshot = server.get(f"/iteration/{one['id']}/snapshot")
    assert snapshot["command"].startswith("sh -c 'echo out;") and snapshot["hostname"]


def test_the_exit_status_is_that_of_the_program(server: Server) -> None:
    done = run("--project", "p", "--", "sh", "-c", "echo no data >&2; exit 3")
    assert done.returncode == 3
    [one] = server.iterations()
    assert one["status"] == "FAILED" and one["error_message"] == "exit status 3\nno data"
    assert run("--project", "p", "--", "no-such-program").returncode == 127
    assert len(server.iterations()) == 1
    assert run("--project", "p").returncode == 2


def test_init_inside_joins_it(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent("""
        import tracker
        with tracker.init(project="other", name="joined", config={"layers": 2}, tags=["inner"]) as run:
            for step in range(1000):
                run.log({"loss": 1 / (step + 1)}, step=step)
        print(run.id)
    """))
    done = run("--project", "p", "--experiment", "e", "--", sys.executable, "train.py", "--lr=0.1", "--fast")
    assert done.returncode == 0, done.stderr
    [one] = server.iterations()
    assert done.stdout.strip() == one["id"]
    assert (one["status"], one["name"], one["tags"]) == ("SUCCEEDED", "joined", ["inner"])
    assert len(server.points(one["id"], "loss")) == 1000
    assert server.parameters(one["id"]) == {"layers": "2", "lr": "0.1", "fast": "true"}
    assert [project["name"] for project in server.get("/project")["data"]] == ["p"]
    assert not list((tmp_path / "spool").glob("*.spool"))


def test_a_signal_reaches_the_program(server: Server) -> None:
    process = subprocess.Popen([sys.executable, "-m", "tracker", "run", "--project", "p", "--", "sh", "-c",
                                "echo ready; exec sleep 600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    [one] = eventually(server.iterations)
    assert one["status"] == "KILLED" and "SIGTERM" in one["error_message"]


@pytest.mark.parametrize("command, found", [
    (["python", "train.py", "--lr", "0.1", "--name=x", "--flag", "--decay", "-0.5"],
     {"lr": "0.1", "name": "x", "flag": "true", "decay": "-0.5"}),
    (["python3.11", "-u", "-m", "train", "-b", "32"], {"b": "32"}),
    (["/usr/bin/python", "-W", "ignore", "t.py", "model.layers=2", "+optimizer.lr=1e-3", "data"],
     {"model.layers": "2", "optimizer.lr": "1e-3"}),
    (["train", "--resume", "--", "in.csv"], {"resume": "true"}),
    (["train"], {}),
])
def test_parameters(command: List[str], found: Dict[str, Any]) -> None:
    assert parameters(command) == found
