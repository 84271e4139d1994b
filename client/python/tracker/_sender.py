"""Carries out what the spool holds, in order, each once."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from ._http import Client, Refused, TrackerError, Unreachable
from ._repeat import is_old, missing
from ._spool import Item, Spool
from ._value import tell

HEARTBEAT = 30.0
"""Seconds without anything to send after which the run says that it is alive."""
LONGEST_WAIT = 30.0
"""Seconds that a failed request waits at most before it is tried again."""
ORPHANED = 5
"""Tries in which a child waits for its parent, which another thread is sending, before anybody is told."""
SIGN_IN_AGAIN = frozenset((401, 403))
ENDED = "ITERATION_ENDED"
"""The code of the API for a write to an iteration that has ended."""


class Sender:
    """Sends the items of a spool. What it can't send stays there.

    When somebody else has ended the iteration, its end stands. What the run logs after that waits in the spool until the
    run ends, too. Then the iteration is opened for it, and gets the end back that it had: that is put into the spool
    before it is opened, so that whoever goes on with the spool of a process that was killed does it.
    """

    def __init__(self, spool: Spool, client: Client, adopted: bool = False, worker: bool = False) -> None:
        """adopted says that another process has begun to send this spool; worker, that another one ends the run."""
        self.spool, self.client = spool, client
        self.id: str = spool.head["id"]
        self.stop = threading.Event()
        self.hurry = threading.Event()  # somebody waits for the end: try again soon
        self.failure: Optional[TrackerError] = None  # of the last try; None when it went well
        self.refused: List[Refused] = []  # what was said no to, for strict runs
        self.progress = 0  # items that have their answer
        self.name = ""  # of the iteration, once it is known
        self.ended: Optional[Dict[str, Any]] = None  # the iteration, when somebody else has ended it
        self._adopted, self._worker = adopted, worker
        self._doubt = adopted  # the next points may be there already, see _repeat.py
        self._orphaned = 0
        self._experiment = ""
        self._ids: Dict[str, str] = {}  # of projects and experiments, by path and name
        self._opened = False  # for what came late; the end that it had is in the spool
        self._closed = False  # by an end in the spool

    def run(self) -> None:
        """Send until stopped. While there is nothing to send, tell that the run is alive."""
        wait, spoken = 0.0, time.monotonic()
        while not self.stop.is_set():
            item = self.spool.next(timeout=0.5)
            if item is None:
                if self.progress and time.monotonic() - spoken >= HEARTBEAT:
                    spoken = time.monotonic()
                    self._heartbeat()
                continue
            if self.step(item):
                wait, spoken = 0.0, time.monotonic()
                continue
            wait = min(LONGEST_WAIT, max(0.25, wait * 2, getattr(self.failure, "after", 0.0)))
            if self.hurry.is_set():
                self.stop.wait(min(wait, 0.25))
            else:
                self.hurry.wait(wait)
        self.client.close()

    def step(self, item: Item) -> bool:
        """Try to send item; whether it has its answer now."""
        try:
            self._carry_out(item)
        except Unreachable as failure:
            self._doubt = True
            self.told(failure)
            return False
        except Refused as refused:
            if refused.code == ENDED:
                self.failure = refused  # it waits, see _open_and
                return False
            if refused.status in SIGN_IN_AGAIN or item.head["op"] == "begin":
                if refused.field != "parent_iteration_id" or self._adopted or self._orphaned >= ORPHANED:
                    self.told(refused)
                self._orphaned += 1
                return False
            self._reject(item, refused)
        except Exception as error:  # a fault here must not end the thread: what follows can still be sent
            if item.head["op"] == "begin":  # nothing can, without a beginning
                self.told(Unreachable(f"{self.client.url} does not answer as the API does: {type(error).__name__}: {error}"))
                return False
            self._reject(item, Refused(0, "", f"{type(error).__name__}: {error}"))
        if self.failure is not None and not self._adopted and getattr(self.failure, "code", "") != ENDED:
            tell(f"{self.client.url} is reached again")
        self.failure = None
        self.spool.done(item)
        self.progress += 1
        return True

    def told(self, failure: TrackerError) -> None:
        """Say once what keeps things from being sent; of what another process has left, whoever asked for it says so."""
        if not self._adopted and (self.failure is None or type(self.failure) is not type(failure)):
            where, url = self.spool.path if self.spool.failure is None else "memory", self.client.url
            text = str(failure).rstrip(".")
            tell(f"{text if url in text else f'{url} says: {text}'}; what is logged is kept in {where} and sent later")
        self.failure = failure

    def _reject(self, item: Item, refused: Refused) -> None:
        """Tell what the server does not take, and keep it beside the spool."""
        head = {k: v for k, v in item.head.items() if k != "key"}
        what = head.get("path") or head.get("name") or head.get("op")
        tell(f"the server does not take {what}: {refused.message}")
        self._keep(head, item.body, refused)

    def _keep(self, head: Dict[str, Any], body: bytes, refused: Refused) -> None:
        self.refused.append(refused)
        del self.refused[100:]
        try:
            line = json.dumps({**head, "error": refused.message, "body": body.decode("utf-8", "replace")})
            with open(self.spool.path + ".rejected", "a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            pass  # it was told

    def _heartbeat(self) -> None:
        try:
            try:
                self.client.call("POST", f"/iteration/{self.id}/heartbeat")
                self.ended = None
            except Refused as refused:
                if refused.code == ENDED:
                    self._was_ended()
        except TrackerError:
            pass  # the next thing to send will tell

    def _carry_out(self, item: Item) -> None:
        head, body = item.head, item.body
        op = head["op"]
        if op == "points":
            self._new_points(body, head["key"])
        elif op == "begin":
            self._begin(head)
        elif op == "parameter":
            self._parameter(head, body)
        elif op == "end":
            self._end(body, head.get("again", False))
        elif op == "artifact":
            from ._artifact import upload

            upload(self.client, self.experiment(), self.id, head)
        else:  # any other request to the iteration
            self._open_and(lambda: self.client.call(
                head["method"], head["path"].replace("{id}", self.id), body, head.get("key", "")))

    def experiment(self) -> str:
        """The id of the experiment that the run is in."""
        if not self._experiment:
            self._look()
        return self._experiment

    def _look(self) -> None:
        found = self.client.call("GET", f"/iteration/{self.id}")
        self._experiment, self.name = found["experiment_id"], found["name"] or ""

    def _open_and(self, request: Any) -> None:
        """Make request; if the iteration has ended, open it for that as soon as nobody logs to it any more."""
        try:
            request()
            if not self._opened:
                self.ended = None
        except Refused as refused:
            if refused.code != ENDED:
                raise
            before = self._was_ended()
            if before is not None:
                if not self._adopted and not self.hurry.is_set():
                    raise
                end = {name: before[name] for name in ("status", "error_message", "end_date")}
                self.spool.append({"op": "end", "again": True}, json.dumps(end).encode())
                self._opened = True
                self.client.call("PATCH", f"/iteration/{self.id}", {"status": "RUNNING"})
            request()

    def _was_ended(self) -> Optional[Dict[str, Any]]:
        """The iteration when it has ended, which is told once; None when somebody has opened it since."""
        found: Dict[str, Any] = self.client.call("GET", f"/iteration/{self.id}")
        if found["status"] == "RUNNING":
            return None
        if self.ended is None and not self._adopted and not self._worker:
            tell(f"run {self.name or self.id} was ended elsewhere, as {found['status']}, and stays so; what it logs after that "
                 "is kept, and sent when it finishes here", once=f"ended {self.id} {found['end_date']}")
        self.ended = found
        return found

    def _end(self, body: bytes, again: bool) -> None:
        """End the iteration, unless that was done elsewhere; or again, after it was opened for what came late."""
        if self._opened and not again:
            return  # the end that it had comes behind this one
        path = f"/iteration/{self.id}"
        try:
            self.client.call("PATCH", path, body)
            if not again:
                self._closed, self.ended = True, None
        except Refused as refused:
            if refused.code != ENDED:
                raise
            if not again:
                if self._was_ended() is None:
                    raise  # it was opened at this moment
            elif self._closed:  # by a process that was killed after it had opened the iteration
                self.client.call("PATCH", path, {"status": "RUNNING"})
                self.client.call("PATCH", path, body)
        if again:
            self._opened = False

    def _begin(self, head: Dict[str, Any]) -> None:
        try:
            self._look()
        except Refused as refused:
            if refused.status != 404:
                raise
        else:  # it is resumed, or this is a worker's, or the answer was lost
            if head.get("resume"):
                self.client.call("PATCH", f"/iteration/{self.id}", {"status": "RUNNING"})
            return
        project = self._named("/project", head["project"])
        experiment = self._named(f"/experiment/project/{project}", head["experiment"], "&status=IN_PROGRESS")
        body = {"id": self.id, **{name: head[name] for name in ("name", "notes") if head.get(name)}}
        if head.get("parent"):
            body["parent_iteration_id"] = head["parent"]
        self.client.call("POST", f"/iteration/experiment/{experiment}", body)
        self._doubt = False
        self._look()

    def _named(self, path: str, name: str, query: str = "") -> str:
        """The id of the record of that name; it is made when there is none.

        Programs that start at the same moment make the same request, under the same idempotency key, and so get the
        same record.
        """
        found = self._ids.get(path + " " + name) or self._find(path, name, query)
        if found:
            self._ids[path + " " + name] = found
            return found
        key = "named-" + hashlib.sha256(f"{path}\n{name}".encode()).hexdigest()
        made = str(self.client.call("POST", path, {"name": name}, key)["id"])
        if self._find(path, name, query) is None:  # the answer of long ago, about what was deleted or ended since
            made = str(self.client.call("POST", path, {"name": name})["id"])
        self._ids[path + " " + name] = made
        return made

    def _find(self, path: str, name: str, query: str) -> Optional[str]:
        offset = 0
        while True:
            page = self.client.call("GET", f"{path}?name={quote(name, safe='')}&limit=1000&offset={offset}{query}")
            for record in page["data"]:
                if record["name"] == name:
                    return str(record["id"])
            offset += len(page["data"])
            if not page["data"] or offset >= page["total"]:
                return None

    def _parameter(self, head: Dict[str, Any], body: bytes) -> None:
        path = f"/parameter/iteration/{self.id}"
        try:
            self._open_and(lambda: self.client.call("POST", path, body))
            return
        except Refused as refused:
            if refused.status != 409:
                raise
        wanted, offset = json.loads(body), 0
        while True:
            page = self.client.call("GET", f"{path}?limit=1000&offset={offset}")
            for record in page["data"]:
                if record["key"] == wanted["key"]:
                    if record["value"] != wanted["value"]:
                        self.client.call("PATCH", f"/parameter/{record['id']}", {"value": wanted["value"]})
                    return
            offset += len(page["data"])
            if not page["data"]:
                return

    def _new_points(self, body: bytes, key: str) -> None:
        """Send points; of a request that the server may have written and forgotten, only what it does not have."""
        if self._doubt and is_old(key):
            points = json.loads(body)["metrics"]
            left = missing(self.client, self.id, points)
            if len(left) == len(points):
                self._doubt = False  # requests go out in order: what follows was not sent either
            elif not left:
                return
            else:
                body = json.dumps({"metrics": left}).encode()
                key = key[:32] + "-" + hashlib.sha256(body).hexdigest()
        self._points(body, key)

    def _points(self, body: bytes, key: str) -> None:
        """Send points. What is too large is cut in half; a point that is refused is found and left out.

        The key of a part is made of its content, so that the same parts are the same requests when it is tried again.
        """
        try:
            self._open_and(lambda: self.client.call("POST", f"/metric/iteration/{self.id}/bulk", body, key))
            return
        except Refused as refused:
            if refused.code == ENDED or refused.status not in (400, 413, 422):
                raise
            points = json.loads(body)["metrics"]
            if len(points) == 1:
                point = points[0]
                tell(f"the server does not take the point {point['key'][:80]!r} at step {point.get('step')}: {refused.message}")
                self._keep({"op": "points"}, body, refused)
                return
        for part in (points[:len(points) // 2], points[len(points) // 2:]):
            text = json.dumps({"metrics": part}).encode()
            self._points(text, key[:32] + "-" + hashlib.sha256(text).hexdigest())
