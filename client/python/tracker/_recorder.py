"""The spool, the writer and the sender of one run in one process."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._call import MOST_POINTS, Encoder, Step
from ._console import Console
from ._end import before_exit_of_worker, end_body
from ._http import ENDED, Client, Refused, TrackerError
from ._keep import Files, Kept
from ._output import Output, beside, request
from ._record import CALL, ITEM
from ._sender import Sender
from ._spool import Spool
from ._stop import StopRequest
from ._sync import remove_folder, send_all, send_former, send_leftovers, spool_files
from ._value import floats, tell, timestamp, uuid7
from ._worker import importing
from ._writer import PERIOD, WORKER_PERIOD, Entry, Writer

if TYPE_CHECKING:
    from ._media import Drawing

PATIENCE = 10.0
"""Seconds without progress after which finish gives up. Unsent data stays in the spool."""
WRITE_TIMEOUT = 30.0
"""Maximum seconds that an ending worker waits until its queue is on disk."""
SHORT = 2.0
"""Seconds without a received byte after which a run that is ending stops reporting its missing data to the server."""
WAKE, FULL = 1000, 10_000
"""Number of queued calls at which log wakes the writer, and at which it waits for the writer. Calls are queued if the disk
fails."""
MOST_NAMES = 100_000
"""Maximum number of metrics whose last value is remembered."""
MOST_DRAWN = 32 << 20
"""Maximum bytes of objects that wait to be encoded. If there are more, draw waits for the writer."""


class Recorder:
    """Records one run: writes items to the spool at once, and sends them from there.

    A worker records to a run that another process began and will end. finished reports whether this process has ended
    the run. status is RUNNING, or the status at the end.
    """

    def __init__(self, begin: Dict[str, Any], *, folder: str, url: str, token: Optional[str], mode: str,
                 worker: bool = False) -> None:
        self.begin, self.folder, self.url, self.token = begin, folder, url, token
        self.mode, self.worker = mode, worker
        self.given_name: Optional[str] = begin.get("name")
        self.finished = mode == "disabled"
        self.status = "RUNNING"
        self.started = False
        self.interrupts = 0
        self.stop_request = StopRequest()
        self.hasty = False  # at the end, do not wait for an unreachable server; another run sends the spool
        self.output: Optional[Output] = None
        self.calls = 0  # calls to log so far; simultaneous calls might count as one
        self._last: Dict[Any, float] = {}
        self._encode = Encoder().encode
        self.writer: Optional[Writer] = None
        self.spool: Optional[Spool] = None
        self.sender: Optional[Sender] = None
        self.former: List[str] = []  # spools to send before the end of this run, for example of its children
        self._files = Files(folder, begin["id"])
        self._drawn = 0  # bytes of objects that wait to be encoded
        self._threads: List[threading.Thread] = []
        self._starting = threading.Lock()

    @property
    def name(self) -> Optional[str]:
        """The name that was given, or else the name that the server chose. None if the run has no name yet."""
        return self.given_name or (self.sender.name if self.sender else None) or None

    @property
    def label(self) -> str:
        """The run's name in messages."""
        return f"run {self.name or self.begin['id']} of {self.begin['project']}/{self.begin['experiment']}"

    # -- start

    def start(self) -> None:
        """Open the spool and start the threads. Raises ValueError for an invalid address or token."""
        client = Client(self.url, self.token) if self.mode == "online" else None
        id = self.begin["id"]
        suffix = f"-{os.getpid()}-{os.urandom(3).hex()}" if self.worker else ""
        path = os.path.join(self.folder, id + suffix + ".spool")
        if not self.worker and os.path.exists(path):  # the run is resumed, and its earlier spool has unsent data
            path = os.path.join(self.folder, f"{id}-{uuid7()}.spool")
        spool = self.spool = Spool(path, {"version": 1, "id": id, "url": self.url, "project": self.begin["project"],
                                          "experiment": self.begin["experiment"], "worker": self.worker})
        if spool.failure is not None:
            why = spool.failure.strerror or spool.failure
            tell(f"nothing can be stored in {self.folder} ({why}); unsent data is held in memory only; set TRACKER_SPOOL to "
                 "another folder", once="memory " + self.folder)
        if not self.worker:
            spool.reserve()
        self.writer = Writer(spool, WORKER_PERIOD if self.worker else PERIOD)
        self._record({**self.begin, "op": "begin", "at": timestamp(time.time_ns() // 1_000_000)})
        self.started = True
        if self.worker:
            before_exit_of_worker(self.drain)
        self.writer.start()
        if client is not None:
            sender = self.sender = Sender(spool, client, worker=self.worker, stop_request=self.stop_request)

            def of_run() -> List[str]:
                return [found for found in spool_files(self.folder)
                        if found != path and os.path.basename(found).startswith(id)]

            former = [] if self.worker else of_run()
            if not self.worker:  # of_run also finds the spools of killed workers, and of children that did not wait
                sender.before_end = lambda: send_all(sender, self.former + of_run())

            def send() -> None:
                send_former(sender, former)
                sender.run()

            self.background("tracker-sender", send)
            if not self.worker:
                def own(other: str) -> bool:
                    return os.path.basename(other).startswith(id) or other in self.former

                self.background("tracker-leftover", lambda: send_leftovers(sender, self.folder, self.token, own))

    def background(self, name: str, target: Callable[[], None]) -> None:
        """Run target in a daemon thread."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def copy_output(self) -> None:
        """Start copying the output of the process to a file beside the spool."""
        if self.spool is not None:
            try:
                console = Console(self.mode == "online", bool(self.begin.get("resume")))
                self.output = Output(beside(self.spool.path), console)
                if self.writer is not None:
                    self.writer.printed = console.items
            except OSError:
                pass  # the disk is full, which the spool has reported

    def sample(self, source: Callable[[], Dict[str, float]]) -> None:
        """Make the writer call source periodically to get system metrics."""
        def sample() -> Dict[str, float]:
            values = source()
            self._note(values)
            return values

        if self.writer is not None:
            self.writer.sample = sample

    def revive(self) -> bool:
        """Start the recorder of a worker when the worker first logs. Return whether the run records anything.

        A spawned worker that imports the program again records nothing, because its parent has logged the same values.
        """
        if self.finished:
            if self.mode != "disabled":
                tell(f"{self.label} has finished; values that are logged to it now are not recorded",
                     once="finished " + self.begin["id"])
            return False
        if importing():
            return False
        with self._starting:
            if not self.started:
                self.start()
        return True

    def forked(self) -> None:
        """Release the parent's spool and threads. It is called in a child process that was just forked."""
        if self.finished:
            return
        if self.spool is not None:
            self.spool.abandon()
        if self.output is not None:
            self.output.close()
            self.output = None
        self.started, self.worker, self.sender, self.writer = False, True, None, None
        self.stop_request = StopRequest()
        self._threads, self._starting, self._last = [], threading.Lock(), {}
        self._files = Files(self.folder, self.begin["id"])
        self.begin = {**self.begin, "resume": False}

    def adopt(self, child: Recorder) -> None:
        """Send the spool of child before this run ends."""
        if child.spool is not None:
            self.former.append(child.spool.path)

    # -- recording

    def log(self, data: Mapping[Any, Any], step: Step, at: float) -> None:
        """Record numbers at a step and a time. The numbers are floats or ints. The time is in Unix seconds."""
        spool, writer = self.spool, self.writer
        if spool is None or writer is None:
            return  # the run has not begun, or is ending
        self.calls += 1
        if len(data) > MOST_POINTS:
            names = list(data)
            for start in range(0, len(names), MOST_POINTS):
                self.log({name: data[name] for name in names[start:start + MOST_POINTS]}, step, at)
            return
        if not data:
            return
        if int in map(type, data.values()):
            data = floats(data)
        self._note(data)
        payload = self._encode(data, step, at)
        if writer.queue or not spool.put(CALL, payload):
            self._leave_to_writer(writer, payload)

    def _note(self, data: Mapping[Any, Any]) -> None:
        if len(self._last) < MOST_NAMES:
            self._last.update(data)
        else:
            self._last.update({name: value for name, value in data.items() if name in self._last})

    def _leave_to_writer(self, writer: Writer, entry: Entry) -> None:
        writer.queue.append(entry)
        if len(writer.queue) > WAKE:
            if len(writer.queue) > FULL:
                writer.flush()
            else:
                writer.wake()

    def add(self, head: Dict[str, Any], body: bytes = b"") -> None:
        """Add an item to the spool."""
        if (self.finished or not self.started) and not self.revive():
            return
        self._record(head, body)

    def _record(self, head: Dict[str, Any], body: bytes = b"") -> None:
        spool, writer = self.spool, self.writer
        if spool is None or writer is None:
            return
        if writer.queue or not spool.put(ITEM, json.dumps(head).encode() + b"\n" + body):
            self._leave_to_writer(writer, (head, body))

    def request(self, method: str, path: str, body: Dict[str, Any]) -> None:
        """Record a request about the run. {id} in path stands for the run's id."""
        self.add({"op": "request", "method": method, "path": path}, json.dumps(body).encode())

    def parameter(self, name: str, text: str) -> None:
        """Record a parameter."""
        self.add({"op": "parameter", "name": name}, json.dumps({"key": name, "value": text}).encode())

    def rewind(self, name: str, step: int) -> None:
        """Record that the points of a metric from the given step on are removed, because later points replace them."""
        self.add({"op": "rewind", "name": name, "from": step, "key": uuid7().replace("-", "")})

    def keep(self, path: str) -> Kept:
        """Store the current bytes of the file at path.

        If the disk has no space for a copy, the original file is sent later, if it is unchanged. Raises OSError if the
        file cannot be read or changes while it is copied.
        """
        if (self.finished or not self.started) and not self.revive():
            return Kept(0, path, {})
        return self._files.keep(path)

    def artifact(self, kept: Kept, name: str, description: str = "", content_type: Optional[str] = None) -> int:
        """Record a stored file as an artifact. Return the number of the upload."""
        if kept.head:
            self.add({"op": "artifact", "name": name, "description": description, "content_type": content_type,
                      "number": kept.number, **kept.head})
        return kept.number

    def version(self, name: str, body: Dict[str, Any]) -> int:
        """Record that files of the run become a version of an artifact. Return the number of the upload."""
        number = self._files.number()
        head = {"op": "version", "name": name, "number": number, "key": uuid7().replace("-", "")}
        self.add(head, json.dumps(body, default=str).encode())
        return number

    def draw(self, name: str, drawings: Sequence[Tuple[str, Drawing]]) -> None:
        """Store values that were logged under name, each as an artifact. The writer encodes values that are not ready."""
        if not drawings or ((self.finished or not self.started) and not self.revive()):
            return
        for head in self._files_of(name, [one for one in drawings if one[1].ready]):
            self.add(head)
        late = [one for one in drawings if not one[1].ready]
        size = sum(drawing.size for _, drawing in late)

        def items() -> Iterator[Tuple[Dict[str, Any], bytes]]:
            self._drawn -= size
            for head in self._files_of(name, late):
                yield head, b""

        if not late:
            return
        if self._drawn + size > MOST_DRAWN:
            self.flush()
        self._drawn += size
        if self.writer is not None:
            self.writer.drawings.append(items)

    def _files_of(self, name: str, drawings: Sequence[Tuple[str, Drawing]]) -> Iterator[Dict[str, Any]]:
        """Write the files of drawings. Yield the head of the spool item for each file."""
        for label, drawing in drawings:
            try:
                file = drawing.draw()
                number, path = self._files.write(file.data, file.suffix)
            except Exception as error:  # the drawing library failed, or the disk
                tell(f"{name} could not be stored: {type(error).__name__}: {error}", once="object " + name)
                continue
            yield {"op": "artifact", "name": label + file.suffix, "description": drawing.caption, "number": number,
                   "content_type": file.content_type, "file": path, "temporary": True}

    def flush(self) -> None:
        """Encode all waiting objects, write them to the spool, and make them visible to the sender."""
        if self.writer is not None and self.started and not self.finished:
            self.writer.flush()

    def last(self) -> Dict[str, float]:
        """Return the last value of each metric that this process has logged."""
        found = {}
        for name, value in self._last.copy().items():
            try:
                float(value)
            except OverflowError:  # value is an integer with hundreds of digits
                value = math.inf if value > 0 else -math.inf
            found[str(name)] = value
        return found

    # -- end

    def foresee(self, status: str, message: str) -> int:
        """Record in the spool how the run ends in case the process dies first. Return the number of calls of log so far.

        The record is void after the next call to log.
        """
        calls = self.calls
        if self.spool is not None and self.started and not self.finished and not self.worker:
            self.spool.keep_fate(end_body(status, message))
        return calls

    def finish(self, status: str, message: str, timeout: Optional[float], last_words: Callable[[], None]) -> bool:
        """Call last_words, record the end, and wait until all data is sent. Return whether all data was sent."""
        if not self.started and self.worker:
            self.finished = True
            return True
        try:
            self._close(status, message, last_words)
            return self._wait(timeout)
        except KeyboardInterrupt:
            return False

    def _close(self, status: str, message: str, last_words: Callable[[], None]) -> None:
        end = end_body(status, message)
        try:
            for thread in self._threads:
                if thread.name == "tracker-capture":
                    thread.join(15)
            last_words()
            if self.output is not None:
                self.output.close()
                printed = request(self.output.path)
                if printed is not None:
                    self.add(printed)
        finally:  # even an interrupted run needs an end
            self.finished, self.status = True, status
            if self.writer is not None:
                head = {"op": "end", "at": timestamp(time.time_ns() // 1_000_000)}
                self.writer.stop(None if self.worker else (head, json.dumps(end).encode()))

    def _wait(self, timeout: Optional[float]) -> bool:
        """Wait for the sender. Return whether all data was sent."""
        sender, spool = self.sender, self.spool
        if sender is None or spool is None:
            return False
        sender.hurry.set()
        begun = moved = time.monotonic()
        seen, shown = sender.moved.moves, False
        while not spool.empty:
            now = time.monotonic()
            if sender.moved.moves != seen:
                seen, moved = sender.moved.moves, now
            refused = isinstance(sender.failure, Refused) and sender.failure.code != ENDED
            if self.hasty and sender.failure is not None:
                break
            patience = 2.0 if refused or self.hasty else PATIENCE + sender.moved.grace
            if now - moved > patience or (timeout is not None and now - begun > timeout):
                break
            if now - begun > 2 and not shown:
                shown = True
                tell(f"sending the remaining data of {self.label}; Ctrl-C leaves it in the spool")
            try:
                with spool.changed:
                    spool.changed.wait(0.1)
                if self.interrupts > 1:
                    break
            except KeyboardInterrupt:
                self.interrupts += 1
                if self.interrupts > 1:
                    break
                tell("still sending; press Ctrl-C again to leave the remaining data in the spool")
        return spool.empty

    def leave(self, complete: bool, quiet: bool = False) -> None:
        """Stop the sender, close the spool, and list the unsent data."""
        spool, sender, writer = self.spool, self.sender, self.writer
        if spool is None or writer is None:
            return
        if sender is not None:
            sender.stop.set()
            sender.hurry.set()
            with spool.changed:
                spool.changed.notify_all()
            for thread in self._threads:
                if thread.name == "tracker-sender":
                    thread.join(1 if complete else 0.2)
            if sender.ended is not None and not self.worker:
                self.status = sender.ended["status"]
        if not complete:
            spool.rescue()
        kept = os.path.exists(spool.path)
        if not complete and not kept:
            tell(f"{self.label} has ended, and its unsent data is lost: it was in memory only, because nothing could be stored "
                 f"in {self.folder}")
        elif spool.lost:
            tell(f"{spool.lost} requests of {self.label} were lost because the disk and the memory buffer were full")
        left = spool.heads()
        spool.close(remove=complete)
        if complete:
            remove_folder(spool)
        elif kept and not quiet:
            from ._unsent import describe

            what = "its data" if self.mode == "offline" else "its unsent data"
            tell(f"{self.label} has ended; {what} is stored in {spool.path}: {describe(self.folder, left)}. "
                 "Send it with: python -m tracker sync")
        if sender is not None:
            self._say_missing(sender, spool.path, left, quiet)

    def _say_missing(self, sender: Sender, path: str, left: List[Dict[str, Any]], quiet: bool) -> None:
        """Print which requests the server or a proxy has rejected, and show them on the run's page if possible."""
        from ._unsent import REJECTED, announce, rejected, sentence

        try:
            refused = rejected(path)
        except OSError as error:
            tell(f"{error.filename}: {error.strerror}")
            refused = []
        if refused and not quiet:
            tell(f"{self.label}: {sentence(self.folder, refused)} The missing data is in {path + REJECTED}. "
                 "Try again with: python -m tracker sync")
        if left and sender.progress and self.interrupts == 0 and not self.hasty:
            try:
                client = Client(self.url, self.token)
                client.timeout = min(client.timeout, SHORT)
                announce(client, self.begin["id"], path, refused + left)
                client.close()
            except TrackerError:
                pass  # the server can't be reached; the page shows when the run was last seen

    def drain(self, timeout: float = 5.0) -> bool:
        """Write the queue of a worker to the spool, and wait at most timeout seconds until it is sent.

        Returns False if no worker was recording.
        """
        if not self.started or self.writer is None:
            return False
        if self.finished:  # a signal interrupted finish
            self.writer.stop(timeout=WRITE_TIMEOUT)
            return False
        self.finished = True
        try:
            self.writer.stop(timeout=WRITE_TIMEOUT)
            complete = self._wait(timeout)
        except KeyboardInterrupt:
            complete = False
        self.leave(complete, quiet=True)
        return True

    def discard(self) -> None:
        """Delete the run's spool, because the run could not be started."""
        self.finished = True
        if self.writer is not None:
            self.writer.stop()
        if self.output is not None:
            self.output.close(remove=True)
        if self.sender is not None:
            self.sender.stop.set()
            self.sender.hurry.set()
        if self.spool is not None:
            self.spool.close(remove=True)

    def await_begin(self) -> None:
        """Wait until the server has created the run. Raises TrackerError if the server rejects it or can't be reached."""
        sender = self.sender
        while sender is not None and not sender.progress:
            if sender.failure is not None:
                raise TrackerError(f"the run could not be started: {sender.failure}") from sender.failure
            sender.stop.wait(0.005)
