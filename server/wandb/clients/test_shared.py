"""Several processes write to one run (shared mode). Client 0.17 can't tell its writers apart and is rejected."""

import json
import signal
import subprocess
import sys
import time

import pytest
import wandb

from conftest import QUICK, STACKS, Server, client_env, end_services
from proxy import Proxy

KNOWN = tuple(int(n) for n in wandb.__version__.split(".")[:2]) >= (0, 31)
several = pytest.mark.skipif(not KNOWN, reason="an old client")

# The rank is the first argument of the script. Worker 2 waits after its rows, so that it can be killed.
WRITER = """
import os, sys, time, wandb
rank = int(sys.argv[1])
settings = wandb.Settings(mode="shared", x_label=f"rank{rank}", x_primary=rank == 0, x_update_finish_state=rank == 0,
                          x_stats_sampling_interval=0.5, console="wrap", x_file_stream_transmit_interval=0.2)
run = wandb.init(project="shared", id="one", name="one", settings=settings, config={"lr": 0.1} if rank == 0 else {f"size{rank}": rank})
print("hello from", rank)
for i in range(ROWS):
    run.log({"loss": 1000 * rank + i, f"own{rank}": i, "name": f"row {i} of {rank}"})
    if i % 50 == 0:
        time.sleep(0.3)
run.summary[f"best{rank}"] = f"of {rank}"
while rank and HOLD and not os.path.exists("done"):
    time.sleep(0.1)
while rank == 0 and len([f for f in os.listdir("..") if f.startswith("ended")]) < (1 if HOLD else 2):
    time.sleep(0.1)
run.finish(exit_code=CODE if rank == 0 else 0)
if rank:
    open(f"../ended{rank}", "w").close()
"""


class Writers:
    """Processes that write to a run. Each has its own folder."""

    def __init__(self, folder, uri, rows=200, hold=False, code=0):
        self.folder, self.all, self.folders = folder, [], []
        text = STACKS + WRITER.replace("ROWS", str(rows)).replace("HOLD", str(hold)).replace("CODE", str(code))
        for rank in range(3):
            home = folder / f"writer{rank}"
            home.mkdir()
            (home / "script.py").write_text(text)
            env = client_env(home, uri, **QUICK)
            del env["WANDB_CONSOLE"]
            with open(home / "output", "w") as out:
                self.all.append(subprocess.Popen([sys.executable, "script.py", str(rank)], cwd=home, env=env, stdout=out,
                                                 stderr=subprocess.STDOUT))
            self.folders.append(home)

    def ended(self, rank, code=0):
        returned = self.all[rank].wait(timeout=600)
        assert returned == code, (self.folders[rank] / "output").read_text()


def until(condition):
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def loss(server):
    """Return the values of the metric that all writers log, in the order of their steps."""
    if "shared" not in [p["name"] for p in server.all("/project")] or "one" not in server.runs("shared"):
        return []
    return server.points(server.runs("shared")["one"]).get("loss", [])


