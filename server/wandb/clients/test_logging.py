"""Tests that the data of a script can be read through the native API."""

import json
import subprocess
import sys
import textwrap
import urllib.parse
import urllib.request

from conftest import QUICK, client_env, until_points


def test_log(server, script):
    said = script(server.uri, """
        run = wandb.init(project="log", name="first", id="run1", tags=["a", "b"], notes="some notes", group="g", job_type="train",
                         config={"lr": 0.1, "net": {"depth": 3}, "name": "x"})
        for i in range(300):
            run.log({"loss": 1 / (i + 1), "train/acc": i, "nest": {"a": i, "b": {"c": 2.5}}, "ok": i % 2 == 0})
        run.log({"odd": float("nan"), "big": float("inf"), "text": "hello", "phase": "warm-up"})
        run.log({"phase": "main", "classes": ["a", "b"]})
        run.config.update({"later": 7})
        run.summary["best"] = 42
        run.summary["ckpt"] = {"best": "ckpt-3", "kept": True}
        run.finish()
    """)
    assert "rror" not in said
    run = server.runs("log")["first"]
    assert (run["status"], run["notes"], run["tags"]) == ("SUCCEEDED", "some notes", ["a", "b"])
    points = server.points(run)
    assert points["loss"] == [(i, 1 / (i + 1)) for i in range(300)]
    assert points["train/acc"] == points["nest/a"] == [(i, i) for i in range(300)]
    assert points["nest/b/c"] == [(i, 2.5) for i in range(300)]
    assert points["ok"] == [(i, 1 - i % 2) for i in range(300)]
    assert points["odd"] == [(300, "NaN")] and points["big"] == [(300, "Infinity")]
    assert points["summary/best"][0][1] == 42
    assert [key for key in points if key.startswith("summary/")] == ["summary/best"]
    assert server.params(run) == {"lr": "0.1", "net/depth": "3", "name": "x", "later": "7", "group": "g", "job_type": "train"}
    assert server.get(f"/iteration/{run['id']}/summary")["texts"] == {
        "text": "hello", "phase": "main", "classes": ["a", "b"], "ok": False, "ckpt/best": "ckpt-3", "ckpt/kept": True}
    where = urllib.parse.quote("summary.ckpt/best = 'ckpt-3' and summary.phase = 'main'")
    found = server.get(f"/iteration/experiment/{run['experiment_id']}?filter={where}&columns=summary.phase")["data"]
    assert [(r["name"], r["summary"]) for r in found] == [("first", {"phase": "main"})]


def test_define_metric(server, script):
    script(server.uri, """
        run = wandb.init(project="defined", name="defined")
        run.define_metric("epoch", hidden=True)
        run.define_metric("eval/*", step_metric="epoch", summary="min")
        run.define_metric("*", step_metric="train/global_step", step_sync=True)
        for i in range(3):
            run.log({"epoch": i, "train/global_step": 10 * i, "eval/loss": 1 / (i + 1), "train/loss": 1 / (i + 1)})
        run.finish()
    """)
    run = server.runs("defined")["defined"]
    assert server.get(f"/iteration/{run['id']}/summary")["definitions"] == {
        "epoch": {"hidden": True}, "eval/loss": {"step_metric": "epoch", "goal": "minimize"},
        "train/loss": {"step_metric": "train/global_step"}}


def test_states(server, script):
    script(server.uri, """
        wandb.init(project="states", name="fails", id="fails")
        import sys; sys.exit(3)
    """, code_of_exit=3)
    script(server.uri, """
        run = wandb.init(project="states", name="preempted", id="preempted")
        run.mark_preempting()
        run.finish(exit_code=1)
    """)
    runs = server.runs("states")
    assert (runs["fails"]["status"], runs["fails"]["error_message"]) == ("FAILED", "exit code 3")
    assert (runs["preempted"]["status"], runs["preempted"]["error_message"]) == ("KILLED", "preempted")


def test_resume(server, script):
    for resume in ("allow", "must", "allow"):
        script(server.uri, f"""
            import os
            first = not os.path.exists("began")
            open("began", "w").close()
            run = wandb.init(project="resume", name="again", id="again", resume="{resume}" if not first else "never",
                             config={{"lr": 1}}, tags=["t"])
            for i in range(10):
                run.log({{"loss": i, "note": "a text"}})
            run.finish()
        """)
    run = server.runs("resume")["again"]
    assert run["status"] == "SUCCEEDED"
    assert server.points(run)["loss"] == [(i, i % 10) for i in range(30)]


