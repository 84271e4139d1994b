"""What logging costs the training thread: tracker beside other libraries that are installed.

    tracker serve &
    pip install wandb mlflow-skinny trackio    # each is left out when it is not there
    python client/python/bench.py

Each library runs in processes of its own, in turns, three times; shown is the median. log is one call with 10 numbers,
timed call by call: 2,000 calls, 0.2 ms apart, as a fast training makes them. Times are in the thread that calls.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List

CALLS = 2000
PAUSE = 0.0002
"""Seconds between two calls."""
TURNS = 3

Log = Callable[[Dict[str, float], int], Any]


def tracker_run() -> Log:
    import tracker

    run = tracker.init(project="bench", experiment="log")
    return lambda data, step: run.log(data, step=step)


def wandb_run() -> Log:
    import wandb

    run = wandb.init(project="bench", mode="offline", dir=os.getcwd())
    return lambda data, step: run.log(data, step=step)


def mlflow_run() -> Log:
    import mlflow

    mlflow.set_tracking_uri("file://" + os.getcwd())
    mlflow.set_experiment("bench")
    mlflow.start_run()
    return lambda data, step: mlflow.log_metrics(data, step=step, synchronous=False)


def trackio_run() -> Log:
    os.environ["TRACKIO_DIR"] = os.getcwd()
    import trackio

    trackio.init(project="bench")
    return lambda data, step: trackio.log(data, step=step)


LIBRARIES: Dict[str, Callable[[], Log]] = {
    "tracker": tracker_run, "tracker, server down": tracker_run, "wandb": wandb_run, "mlflow": mlflow_run, "trackio": trackio_run}


def one(name: str) -> Dict[str, float]:
    """Measure a library in this process."""
    begin = time.perf_counter()
    __import__(name.partition(",")[0])
    imported = time.perf_counter()
    log = LIBRARIES[name]()
    ready = time.perf_counter()
    data = {f"metric/{n}": n / 7 for n in range(10)}
    times: List[float] = []
    for step in range(CALLS):
        before = time.perf_counter()
        log(data, step)
        times.append(time.perf_counter() - before)
        time.sleep(PAUSE)
    times.sort()
    return {"import": (imported - begin) * 1e3, "init": (ready - imported) * 1e3,
            "p50": times[CALLS // 2] * 1e6, "p95": times[CALLS * 95 // 100] * 1e6}


def measured(name: str) -> Dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TRACKER_SPOOL": os.path.join(folder, "spool"), "WANDB_SILENT": "true",
               "MLFLOW_ALLOW_FILE_STORE": "true"}
        env["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__)) + os.pathsep + env.get("PYTHONPATH", "")
        if "down" in name:
            env["TRACKER_URL"] = "http://127.0.0.1:1"
        path = os.path.join(folder, "result.json")
        done = subprocess.run([sys.executable, os.path.abspath(__file__), name, path], cwd=folder, env=env, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not os.path.exists(path):
            raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
        with open(path, encoding="utf-8") as file:
            result: Dict[str, float] = json.load(file)
            return result


def main() -> None:
    names = [name for name in LIBRARIES if name.startswith("tracker") or importlib.util.find_spec(name)]
    results: Dict[str, List[Dict[str, float]]] = {name: [] for name in names}
    for _ in range(TURNS):
        for name in names:
            results[name].append(measured(name))
    print("| library | log of 10 keys, p50 | p95 | import | init |\n|---|---|---|---|---|")
    for name, turns in results.items():
        middle = {what: statistics.median(turn[what] for turn in turns) for what in turns[0]}
        print(f"| {name} | {middle['p50']:.1f} µs | {middle['p95']:.1f} µs |"
              f" {middle['import']:.0f} ms | {middle['init']:.1f} ms |")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        result = one(sys.argv[1])
        with open(sys.argv[2], "w", encoding="utf-8") as out:
            json.dump(result, out)
    else:
        main()