def complete(server, ranks, rows=200):
    """Check that the run has each row of the writers exactly once, all at different steps."""
    run = server.runs("shared")["one"]
    points = server.points(run)
    assert sorted(v for _, v in points["loss"]) == [1000 * r + i for r in ranks for i in range(rows)]
    assert [s for s, _ in points["loss"]] == list(range(rows * len(ranks)))
    for rank in ranks:
        assert [v for _, v in points[f"own{rank}"]] == list(range(rows))  # the rows of a writer stay in order
        assert [s for s, v in points["loss"] if v // 1000 == rank] == [s for s, _ in points[f"own{rank}"]]
        assert points[f"system/memory_percent/l:rank{rank}"]
    return run


@several
def test_writers(tmp_path, server, script):
    writers = Writers(tmp_path, server.uri)
    for rank in (1, 2, 0):
        writers.ended(rank)
    run = complete(server, [0, 1, 2])
    assert run["status"] == "SUCCEEDED"
    assert server.params(run) == {"lr": "0.1", "size1": "1", "size2": "2"}
    assert {"output_rank0.log", "output_rank1.log", "output_rank2.log", "wandb-metadata.json"} <= set(server.artifacts(run))
    printed = [line["text"] for line in server.get(f"/iteration/{run['id']}/console?from=0")["lines"]]
    assert sorted(printed) == [f"[rank{r}] hello from {r}" for r in range(3)]
    read = json.loads(script(server.uri, """
        import json
        run = wandb.Api().run("default/shared/one")
        rows = list(run.scan_history())
        print(json.dumps([run.state, dict(run.config), len(rows), rows[-1]["name"], sorted(k for k in dict(run.summary) if k.startswith("best")),
                          sorted((line.label, line.content) for line in run.console_logs())]))
    """).splitlines()[-1])
    assert read[0] == "finished" and read[1] == {"lr": 0.1, "size1": 1, "size2": 2}
    assert read[2] == 600 and read[3].startswith("row ")
    assert read[4:] == [["best0", "best1", "best2"], [[f"rank{r}", f"hello from {r}"] for r in range(3)]]


@several
def test_the_primary_decides(tmp_path, server):
    """The run continues while its primary runs, and ends with the exit code of the primary."""
    server = Server(tmp_path)
    writers = Writers(tmp_path, server.uri, hold=True, code=3)
    until(lambda: "one" in server.runs("shared") if loss(server) else False)
    for rank in (1, 2):
        (writers.folders[rank] / "done").touch()
        writers.ended(rank)
    writers.ended(0)
    run = complete(server, [0, 1, 2])
    assert (run["status"], run["error_message"]) == ("FAILED", "exit code 3")
    server.close()


@several
@pytest.mark.parametrize("fault", [500, "lost"])
def test_faults(tmp_path, fault):
    """A writer sends its lines again after an error or a lost response."""
    server = Server(tmp_path)
    proxy = Proxy(server.uri, fault)
    writers = Writers(tmp_path, proxy.uri)
    for rank in (1, 2, 0):
        writers.ended(rank)
    assert complete(server, [0, 1, 2])["status"] == "SUCCEEDED"
    proxy.close()
    server.close()


@several
def test_killed_worker(tmp_path, wandb_command):
    """A worker is killed. Its rows stay, and wandb sync adds those that it had not sent."""
    server = Server(tmp_path)
    writers = Writers(tmp_path, server.uri, hold=True)
    until(lambda: sum(v >= 2000 for _, v in loss(server)) > 0)
    killed = writers.folders[2]
    writers.all[2].send_signal(signal.SIGKILL)
    writers.all[2].wait(timeout=600)
    end_services(killed)
    kept = [v for _, v in loss(server) if v >= 2000]
    assert kept == [2000 + i for i in range(len(kept))]
    (writers.folders[1] / "done").touch()
    writers.ended(1)
    writers.ended(0)
    assert server.runs("shared")["one"]["status"] == "SUCCEEDED"
    folder = next((killed / "wandb").glob("run-*"))
    for _ in range(2):
        wandb_command(server.uri, "sync", str(folder), "--include-synced")
    values = [v for _, v in loss(server)]
    assert len(set(values)) == len(values)
    found = [v for v in values if v >= 2000]
    assert len(found) >= len(kept) and found == [2000 + i for i in range(len(found))]
    assert sorted(v for v in values if v < 2000) == [1000 * r + i for r in (0, 1) for i in range(200)]
    server.close()


@pytest.mark.skipif(KNOWN, reason="a client that supports shared mode")
def test_rejected(server, script):
    said = script(server.uri, """
        try:
            wandb.init(project="rejected", id="both", mode="shared")
        except wandb.errors.CommError as error:
            print("refused", error)
    """)
    # Use another process, because client 0.17 waits forever in the init that follows a rejected one.
    script(server.uri, """
        wandb.init(project="rejected", id="own", name="own", group="both", mode="online").finish()
    """)
    assert "refused " in said and 'leave out mode="shared"' in said
    assert list(server.runs("rejected")) == ["own"]
