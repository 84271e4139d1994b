#!/usr/bin/env python3
"""Trains a softmax classifier on Fisher's irises with several learning rates, and logs each run to tracker over HTTP.

It needs Python 3.9 and no packages. Start a server (`tracker serve`), then: python3 iris.py --rates 0.01,0.1,1
"""

import argparse
import contextlib
import csv
import http.client
import json
import math
import os
import platform
import random
import shlex
import socket
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import urlencode, urlsplit

DATA = Path(__file__).resolve().parents[2] / "testdata" / "iris.csv"
L2 = 0.001
WAITS = (0.2, 0.4, 0.8, 1.6)  # pauses in seconds before the retries of a request


class TrackerError(Exception):
    def __init__(self, message, code=None):
        super().__init__(f"{code}: {message}" if code else message)
        self.code = code  # None if the server did not respond


class Tracker:
    """A client with one persistent connection. `iterations` holds the data that the server has acknowledged, by iteration
    id."""

    def __init__(self, url, token, snapshot):
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(parts.hostname, parts.port, timeout=30)
        self.url, self.prefix, self.token, self.snapshot = url, parts.path, token, snapshot
        self.iterations = {}

    def call(self, method, path, body=None):
        """Sends a request and returns the decoded response. Retries if the connection fails."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body, allow_nan=False).encode()
        if method == "POST":
            # All attempts have the same key, so a write whose response was lost is not repeated.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        for wait in (*WAITS, None):
            try:
                self.connection.request(method, self.prefix + path, body, headers)
                answer = self.connection.getresponse()
                text = answer.read()
                if answer.status != 503 or wait is None:
                    break
            except BaseException as cause:
                self.connection.close()  # on Ctrl-C as well: the next request needs a new connection
                if not isinstance(cause, (OSError, http.client.HTTPException)):
                    raise
                if wait is None:
                    raise TrackerError(f"no server responds at {self.url} ({cause}); is it running?") from cause
            time.sleep(wait)
        try:
            reply = json.loads(text) if text else {}
        except ValueError:
            raise TrackerError(f"{self.url} answers {answer.status} without JSON; is it the API's address?") from None
        if answer.status >= 300:
            raise TrackerError(reply.get("message", answer.reason), reply.get("code", f"HTTP {answer.status}"))
        return reply

    def project(self, name):
        """Returns the id of the project with exactly this name. Creates the project if it does not exist."""
        offset, total = 0, 1
        while offset < total:  # ?name= also matches parts of names, so the listing can be long
            page = self.call("GET", "/project?" + urlencode({"name": name, "limit": 1000, "offset": offset}))
            for project in page["data"]:
                if project["name"] == name:
                    return project["id"]
            offset, total = offset + page["limit"], page["total"]
        return self.call("POST", "/project", {"name": name})["id"]

    @contextlib.contextmanager
    def iteration(self, experiment, name, parent=None):
        """Creates an iteration, and ends it after the block as SUCCEEDED, as FAILED after an error, or as KILLED after
        Ctrl-C."""
        body = {"name": name, "parent_iteration_id": parent} if parent else {"name": name}
        iteration = self.call("POST", f"/iteration/experiment/{experiment}", body)["id"]
        self.iterations[iteration] = {"id": iteration, **body, "parameters": {}, "metrics": [], "tags": []}
        try:
            self.call("POST", f"/iteration/{iteration}/snapshot", self.snapshot)
            yield iteration
        except BaseException as cause:
            failed = {"status": "FAILED", "error_message": f"{type(cause).__name__}: {cause}"}
            with contextlib.suppress(TrackerError):  # report the first error, not this one
                self.end(iteration, {"status": "KILLED"} if isinstance(cause, KeyboardInterrupt) else failed)
            raise
        self.end(iteration, {"status": "SUCCEEDED"})

    def end(self, iteration, body):
        try:
            self.call("PATCH", f"/iteration/{iteration}", body)
        except TrackerError as error:
            # A PATCH has no idempotency key, so an earlier attempt might have ended the iteration.
            ended = error.code == "ITERATION_ENDED" and self.call("GET", f"/iteration/{iteration}")
            if not ended or ended["status"] != body["status"]:
                raise
        self.iterations[iteration].update(body)

    def parameters(self, iteration, values):
        for key, value in values.items():
            self.call("POST", f"/parameter/iteration/{iteration}", {"key": key, "value": value})
            # The server stores a number exactly as it was written in the request.
            self.iterations[iteration]["parameters"][key] = value if isinstance(value, str) else json.dumps(value)

    def metrics(self, iteration, step, values):
        # JSON has no NaN and no infinities. The API represents them as strings.
        names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        values = {key: names.get(str(value), value) for key, value in values.items()}
        ids = self.call("POST", f"/metric/iteration/{iteration}/batch", {"metrics": values, "step": step})["ids"]
        self.iterations[iteration]["metrics"] += [{"id": metric, "key": key, "step": step, "value": values[key]}
                                                  for metric, key in zip(ids, values)]

    def tag(self, iteration, value):
        self.call("POST", f"/tag/iteration/{iteration}", {"value": value})
        self.iterations[iteration]["tags"].append(value)


def load(path, seed):
    """Returns 80 % training rows and 20 % test rows of (features, class), and the number of classes. The features are
    standardised with the mean and deviation of the training rows."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [([float(v) for v in row[:-1]], row[-1]) for row in list(csv.reader(file))[1:]]
    species = sorted({name for _, name in rows})
    random.Random(seed).shuffle(rows)
    cut = len(rows) * 4 // 5
    columns = list(zip(*(x for x, _ in rows[:cut])))
    means = [sum(c) / len(c) for c in columns]
    spreads = [math.sqrt(sum((v - m) ** 2 for v in c) / len(c)) for c, m in zip(columns, means)]
    # The last element, 1.0, is the input of the bias.
    rows = [([(v - m) / s for v, m, s in zip(x, means, spreads)] + [1.0], species.index(name)) for x, name in rows]
    return rows[:cut], rows[cut:], len(species)


