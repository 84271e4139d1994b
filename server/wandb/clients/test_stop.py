"""A user requests a stop of a run, and the client interrupts the script."""

import subprocess
import sys
import textwrap
import urllib.request

import pytest

from conftest import QUICK, client_env, end_services, until_points
from test_sweeps import FAST


def ask(server, run):
    urllib.request.urlopen(urllib.request.Request(f"{server.uri}/iteration/{run['id']}/stop", method="POST")).close()


@pytest.fixture
def training(tmp_path):
    """Return a function that starts a script with a client of the server."""
    begun = []

    def start(uri, code, **env):
        path = tmp_path / "script.py"
        path.write_text("import sys, time, wandb\n" + textwrap.dedent(code))
        with open(tmp_path / "said", "w") as said:
            begun.append(subprocess.Popen([sys.executable, path], cwd=tmp_path, env=client_env(tmp_path, uri, **QUICK, **env),
                                          stdout=said, stderr=subprocess.STDOUT))
        return begun[-1]

    yield start
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.wait()
    end_services(tmp_path)


# Client 0.17 does not interrupt a single long sleep.
WAIT = "def wait():\n    while True:\n        time.sleep(0.1)\n"


@pytest.mark.parametrize("how, wait", [("with", "while True: pass"), ("alone", "wait()"), ("caught", "wait()")])
def test_a_script_is_interrupted(server, training, tmp_path, how, wait):
    project = f"stop-{how}"
    start = {"with": "with wandb.init(project={0!r}, name='r') as run:", "alone": "run = wandb.init(project={0!r}, name='r')\nif True:",
             "caught": "run = wandb.init(project={0!r}, name='r')\ntry:"}[how].format(project)
    end = "except KeyboardInterrupt:\n    run.log({'saved': 1})\nrun.finish()\n" if how == "caught" else ""
    process = training(server.uri, f"{WAIT}{start}\n    run.log({{'loss': 1}})\n    {wait}\n{end}")
    until_points(server, project, "r", process)
    ask(server, server.runs(project)["r"])
    assert (process.wait(600) == 0) is (how == "caught")
    run = server.runs(project)["r"]
    assert (run["status"], run["error_message"]) == ("KILLED", "Stopped on request."), (tmp_path / "said").read_text()
    assert ("saved" in server.points(run)) is (how == "caught")
    assert ("KeyboardInterrupt" in (tmp_path / "said").read_text()) is (how != "caught")


def test_the_function_of_an_agent_is_stopped(server, training, tmp_path):
    """If a function that an agent calls is stopped, the agent then calls it with other settings."""
    process = training(server.uri, FAST + textwrap.dedent("""
        sweep = wandb.sweep({"method": "grid", "parameters": {"x": {"values": [1, 2]}}}, project="stop-agent")
        def train():
            with wandb.init() as run:
                run.name = f"r{run.config.x}"
                while run.config.x == 1:
                    run.log({"loss": 1})
                    time.sleep(0.05)
                run.log({"loss": 2})
        wandb.agent(sweep, function=train, project="stop-agent")
    """), WANDB_AGENT_DISABLE_FLAPPING="false")
    until_points(server, "stop-agent", "r1", process)
    ask(server, server.runs("stop-agent")["r1"])
    assert process.wait(600) == 0, (tmp_path / "said").read_text()
    runs = {server.params(r)["x"]: r for r in server.all(f"/iteration/experiment/{server.experiment('stop-agent')['id']}")}
    assert (runs["1"]["status"], runs["1"]["error_message"]) == ("KILLED", "Stopped on request.")
    assert runs["2"]["status"] == "SUCCEEDED"
