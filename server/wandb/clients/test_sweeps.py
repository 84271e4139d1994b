"""Tests of sweeps: the server chooses the settings, and agents execute the runs."""

import json
import re
import textwrap
import threading
import urllib.request

import pytest

from conftest import QUICK
from proxy import Proxy

# Agents ask every few seconds by default; shorten this for the tests.
FAST = """
import wandb.agents.pyagent as pyagent
pyagent.Agent.HEARTBEAT_SLEEP_SECONDS = 0.2
real = pyagent.time.sleep
class Time:
    def __getattr__(self, name): return getattr(__import__("time"), name)
    def sleep(self, n): real(min(n, 0.2))
pyagent.time = Time()
"""


def sweep_runs(server, project):
    return {n: (r, server.params(r)) for n, r in server.runs(project).items()}


def test_grid(server, script):
    said = script(server.uri, FAST + textwrap.dedent("""
        sweep = wandb.sweep({"method": "grid", "metric": {"name": "loss", "goal": "minimize"}, "name": "all of them",
                             "parameters": {"lr": {"values": [0.1, 0.2, 0.3]}, "net": {"parameters": {"depth": {"min": 1, "max": 2}}}, "kind": {"value": "x"}}},
                            project="sweep-grid")
        def train():
            with wandb.init() as run:
                for i in range(5):
                    run.log({"loss": run.config.lr * run.config.net["depth"] + 1 / (i + 1)})
        wandb.agent(sweep, function=train, project="sweep-grid")
        found = wandb.Api().sweep(f"sweep-grid/{sweep}")
        assert found.state.upper() == "FINISHED" and found.name == "all of them" and found.config["method"] == "grid", found.state
        assert len(found.runs) == 6 == found.expected_run_count, len(found.runs)
        best = found.best_run()
        if wandb.__version__.startswith("0.25"):
            best.load_full_data(force=True)  # it takes the settings of a run in a list for empty
        assert best.config["lr"] == 0.1 and best.config["net"] == {"depth": 1}, best.config
        assert best.sweep.id == sweep and all(r.state == "finished" for r in found.runs)
        assert abs(found._attrs["bestLoss"] - 0.3) < 1e-9, found._attrs
        print("SWEEP", sweep)
    """))
    sweep = said.split("SWEEP ")[1].split()[0]
    runs = sweep_runs(server, "sweep-grid").values()
    assert {(p["lr"], p["net/depth"], p["kind"], p["sweep"]) for _, p in runs} == {
        (lr, depth, "x", sweep) for lr in ("0.1", "0.2", "0.3") for depth in "12"}
    assert len(runs) == 6 and all(r["status"] == "SUCCEEDED" for r, _ in runs)


@pytest.mark.parametrize("method", ["random", "bayes"])
def test_chosen(server, script, method):
    script(server.uri, FAST + textwrap.dedent(f"""
        sweep = wandb.sweep({{"method": "{method}", "metric": {{"name": "acc", "goal": "maximize"}},
                             "parameters": {{"lr": {{"distribution": "log_uniform_values", "min": 1e-5, "max": 1e-1}}, "n": {{"min": 1, "max": 64}}}}}},
                            project="sweep-{method}")
        def train():
            with wandb.init() as run:
                assert 1e-5 <= run.config.lr <= 1e-1 and run.config.n in range(1, 65)
                run.log({{"acc": run.config.lr}})
        wandb.agent(sweep, function=train, count=3, project="sweep-{method}")
        found = wandb.Api().sweep(f"sweep-{method}/{{sweep}}")
        assert len(found.runs) == 3 and found.best_run().summary["acc"] == max(r.summary["acc"] for r in found.runs)
    """))
    runs = sweep_runs(server, f"sweep-{method}").values()
    assert len({p["lr"] for _, p in runs}) == 3


def test_command(server, wandb_command, tmp_path):
    """The command line creates a sweep, starts a program, and changes the state."""
    (tmp_path / "train.py").write_text(textwrap.dedent("""
        import sys, wandb
        with wandb.init() as run:
            assert f"--lr={run.config.lr}" in sys.argv, sys.argv
            run.log({"loss": run.config.lr})
    """))
    (tmp_path / "sweep.yaml").write_text(textwrap.dedent("""
        program: train.py
        command: ["${env}", "%s", "${program}", "${args}"]
        method: grid
        metric: {name: loss, goal: minimize}
        parameters: {lr: {values: [0.1, 0.2]}}
    """ % __import__("sys").executable))
    said = wandb_command(server.uri, "sweep", "--project", "sweep-command", "sweep.yaml")
    path = said.split("wandb agent ")[1].split()[0]
    wandb_command(server.uri, "sweep", "--resume", path)
    wandb_command(server.uri, "sweep", "--pause", path)
    wandb_command(server.uri, "sweep", "--resume", path)
    wandb_command(server.uri, "agent", path)
    runs = sweep_runs(server, "sweep-command").values()
    assert {p["lr"] for _, p in runs} == {"0.1", "0.2"} and all(r["status"] == "SUCCEEDED" for r, _ in runs)