def test_resume_refused(server, script):
    said = script(server.uri, """
        try:
            wandb.init(project="refused", id="none", resume="must")
        except Exception as error:
            print("refused", type(error).__name__)
    """)
    assert "refused " in said
    script(server.uri, """
        wandb.init(project="refused", id="there").finish()
    """)
    said = script(server.uri, """
        try:
            wandb.init(project="refused", id="there", resume="never")
        except Exception as error:
            print("refused", type(error).__name__)
    """)
    assert "refused " in said


def test_files(server, script, tmp_path):
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 4096)
    script(server.uri, """
        import os
        run = wandb.init(project="files", name="files", id="files")
        run.save("weights.bin", policy="now")
        os.makedirs("deep/er", exist_ok=True)
        open("deep/er/a file.txt", "w").write("some text")
        run.save("deep/er/a file.txt", policy="end")
        run.finish()
    """)
    found = server.artifacts(server.runs("files")["files"])
    assert server.read(found["weights.bin"]) == bytes(range(256)) * 4096
    assert [server.read(a) for name, a in found.items() if name.endswith("a file.txt")] == [b"some text"]
    assert "config.yaml" in found and json.loads(server.read(found["wandb-summary.json"]))


def test_console(server, script):
    script(server.uri, """
        run = wandb.init(project="console", name="prints", id="prints")
        for i in range(20):
            print("line", i)
        run.finish()
    """, WANDB_CONSOLE="wrap")
    run = server.runs("console")["prints"]
    # Older clients render lines like a terminal, with a space at the end.
    lines = [line["text"].rstrip() for line in server.get(f"/iteration/{run['id']}/console")["lines"]]
    assert [line for line in lines if line.startswith("line")] == [f"line {i}" for i in range(20)]


def test_console_logs(server, script, tmp_path):
    """The public API can read all lines page by page, and the last lines."""
    script(server.uri, """
        run = wandb.init(project="console-logs", id="long")
        for i in range(2500):
            print("line", i)
        run.finish()
        run = wandb.Api().run("console-logs/long")
        if hasattr(run, "console_logs"):  # since 0.28
            lines = list(run.console_logs(per_page=1000))
            assert [n for n, line in enumerate(lines) if line.number != n] == []
            found = [line.content.rstrip() for line in lines if line.content.startswith("line ")]
            assert found == [f"line {i}" for i in range(2500)], (len(found), found[:3])
            assert [line.number for line in run.console_logs(last=3)] == [line.number for line in lines[-3:]]
    """, WANDB_CONSOLE="wrap", **QUICK)
    # Client 0.17 can lose lines before it sends them. Its own copy of the output then lacks these lines as well.
    kept = next((tmp_path / "wandb").glob("run-*-long/files/output.log")).read_text().splitlines()
    run = server.runs("console-logs")["long"]
    shown, start = [], 0
    while page := server.get(f"/iteration/{run['id']}/console?from={start}")["lines"]:
        shown += [line["text"].rstrip() for line in page]
        start = page[-1]["number"] + 1
    assert [line for line in shown if line.startswith("line ")] == [line for line in kept if line.startswith("line ")]
    assert len(shown) > 1000


def test_offline_synced_twice(server, script, wandb_command, tmp_path):
    script(server.uri, """
        run = wandb.init(project="offline", name="late", id="late", config={"lr": 0.5})
        for i in range(500):
            run.log({"loss": i, "acc": -i})
        run.finish()
    """, WANDB_MODE="offline")
    folder = next((tmp_path / "wandb").glob("offline-run-*"))
    for _ in range(2):
        wandb_command(server.uri, "sync", str(folder), "--include-synced")
        run = server.runs("offline")["late"]
        points = server.points(run)
        assert points["loss"] == [(i, i) for i in range(500)]
        assert points["acc"] == [(i, -i) for i in range(500)]
        assert run["status"] == "SUCCEEDED" and server.params(run) == {"lr": "0.5"}


def test_define_metric(server, script):
    script(server.uri, """
        run = wandb.init(project="define", name="define", id="define")
        run.define_metric("epoch")
        run.define_metric("val", step_metric="epoch", summary="min")
        for i, x in enumerate([3, 1, 2]):
            run.log({"val": x, "epoch": 10 * i})
        run.finish()
    """)
    points = server.points(server.runs("define")["define"])
    assert points["val"] == [(0, 3), (1, 1), (2, 2)] and points["epoch"] == [(0, 0), (1, 10), (2, 20)]
    assert points.get("summary/val/min", points.get("summary/val"))[0][1] == 1


