"""A run: what a training logs to."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from ._config import Config
from ._http import Client, Refused, TrackerError
from ._sender import Sender, spool_files, sync_file
from ._spool import Busy, Spool
from ._value import PLAIN, flatten, parameter_text, scalar, tell, uuid7
from ._writer import FULL, Writer

PATIENCE = 10.0
"""Seconds without progress after which finish leaves the rest to the spool."""
MOST_MESSAGE = 20_000
"""Characters of an error message that are kept: its end, where a traceback says what happened."""
WAKE = 5000
"""Calls to log that wait until the writer is woken before its time."""

live: List[Run] = []
"""The runs of this process that have not finished; the last one is the current."""


class Run:
    """One iteration of an experiment. Made by tracker.init."""

    def __init__(self, begin: Dict[str, Any], *, folder: str, url: str, token: Optional[str], mode: str, strict: bool,
                 worker: bool = False) -> None:
        self.id: str = begin["id"]
        self.project: str = begin["project"]
        self.experiment: str = begin["experiment"]
        self.mode, self.strict, self.url, self.folder = mode, strict, url, folder
        self.config = Config(self._parameter)
        self.summary: Dict[str, Any] = {}
        self.finished = mode == "disabled"
        self.output: Any = None
        self.interrupts = 0
        self.on_success: Optional[Callable[[], None]] = None
        self._begin, self._token, self._worker = begin, token, worker
        self._name: Optional[str] = begin.get("name")
        self._step: Optional[int] = None if begin.get("resume") or worker else 0
        self._files = 0
        self._threads: List[threading.Thread] = []
        self._spool: Optional[Spool] = None
        self._sender: Optional[Sender] = None
        self._queue: Any = []
        self._started = False
        self._starting = threading.Lock()
        # A worker starts with its first word: until then multiprocessing forgets who wants to be told of its end.
        if not self.finished and not worker:
            self._start()

    # -- what a training calls

    def log(self, data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
        """Log numbers, and images, figures, tables, histograms and texts, by name.

        Nested mappings are flattened with a slash. Without a step, those of one call share the next one; with
        commit=False the step stays for the next call. Returns at once.
        """
        if self.finished or not self._started:
            if not self._revive():
                return
        for value in data.values():
            if type(value) not in PLAIN:
                data = self._numbers(data, self._step if step is None else step)
                break
        if step is None:
            step = self._step
            if step is not None and commit is not False:
                self._step = step + 1
        else:
            if type(step) is not int:
                step = int(step)
            if self._step is not None and step >= self._step:
                self._step = step if commit is False else step + 1
        queue = self._queue
        waiting = len(queue)
        if waiting >= FULL:
            self._writer.dropped += 1
            return
        queue.append((dict(data), None, step, time.time()))
        if waiting >= WAKE:
            self._writer.wake.set()
        if self.strict:
            self.check()

    def log_artifact(self, path: Any, name: Optional[str] = None, description: str = "",
                     content_type: Optional[str] = None) -> None:
        """Keep the file at path as an artifact of the run. It is read when it is sent: leave it as it is until then."""
        path = os.path.abspath(os.fspath(path))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path} to keep as an artifact")
        self._artifact(path, name or os.path.basename(path), description, content_type, False)

    def save(self, path: Any, **_: Any) -> None:
        """Keep a file, or those that a pattern matches, as artifacts; W&B's name for log_artifact."""
        import glob

        for found in glob.glob(os.fspath(path)):
            if os.path.isfile(found):
                self.log_artifact(found, name=os.path.relpath(found).replace(os.sep, "/").lstrip("./"))

    def log_text(self, name: str, text: str) -> None:
        """Keep a text as an artifact."""
        from ._media import Text

        self._object(name, Text(text), None)

    def watch(self, *_: Any, **__: Any) -> None:
        """Do nothing. Gradients are not recorded by themselves: log what you want to see of them."""
        tell("watch records nothing; log the norms of gradients that you want to see", once="watch")

    def tag(self, *values: str) -> None:
        """Attach tags."""
        for value in values:
            self._request("POST", "/tag/iteration/{id}", {"value": value})

    @property
    def name(self) -> Optional[str]:
        """The name that was given; None when the server makes one up."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value
        self._request("PATCH", "/iteration/{id}", {"name": value})

    @property
    def notes(self) -> str:
        """Free text about the run."""
        return str(self._begin.get("notes") or "")

    @notes.setter
    def notes(self, value: str) -> None:
        self._begin["notes"] = value
        self._request("PATCH", "/iteration/{id}", {"notes": value})

    def check(self) -> None:
        """Raise what the server refused since the last call, or that it can't be reached."""
        if self._sender is not None:
            if self._sender.refused:
                raise self._sender.refused.pop(0)
            if self._sender.failure is not None:
                raise self._sender.failure

    def finish(self, status: str = "SUCCEEDED", error_message: str = "", timeout: Optional[float] = None,
               exit_code: Optional[int] = None) -> None:
        """End the run as SUCCEEDED, FAILED or KILLED, and send what is left.

        Waits while there is progress, and at most timeout seconds; what is left then stays in the spool. A second
        Ctrl-C leaves at once.
        """
        if self.finished:
            return
        if not self._started and self._worker:
            self.finished = True
            return
        if exit_code:
            status = "FAILED"
        try:
            self._close_down(status, error_message)
            complete = self._wait(timeout)
        except KeyboardInterrupt:
            complete = False
        self._leave(complete)
        if status == "SUCCEEDED" and self.on_success is not None:
            self.on_success()
        if self.strict and not complete and self.mode == "online":
            raise (self._sender.failure if self._sender else None) or TrackerError("not everything could be sent")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        status, message = ending(kind, error, traceback)
        if status == "KILLED" and kind is KeyboardInterrupt:
            self.interrupts = 1
        self.finish(status, message)

    def __reduce__(self) -> Tuple[Any, ...]:
        return attach, (self._begin, self.folder, self.url, self._token, self.mode)

    def __repr__(self) -> str:
        return f"<tracker run {self._name or self.id} of {self.project}/{self.experiment}>"

    def _repr_html_(self) -> str:
        from html import escape

        state = "finished" if self.finished else "running"
        return f"<b>tracker</b> {escape(self.project)} / {escape(self.experiment)}: {escape(self._name or self.id)}, {state}"

    # -- what happens behind

    def _start(self) -> None:
        suffix = f"-{os.getpid()}-{os.urandom(3).hex()}" if self._worker else ""
        path = os.path.join(self.folder, self.id + suffix + ".spool")
        if not self._worker and os.path.exists(path):  # of the life before, when it is resumed
            path = os.path.join(self.folder, f"{self.id}-{uuid7()}.spool")
        self._spool = Spool(path, {"version": 1, "id": self.id, "url": self.url, "project": self.project,
                                   "experiment": self.experiment})
        if self._spool.failure is not None:
            tell(f"nothing can be kept in {self.folder} ({self._spool.failure}); until it is sent, it is in memory only")
        self._writer = Writer(self._spool)
        self._queue = self._writer.queue
        self._started = True
        self._add({**self._begin, "op": "begin"})
        if self._worker:
            _before_exit_of_worker(self.drain)
        self._writer.start()
        if self.mode == "online":
            self._sender = Sender(self._spool, Client(self.url, self._token))
            sender = self._sender
            former = [] if self._worker else [found for found in spool_files(self.folder)
                                              if found != path and os.path.basename(found).startswith(self.id)]
            self._background("tracker-sender", lambda: sender.run(former))
            if not self._worker:
                self._background("tracker-leftover", self._send_leftovers)

    def _background(self, name: str, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def _revive(self) -> bool:
        """In a forked worker, the first thing that is logged starts a queue and a spool of its own."""
        if self.finished:
            if self.mode != "disabled":
                tell(f"{self!r} has finished; what is logged to it now is not recorded", once="finished " + self.id)
            return False
        with self._starting:
            if not self._started:
                self._start()
        return True

    def forked(self) -> None:
        """Let go of what is the parent's, in a child that was just forked."""
        if self.finished:
            return
        if self._spool is not None:
            self._spool.abandon()
        if self.output is not None:
            self.output.close()
            self.output = None
        self._started, self._worker, self._sender, self._step = False, True, None, None
        self._threads, self._queue, self._starting = [], [], threading.Lock()
        self._begin = {**self._begin, "resume": False}

    def discard(self) -> None:
        """End without a trace, when the run could not be started."""
        self.finished = True
        self._writer.stop()
        if self.output is not None:
            self.output.close()
        if self._sender is not None:
            self._sender.stop.set()
            self._sender.hurry.set()
        if self._spool is not None:
            self._spool.close(remove=True)
        if self in live:
            live.remove(self)

    def drain(self, timeout: float = 5.0) -> None:
        """In a worker: put what is queued into the spool, and wait a moment for it to be sent."""
        if not self._started or self.finished:
            return
        self.finished = True
        try:
            self._writer.stop()
            complete = self._wait(timeout)
        except KeyboardInterrupt:
            complete = False
        self._leave(complete, quiet=True)

    def _send_leftovers(self) -> None:
        """Send what runs before this one have left, once the server is seen to be there."""
        sender, spool = self._sender, self._spool
        assert sender is not None and spool is not None
        while not sender.progress:
            if sender.stop.wait(0.5):
                return
        for path in spool_files(self.folder):
            if path == spool.path or sender.stop.is_set():
                continue
            try:
                if _url_of(path) == self.url:
                    sync_file(path, self.url, self._token, stop=sender.stop)
            except (Busy, ValueError, OSError):
                continue  # another process is at it, or it is none of ours

    def _add(self, head: Dict[str, Any], body: bytes = b"") -> None:
        if self.finished or not self._started:
            if not self._revive():
                return
        self._queue.append((head, body, None, 0.0))

    def _request(self, method: str, path: str, body: Dict[str, Any]) -> None:
        self._add({"op": "request", "method": method, "path": path}, json.dumps(body).encode())

    def _parameter(self, name: str, text: str) -> None:
        self._add({"op": "parameter", "name": name}, json.dumps({"key": name, "value": text}).encode())

    def _numbers(self, data: Mapping[str, Any], step: Optional[int]) -> Dict[str, float]:
        """The numbers in data by their flat names; what else is in it is logged as an artifact."""
        numbers: Dict[str, float] = {}
        for name, value in flatten(data):
            number = scalar(value)
            if number is not None:
                numbers[name] = number
            elif value is not None:
                self._object(name, value, step)
        return numbers

    def _object(self, name: str, value: Any, step: Optional[int]) -> None:
        from ._media import as_file

        values = value if isinstance(value, (list, tuple)) and value else [value]
        for number, one in enumerate(values):
            try:
                file = as_file(one)
            except Exception as error:  # of the library that draws it
                tell(f"{name} could not be kept: {type(error).__name__}: {error}", once="object " + name)
                return
            if file is None:
                tell(f"{name} is not logged: a {type(one).__name__} is no number; put text into config or notes",
                     once="value " + name)
                return
            self._files += 1
            suffix = (f"_{step}" if step is not None else "") + (f"_{number}" if len(values) > 1 else "")
            path = os.path.join(self.folder, f"{self.id}.files", f"{os.getpid()}-{self._files}{file.suffix}")
            try:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                with open(path, "wb") as out:
                    out.write(file.data)
            except OSError as error:
                tell(f"{name} could not be kept: {error}", once="object " + name)
                return
            self._artifact(path, name + suffix + file.suffix, str(getattr(one, "caption", None) or ""), file.content_type, True)

    def _artifact(self, path: str, name: str, description: str, content_type: Optional[str], temporary: bool) -> None:
        self._add({"op": "artifact", "file": path, "name": name, "description": description,
                   "content_type": content_type, "temporary": temporary})

    def _close_down(self, status: str, message: str) -> None:
        """Queue the end, and put all that is queued into the spool."""
        for thread in self._threads:
            if thread.name == "tracker-capture":
                thread.join(15)
        numbers = {}
        for name, value in flatten(self.summary):
            number = None if isinstance(value, bool) else scalar(value)
            if number is None:
                self._parameter("summary/" + name, parameter_text(value))
            else:
                numbers["summary/" + name] = number
        if numbers:
            self._queue.append((numbers, None, None, time.time()))
        if self.output is not None:
            self.output.close()
            if os.path.exists(self.output.path) and os.path.getsize(self.output.path):
                self._artifact(self.output.path, "output.log", "What the process printed.", "text/plain; charset=utf-8", True)
            else:
                try:
                    os.unlink(self.output.path)
                except OSError:
                    pass
        end: Dict[str, Any] = {"status": status}
        if message:
            end["error_message"] = message[-MOST_MESSAGE:].encode("utf-8", "replace").decode()
        if not self._worker:
            self._request("PATCH", "/iteration/{id}", end)
        self.finished = True
        self._writer.stop()

    def _wait(self, timeout: Optional[float]) -> bool:
        """Wait for the sender; whether all was sent."""
        sender, spool = self._sender, self._spool
        if sender is None or spool is None:
            return False
        sender.hurry.set()
        begun = moved = time.monotonic()
        seen, shown = sender.progress, False
        while not spool.empty:
            now = time.monotonic()
            if sender.progress != seen:
                seen, moved = sender.progress, now
            patience = 2.0 if isinstance(sender.failure, Refused) else PATIENCE
            if now - moved > patience or (timeout is not None and now - begun > timeout):
                break
            if now - begun > 2 and not shown:
                shown = True
                tell(f"sending what is left of {self!r}; Ctrl-C leaves it in the spool")
            try:
                with spool.changed:
                    spool.changed.wait(0.1)
                if self.interrupts > 1:
                    break
            except KeyboardInterrupt:
                self.interrupts += 1
                if self.interrupts > 1:
                    break
                tell("still sending; Ctrl-C again leaves the rest in the spool")
        return spool.empty

    def _leave(self, complete: bool, quiet: bool = False) -> None:
        spool, sender = self._spool, self._sender
        assert spool is not None
        if sender is not None:
            sender.stop.set()
            sender.hurry.set()
            with spool.changed:
                spool.changed.notify_all()
            for thread in self._threads:
                if thread.name == "tracker-sender":
                    thread.join(1 if complete else 0.2)
            if complete:
                if self._worker:
                    try:
                        sender.settle()
                    except TrackerError:
                        pass  # the late points are there; only the status says RUNNING
        lost = self._writer.dropped + spool.lost
        if lost:
            tell(f"{lost} calls or requests were lost: neither the disk nor the memory had room for them")
        in_memory = spool.failure is not None and not complete
        spool.close(remove=complete)
        if self in live:
            live.remove(self)
        if complete:
            try:
                os.rmdir(os.path.join(self.folder, self.id + ".files"))
            except OSError:
                pass  # there is none, or a worker still has files in it
        elif not quiet:
            what = "a part is lost, since the disk took no more" if in_memory else f"the rest is kept in {spool.path}"
            tell(f"{self!r} has ended; {what}. Send it with: python -m tracker sync")


def _url_of(path: str) -> str:
    """The address that a spool file is for."""
    spool = Spool(path)
    try:
        return str(spool.head.get("url", ""))
    finally:
        spool.close()


def attach(begin: Dict[str, Any], folder: str, url: str, token: Optional[str], mode: str) -> Run:
    """The run of another process, as a worker that got it pickled sees it: it logs, and leaves the end to its owner."""
    for run in live:
        if run.id == begin["id"]:
            return run
    run = Run({**begin, "resume": False}, folder=folder, url=url, token=token, mode=mode, strict=False, worker=True)
    live.append(run)
    return run


def _before_exit_of_worker(drain: Callable[[], None]) -> None:
    """Have drain called when a worker of multiprocessing ends; it leaves without the usual handlers."""
    import sys

    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, drain, exitpriority=0)


def ending(kind: Any, error: Any, traceback: Any) -> Tuple[str, str]:
    """The status and message of a run that ends with this exception, or with none."""
    if kind is None or (kind is SystemExit and getattr(error, "code", None) in (None, 0)):
        return "SUCCEEDED", ""
    if kind is KeyboardInterrupt:
        return "KILLED", "Interrupted from the keyboard."
    from traceback import format_exception

    return "FAILED", "".join(format_exception(kind, error, traceback))


def tags_of(run: Run, tags: Iterable[str]) -> None:
    """Attach tags, given as a list or as one string."""
    run.tag(*([tags] if isinstance(tags, str) else tags))