def test_stopped_early(server, script):
    script(server.uri, FAST + textwrap.dedent("""
        import time
        sweep = wandb.sweep({"method": "grid", "metric": {"name": "loss", "goal": "minimize"}, "parameters": {"bad": {"values": [0, 1, 2]}},
                             "early_terminate": {"type": "hyperband", "min_iter": 2, "eta": 2}}, project="sweep-early")
        def train():
            with wandb.init() as run:
                for i in range(600 if run.config.bad == 2 else 4):
                    run.log({"loss": run.config.bad + 1 / (i + 1)})
                    time.sleep(0.1 if run.config.bad == 2 else 0)
        wandb.agent(sweep, function=train, project="sweep-early")
    """), WANDB__FILE_STREAM_TRANSMIT_INTERVAL="0.3", WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL="0.3", WANDB_AGENT_DISABLE_FLAPPING="false")
    runs = {p["bad"]: r for r, p in sweep_runs(server, "sweep-early").values()}
    assert runs["0"]["status"] == "SUCCEEDED"
    assert (runs["2"]["status"], runs["2"]["error_message"]) == ("KILLED", "stopped early by the sweep")
    assert len(server.points(runs["2"])["loss"]) < 600


def test_stopped_early_while_finishing(server, script):
    """If a run loses a comparison while it is finishing, its agent gets no command to stop it."""
    changed, beats = threading.Condition(), {}  # number of heartbeats that name a run after it has started to finish

    def before(path, body):
        with changed:
            running = re.search(rb'\\"(\w+)\\": ?true', body) if b"agentHeartbeat" in body else None
            if running:
                run = running[1].decode()
                assert changed.wait_for(lambda: run in beats, 300)  # no run has been compared yet
                beats[run] += 1
                changed.notify_all()
            elif path.endswith("file_stream") and b'"exitcode":' in body:
                run = path.split("/")[-2]
                beats.setdefault(run, 0)
                changed.notify_all()
                assert changed.wait_for(lambda: beats[run] >= 3, 300)  # each heartbeat comes after the response to the previous one

    proxy = Proxy(server.uri, before=before)
    script(proxy.uri, FAST + textwrap.dedent("""
        import os, time
        sweep = wandb.sweep({"method": "grid", "metric": {"name": "loss", "goal": "minimize"}, "parameters": {"bad": {"values": [0, 1]}},
                             "early_terminate": {"type": "hyperband", "min_iter": 2, "eta": 2}}, project="sweep-finishing")
        pyagent._terminate_thread = lambda thread: thread.is_alive() and os._exit(3)  # the client might wait forever then
        def train():
            with wandb.init() as run:
                for i in range(2):
                    run.log({"loss": run.config.bad + 1 / (i + 1)})
                while wandb.Api().run(f"sweep-finishing/{run.id}").lastHistoryStep < 1:
                    time.sleep(0.1)
        wandb.agent(sweep, function=train, project="sweep-finishing")
    """), WANDB_AGENT_DISABLE_FLAPPING="false", **QUICK)
    proxy.close()
    runs = {p["bad"]: r for r, p in sweep_runs(server, "sweep-finishing").values()}
    assert {bad: (r["status"], r["error_message"]) for bad, r in runs.items()} == {
        "0": ("SUCCEEDED", ""), "1": ("KILLED", "stopped early by the sweep")}
    assert all(len(server.points(r)["loss"]) == 2 for r in runs.values())


def test_refused(server, script):
    said = script(server.uri, """
        for wrong in ({"method": "grid", "parameters": {"x": {"min": 0.0, "max": 1.0}}},
                      {"method": "bayes", "parameters": {"x": {"min": 0.0, "max": 1.0}}}):
            try:
                wandb.sweep(wrong, project="sweep-refused")
                print("accepted")
            except Exception as error:
                print("refused", error)
    """)
    assert said.count("refused") == 2 and "accepted" not in said
    assert "infinitely many values" in said and "needs a metric" in said


def test_canceled(server, script, wandb_command, tmp_path):
    """Canceling ends the active run and the agent."""
    script(server.uri, FAST + textwrap.dedent("""
        import subprocess, sys, time
        sweep = wandb.sweep({"method": "random", "parameters": {"x": {"min": 0.0, "max": 1.0}}}, project="sweep-cancel")
        def train():
            with wandb.init() as run:
                subprocess.run([sys.executable, "-m", "wandb", "sweep", "--cancel", f"{run.entity}/sweep-cancel/{sweep}"], check=True)
                for i in range(600):
                    run.log({"x": i})
                    time.sleep(0.1)
        wandb.agent(sweep, function=train, project="sweep-cancel")
        print("the agent is done")
        assert wandb.Api().sweep(f"sweep-cancel/{sweep}").state.upper() == "CANCELED"
    """))
    (run,) = server.runs("sweep-cancel").values()
    assert (run["status"], run["error_message"]) == ("KILLED", "the sweep was canceled")