def test_steps(server, script):
    script(server.uri, """
        run = wandb.init(project="steps", name="steps", id="steps", config={"lr": 1, "old": "x"})
        run.log({"a": 1}, commit=False)
        run.log({"b": 2})  # is of the same step
        run.log({"a": 3}, step=10)
        run.log({"b": 4, "low": float("-inf")}, step=10)  # and so is this
        run.log({"a": 5}, step=7)  # is refused by the client: steps only grow
        run.log({"a": 6}, step=1000000)
        run.config.update({"lr": 2}, allow_val_change=True)
        run.config.net = {"depth": 4}
        run.finish()
    """)
    run = server.runs("steps")["steps"]
    points = server.points(run)
    assert points["a"] == [(0, 1), (10, 3), (1000000, 6)] and points["b"] == [(0, 2), (10, 4)] and points["low"] == [(10, "-Infinity")]
    assert server.params(run) == {"lr": "2", "old": "x", "net/depth": "4"}


def test_alert(server, script):
    script(server.uri, """
        run = wandb.init(project="alert", name="alert", id="alert", notes="before")
        run.alert("loss is high", "it is 7", level=wandb.AlertLevel.WARN)
        run.finish()
    """)
    assert server.runs("alert")["alert"]["notes"] == "before\nWARN loss is high: it is 7"


def test_system_metrics(server, script):
    script(server.uri, """
        import time
        run = wandb.init(project="system", name="system", id="system")
        for i in range(8):
            run.log({"loss": i})
            time.sleep(0.5)
        end = time.monotonic() + 300
        while not wandb.Api().run("system/system").history(stream="events", pandas=False) and time.monotonic() < end:
            time.sleep(0.5)
        run.finish()
        row = wandb.Api().run("system/system").history(stream="events", pandas=False)[-1]
        assert any(key.startswith("system.") for key in row), row
    """, WANDB_X_STATS_SAMPLING_INTERVAL="0.5", WANDB__STATS_SAMPLE_RATE_SECONDS="0.5", WANDB__STATS_SAMPLES_TO_AVERAGE="1", **QUICK)
    points = server.points(server.runs("system")["system"])
    found = {key: steps for key, steps in points.items() if key.startswith("system/")}
    assert "system/cpu" in found or any("cpu" in key for key in found), list(points)
    assert all(len(steps) == len({step for step, _ in steps}) for steps in found.values())


def test_interrupted(server, script):
    script(server.uri, """
        import os, signal, time
        run = wandb.init(project="interrupted", name="interrupted", id="interrupted")
        run.log({"loss": 1})
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    """, code_of_exit=-2)
    run = server.runs("interrupted")["interrupted"]
    assert (run["status"], run["error_message"]) == ("KILLED", "interrupted") and server.points(run)["loss"] == [(0, 1)]


def test_stopped(server, tmp_path):
    """When a run is ended in the dashboard, its script stops. All data that the script logged before is stored."""
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import time, wandb
        run = wandb.init(project="stopped", name="stopped", id="stopped")
        i = 0
        try:
            for i in range(1200):
                run.log({"loss": i})
                time.sleep(0.1)
        except KeyboardInterrupt:
            print("STOPPED", i)
        run.finish(exit_code=1)
    """))
    process = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, env=client_env(tmp_path, server.uri, **QUICK), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until_points(server, "stopped", "stopped", process)
    run = server.runs("stopped")["stopped"]
    change = urllib.request.Request(f"{server.uri}/iteration/{run['id']}", json.dumps({"status": "KILLED"}).encode(),
                                    {"Content-Type": "application/json"}, method="PATCH")
    urllib.request.urlopen(change).close()
    said, _ = process.communicate(timeout=600)
    last = int(said.split("STOPPED ")[1].split()[0])
    run = server.runs("stopped")["stopped"]
    steps = [step for step, _ in server.points(run)["loss"]]
    assert run["status"] == "KILLED" and last < 1199 and steps == list(range(len(steps))) and len(steps) >= last, (last, steps[-1])


def test_resume_auto(server, script):
    """A failed script continues after its last step."""
    code = """
        import os, sys
        run = wandb.init(project="auto", name="auto", resume="auto")
        for i in range(5):
            run.log({"loss": i})
        if not os.path.exists("failed"):
            open("failed", "w").close()
            sys.exit(3)
        run.finish()
    """
    script(server.uri, code, code_of_exit=3)
    assert server.runs("auto")["auto"]["status"] == "FAILED"
    script(server.uri, code)
    (run,) = server.runs("auto").values()
    assert run["status"] == "SUCCEEDED" and server.points(run)["loss"] == [(i, i % 5) for i in range(10)]


def test_id_used_again(server, script):
    """If a run is logged again under the same id without resuming it, each step exists once, with the later value."""
    for add in (0, 100):
        script(server.uri, f"""
            run = wandb.init(project="used", name="used", id="used")
            for i in range({20 - add // 10}):
                run.log({{"loss": i + {add}}})
            run.finish()
        """)
    points = server.points(server.runs("used")["used"])
    assert points["loss"] == [(i, i + 100) for i in range(10)] + [(i, i) for i in range(10, 20)]
