"""Measures how much time logging costs the training thread, for tracker and other installed libraries.

    tracker serve &
    pip install wandb mlflow-skinny trackio numpy pillow    # libraries that are not installed are omitted
    python client/python/bench.py

Each measurement runs in a new process. Times are measured in the calling thread.

log: a call with 10 numbers. 2,000 calls, 0.2 ms apart as in a fast training, are timed one by one. The libraries take
    turns, three times. The table shows the median.

media: an image of 256 by 256 pixels, and a histogram of 100,000 values. Each is logged 30 times. The table shows the median
    time of the call, and the median time of the call including the work that it leaves to other threads. Only tracker can
    wait for this work. For other libraries, "in all" is just the time of the call, which is a lower bound.

bulk: a million points, logged in calls of 10 points without a pause, for at most 60 seconds. The table shows the number of
logged points, the time of the calls, the time until the library has written or sent all points, and how much the memory of
the process grew before the last call. Then tracker reads the points back, which requires the server.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any, Callable, Dict, List, NamedTuple, Optional

CALLS = 2000
PAUSE = 0.0002
"""Seconds between two calls."""
TURNS = 3
MEDIA = 30
"""Number of images and histograms to log."""
POINTS = 1_000_000
LONGEST = 60.0
"""Maximum seconds for which points are logged."""
PATIENCE = 240.0
"""Maximum seconds for one measurement."""


class Library(NamedTuple):
    """The functions through which a library logs."""

    log: Callable[[Dict[str, Any], int], Any]
    picture: Optional[Callable[[Any, int], Any]]
    histogram: Optional[Callable[[Any, int], Any]]
    flush: Callable[[], Any]
    finish: Callable[[], Any]


def tracker_run() -> Library:
    import tracker

    run = tracker.init(project="bench", experiment="log", quiet=True)
    return Library(lambda data, step: run.log(data, step=step),
                   lambda pixels, step: run.log({"picture": tracker.Image(pixels)}, step=step),
                   lambda values, step: run.log({"histogram": tracker.Histogram(values)}, step=step),
                   run.flush, lambda: run.finish(quiet=True))


def wandb_run() -> Library:
    import wandb

    run = wandb.init(project="bench", mode="offline", dir=os.getcwd())
    return Library(lambda data, step: run.log(data, step=step),
                   lambda pixels, step: run.log({"picture": wandb.Image(pixels)}, step=step),
                   lambda values, step: run.log({"histogram": wandb.Histogram(values)}, step=step),
                   lambda: None, run.finish)


def mlflow_run() -> Library:
    import mlflow

    mlflow.set_tracking_uri("file://" + os.getcwd())
    mlflow.set_experiment("bench")
    mlflow.start_run()
    return Library(lambda data, step: mlflow.log_metrics(data, step=step, synchronous=False),
                   lambda pixels, step: mlflow.log_image(pixels, key="picture", step=step), None,
                   lambda: None, mlflow.end_run)


def trackio_run() -> Library:
    os.environ["TRACKIO_DIR"] = os.getcwd()
    import trackio

    trackio.init(project="bench")
    histogram = getattr(trackio, "Histogram", None)
    return Library(lambda data, step: trackio.log(data, step=step),
                   lambda pixels, step: trackio.log({"picture": trackio.Image(pixels)}, step=step),
                   histogram and (lambda values, step: trackio.log({"histogram": histogram(values)}, step=step)),
                   lambda: None, trackio.finish)


LIBRARIES: Dict[str, Callable[[], Library]] = {
    "tracker": tracker_run, "tracker, server down": tracker_run, "wandb": wandb_run, "mlflow": mlflow_run, "trackio": trackio_run}
Result = Dict[str, float]
Save = Callable[[Result], None]


def calls(name: str, save: Save) -> None:
    """Measure calls of log with 10 numbers, 0.2 ms apart."""
    begin = time.perf_counter()
    __import__(name.partition(",")[0])
    imported = time.perf_counter()
    log = LIBRARIES[name]().log
    ready = time.perf_counter()
    data = {f"metric/{n}": n / 7 for n in range(10)}
    times: List[float] = []
    for step in range(CALLS):
        before = time.perf_counter()
        log(data, step)
        times.append(time.perf_counter() - before)
        time.sleep(PAUSE)
    times.sort()
    save({"import": (imported - begin) * 1e3, "init": (ready - imported) * 1e3,
          "p50": times[CALLS // 2] * 1e6, "p95": times[CALLS * 95 // 100] * 1e6})


def media(name: str, save: Save) -> None:
    """Measure logging of images and histograms."""
    import numpy

    library, result = LIBRARIES[name](), {}
    pixels, values = numpy.random.randint(0, 256, (256, 256, 3)).astype("uint8"), numpy.random.randn(100_000)
    for what, log, given in (("picture", library.picture, pixels), ("histogram", library.histogram, values)):
        called, whole = [], []
        for step in range(MEDIA if log is not None else 0):
            begin = time.perf_counter()
            log(given, step)  # type: ignore[misc]
            called.append(time.perf_counter() - begin)
            library.flush()
            whole.append(time.perf_counter() - begin)
        if called:
            result[what], result[what + " in all"] = statistics.median(called) * 1e3, statistics.median(whole) * 1e3
    save(result)
    library.finish()


def resident() -> float:
    """Return the resident memory of this process in megabytes. Return 0 on systems other than Linux."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def bulk(name: str, save: Save) -> None:
    """Measure logging and reading of a million points."""
    library = LIBRARIES[name]()
    begin, before, largest = time.perf_counter(), resident(), 0.0
    for step in range(POINTS // 10):
        library.log({f"metric/{n}": step + n / 7 for n in range(10)}, step)
        if step % 1000 == 0:
            largest = max(largest, resident())
        if time.perf_counter() - begin > LONGEST:
            break
    result = {"points": (step + 1) * 10, "logged": time.perf_counter() - begin, "grown": max(0.0, largest - before)}
    save(result)
    id = getattr(sys.modules.get("tracker"), "run", None)
    library.finish()
    result["finished"] = time.perf_counter() - begin
    save(result)
    if name == "tracker" and id is not None:
        import tracker

        begin = time.perf_counter()
        found = tracker.Api().run(id.id).history()
        assert len(found["step"]) * 10 == POINTS
        result["read"] = time.perf_counter() - begin
        save(result)


MEASUREMENTS = {"calls": calls, "media": media, "bulk": bulk}


def measured(what: str, name: str) -> Result:
    """Return the result of one measurement in a new process. After PATIENCE seconds, return the results so far."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        env = {**os.environ, "TRACKER_SPOOL": os.path.join(folder, "spool"), "WANDB_SILENT": "true",
               "MLFLOW_ALLOW_FILE_STORE": "true"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # so that a library is compiled only once
        env["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__)) + os.pathsep + env.get("PYTHONPATH", "")
        if "down" in name:
            env["TRACKER_URL"] = "http://127.0.0.1:1"
        path = os.path.join(folder, "result.json")
        said = ""
        try:
            done = subprocess.run([sys.executable, os.path.abspath(__file__), what, name, path], cwd=folder, env=env,
                                  timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if done.returncode != 0:
                said = f"{name}, {what}: exit status {done.returncode}\n{done.stderr[-2000:].decode(errors='replace')}"
        except subprocess.TimeoutExpired:
            said = f"{name}, {what}: not done after {PATIENCE:.0f} s"
        if not os.path.exists(path):
            raise SystemExit(said)
        if said:  # show the error, and return the results that were measured before
            print(said, file=sys.stderr)
        with open(path, encoding="utf-8") as file:
            result: Result = json.load(file)
            return result


def server_answers() -> bool:
    """Return whether the server that tracker logs to responds."""
    url = os.environ.get("TRACKER_URL", "http://127.0.0.1:9000").rstrip("/")
    try:
        with urllib.request.urlopen(url + "/health", timeout=10):
            return True
    except OSError as err:
        print(f"{url} does not respond: {err}. Start it with tracker serve, or set TRACKER_URL.", file=sys.stderr)
        return False


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not server_answers():
        raise SystemExit(1)
    names = [name for name in LIBRARIES if name.startswith("tracker") or importlib.util.find_spec(name)]
    results: Dict[str, List[Result]] = {name: [] for name in names}
    for _ in range(TURNS):
        for name in names:
            results[name].append(measured("calls", name))
    print("| library | log of 10 keys, p50 | p95 | import | init |\n|---|---|---|---|---|")
    for name, turns in results.items():
        middle = {what: statistics.median(turn[what] for turn in turns) for what in turns[0]}
        print(f"| {name} | {middle['p50']:.1f} µs | {middle['p95']:.1f} µs |"
              f" {middle['import']:.0f} ms | {middle['init']:.1f} ms |", flush=True)
    names.remove("tracker, server down")

    def shown(result: Result, what: str, unit: str, digits: int = 1) -> str:
        return f"{result[what]:,.{digits}f} {unit}" if what in result else ""

    if importlib.util.find_spec("numpy"):
        print("\n| library | picture, in the caller | in all | histogram, in the caller | in all |\n|---|---|---|---|---|")
        for name in names:
            result = measured("media", name)
            print("|", " | ".join([name, *(shown(result, what, "ms", 2) for what in (
                "picture", "picture in all", "histogram", "histogram in all"))]), "|", flush=True)
    print("\n| library | points | logged in | done after | memory grew by | read in |\n|---|---|---|---|---|---|")
    for name in names:
        result = measured("bulk", name)
        done = shown(result, "finished", "s") or f"more than {PATIENCE:.0f} s"
        print(f"| {name} | {result['points']:,.0f} | {shown(result, 'logged', 's')} | {done} |"
              f" {shown(result, 'grown', 'MB', 0)} | {shown(result, 'read', 's')} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        def save(result: Result) -> None:
            with open(sys.argv[3] + ".part", "w", encoding="utf-8") as out:
                json.dump(result, out)
            os.replace(sys.argv[3] + ".part", sys.argv[3])

        MEASUREMENTS[sys.argv[1]](sys.argv[2], save)
    else:
        main()
