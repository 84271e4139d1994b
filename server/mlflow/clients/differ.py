"""Sends the same random calls to MLflow's server and to tracker, and prints the differences between the responses.

    mlflow server --port 5000 --backend-store-uri sqlite:///mlflow.db --artifacts-destination ./mlartifacts
    python differ.py http://127.0.0.1:5000 http://127.0.0.1:9000 --seeds 0:50

A seed determines the calls. The program compares statuses, error codes, and records with their order. It replaces ids
with names, and ignores messages and times that the servers set. differ_reasons.py lists the differences that
docs/mlflow.md describes. The exit status is 1 if there are other differences.
"""

import argparse
import collections
import json
import math
import random
import re
import sys

import requests

import differ_calls
from differ_reasons import reason

API = "/api/2.0/mlflow/"
LEFT_OUT = {
    "creation_time", "last_update_time", "creation_timestamp", "last_updated_timestamp", "creation_timestamp_ms",
    "last_updated_timestamp_ms", "message", "next_page_token", "run_uuid", "sqlstate", "error_class", "workspace",
}  # fmt: skip
UNORDERED = {"tags", "params", "aliases", "latest_versions", "dataset_inputs", "model_inputs", "model_outputs"}
MADE_UP = re.compile(r"^[a-z]{3,}(-[a-z]+)?(-\d+)?$(?<=[a-z]-\d\d\d)|^[a-z]{3,}-[a-z]{3,}(-\d+)?$")
PLACEHOLDER = re.compile(r"<[a-z]+\d+>")
NONE = {"experiment": "999999", "run": "f" * 32, "model": "m-" + "f" * 32}  # ids that no record has


class Server:
    """One of the two servers. It maps the ids of the server's records to names and back."""

    def __init__(self, uri):
        self.uri = uri
        self.session = requests.Session()
        self.ids = {}  # ids on this server, by name
        self.names = {}  # names, by id on this server
        self.apart = set()  # names of records whose states can differ between the servers

    def learn(self, name, identifier):
        """Store the id of a record that a call has created."""
        self.ids[name] = identifier
        self.names[identifier] = name

    def fill(self, value):
        """Return a request in which names are replaced with the server's ids."""
        if isinstance(value, str):
            return PLACEHOLDER.sub(lambda m: self.ids.get(m[0]) or NONE[m[0].strip("<>0123456789")], value)
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        return value

    def send(self, call):
        """Return the status and the decoded body of the response to a call."""
        method, path, body = call
        path, body = self.fill(path), self.fill(body)
        url = self.uri + (path if path.startswith("/") else API + path)
        sent = {"data": body.encode()} if isinstance(body, str) else {"params" if method == "GET" else "json": body}
        try:
            answer = self.session.request(method, url, timeout=60, **sent)
        except requests.ConnectionError as e:
            return 599, str(e)
        try:
            return answer.status_code, answer.json() if answer.content else {}
        except ValueError:
            return answer.status_code, answer.text

    def pages(self, call):
        """Return the status, and the records of all pages of a search."""
        method, path, body = call
        found, token = collections.defaultdict(list), ""
        for _ in range(50):
            status, answer = self.send((method, path, {**body, **({"page_token": token} if token else {})}))
            if status != 200 or not isinstance(answer, dict):
                return status, answer
            for field, records in answer.items():
                if isinstance(records, list):
                    found[field] += records
            token = answer.get("next_page_token")
            if not token:
                return 200, dict(found)
        return 0, "the pages do not end"

    def plain(self, value, field=""):
        """Return a response in the form in which responses are compared."""
        if isinstance(value, dict):
            pair = set(value) <= {"key", "value"}
            kept = {k: self.plain(v, k) for k, v in value.items() if k not in LEFT_OUT}
            return kept if pair else {k: v for k, v in kept.items() if v not in (None, "", [], {})}
        if isinstance(value, list):
            plain = [v for v in map(self.plain, value) if not self.apart or not any(n in json.dumps(v, ensure_ascii=False) for n in self.apart)]
            latest = field == "metrics" and len({v.get("key") for v in plain}) == len(plain)
            return sorted(plain, key=json.dumps) if field in UNORDERED or latest else plain
        if isinstance(value, float):
            if math.isnan(value):
                return "NaN"
            return ("-" if value < 0 else "") + "Infinity" if abs(value) > 1.79e308 else value
        if not isinstance(value, str):
            return value
        if field in ("run_name", "value", "name"):
            value = MADE_UP.sub("<made up>", value)
        if field == "experiment_id":
            return self.names.get(value, value)
        value = re.sub(r"mlflow-artifacts:/([^/]+)", lambda m: "mlflow-artifacts:/" + self.names.get(m[1], m[1]), value)
        return re.sub(r"(m-)?[0-9a-f]{32}", lambda m: self.names.get(m[0], m[0]), value)


