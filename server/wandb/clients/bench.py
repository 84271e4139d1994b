"""Measures W&B's client with tracker and offline, and how much of the time the server needs.

    TRACKER_BINARY=./tracker python bench.py --turns 3

The program starts a server in an empty folder. The client gets only the server's address and a key. First a script
logs the metrics of each step, alternately to that server and with WANDB_MODE=offline. The time covers the whole
script, including the import. Afterwards, the program checks that the server has each point. Then it sends the same
history to the server without the client, alternately to the route of the client's stream and to the bulk route. Each
line has the median, the minimum and the maximum of all turns. Memory is the server's peak memory according to the
kernel (Linux only), while scripts run and while the first history is sent without the client.
"""

import argparse
import http.client
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

from conftest import Server, client_env

MAX_BULK = 100_000  # points in one body of the bulk route

SCRIPT = """
import time
begin = time.perf_counter()
import json, sys, wandb
name, steps, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
metrics = [f"metric/{k}" for k in range(keys)]
run = wandb.init(project="bench", id=name, name=name)
ready = time.perf_counter()
for i in range(steps):
    run.log({metric: (i + k) / 7 for k, metric in enumerate(metrics)})
logged = time.perf_counter()
run.finish()
print("TOOK", json.dumps([ready - begin, logged - ready, time.perf_counter() - logged]))
"""


class Memory:
    """Return the memory of a process in MB."""

    def __init__(self, pid):
        self.folder = pathlib.Path(f"/proc/{pid}")

    def of(self, field):
        lines = (self.folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024

    def forget_peak(self):
        (self.folder / "clear_refs").write_text("5")

    @property
    def now(self):
        return self.of("VmRSS")

    @property
    def peak(self):
        return self.of("VmHWM")


def training(folder, uri, name, args, **env):
    """Return the seconds that a script takes to start, to log and to finish, and the total."""
    path = folder / "training.py"
    path.write_text(SCRIPT)
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, path, name, str(args.steps), str(args.keys)], cwd=folder, env=client_env(folder, uri, **env),
                          text=True, capture_output=True)
    took = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    said = next(line for line in done.stdout.splitlines() if line.startswith("TOOK "))
    return [*json.loads(said[5:]), took]


def check(server, name, args):
    """Raise an error unless the server has each point of a run exactly once."""
    run = server.runs("bench")[name]
    metrics = server.get(f"/iteration/{run['id']}/summary")["metrics"]
    found = {key: (m["count"], m["last_step"], m["last"]) for key, m in metrics.items() if key.startswith("metric/")}
    if found != {f"metric/{k}": (args.steps, args.steps - 1, (args.steps - 1 + k) / 7) for k in range(args.keys)}:
        raise SystemExit(f"the server has other points than were sent: {found}")


def rows(args, begin, n):
    """Return a part of the history, each row with the number, the time and the values of a step."""
    return [(i, 1_800_000_000 + i / 100, [(i + k) / 7 for k in range(args.keys)]) for i in range(begin, min(args.steps, begin + n))]


def stream_body(args, begin, n):
    content = []
    for step, at, values in rows(args, begin, n):
        row = {f"metric/{k}": v for k, v in enumerate(values)}
        content.append(json.dumps({**row, "_step": step, "_timestamp": at, "_runtime": step / 100}))
    return json.dumps({"files": {"wandb-history.jsonl": {"offset": begin, "content": content},
                                 "wandb-summary.json": {"offset": 0, "content": [content[-1]]}}}).encode()


def bulk_body(args, begin, n):
    metrics = []
    for step, at, values in rows(args, begin, n):
        written = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{round(at % 1 * 1000) % 1000:03}Z"
        metrics += [{"key": f"metric/{k}", "value": v, "step": step, "recorded_at": written} for k, v in enumerate(values)]
    return json.dumps({"metrics": metrics}).encode()


def rate(server, path, bodies, args):
    """Send the history to a route, and return the points per second."""
    connection = http.client.HTTPConnection(urlsplit(server.uri).netloc, timeout=120)
    begin = time.perf_counter()
    for body in bodies:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status not in (200, 201):
            raise SystemExit(f"{path}: {answer.status} {said[:500]}")
    return args.steps * args.keys / (time.perf_counter() - begin)


def new_run(server, name):
    """Create a run as the client does, and return its id."""
    connection = http.client.HTTPConnection(urlsplit(server.uri).netloc, timeout=120)
    query = 'mutation { upsertBucket(input: {modelName: "bench", name: "%s", displayName: "%s"}) { bucket { id } } }' % (name, name)
    connection.request("POST", "/graphql", json.dumps({"query": query}), {"Content-Type": "application/json", "Authorization": "Bearer " + "a" * 40})
    return json.load(connection.getresponse())["data"]["upsertBucket"]["bucket"]["id"]


def line(what, values, unit):
    print(f"{what:52} {statistics.median(values):14,.1f} {unit:10} ({min(values):,.1f} to {max(values):,.1f})", flush=True)
    return statistics.median(values)


def main():
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--rows", type=int, default=28_000, help="history rows in one body of the stream; 28,000 rows of 10 keys fill the client's 10 MiB")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", choices=["client", "rate"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = Server(folder)
        try:
            measure(folder, server, args)
        finally:
            server.close()


def measure(folder, server, args):
    memory = Memory(server.process.pid)
    server.get("/project")
    time.sleep(3)
    idle, peak = memory.now, {}
    if args.only != "rate":
        took = {"offline": [], "tracker": []}
        for turn in range(args.turns):
            took["offline"].append(training(folder, server.uri, f"offline{turn}", args, WANDB_MODE="offline"))
            memory.forget_peak()
            took["tracker"].append(training(folder, server.uri, f"online{turn}", args))
            peak["a training with the client"] = max(peak.get("a training with the client", 0), memory.peak)
            check(server, f"online{turn}", args)
        medians = {}
        for mode, all_parts in took.items():
            for part, what in enumerate(["start", "log", "finish", "whole script"]):
                medians[mode] = line(f"client {mode}, {what}", [parts[part] for parts in all_parts], "s")
        print(f"the whole script with tracker takes {medians['tracker'] / medians['offline']:.2f} of the time offline")
    if args.only != "client":
        stream = [stream_body(args, i, args.rows) for i in range(0, args.steps, args.rows)]
        most = max(1, min(args.rows, MAX_BULK // args.keys))
        bulk = [bulk_body(args, i, most) for i in range(0, args.steps, most)]
        rates = {"stream": [], "bulk": []}
        for turn in range(args.turns):
            memory.forget_peak()
            new_run(server, f"stream{turn}")
            rates["stream"].append(rate(server, f"/files/me/bench/stream{turn}/file_stream", stream, args))
            if turn == 0:  # in later turns, the bulk route has already allocated memory
                peak["a history without the client"] = memory.peak
            check(server, f"stream{turn}", args)
            run = new_run(server, f"bulk{turn}")
            rates["bulk"].append(rate(server, f"/metric/iteration/{run}/bulk", bulk, args))
        medians = {route: line(f"{route} without the client", values, "points/s") for route, values in rates.items()}
        print(f"the stream has {medians['stream'] / medians['bulk']:.2f} of the rate of the bulk route")
    for what, most in peak.items():
        print(f"memory of the server, idle {idle:.1f} MB; at most during {what} {most:.1f} MB, {most - idle:.1f} MB more")


if __name__ == "__main__":
    main()
