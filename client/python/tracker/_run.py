"""A run: what a training logs to."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from . import _check
from ._config import Config, Summary
from ._finish import close_down, drain, ending, leave, wait
from ._http import Client, TrackerError
from ._sender import Sender
from ._spool import Spool
from ._value import PLAIN, tell, uuid7
from ._wandb import Names
from ._writer import FULL, Writer

if TYPE_CHECKING:
    from ._wandb import Artifact, Path

WAKE = 5000
"""Calls to log that wait until the writer is woken before its time."""

live: List[Run] = []
"""The runs of this process that have not finished; the last one is the current."""


class Run(Names):
    """One iteration of an experiment. Made by tracker.init.

    id: its id in the API, a UUID. project, experiment: their names. config: its parameters, a dictionary that may be
    changed at any time. summary: what is recorded when it ends. mode: online, offline or disabled. server: the address
    of the API. finished: whether it has ended here; status: RUNNING until then, or as what it ended.
    """

    def __init__(self, begin: Dict[str, Any], *, folder: str, url: str, token: Optional[str], mode: str, strict: bool,
                 worker: bool = False) -> None:
        self.id: str = begin["id"]
        self.project: str = begin["project"]
        self.experiment: str = begin["experiment"]
        self.mode, self.strict, self.server, self.folder = mode, strict, url, folder
        self.config = Config(self._parameter)
        self.summary = Summary(self.last)
        self.finished = mode == "disabled"
        self.status = "RUNNING"
        self.output: Any = None
        self.quiet = True
        self.interrupts = 0
        self.on_success: Optional[Callable[[], None]] = None
        self._begin, self._token, self._worker = begin, token, worker
        self._name: Optional[str] = begin.get("name")
        self._step: Optional[int] = None if begin.get("resume") or worker else 0
        self._files = 0
        self._broken: Optional[Tuple[int, str, str]] = None  # calls so far, status and message, when a cell has failed
        self._threads: List[threading.Thread] = []
        self._spool: Optional[Spool] = None
        self._sender: Optional[Sender] = None
        self._cards: Any = None
        self._queue: Any = []
        self._started = False
        self._starting = threading.Lock()
        # A worker starts with its first word: until then multiprocessing forgets who wants to be told of its end.
        if not self.finished and not worker:
            self._start()

    # -- what a training calls

    def log(self, data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
        """Log numbers, and images, figures, tables, histograms and texts, by name.

        data: values by name, names being text of 1 to 250 characters; nested mappings are flattened with a slash.
        step: a whole number. Without it, those of one call share the next one.
        commit: False keeps the step for the next call.

        Returns at once, and raises nothing because of the server unless the run is strict. What is neither a number nor
        something that can be drawn is told on stderr and left out.
        """
        if self.finished or not self._started:
            if not self._revive():
                return
        try:
            values = data.values()
        except AttributeError:
            raise TypeError(f"log takes a dictionary of values by name, not {type(data).__name__}") from None
        for value in values:
            if type(value) not in PLAIN:
                from ._object import numbers

                data = numbers(self, data, self._step if step is None else step)
                break
        if step is None:
            step = self._step
            if step is not None and commit is not False:
                self._step = step + 1
        else:
            if type(step) is not int:
                step = _check.step(step)
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

    def log_artifact(self, path: Union[Path, Artifact], name: Optional[str] = None, description: str = "",
                     content_type: Optional[str] = None) -> None:
        """Keep the file at path as an artifact of the run. It is read when it is sent: leave it as it is until then.

        name: what it is called there; without it, the file's name. content_type: as in HTTP; without it, it is guessed
        from the name. A tracker.Artifact in place of path keeps each of its files. FileNotFoundError without a file,
        IsADirectoryError for a folder.
        """
        files = getattr(path, "files", None)
        if isinstance(files, dict):  # a tracker.Artifact
            for inner, file in files.items():
                self.log_artifact(file, f"{path.name}/{inner}", description or path.description or "")  # type: ignore[union-attr]
            return
        path = os.path.abspath(os.fspath(path))  # type: ignore[arg-type]
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder; log a tracker.Artifact(name) with add_dir({os.path.basename(path)!r})")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path} to keep as an artifact")
        self._artifact(path, name or os.path.basename(path), description, content_type, False)

    def log_text(self, name: str, text: str) -> None:
        """Keep a text as an artifact of that name."""
        from ._media import Text
        from ._object import keep

        keep(self, name, Text(text), None)

    def tag(self, *values: str) -> None:
        """Attach tags, texts of 1 to 250 characters."""
        for value in [_check.name("a tag", value) for value in values]:
            self._request("POST", "/tag/iteration/{id}", {"value": value})

    @property
    def name(self) -> Optional[str]:
        """The name that was given, or the one that the server has made up; None as long as it has not."""
        return self._name or (self._sender.name if self._sender else None) or None

    @name.setter
    def name(self, value: str) -> None:
        self._name = value
        self._request("PATCH", "/iteration/{id}", {"name": value})

    @property
    def label(self) -> str:
        """What a message calls it."""
        return f"run {self.name or self.id} of {self.project}/{self.experiment}"

    @property
    def notes(self) -> str:
        """Free text about the run."""
        return str(self._begin.get("notes") or "")

    @notes.setter
    def notes(self, value: str) -> None:
        self._begin["notes"] = value
        self._request("PATCH", "/iteration/{id}", {"notes": value})

    @property
    def ended(self) -> bool:
        """Whether somebody else has ended it, in the dashboard say. A training that looks can stop itself."""
        return self._sender is not None and self._sender.ended is not None

    @property
    def url(self) -> str:
        """The address of its page in the dashboard, see tracker.show."""
        from ._show import dashboard

        return f"{dashboard(self.server)}/iteration/{self.id}"

    def last(self) -> Dict[str, float]:
        """The last value of each metric that this process has logged."""
        if not self._started:
            return {}
        if not self.finished:
            self._writer.flush()
        return {str(name): value for name, value in self._writer.last.copy().items()}

    def show(self, height: int = 600) -> None:
        """Show its page in a notebook, height pixels high, see tracker.show."""
        from ._show import show

        show(self, height=height)

    def check(self) -> None:
        """Raise what the server refused since the last call, or that it can't be reached."""
        if self._sender is not None:
            if self._sender.refused:
                raise self._sender.refused.pop(0)
            if self._sender.failure is not None:
                raise self._sender.failure

    def finish(self, status: str = "SUCCEEDED", error_message: str = "", timeout: Optional[float] = None,
               exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
        """End the run, and send what is left.

        status: SUCCEEDED, FAILED or KILLED. error_message: why; of a long one, the last 20,000 characters are kept.
        timeout: seconds to wait at most; without it, as long as there is progress, and ten seconds without any. What is
        left then stays in the spool. exit_code: W&B's way to say FAILED, when it is not 0. quiet: as that of init, for the
        end. A second Ctrl-C leaves at once.
        """
        if exit_code:
            status = "FAILED"
        if status not in ("SUCCEEDED", "FAILED", "KILLED"):
            raise ValueError(f"a run ends as SUCCEEDED, FAILED or KILLED, not as {status!r}")
        if self.finished:
            return
        if not self._started and self._worker:
            self.finished = True
            return
        try:
            close_down(self, status, error_message)
            complete = wait(self, timeout)
        except KeyboardInterrupt:
            complete = False
        quiet = self.quiet if quiet is None else quiet
        self._leave(complete, quiet and self.mode == "offline")
        if complete and not quiet:
            tell(f"{self.label} ended as {self.status}: {self.url}", stream=sys.stderr)
        if self.status == "SUCCEEDED" and self.on_success is not None:
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
        return attach, (self._begin, self.folder, self.server, self._token, self.mode)

    def __repr__(self) -> str:
        return f"<tracker {self.label}>"

    def _repr_html_(self) -> str:
        from ._card import card

        return card(self)

    def _ipython_display_(self) -> None:
        from ._card import display

        display(self)

    # -- what happens behind

    def _start(self) -> None:
        from ._sync import send_former, send_leftovers, spool_files

        client = Client(self.server, self._token) if self.mode == "online" else None  # first: it may raise ValueError
        suffix = f"-{os.getpid()}-{os.urandom(3).hex()}" if self._worker else ""
        path = os.path.join(self.folder, self.id + suffix + ".spool")
        if not self._worker and os.path.exists(path):  # of the life before, when it is resumed
            path = os.path.join(self.folder, f"{self.id}-{uuid7()}.spool")
        spool = self._spool = Spool(path, {"version": 1, "id": self.id, "url": self.server, "project": self.project,
                                           "experiment": self.experiment})
        if spool.failure is not None:
            tell(f"nothing can be kept in {self.folder} ({spool.failure}); until it is sent, it is in memory only")
        self._writer = Writer(spool)
        self._queue = self._writer.queue
        self._started = True
        self._add({**self._begin, "op": "begin"})
        if self._worker:
            _before_exit_of_worker(lambda: drain(self))
        self._writer.start()
        if client is not None:
            sender = self._sender = Sender(spool, client, worker=self._worker)
            former = [] if self._worker else [found for found in spool_files(self.folder)
                                              if found != path and os.path.basename(found).startswith(self.id)]

            def send() -> None:
                send_former(sender, former)
                sender.run()

            self._background("tracker-sender", send)
            if not self._worker:
                self._background("tracker-leftover", lambda: send_leftovers(sender, self.folder, self._token))

    def _background(self, name: str, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def _revive(self) -> bool:
        """In a forked worker, the first thing that is logged starts a queue and a spool of its own."""
        if self.finished:
            if self.mode != "disabled":
                tell(f"{self.label} has finished; what is logged to it now is not recorded", once="finished " + self.id)
            return False
        with self._starting:
            if not self._started:
                self._start()
        return True

    def _forked(self) -> None:
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

    def _discard(self) -> None:
        """End without a trace, when the run could not be started."""
        self.finished = True
        self._writer.stop()
        if self.output is not None:
            self.output.close(remove=True)
        if self._sender is not None:
            self._sender.stop.set()
            self._sender.hurry.set()
        if self._spool is not None:
            self._spool.close(remove=True)
        if self in live:
            live.remove(self)

    def _leave(self, complete: bool, quiet: bool = False) -> None:
        leave(self, complete, quiet)
        if self._cards is not None:
            self._cards.update()
        if self in live:
            live.remove(self)

    def _add(self, head: Dict[str, Any], body: bytes = b"") -> None:
        if self.finished or not self._started:
            if not self._revive():
                return
        self._queue.append((head, body, None, 0.0))

    def _request(self, method: str, path: str, body: Dict[str, Any]) -> None:
        self._add({"op": "request", "method": method, "path": path}, json.dumps(body).encode())

    def _parameter(self, name: str, text: str) -> None:
        self._add({"op": "parameter", "name": name}, json.dumps({"key": name, "value": text}).encode())

    def _artifact(self, path: str, name: str, description: str, content_type: Optional[str], temporary: bool) -> None:
        self._add({"op": "artifact", "file": path, "name": name, "description": description,
                   "content_type": content_type, "temporary": temporary})

    def _calls(self) -> int:
        """How often log was called."""
        if self._started and not self.finished:
            self._writer.flush()
        return self._writer.calls if self._started else 0

    def _next_file(self) -> int:
        self._files += 1
        return self._files


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
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, drain, exitpriority=0)