def log_softmax(weights, x):
    logits = [sum(w * v for w, v in zip(ws, x)) for ws in weights]
    top = max(logits)  # subtracting the maximum prevents an overflow of exp
    norm = top + math.log(sum(math.exp(z - top) for z in logits))
    return [z - norm for z in logits]


def evaluate(weights, rows):
    """Returns the mean cross-entropy without the L2 term, and the fraction of correctly classified rows."""
    logs = [(log_softmax(weights, x), y) for x, y in rows]
    return sum(-p[y] for p, y in logs) / len(rows), sum(p[y] == max(p) for p, y in logs) / len(rows)


def train(tracker, iteration, data, rate, epochs):
    """Trains by full-batch gradient descent, logs each epoch, and returns the metrics of the last epoch."""
    training, test, classes = data
    weights = [[0.0] * len(training[0][0]) for _ in range(classes)]
    for epoch in range(epochs):
        gradient = [[L2 * w for w in ws[:-1]] + [0.0] for ws in weights]  # the bias is not regularized
        for x, y in training:
            for k, log_p in enumerate(log_softmax(weights, x)):
                error = (math.exp(log_p) - (k == y)) / len(training)
                gradient[k] = [g + error * v for g, v in zip(gradient[k], x)]
        weights = [[w - rate * g for w, g in zip(ws, gs)] for ws, gs in zip(weights, gradient)]
        last = {}
        for name, rows in ("train", training), ("test", test):
            last[f"{name}/loss"], last[f"{name}/accuracy"] = evaluate(weights, rows)
        tracker.metrics(iteration, epoch, last)
        if not math.isfinite(last["train/loss"]):
            raise FloatingPointError(f"the loss is {last['train/loss']} in epoch {epoch}")
    return last


