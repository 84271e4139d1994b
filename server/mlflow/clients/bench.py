"""Measures MLflow's client with several servers in turn: tracker, and MLflow's own server.

    python bench.py http://127.0.0.1:9000 http://127.0.0.1:5000 --runs 10000

MLflow's own server, for comparison, with SQLite and served artifacts:

    mlflow server --port 5000 --backend-store-uri sqlite:///mlflow.db --artifacts-destination ./mlartifacts

The first call creates the runs to search, and later calls reuse them. Lines "without the client" exclude the time
that the client needs: prepared bodies are sent over persistent connections, single points by four processes, batches
to the route of log_batch and to tracker's own bulk route. A search is measured after a write to another experiment,
after a write to a run in its result, and when it is repeated. Each line has the median, the minimum and the maximum
of all turns.
"""

import argparse
import collections
import concurrent.futures
import gzip
import http.client
import json
import multiprocessing
import socket
import statistics
import time
import urllib.parse

import requests
from mlflow import MlflowClient
from mlflow.entities import Metric

METRICS = 20


def points(n, begin=0):
    """Return n points of METRICS metrics."""
    at = 1_700_000_000_000
    return [Metric(f"m{i % METRICS}", 1 / (begin + i + 1), at + begin + i, (begin + i) // METRICS) for i in range(n)]


def batches(client, experiment, n):
    """Return the points per second of log_batch calls with 1000 points each."""
    run = client.create_run(experiment).info.run_id
    client.log_batch(run, metrics=points(1000))
    prepared = [points(1000, 1000 * i) for i in range(1, n + 1)]
    begin = time.perf_counter()
    for batch in prepared:
        client.log_batch(run, metrics=batch)
    return 1000 * n / (time.perf_counter() - begin)


def connect(uri):
    """Return a function that posts JSON to a path over one persistent connection and returns the response body.

    The function does little work, so that the server is measured and not Python. It accepts compressed responses, as
    clients do.
    """
    address = urllib.parse.urlsplit(uri)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip, deflate"}

    def post(path, body):
        connection.request("POST", address.path + path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{path}: {answer.status} {content!r}")
        return gzip.decompress if answer.headers.get("Content-Encoding") == "gzip" else bytes, content

    return post


def raw(uri, client, experiment, n, own):
    """Send n prepared bodies of 1000 points each to a route, and return the points per second.

    The route is log_batch or, with own, tracker's bulk route. Return None if the server does not have the route.
    """
    if own and requests.get(uri + "/health", timeout=60).text == "OK":
        return None
    run = client.create_run(experiment).info.run_id
    if own:
        path = f"/metric/iteration/{run[:8]}-{run[8:12]}-{run[12:16]}-{run[16:20]}-{run[20:]}/bulk"
    else:
        path = "/api/2.0/mlflow/runs/log-batch"
    bodies = []
    for i in range(n + 1):
        metrics = [{"key": m.key, "value": m.value, "step": m.step} for m in points(1000, 1000 * i)]
        for number, m in enumerate(metrics):
            if own:
                m["recorded_at"] = f"2026-01-01T00:{i:02}:00.{number:03}Z"
            else:
                m["timestamp"] = 1_700_000_000_000 + 1000 * i + number
        bodies.append(json.dumps({"metrics": metrics} if own else {"run_id": run, "metrics": metrics}).encode())
    post = connect(uri)
    post(path, bodies[0])  # warm up
    begin = time.perf_counter()
    for body in bodies[1:]:
        post(path, body)
    return 1000 * n / (time.perf_counter() - begin)


def singles(uri, client, experiment, n):
    """Return the points per second of log_metric called by four threads, each with its own run."""

    def log(run):
        c = MlflowClient(uri)
        for step in range(n):
            c.log_metric(run, "loss", 1 / (step + 1), step=step)

    runs = [client.create_run(experiment).info.run_id for _ in range(4)]
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(log, runs))
    return 4 * n / (time.perf_counter() - begin)


def post_all(uri, path, bodies, ready, go):
    """Send all bodies over one connection, after all processes are ready."""
    address = urllib.parse.urlsplit(uri)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head = f"POST {address.path}{path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
    requests = [f"{head}{len(body)}\r\n\r\n{body}".encode() for body in bodies]

    def post(request):
        connection.sendall(request)
        answer = b""
        while b"\r\n\r\n{}" not in answer:  # both servers respond with an empty object
            part = connection.recv(65536)
            answer += part
            if not part or not answer.startswith(b"HTTP/1.1 200 "[: len(answer)]):
                raise SystemExit(f"{path}: {answer!r}")

    post(requests[0])  # warm up
    ready.release()
    go.wait()
    for request in requests[1:]:
        post(request)


def raw_singles(uri, client, experiment, n):
    """Return the points per second of log-metric from four processes with prepared bodies, each with its own run."""
    ready, go = multiprocessing.Semaphore(0), multiprocessing.Event()
    processes = []
    for _ in range(4):
        run = client.create_run(experiment).info.run_id
        at = 1_700_000_000_000
        bodies = [
            json.dumps({"run_uuid": run, "run_id": run, "key": "loss", "value": 1 / (i + 1), "timestamp": at + i, "step": i})
            for i in range(n + 1)
        ]
        processes.append(multiprocessing.Process(target=post_all, args=(uri, "/api/2.0/mlflow/runs/log-metric", bodies, ready, go)))
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    begin = time.perf_counter()
    go.set()
    for process in processes:
        process.join()
    took = time.perf_counter() - begin
    assert all(process.exitcode == 0 for process in processes)
    return 4 * n / took


def filled(uri, client, n):
    """Return an experiment with n runs of METRICS metrics each, which the first call creates."""
    name = f"bench with {n} runs"
    found = client.get_experiment_by_name(name)
    if found:
        return found.experiment_id
    making = client.create_experiment(f"{name}, unfinished {time.time_ns()}")

    def one(_):
        c = MlflowClient(uri)
        c.log_batch(c.create_run(making).info.run_id, metrics=points(METRICS))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(n)))
    client.rename_experiment(making, name)
    return making


