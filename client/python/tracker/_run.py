"""The run to which a program logs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union, cast

from . import _check, _worker
from ._config import MAX_TEXT, SUMMARY, TEXT, Config, Summary, summary_text
from ._end import INTERRUPTED, ending
from ._http import TrackerError
from ._recorder import Recorder
from ._run_artifact import Artifacts
from ._value import PLAIN, flatten, metric, parameter_text, scalar, tell
from ._wandb import Names

if TYPE_CHECKING:
    from ._card import Cards, State

idle: List[Run] = []
"""The disabled run of this process. It is the current run if no other run is active."""
live: List[Run] = []
"""The active runs of this process. The last run is the current run."""


class Run(Artifacts, Names):
    """A run, which the API calls an iteration. tracker.init creates runs.

    id: the id in the API, a UUID. project, experiment: names. config: the parameters, a dictionary that can be
    changed at any time. summary: values that are recorded when the run ends. mode: online, offline or disabled. server:
    the address of the API. finished: whether this process has ended the run. status: RUNNING, or the status at the end.
    """

    def __init__(self, recorder: Recorder, strict: bool = False) -> None:
        begin = recorder.begin
        self.id: str = begin["id"]
        self.project: str = begin["project"]
        self.experiment: str = begin["experiment"]
        self.mode, self.strict, self.server, self.folder = recorder.mode, strict, recorder.url, recorder.folder
        self.recorder = recorder
        self.config = Config(recorder.parameter)
        self._unrecorded: Dict[str, float] = {}
        self.summary = Summary((lambda: self._unrecorded) if self.mode == "disabled" else self.last)
        self.quiet = True
        self.on_success: Optional[Callable[[], None]] = None
        self.before_end: List[Callable[[], None]] = []  # each logs the remaining values of followed event files
        self._tags: List[str] = []
        self._texts: Dict[str, str] = {}  # the last text that was logged under each name
        self._notes = str(begin.get("notes") or "")
        self._step: Optional[int] = None if recorder.worker else 0
        self._resumed = bool(begin.get("resume"))  # whether steps are relative to the last step on the server
        self._failed: Optional[Tuple[int, str, str]] = None  # number of calls at the failure, status and message
        self._cards: Optional[Cards] = None
        # A worker starts when it first logs. Before that, multiprocessing would discard the finalizers that start registers.
        if not recorder.finished and not recorder.worker:
            recorder.start()

    # -- methods for programs

    def log(self, data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
        """Log numbers, images, figures, tables, histograms and texts by name.

        A string or a list becomes part of the run's summary, which has the last value of each name.

        data: values by name. A name is text of 1 to 250 characters. Nested mappings are flattened with a slash.
        step: an integer. By default, all values of one call share the next step.
        commit: if False, the next call without a step uses the same step.

        log returns at once. If the server fails, it raises an error only if the run is strict. The numbers are not lost if
        the process is killed after the call. Images, tables, histograms and texts are encoded shortly after the call. A
        value that cannot be logged is reported on stderr and omitted. If a 64-bit float cannot represent a number exactly,
        this is reported.
        """
        recorder = self.recorder
        if (recorder.finished or not recorder.started) and not recorder.revive():
            if self.mode == "disabled":  # scripts can read the values from the summary
                self._unrecorded.update({k: v for k, v in ((k, scalar(v)) for k, v in flatten(data)) if v is not None})
            return
        try:
            values = data.values()
        except AttributeError:
            raise TypeError(f"log takes a dictionary of values by name, not {type(data).__name__}") from None
        for value in values:
            if type(value) not in PLAIN:
                data = self._log_objects(data, step if step is not None else None if self._resumed else self._step)
                break
        mark: Union[None, int, str] = step
        if step is None:
            mark = self._step
            if mark is not None:
                if commit is not False:
                    self._step = mark + 1
                if self._resumed:
                    mark = f"+{mark}"
        else:
            if type(step) is not int:
                mark = step = _check.step(step)
            if self._resumed:
                self._step, self._resumed = step if commit is False else step + 1, False
            elif self._step is not None and step >= self._step:
                self._step = step if commit is False else step + 1
        recorder.log(data, mark, time.time())
        if self.strict:
            self.check()

    def log_text(self, name: str, text: str) -> None:
        """Store text as an artifact with the given name."""
        from ._media import Text

        self._keep(name, Text(text), None)

    def tag(self, *values: str) -> None:
        """Add tags. A tag is a string of 1 to 250 characters."""
        for value in [_check.name("a tag", value) for value in values]:
            self._tags.append(value)
            self.recorder.request("POST", "/tag/iteration/{id}", {"value": value})

    @property
    def name(self) -> Optional[str]:
        """The name that was given, or else the name that the server chose. None if the run has no name yet."""
        return self.recorder.name

    @name.setter
    def name(self, value: str) -> None:
        self.recorder.given_name = value
        self.recorder.request("PATCH", "/iteration/{id}", {"name": value})

    @property
    def label(self) -> str:
        """The run's name in messages."""
        return self.recorder.label

    @property
    def notes(self) -> str:
        """Free text about the run."""
        return self._notes

    @notes.setter
    def notes(self, value: str) -> None:
        self._notes = value
        self.recorder.request("PATCH", "/iteration/{id}", {"notes": value})

    @property
    def tags(self) -> Tuple[str, ...]:
        """The tags that this process has added. An assignment adds tags and never removes any."""
        return tuple(self._tags)

    @tags.setter
    def tags(self, values: Sequence[str]) -> None:
        self.tag(*[value for value in values if value not in self._tags])

    @property
    def step(self) -> int:
        """The step that the next call of log without a step uses. For a resumed run, it is known only after the server's
        first response."""
        base = self.recorder.spool.base if self._resumed and self.recorder.spool is not None else 0
        return (self._step or 0) + (base or 0)

    @property
    def resumed(self) -> bool:
        """Whether this run continues a run on the server. It is False until the server has responded."""
        sender = self.recorder.sender
        return sender is not None and sender.resumed

    @property
    def finished(self) -> bool:
        """Whether this process has ended the run."""
        return self.recorder.finished

    @property
    def status(self) -> _check.Status:
        """RUNNING, or the status at the end."""
        return cast(_check.Status, self.recorder.status)

    @property
    def ended(self) -> bool:
        """Whether the run was ended elsewhere, for example in the dashboard. A training can check this and stop."""
        sender = self.recorder.sender
        return sender is not None and sender.ended is not None

    @property
    def should_stop(self) -> bool:
        """Whether somebody has asked the run to stop, for example in the dashboard.

        By default, such a request raises KeyboardInterrupt in the main thread of the program that began the run. A program
        that reads this property is not interrupted; it stops by itself. The run then ends as KILLED.
        """
        self.recorder.stop_request.watched = True
        return self.recorder.stop_request.ask()

    @property
    def url(self) -> str:
        """The address of the run's page in the dashboard. See tracker.show."""
        from ._show import dashboard

        return f"{dashboard(self.server)}/iteration/{self.id}"

    def last(self) -> Dict[str, float]:
        """Return the last value of each metric that this process has logged."""
        return self.recorder.last()

    def flush(self) -> None:
        """Wait until all values logged so far are encoded and in the spool. They are then not lost if the process is
        killed."""
        self.recorder.flush()

    def show(self, height: int = 600) -> None:
        """Show the run's page in a notebook. height is in pixels. See tracker.show."""
        from ._show import dashboard, show

        show(dashboard(self.server), f"/iteration/{self.id}", height)

    def check(self) -> None:
        """Raise an error if the server cannot be reached, or if it has rejected a request since the last call of check."""
        sender = self.recorder.sender
        if sender is not None:
            if sender.refused:
                raise sender.refused.pop(0)
            if sender.failure is not None:
                raise sender.failure

    def finish(self, status: _check.End = "SUCCEEDED", error_message: str = "", timeout: Optional[float] = None,
               exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
        """End the run, and send its unsent data.

        status: SUCCEEDED, FAILED or KILLED. error_message: the reason; the last 20,000 characters are stored.
        timeout: maximum seconds to wait. By default, finish gives up after ten seconds without progress. Unsent data then
            stays in the spool.
        exit_code: W&B's argument. If it is not 0, the run is FAILED.
        quiet: True omits the line about the end, as in init.

        A second Ctrl-C stops waiting.
        """
        if exit_code:
            status = "FAILED"
        if status not in ("SUCCEEDED", "FAILED", "KILLED"):
            raise ValueError(f"a run ends as SUCCEEDED, FAILED or KILLED, not as {status!r}")
        if self.finished:
            return
        recorder = self.recorder
        recorder.stop_request.close()
        status, error_message = self.stopped(status, error_message)
        complete = recorder.finish(status, error_message, timeout, self._record_summary)
        quiet = self.quiet if quiet is None else quiet
        recorder.leave(complete, quiet and (self.mode == "offline" or recorder.hasty))
        if self._cards is not None:
            self._cards.update()
        self._forget()
        if recorder.worker:
            return
        if complete and not quiet:
            tell(f"{self.label} ended as {self.status}: {self.url}", stream=sys.stderr)
        if self.status == "SUCCEEDED" and self.on_success is not None:
            self.on_success()
        if self.strict and not complete and self.mode == "online":
            raise (recorder.sender.failure if recorder.sender else None) or TrackerError("not everything could be sent")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        status, message = ending(kind, error, traceback)
        if kind is SystemExit:
            status, message = self.exited(message) if status == "FAILED" else (status, message)
        if status == "KILLED" and kind is KeyboardInterrupt:
            self.recorder.interrupts = 1
        self.finish(status, message)

    def __reduce__(self) -> Tuple[Any, ...]:
        recorder = self.recorder
        return attach, (recorder.begin, self.folder, self.server, recorder.token, self.mode)

    def __repr__(self) -> str:
        return f"<tracker {self.label}>"

    def _repr_html_(self) -> str:
        from ._card import card

        return card(self._state(), self.url)

    def _ipython_display_(self) -> None:
        from ._card import Cards
        from ._show import dashboard, in_notebook, view

        if not in_notebook():
            print(repr(self))
            return
        if self._cards is None:
            self._cards = Cards(self._state, view(dashboard(self.server), f"/iteration/{self.id}").address)
        self._cards.show()

    def _state(self) -> State:
        from ._card import State

        sender = self.recorder.sender if not self.finished else None
        ended = sender.ended if sender is not None else None
        failure = "It was ended elsewhere" if ended else sender.failure if sender is not None else None
        status = "disabled" if self.mode == "disabled" else str(ended["status"]) if ended else self.status
        return State(self.name or self.id, f"{self.project} / {self.experiment}", status, self.finished, self.last(),
                     str(failure) if failure else None, repr(self))

    # -- methods for this package

    def stopped(self, status: _check.End, message: str) -> Tuple[_check.End, str]:
        """Return the status and message of a run that is ending. A run that was stopped on request is KILLED."""
        request = self.recorder.stop_request
        if request.told and (status == "SUCCEEDED" or status == "KILLED" and message in ("", INTERRUPTED)):
            return "KILLED", request.message
        return status, message

    def exited(self, message: str) -> Tuple[_check.End, str]:
        """Return the status and message of a run whose program ends with an exit status other than 0."""
        return ("KILLED", "") if self.recorder.stop_request.told else ("FAILED", message)

    def has_failed(self, status: _check.End, message: str) -> None:
        """Record that the program or a notebook cell has failed. If nothing is logged later, the run ends as failed."""
        status, message = self.stopped(status, message)
        self._failed = (self.recorder.foresee(status, message), status, message)

    def likely_end(self) -> Tuple[_check.End, str]:
        """Return the status and message for a run whose program does not end it."""
        if self._failed is not None and self._failed[0] == self.recorder.calls:
            return cast(_check.End, self._failed[1]), self._failed[2]
        return "SUCCEEDED", ""

    def drain(self, timeout: float = 5.0) -> None:
        """Write a worker's queue to the spool, wait at most timeout seconds until it is sent, and release the run.
        """
        self._end_following()
        if self.recorder.drain(timeout):
            self._forget()

    def discard(self) -> None:
        """Delete the run's spool, because the run could not be started."""
        self.recorder.discard()
        self._forget()

    def forked(self) -> None:
        """Turn the parent's run into a worker's run. It is called in a child process that was just forked."""
        if not self.finished:
            self.recorder.forked()
            self.before_end.clear()
            self._step, self._resumed = None, False

    def _forget(self) -> None:
        if self in live:
            live.remove(self)
            _worker.share(live)

    def _log_objects(self, data: Mapping[str, Any], step: Optional[int]) -> Dict[str, float]:
        """Store values that are not numbers as artifacts. Return the numbers."""
        from ._object import split

        numbers, objects = split(data)
        for name, value in objects:
            text = None if value is None else summary_text(value)
            if text is None:
                self._keep(name, value, step)
            elif self._texts.get(name) != text:
                self._texts[name] = text
                self._set_texts({name: text})
        return numbers

    def _set_texts(self, texts: Mapping[str, str]) -> None:
        """Store values of the summary that are not numbers."""
        self.recorder.request("PATCH", "/property/iteration/{id}", {"properties": {TEXT + k: v for k, v in texts.items()}})

    def _keep(self, name: str, value: Any, step: Optional[int]) -> None:
        from ._object import drawings

        self.recorder.draw(name, drawings(name, value, step))

    def _end_following(self) -> None:
        while self.before_end:
            self.before_end.pop()()

    def _record_summary(self) -> None:
        self._end_following()
        self.keep_dir()
        numbers, texts = {}, {}
        for name, value in flatten(self.summary):
            number = None if isinstance(value, bool) else metric(SUMMARY + name, value)
            if number is not None:
                numbers[SUMMARY + name] = number
            else:
                text = summary_text(value)
                texts[name] = parameter_text(value)[:MAX_TEXT] if text is None else text
        if texts:
            self._set_texts(texts)
        if numbers:
            self.recorder.log(numbers, None, time.time())


def attach(begin: Dict[str, Any], folder: str, url: str, token: Optional[str], mode: str) -> Run:
    """Return the run of another process, which a worker has received by pickle. The worker logs; the owner ends the run."""
    for run in live:
        if run.id == begin["id"]:
            return run
    run = Run(Recorder({**begin, "resume": False}, folder=folder, url=url, token=token, mode=mode, worker=True))
    live.append(run)
    return run
