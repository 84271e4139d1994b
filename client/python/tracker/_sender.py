"""Sends the requests of a spool in order, each exactly once."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ._config import SUMMARY
from ._http import ENDED, Client, Refused, TrackerError, Unreachable
from ._spool import Item, Spool
from ._stop import StopRequest
from ._trust import check_own_folder
from ._value import tell, timestamp

if TYPE_CHECKING:
    from ._artifact import Transfer
    from ._part import Progress

HEARTBEAT = 30.0
"""If no item has got a response for this many seconds, a heartbeat is sent."""
CHECK = 5.0
"""Seconds between two reads of the run from the server, which notice that somebody asked it to stop or ended it."""
LATE = 10.0
"""If the beginning or end of a run is sent this many seconds late or more, it is sent with the time at which it
happened."""
LONGEST_WAIT = 30.0
"""Maximum seconds to wait before a retry."""
ORPHANED = 5
"""Number of failed attempts to begin a child run before a message is printed. Another thread might still be sending the
parent."""
SIGN_IN_AGAIN = frozenset((401, 403))
REQUESTS = frozenset((("PATCH", "/iteration/{id}"), ("POST", "/iteration/{id}/snapshot"), ("POST", "/tag/iteration/{id}"),
                      ("PATCH", "/property/iteration/{id}"), ("POST", "/artifactversion/iteration/{id}/use")))
"""The only requests that a spool item can name by method and path. {id} is the run's id."""
UPLOADS = ("artifact", "version")
"""The items for which log_artifact can wait."""