def sweep(tracker, experiment, data, options):
    """Trains a child iteration for each learning rate, and tags the best. Returns its id, and a table of all
    children."""
    shared = {"l2": L2, "epochs": options.epochs, "seed": options.seed, "optimizer": "full-batch gradient descent",
              "train_rows": len(data[0]), "test_rows": len(data[1])}
    done, table = [], ["learning rate      train/loss  train/accuracy       test/loss   test/accuracy"]
    with tracker.iteration(experiment, "sweep") as parent:
        tracker.parameters(parent, {**shared, "learning_rates": ",".join(map(str, options.rates))})
        for rate in options.rates:
            try:
                with tracker.iteration(experiment, f"learning rate {rate}", parent) as child:
                    tracker.parameters(child, {"learning_rate": rate, **shared})
                    last = train(tracker, child, data, rate, options.epochs)
            except FloatingPointError as cause:  # another learning rate might converge
                table.append(f"{rate:>13}  failed: {cause}")
                continue
            done.append((-last["test/accuracy"], last["test/loss"], rate, child))
            table.append(f"{rate:>13}" + "".join(f"{value:>16.4f}" for value in last.values()))
        if not done:
            raise FloatingPointError("no learning rate of the sweep converged")
        _, _, rate, best = min(done)  # highest accuracy; if equal, lowest loss
        tracker.tag(best, "best")
        tracker.parameters(parent, {"best_learning_rate": rate})
    return best, "\n".join([*table, "", f"Best learning rate: {rate}"])


def address(text):
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError
    return text.rstrip("/")


def dashboard(api):
    """Return the address of the dashboard: TRACKER_UI_URL, or the API's address with the next port."""
    if os.environ.get("TRACKER_UI_URL"):
        return os.environ["TRACKER_UI_URL"].rstrip("/")
    parts = urlsplit(api)
    place = f"{parts.netloc.rpartition(':')[0]}:{parts.port + 1}" if parts.port else parts.netloc
    return parts._replace(netloc=place).geturl()


def learning_rates(text):
    return [float(rate) for rate in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description="Train a softmax classifier on Fisher's irises and log it to tracker.")
    parser.add_argument("--url", type=address, default=os.environ.get("TRACKER_URL") or "http://127.0.0.1:9000",
                        help="address of the API (TRACKER_URL, else http://127.0.0.1:9000)")
    parser.add_argument("--token", default=os.environ.get("TRACKER_TOKEN", ""), help="bearer token (TRACKER_TOKEN)")
    parser.add_argument("--data", default=DATA, help="measurements (default: testdata/iris.csv of the repository)")
    parser.add_argument("--epochs", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--rates", type=learning_rates, default="0.01,0.1,1", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=7, help="seed for the choice of test rows (default: %(default)s)")
    parser.add_argument("--record", metavar="FILE", help="write all logged data to FILE, as JSON")
    options = parser.parse_args()
    if options.epochs < 1 or not all(0 < rate < math.inf for rate in options.rates):
        parser.error("--epochs and --rates must be positive")
    # A token given as an option must not be written into the snapshot.
    words = [word.replace(options.token, "***") if options.token else word for word in sys.argv]
    tracker = Tracker(options.url, options.token, {
        "entrypoint": Path(__file__).name, "command": shlex.join(["python3", *words]),
        "hostname": socket.gethostname(), "runtime": f"Python {platform.python_version()}"})
    record = {}
    try:
        data = load(options.data, options.seed)
        record["project_id"] = tracker.project("iris")
        made = tracker.call("POST", f"/experiment/project/{record['project_id']}", {"name": "softmax"})
        record["experiment_id"] = made["id"]
        record["best_iteration_id"], table = sweep(tracker, made["id"], data, options)
        print(f"{table}\nThe experiment: {dashboard(options.url)}/experiment/{made['id']}")
    except (TrackerError, FloatingPointError, OSError) as cause:
        sys.exit(f"iris: {cause}")
    except KeyboardInterrupt:
        print("iris: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        if options.record:
            record["iterations"] = list(tracker.iterations.values())
            Path(options.record).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