FILTER, ORDER = "metrics.m3 > 0.01 and metrics.m5 < 1", ["metrics.m7 DESC"]


def search(client, experiment):
    """Return the milliseconds of a filtered and sorted search for the best 100 runs."""
    begin = time.perf_counter()
    found = client.search_runs([experiment], FILTER, order_by=ORDER, max_results=100)
    took = time.perf_counter() - begin
    assert len(found) == 100
    return 1000 * took


def raw_search(post, experiment):
    """Return the milliseconds of the same search without the client."""
    body = json.dumps({"experiment_ids": [experiment], "filter": FILTER, "order_by": ORDER, "max_results": 100}).encode()
    begin = time.perf_counter()
    unpack, answer = post("/api/2.0/mlflow/runs/search", body)
    took = time.perf_counter() - begin
    assert len(json.loads(unpack(answer))["runs"]) == 100
    return 1000 * took


def main():
    """Print a line for each measurement and server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", nargs="+", help="address of a server")
    parser.add_argument("--runs", type=int, default=10_000, help="number of runs to search")
    parser.add_argument("--batches", type=int, default=20, help="number of batches of 1000 points in a turn")
    parser.add_argument("--points", type=int, default=100, help="number of single points per thread in a turn")
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    servers = [(uri, MlflowClient(uri)) for uri in args.uri]
    searched = {uri: filled(uri, client, args.runs) for uri, client in servers}
    measured = collections.defaultdict(list)
    for _ in range(args.turns):
        for uri, client in servers:
            experiment = client.create_experiment(f"bench {time.time_ns()}")
            measured["log_batch, points/s", uri].append(batches(client, experiment, args.batches))
            measured["log-batch without the client, points/s", uri].append(raw(uri, client, experiment, args.batches, False))
            measured["bulk route without the client, points/s", uri].append(raw(uri, client, experiment, args.batches, True))
            measured["log_metric, points/s", uri].append(singles(uri, client, experiment, args.points))
            measured["log-metric without the client, points/s", uri].append(raw_singles(uri, client, experiment, args.points))
            measured["search_runs after a write, ms", uri].append(search(client, searched[uri]))
            measured["search_runs again, ms", uri].append(search(client, searched[uri]))
            post = connect(uri)
            for _ in range(5):
                client.set_experiment_tag(experiment, "written", f"{time.time_ns()}: the next search comes after this write")
                post("/api/2.0/mlflow/experiments/search", b'{"max_results": 1}')
                measured["search after a write without the client, ms", uri].append(raw_search(post, searched[uri]))
                run = client.search_runs([searched[uri]], max_results=1)[0].info.run_id
                client.set_tag(run, "written", str(time.time_ns()))
                measured["search after a write to a run of it without the client, ms", uri].append(raw_search(post, searched[uri]))
                measured["search again without the client, ms", uri].append(raw_search(post, searched[uri]))
    for (what, uri), values in sorted(measured.items()):
        if None not in values:
            print(f"{what:58} {uri:24} {statistics.median(values):12,.1f}   ({min(values):,.1f} to {max(values):,.1f})")


if __name__ == "__main__":
    main()