class Sender:
    """Sends the items of a spool. An item that cannot be sent stays in the spool.

    If the iteration was ended elsewhere, its status and end date are preserved. Items that are logged later wait until this
    process ends the run. The sender then reopens the iteration, sends these items, and restores the former end. The former
    end is appended to the spool before the iteration is reopened, so a later process restores it if this process is killed.
    """

    def __init__(self, spool: Spool, client: Client, adopted: bool = False, worker: bool = False,
                 moved: Optional[Progress] = None, stop_request: Optional[StopRequest] = None) -> None:
        """adopted: whether another process wrote this spool. worker: whether another process ends the run. moved: progress
        of the sender that waits for this sender. stop_request: updated while the run is active."""
        from ._name import Names
        from ._part import Progress
        from ._points import Points
        from ._unsent import REJECTED

        self.spool, self.client = spool, client
        self.id: str = spool.head["id"]
        self.stop = threading.Event()
        self.hurry = threading.Event()  # set while finish waits: retry soon
        self.failure: Optional[TrackerError] = None  # error of the last attempt; None if it succeeded
        self.refused: List[Refused] = []  # errors of rejected requests, for strict runs
        self.progress = 0  # number of items with a response
        self.moved = moved or Progress()
        self.name = ""  # the iteration's name; empty until it is known
        self.resumed = False  # whether the server already had the iteration when the run began
        self.answers: Dict[int, Optional[Refused]] = {}  # results by upload number; None means that the server has the file
        self.before_end: Optional[Callable[[], None]] = None  # sends the run's data in other spools
        self.created = ""  # the iteration's creation date; empty until it is known
        self.ended: Optional[Dict[str, Any]] = None  # the iteration, if it was ended elsewhere
        self._adopted, self._worker = adopted, worker
        self._stop_request = stop_request or StopRequest()
        self._points = Points(client, self.id, adopted, self._reopen_for, self._keep)
        self._orphaned = 0
        self._experiment = ""
        self._names = Names(client, tell)
        self._mute = False  # whether the server does not accept console lines
        self._opened = False  # whether the iteration was reopened for late items; its former end is in the spool
        self._closed = False  # whether this sender has ended the iteration
        self._refused = False  # whether the current item was rejected
        self._spoken = time.monotonic()  # time of the last response or heartbeat
        self._checked = time.monotonic()  # time of the last request for the run
        self._transfer: Optional[Transfer] = None  # the upload in progress
        self._unsaid = not adopted and os.path.exists(spool.path + REJECTED)  # whether rejections are not on the page yet

    def run(self) -> None:
        """Send items until stop is set. Send heartbeats while the spool is empty, and read the run periodically."""
        wait = 0.0
        while not self.stop.is_set():
            item, before = self.spool.next(timeout=0.5), self.moved.moves
            if item is None:
                self._say_refused()
                self._keep_alive()
                continue
            if self.step(item):
                wait, self._spoken = 0.0, time.monotonic()
                self._check()
                continue
            wait = 0.0 if self.moved.moves != before else wait  # a part of a file arrived
            wait = min(LONGEST_WAIT, max(0.25, wait * 2, getattr(self.failure, "after", 0.0)))
            if self.hurry.is_set():
                self.stop.wait(min(wait, 0.25))
            else:
                self.hurry.wait(wait)
        self._say_refused()
        self.client.close()

    def step(self, item: Item) -> bool:
        """Try to send item. Return whether the server responded."""
        self._refused = False
        try:
            self._carry_out(item)
        except Unreachable as failure:
            self._points.doubt = True
            self.report(failure)
            return False
        except Refused as refused:
            if refused.code == ENDED:
                self.failure = refused  # the item waits until the run ends, see _reopen_for
                return False
            if refused.status in SIGN_IN_AGAIN or item.head["op"] == "begin":
                if refused.field != "parent_iteration_id" or self._adopted or self._orphaned >= ORPHANED:
                    self.report(refused)
                self._orphaned += 1
                return False
            self._reject(item, refused)
        except Exception as error:  # a bug must not end the thread: later items can still be sent
            if item.head["op"] == "begin":  # no other item can be sent before the run exists
                self.report(Unreachable(f"{self.client.url} does not respond like the API: {type(error).__name__}: {error}"))
                return False
            self._reject(item, Refused(0, "", f"{type(error).__name__}: {error}"))
        if self.failure is not None and not self._adopted and getattr(self.failure, "code", "") != ENDED:
            tell(f"{self.client.url} can be reached again")
        self.failure = None
        if item.head["op"] in UPLOADS:
            self.answers.setdefault(item.head.get("number", 0))
        self.spool.done(item)
        if item.head["op"] == "artifact" and not self._refused:
            self._remove_file(item.head)
        self.progress += 1
        self.moved.move()
        return True

    def report(self, failure: TrackerError) -> None:
        """Record failure, and print once why items cannot be sent. If the spool is adopted, the caller prints the
        reason."""
        if not self._adopted and (self.failure is None or type(self.failure) is not type(failure)):
            where, url = self.spool.path if self.spool.failure is None else "memory", self.client.url
            text = str(failure).rstrip(".")
            tell(f"{text if url in text else f'{url} says: {text}'}; logged data is stored in {where} and sent later")
        self.failure = failure

    def _reject(self, item: Item, refused: Refused) -> None:
        """Print a rejected item, and store it in a file beside the spool."""
        head, self._refused = item.head, True
        if head.get("op") in UPLOADS:
            self.answers[head.get("number", 0)] = refused
        what = head.get("path") or head.get("name") or head.get("op")
        tell(f"the server rejected {what}: {refused.message}" if refused.status else f"not sent: {what}: {refused.message}")
        self._keep(head, item.body, refused)

    def _keep(self, head: Dict[str, Any], body: bytes, refused: Refused) -> None:
        self.refused.append(refused)
        del self.refused[100:]
        self._unsaid = True
        from ._unsent import keep

        try:
            keep(self.spool.path, self.spool.head, head, body, refused.message)
        except OSError as error:
            tell(f"the rejected data could not be stored either: {error.strerror or error}")

    def _say_refused(self) -> None:
        """Show rejected requests on the run's page if they are not shown yet."""
        if self._unsaid and self.progress:
            try:
                self.announce()
            except TrackerError:
                pass  # run calls this function again

    def announce(self) -> None:
        """Update the rejected requests that the run's page shows. Raises TrackerError."""
        from ._unsent import announce, rejected

        try:
            heads = rejected(self.spool.path)
        except OSError:
            return  # another account owns the file; the commands status and sync report that
        announce(self.client, self.id, self.spool.path, heads)
        self._unsaid = False

    def _remove_file(self, head: Dict[str, Any]) -> None:
        """Remove the copy of a file that is on the server. If the spool is closed, the copy stays, because the spool still
        names it."""
        if not head.get("temporary") or (self.stop.is_set() and self.spool.closed):
            return
        from ._artifact import remove_note

        try:
            path = self._file(head["file"])
            remove_note(path + ".upload")
            os.unlink(path)
        except (OSError, Refused):
            pass  # the copy was already removed

    def _keep_alive(self) -> None:
        """Do what is due while no item is being sent."""
        if self.progress:
            self._heartbeat()
            self._check()

    def _check(self) -> None:
        """Read the run from the server if that is due, and act on a request to stop."""
        if time.monotonic() - self._checked < CHECK or self._adopted or self.hurry.is_set() or not self._stop_request.needed:
            return
        self._checked = time.monotonic()
        try:
            found = self.client.call("GET", f"/iteration/{self.id}")
            self._note(found)
            fresh = self._stop_request.update(found)
        except (TrackerError, KeyError, TypeError, AttributeError):
            return  # the next item reports the failure
        if fresh and not self._worker:
            tell(f"{found.get('stop_requested_by') or 'somebody'} has asked run {self.name or self.id} to stop")
        self._stop_request.deliver()

    def _heartbeat(self) -> None:
        """Send a heartbeat if no item has got a response for a while. Parts of a file are not items."""
        if self._adopted or time.monotonic() - self._spoken < HEARTBEAT:
            return
        self._spoken = time.monotonic()
        try:
            try:
                self.client.call("POST", f"/iteration/{self.id}/heartbeat")
                self.spool.touch()
                self.ended = None
            except Refused as refused:
                if refused.code == ENDED:
                    self._was_ended()
        except TrackerError:
            pass  # the next item reports the failure

    def _carry_out(self, item: Item) -> None:
        head, body = item.head, item.body
        op = head["op"]
        if op == "points":
            self._points.send(self._absolute(body) if head.get("relative") else body, head["key"])
        elif op == "begin":
            self._begin(head)
        elif op == "parameter":
            self._parameter(head, body)
        elif op == "end":
            self._end(self._dated(head, body), head.get("again", False))
        elif op == "rewind":
            self._reopen_for(lambda: self._rewind(str(head["name"]), int(head["from"]), head["key"]))
        elif op == "artifact":
            from ._artifact import Transfer

            path = self._file(head["file"])
            if self._transfer is None or self._transfer.head != head:
                self._transfer = Transfer(self.client, self.id, head, self.moved, self.stop, self._keep_alive)
            self._transfer.send(self.experiment(), path, own=path != head["file"])
            self._transfer = None
        elif op == "version":
            self._reopen_for(lambda: self.client.call("POST", f"/artifactversion/iteration/{self.id}", body, head["key"]))
        elif op == "console":
            self._print(head, json.loads(body))
        elif op == "request" and (head["method"], head["path"]) in REQUESTS:
            self._reopen_for(lambda: self.client.call(
                head["method"], head["path"].replace("{id}", self.id), body, head.get("key", "")))
        else:
            raise Refused(0, "", f"{head.get('method', op)} is not a request about the run")

    def _rewind(self, name: str, step: int, key: str) -> None:
        """Delete the points of a metric from the given step on. If the server rejects that, they stay in addition to later
        points."""
        try:
            self.client.call("POST", f"/metric/iteration/{self.id}/rewind", {"key": name, "from": step}, key)
        except Refused as refused:
            if refused.code == ENDED or refused.status == 401:
                raise
            tell(f"points that a restart repeated are stored twice: {refused.message}", once=f"rewind {self.id}")

    def _file(self, name: str) -> str:
        """Return the path of a file that a spool item names. Raises Refused if the run does not own the file.

        Drawings and copies are in the folder with the run's id beside the spool. The output of the process has the
        spool's name with another suffix. Files that this process recorded can be anywhere.
        """
        folder, spool = os.path.split(self.spool.path)
        inside, separator, file = name.partition("/")
        if name == os.path.splitext(spool)[0] + ".out" or (
                inside == f"{self.id}.files" and separator and file not in ("", ".", "..") and not set(file) & {"/", os.sep}):
            if separator:
                self._check_files(os.path.join(folder, inside))
            return os.path.join(folder, *name.split("/"))
        if self._adopted or not os.path.isabs(name):
            raise Refused(0, "", f"{name} is not a file that the run has stored in the spool; log it again to send it")
        return name

    def _check_files(self, folder: str) -> None:
        """Raise Refused if other accounts can write to the folder of the run's files. They could place hard links in it."""
        try:
            check_own_folder(folder)
        except OSError as error:
            raise Refused(0, "", f"{folder} can't be used: {error.strerror or error}") from error

    def experiment(self) -> str:
        """Return the id of the run's experiment."""
        if not self._experiment:
            self._look()
        return self._experiment

    def _look(self) -> None:
        found = self.client.call("GET", f"/iteration/{self.id}")
        self._experiment, self.name, self.created = found["experiment_id"], found["name"] or "", found["created_date"]

    def _reopen_for(self, request: Any) -> None:
        """Make a request. If the iteration has ended, reopen it first, but not before this process has ended the run."""
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

    def _absolute(self, body: bytes) -> bytes:
        """Return the points of a resumed run with absolute steps. Step "+0" is the first step after the steps on the
        server.
        """
        if self.spool.base is None:
            metrics = self.client.call("GET", f"/iteration/{self.id}/summary")["metrics"]
            steps = [one["last_step"] for key, one in metrics.items() if not key.startswith(("system/", SUMMARY))]
            self.spool.keep_base(max(steps, default=-1) + 1)
        base = self.spool.base or 0
        points = json.loads(body)["metrics"]
        for point in points:
            if isinstance(point.get("step"), str):
                point["step"] = base + int(point["step"])
        return json.dumps({"metrics": points}).encode()

    def _dated(self, head: Dict[str, Any], body: bytes) -> bytes:
        """Return the body of an end. If it is sent late, the body includes the time at which the run ended."""
        at = head.get("at", "")
        if not self.created:
            self._look()
        if not self.created < at < timestamp(int((time.time() - LATE) * 1000)):
            return body
        return json.dumps({**json.loads(body), "end_date": at}).encode()

    def _print(self, head: Dict[str, Any], body: Dict[str, Any]) -> None:
        """Send console lines. The lines are numbered, so sending them twice does no harm."""
        if self._mute:
            return
        path = f"/iteration/{self.id}/console"
        try:
            if head.get("resumed") and self.spool.line is None:
                self.spool.keep_line(self.client.call("GET", f"{path}?from={1 << 40}")["next"])
            self.client.call("POST", path, {**body, "from": body["from"] + (self.spool.line or 0)})
        except Refused as refused:
            lines = body["lines"]
            if refused.status == 413 and len(lines) > 1:
                half = len(lines) // 2
                self._print(head, {**body, "lines": lines[:half]})
                self._print(head, {**body, "from": body["from"] + half, "lines": lines[half:]})
                return
            if refused.status not in (404, 405):
                raise
            self._mute = True  # the server is too old for console lines; output.log contains them

    def _was_ended(self) -> Optional[Dict[str, Any]]:
        """Return the iteration if it has ended, and report that once. Return None if the iteration was reopened."""
        found: Dict[str, Any] = self.client.call("GET", f"/iteration/{self.id}")
        self._note(found)
        return None if found["status"] == "RUNNING" else found

    def _note(self, found: Dict[str, Any]) -> None:
        """Record whether the iteration has ended elsewhere."""
        if found["status"] == "RUNNING":
            if not self._opened:
                self.ended = None
            return
        if self.ended is None and not self._adopted and not self._worker:
            tell(f"run {self.name or self.id} was ended elsewhere as {found['status']}; values that it logs later "
                 "are stored, and sent when this program ends the run", once=f"ended {self.id} {found['end_date']}")
        self.ended = found

    def _end(self, body: bytes, again: bool) -> None:
        """End the iteration if it was not ended elsewhere. If again is set, end it after it was reopened for late items."""
        if self.before_end is not None and not again:
            self.before_end()
        if self._unsaid:
            self.announce()
        if self._opened and not again:
            return  # a later item restores the former end
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
                    raise  # the iteration was reopened in the meantime
            elif self._closed:  # by a process that was killed after it had reopened the iteration
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
        else:  # the run is resumed, or belongs to a worker, or an earlier response was lost
            self.resumed = bool(head.get("resume"))
            if self.resumed:
                self.client.call("PATCH", f"/iteration/{self.id}", {"status": "RUNNING"})
            return
        project = self._names.id("/project", head["project"])
        experiment = self._names.id(f"/experiment/project/{project}", head["experiment"], "&status=IN_PROGRESS")
        body = {"id": self.id, **{name: head[name] for name in ("name", "notes") if head.get(name)}}
        if head.get("parent"):
            body["parent_iteration_id"] = head["parent"]
        if "" < head.get("at", "") < timestamp(int((time.time() - LATE) * 1000)):
            body["created_date"] = head["at"]
        path = f"/iteration/experiment/{experiment}"
        try:
            self.client.call("POST", path, body)
        except Refused as refused:
            if refused.field != "created_date":
                raise
            del body["created_date"]  # the server is too old for this field, or its clock is behind
            self.client.call("POST", path, body)
        self._points.doubt = False
        self._look()

    def _parameter(self, head: Dict[str, Any], body: bytes) -> None:
        path = f"/parameter/iteration/{self.id}"
        try:
            self._reopen_for(lambda: self.client.call("POST", path, body))
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