def identifier(answer):
    """Return the id of the record that a call has created."""
    if "experiment_id" in answer:
        return answer["experiment_id"]
    if "run" in answer:
        return answer["run"]["info"]["run_id"]
    return answer["model"]["info"]["model_id"]


def compare(servers, call, name, paged, home):
    """Send a call to both servers. Return both responses, or None if they are equal.

    If a call has changed records on only one server, later comparisons ignore these records, and so they do for records
    with intended differences. Each difference is therefore reported only once.
    """
    before = set(servers[0].apart)
    raw = [s.pages(call) if paged else s.send(call) for s in servers]
    for server, (status, answer) in zip(servers, raw):
        if name and status == 200:
            server.learn(name, identifier(answer))
    if name and raw[0][0] != raw[1][0]:
        for server in servers:
            server.apart.add(name)
    answers = [(status, server.plain(answer)) for server, (status, answer) in zip(servers, raw)]
    about, named = records(call)
    named |= {home[n] for n in named if n in home}
    if not path_of_search(call[1]):  # a single record was requested by name
        named |= {n for n in before if n in json.dumps(answers, ensure_ascii=False)}
    changes = call[0] != "GET" and not path_of_search(call[1])
    removed = call[0] == "DELETE" and call[1].startswith("logged-models/<") and call[1].endswith(">")
    alone = call[1] == "runs/update" and call[2].get("status") in (None, "RUNNING")
    if named & servers[0].apart or removed or alone or changes and (answers[0][0] == 200) != (answers[1][0] == 200):
        for server in servers if changes else ():
            server.apart |= about
        if named & before:
            for server in servers if name else ():
                server.apart.add(name)
            return None
    return None if answers[0] == answers[1] else answers


def path_of_search(path):
    """Return whether a path is a search, which changes nothing."""
    return path.endswith("/search") or path.endswith("get-latest-versions")


def records(call):
    """Return the names of the records that a call can change, and the names of all records that it mentions."""
    _, path, body = call
    names = set(PLACEHOLDER.findall(path + json.dumps(body, ensure_ascii=False)))
    within = {n for n in names if not n.startswith("<experiment")}
    if path.startswith(("registered-models", "model-versions")):
        within |= {json.dumps(v, ensure_ascii=False) for k, v in body.items() if k in ("name", "new_name") and v}
    if path in ("experiments/create", "experiments/update"):
        names |= {json.dumps(v, ensure_ascii=False) for k, v in body.items() if k in ("name", "new_name") and v}
    return within or names, names | within


def places(one, other, at=""):
    """Return the differences between two responses, each with the values of both."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [p for k in sorted({*one, *other}) for p in places(one.get(k), other.get(k), f"{at}.{k}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [p for i, (a, b) in enumerate(zip(one, other)) for p in places(a, b, f"{at}[{i}]")]
    return [] if one == other else [f"{at or 'answer'}: {json.dumps(one)[:700]} | {json.dumps(other)[:700]}"]


def main():
    """Compare the servers and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mlflow", help="address of MLflow's server")
    parser.add_argument("tracker", help="address of tracker")
    parser.add_argument("--seeds", default="0:10", help="first seed, and the last seed plus one")
    parser.add_argument("--calls", type=int, default=300, help="number of calls for each seed")
    parser.add_argument("--stop", type=int, default=20, help="maximum number of unexplained differences")
    args = parser.parse_args()
    first, end = map(int, args.seeds.split(":"))
    for uri in args.mlflow, args.tracker:
        requests.get(uri + "/health", timeout=60).raise_for_status()  # otherwise every call would fail on MLflow's server
    explained, sent, differ = collections.Counter(), 0, 0
    for seed in range(first, end):
        servers = [Server(args.mlflow), Server(args.tracker)]
        calls = differ_calls.Calls(random.Random(seed), seed)
        for number in range(args.calls):
            call, name, paged = calls.next(number, args.calls)
            answers = compare(servers, call, name, paged, calls.home)
            sent += 1
            if answers is None:
                continue
            unknown = any(n not in s.ids for s in servers for n in PLACEHOLDER.findall(json.dumps(call)))
            if why := reason(call, *answers, unknown):
                explained[why] += 1
                continue
            differ += 1
            print(f"seed {seed}, call {number}: {json.dumps(call)[:1500]}")
            for place in [f"status: {answers[0][0]} | {answers[1][0]}", *places(answers[0][1], answers[1][1])[:8]]:
                print("    " + place)
            for server, (status, _) in zip(servers, answers):
                if status != 200:
                    print("    " + str(server.send(call)[1])[:300])
            if differ >= args.stop:
                sys.exit(1)
    print(f"{sent} calls; {differ} unexplained differences")
    for why, n in explained.most_common():
        print(f"{n:6}  {why}")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