def test_lost_answers(server, script):
    """An agent that misses some responses still executes each combination exactly once."""
    said = script(server.uri, """
        print("SWEEP", wandb.sweep({"method": "grid", "parameters": {"x": {"values": [1, 2, 3]}}}, project="sweep-lost"))
    """)
    sweep = said.split("SWEEP ")[1].split()[0]
    proxy = Proxy(server.uri, "lost", every=5)
    script(proxy.uri, FAST + textwrap.dedent(f"""
        def train():
            with wandb.init() as run:
                for i in range(3):
                    run.log({{"loss": run.config.x + i}})
        wandb.agent("{sweep}", function=train, project="sweep-lost")
    """), **QUICK)
    proxy.close()
    runs = sweep_runs(server, "sweep-lost").values()
    assert sorted(p["x"] for _, p in runs) == ["1", "2", "3"] and all(r["status"] == "SUCCEEDED" for r, _ in runs)
    for r, p in runs:
        assert server.points(r)["loss"] == [(i, int(p["x"]) + i) for i in range(3)]


def test_preempted(server, script):
    """A preempted run is assigned again under its id, before any other run."""
    script(server.uri, FAST + textwrap.dedent("""
        attempts = []
        sweep = wandb.sweep({"method": "grid", "metric": {"name": "loss", "goal": "minimize"}, "parameters": {"x": {"values": [1, 2]}}},
                            project="sweep-preempted")
        def train():
            with wandb.init(resume="allow") as run:
                attempts.append((run.config.x, run.id))
                first = len(attempts) == 1
                for i in range(3):
                    run.log({"loss": run.config.x, "attempt": len(attempts)})
                if first:
                    run.mark_preempting()
                    raise Exception("the machine goes away")
        wandb.agent(sweep, function=train, project="sweep-preempted")
        assert [x for x, _ in attempts] == [1, 1, 2] and attempts[0] == attempts[1], attempts
        found = wandb.Api().sweep(f"sweep-preempted/{sweep}")
        assert found.state.upper() == "FINISHED" and sorted(r.state for r in found.runs) == ["finished", "finished"]
    """))
    runs = {p["x"]: r for r, p in sweep_runs(server, "sweep-preempted").values()}
    assert len(runs) == 2 and all(r["status"] == "SUCCEEDED" for r in runs.values())
    assert server.points(runs["1"])["attempt"] == [(i, 1 + i // 3) for i in range(6)]


def test_agents(server, script):
    """The agents of a sweep are listed with the runs that each has executed. Clients older than 0.26
    do not request the list."""
    script(server.uri, FAST + textwrap.dedent("""
        import socket
        sweep = wandb.sweep({"method": "grid", "parameters": {"x": {"values": [1, 2, 3]}}}, project="sweep-agents")
        def train():
            with wandb.init() as run:
                run.log({"loss": run.config.x})
        wandb.agent(sweep, function=train, count=1, project="sweep-agents")
        wandb.agent(sweep, function=train, project="sweep-agents")
        found = wandb.Api().sweep(f"sweep-agents/{sweep}")
        if hasattr(found, "agents"):
            agents = found.agents()
            assert [a._attrs["totalRuns"] for a in agents] == [1, 2] and agents[0]._attrs["host"] == socket.gethostname(), agents
            assert [[r.config["x"] for r in a.runs()] for a in agents] == [[1], [2, 3]]
            assert found.agent(agents[1]._attrs["name"])._attrs["id"] == agents[1]._attrs["id"]
    """))
    assert len(server.runs("sweep-agents")) == 3


def test_prior_runs(server, script):
    """A sweep can begin with runs that exist. They do not change the number of runs that are expected."""
    said = script(server.uri, textwrap.dedent("""
        with wandb.init(project="sweep-prior") as run:
            run.log({"loss": 1})
        config = {"method": "grid", "parameters": {"x": {"values": [1, 2, 3]}}}
        sweep = wandb.sweep(config, project="sweep-prior", prior_runs=[run.id])
        found = wandb.Api().sweep(f"sweep-prior/{sweep}")
        assert found.expected_run_count == 3, found.expected_run_count
        assert [r.id for r in found.runs] == [run.id]
        print("SWEEP", sweep, run.id)
    """))
    sweep, run = said.split("SWEEP ")[1].split()[:2]
    query = """query Prior($sweep: String!) {
        project(name: "sweep-prior") { sweep(sweepName: $sweep) { priorRuns { edges { node { name } } } } }
    }"""
    body = json.dumps({"query": query, "variables": {"sweep": sweep}}).encode()
    request = urllib.request.Request(server.uri + "/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found = json.load(answer)["data"]["project"]["sweep"]
    assert found == {"priorRuns": {"edges": [{"node": {"name": run}}]}}
