"""The spool: an append-only file of requests that are not sent yet. The format of a record is described in _record.py.

The kinds of records are:

    HEAD    describes the run
    ITEM    one request
    CALL    one call to log, see _call.py
    CUT     the calls that become one request; written before the request is sent
    DONE    the offset up to which all requests have a response
    BASE    the step from which a resumed run counts
    LINE    the number of a resumed run's first console line
    FATE    how the run ends if its process dies. A later call to log makes this record void.

A process that has the file open holds a lock on it, so that no two processes send the same requests. If a crash cuts off a
record, its checksum does not match and the record is ignored.

The threads of the program append their calls themselves, each record with one write. A completed write is not lost, however
the process ends. Consecutive calls are combined into one request when they are sent. The record CUT allows the next process
to send the same request under the same idempotency key.
"""

from __future__ import annotations

import collections
import errno
import json
import os
import sys
import threading
import time
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Tuple

from ._call import MOST_POINTS, count, points
from ._record import BASE, CALL, CUT, DONE, FATE, HEAD, ITEM, LINE, MAGIC, OLD_MAGIC, frame, lock, pread, records
from ._trust import open_own
from ._value import digest

SHRINK = 4 << 20
"""When the file has this many bytes that were sent, they are removed."""
MOST_REST = 1 << 20
"""Maximum bytes of unsent records that _shrink copies to a new file."""
MEMORY = 32 << 20
"""Maximum bytes in memory while the disk is full."""
RESERVE = 16 << 10
"""Size of a file beside the spool. If the disk is full, the file is removed to make space for the end of the run."""


class Item(NamedTuple):
    """A request to send."""

    head: Dict[str, Any]
    body: bytes
    end: int  # offset after the record; 0 for a request in memory


class Busy(Exception):
    """Another process has locked the spool file, or has just created or removed it."""


class Spool:
    """One spool file. Safe for concurrent use. Only the constructor raises OSError."""

    def __init__(self, path: str, head: Optional[Dict[str, Any]] = None) -> None:
        """Open the spool at path. If head is given, create it.

        Raises Busy if another process uses the file and ValueError if the file is not a spool. Raises PermissionError
        if other accounts can write to the file, see _trust.py.
        """
        self.path = path
        self.head: Dict[str, Any] = head or {}
        self.lost = 0  # records that fit neither on disk nor in memory
        self.changed = threading.Condition()
        self.ended = False  # whether the file contained the end of the run when it was opened
        self._memory: Deque[Item] = collections.deque()
        self._memory_size = 0
        self.fate: Optional[Dict[str, Any]] = None  # status and error_message of the last FATE record
        self.line: Optional[int] = None  # number of a resumed run's first console line; None until it is known
        self.base: Optional[int] = None  # step from which a resumed run counts; None until it is known
        self._fd = -1
        self._start = 0  # offset after HEAD
        self._end = 0  # offset up to which records can be read
        self._read = self._done = 0
        self._made: Optional[Item] = None  # the request at _read, if it was already read or built from calls
        self._cut: Dict[str, int] = {"from": 0, "to": 0, "after": 0, "latest": 0}  # the last CUT record
        self._met: Optional[Dict[str, Any]] = None  # the last FATE record before _read
        self._writing = threading.RLock()  # held while a record is appended, and while the file shrinks
        self._depth = 0  # number of nested calls of put: a signal handler might call put during a call of put
        self._sealed = False
        self._torn = False  # whether a record was written only partly
        self.failure: Optional[OSError] = None
        flags = os.O_RDWR | os.O_APPEND
        if head is None:
            self._adopt(open_own(path, flags))
            return
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            self._fd = open_own(path, flags | os.O_CREAT | os.O_EXCL)
            while not lock(self._fd):
                time.sleep(0.001)  # another process is checking whether the spool was left behind
            self._write(MAGIC + frame(HEAD, json.dumps(head).encode()))
            self._end = os.fstat(self._fd).st_size
        except OSError as error:
            self.failure = error
            if self._fd >= 0:
                self.close(remove=True)  # no process can send a spool without HEAD
        self._start = self._read = self._done = self._end

    def _adopt(self, fd: int) -> None:
        self._fd = fd
        if not lock(fd) or not self._is_there():
            self.abandon()
            raise Busy(self.path)
        size = os.fstat(fd).st_size
        if pread(fd, len(MAGIC), 0) not in (MAGIC, OLD_MAGIC):
            self.close()
            if size < len(MAGIC):
                raise Busy(self.path)  # another process has just created it
            raise ValueError(f"{self.path} is not a spool file")
        self._torn, self._end = True, len(MAGIC)
        for kind, payload, end in records(fd, self._end, size):
            self._end = end
            if kind == HEAD:
                self.head = json.loads(payload)
                self._start = self._done = max(self._done, end)
            elif kind == DONE:
                self._done = int(payload)
            elif kind == ITEM:
                self.ended = self.ended or payload.startswith(b'{"op": "end"')
                self._look_for_points(json.loads(payload.partition(b"\n")[0]))
            elif kind == CALL:
                self.fate = None
            elif kind == CUT:
                self._cut = json.loads(payload)
            elif kind == BASE:
                self.base = int(payload)
            elif kind == LINE:
                self.line = int(payload)
            elif kind == FATE:
                self.fate = json.loads(payload)
        self._read = self._done
        if self._end < size:
            os.ftruncate(fd, self._end)  # remove an incomplete record

    def _is_there(self) -> bool:
        """Return whether path still names the open file, which another process might have removed or replaced."""
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            return False

    def _write(self, data: bytes) -> None:
        """Append all of data, or raise OSError. Readers skip a record that was written only partly.

        A signal might interrupt the main thread while it holds the lock, and the signal handler might wait for this
        thread. So after one second, data is written without the lock.
        """
        locked = self._writing.acquire(timeout=1)
        try:
            if self._fd < 0:
                raise self.failure or OSError("the spool is closed")
            written = os.write(self._fd, data)
            while written < len(data):
                self._torn = True
                written += os.write(self._fd, data[written:])
        finally:
            if locked:
                self._writing.release()

    def put(self, kind: bytes, payload: bytes) -> bool:
        """Append a record with one write. Return False if that failed. The caller then passes the record to append.

        put is used by threads of the program, and by signal handlers that interrupt them. The record is not sent before
        publish is called.
        """
        data = frame(kind, payload)
        try:
            with self._writing:
                if self._fd < 0 or self._sealed or self._memory or self.failure is not None:
                    return False
                self._depth += 1
                try:
                    written = os.write(self._fd, data)
                finally:
                    self._depth -= 1
        except OSError as error:
            self.failure = error
            return False
        if written < len(data):
            self._torn, self.failure = True, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return False
        return True

    def publish(self) -> None:
        """Make the records that put has written available to next."""
        with self.changed:
            if self._fd >= 0:
                size = os.fstat(self._fd).st_size
                if size != self._end:
                    self._end = size
                    self.changed.notify_all()

    def seal(self) -> None:
        """Make all later calls of put return False."""
        with self._writing:
            self._sealed = True

    def _look_for_points(self, head: Any) -> None:
        if _is_logged(head):
            self.fate = None

    def append(self, head: Dict[str, Any], body: bytes = b"") -> None:
        """Append a request to the file, or to memory if the file can't be written. If both are full, count the request as
        lost."""
        payload = json.dumps(head).encode() + b"\n" + body
        with self.changed:
            self._look_for_points(head)
            self._move_to_disk()
            try:
                if self._memory:
                    raise self.failure or OSError("the spool is full")
                self._write(frame(ITEM, payload))
                self.failure = None
            except OSError as error:
                self.failure = error
                if self._memory_size + len(payload) > MEMORY and head["op"] not in ("begin", "end"):
                    self.lost += 1
                else:
                    self._memory.append(Item(head, body, 0))
                    self._memory_size += len(payload)
            self.publish()
            self.changed.notify_all()

    def _move_to_disk(self) -> None:
        """Write the requests in memory to the file until the disk is full."""
        while self._memory and self._fd >= 0:
            item = self._memory[0]
            try:
                self._write(frame(ITEM, json.dumps(item.head).encode() + b"\n" + item.body))
            except OSError:
                return
            self._drop_first()

    def _drop_first(self) -> None:
        item = self._memory.popleft()
        self._memory_size -= len(json.dumps(item.head)) + 1 + len(item.body)

    def next(self, timeout: float = 0) -> Optional[Item]:
        """Return the oldest request without a response. Return None if none arrives within timeout seconds."""
        with self.changed:
            item = self._peek()
            if item is None and timeout > 0:
                self.changed.wait(timeout)
                item = self._peek()
            return item

    def _peek(self) -> Optional[Item]:
        while self._made is None and self._fd >= 0 and self._read < self._end:
            try:
                if not self._advance():
                    break
            except OSError as error:
                self.failure = error
                break
        return self._made or (self._memory[0] if self._memory else None)

    def _advance(self) -> bool:
        """Read the next request, or skip records of other kinds. Return whether a record was read."""
        calls: List[bytes] = []
        number, to, stop, start = 0, 0, 0, self._read
        at = start  # offset of the current record
        for kind, payload, end in records(self._fd, start, self._end, self._torn):
            if kind == CALL:
                number += count(payload)
                if not calls:
                    to = self._cut["to"] if self._cut["from"] == at else 0  # end of the recorded cut
                    self._read = at
                elif end > to if to else number > MOST_POINTS:
                    break
                calls.append(payload)
                stop = end
            elif calls:
                if kind == ITEM:
                    break
            elif kind == ITEM:
                head, _, body = payload.partition(b"\n")
                self._made = Item(json.loads(head), body, end)
                if _is_logged(self._made.head):
                    self._met = None
                return True
            elif kind == FATE:
                self._met = json.loads(payload)
            at = end
        if calls:
            self._made = self._request(calls, self._read, stop)
        else:
            self._read = at
        return at > start

    def _request(self, calls: List[bytes], begin: int, end: int) -> Item:
        """Make one request from calls. The idempotency key is derived from the position and the time of the calls."""
        known = self._cut["from"] == begin
        after = self._cut["after" if known else "latest"]
        body, relative, latest = points(calls, after)
        if not known:
            self._cut = {"from": begin, "to": end, "after": after, "latest": latest}
            try:
                self._write(frame(CUT, json.dumps(self._cut).encode()))
            except OSError as error:
                self.failure = error  # without CUT, the next process most likely combines the same calls
        self._met = None
        place = digest(f"{os.path.basename(self.path)} {begin} {end} {latest}".encode() + calls[0])
        head: Dict[str, Any] = {"op": "points", "key": f"{latest & (1 << 48) - 1:012x}{place[:20]}"}
        if relative:
            head["relative"] = True
        return Item(head, body, end)

    def heads(self) -> List[Dict[str, Any]]:
        """Return the heads of the requests without a response. The number of requests is approximate."""
        with self.changed:
            found: List[Dict[str, Any]] = []
            logged = 0  # number of values since the last head
            for kind, payload, _ in records(self._fd, self._read, self._end, self._torn) if self._fd >= 0 else ():
                if kind == CALL:
                    if not logged or logged + count(payload) > MOST_POINTS:
                        found.append({"op": "points"})
                        logged = 0
                    logged += count(payload)
                elif kind == ITEM:
                    found.append(json.loads(payload.partition(b"\n")[0]))
                    logged = 0
            return found + [item.head for item in self._memory]

    def done(self, item: Item) -> None:
        """Record that item got a response. item must be the result of the last call to next."""
        with self.changed:
            if item.end == 0:
                if self._memory and self._memory[0] is item:
                    self._drop_first()
                    self.changed.notify_all()
                    return
                moved = self._peek()  # the request was moved to the file while it was sent
                if moved is None or moved.end == 0:
                    return
                item = moved
            self._read = self._done = item.end
            self._made = None
            try:
                if self._done - self._start <= SHRINK or not self._shrink():
                    self._write(frame(DONE, str(self._done).encode()))
            except OSError as error:
                self.failure = error  # the next process sends the request again under the same idempotency key
            self.changed.notify_all()

    def _shrink(self) -> bool:
        """Remove sent records from the file. Return False if other threads write too much to the file at this time."""
        if os.fstat(self._fd).st_size - self._done > MOST_REST:
            return False
        state = [(BASE, self.base), (LINE, self.line), (FATE, self._met), (CUT, {**self._cut, "from": 0, "to": 0})]
        begin = b"".join(frame(kind, json.dumps(value).encode()) for kind, value in state if value is not None)
        rest, at = self._rest(self._done)
        if not self._writing.acquire(timeout=0.1):
            return False
        try:
            self._replace(begin + rest + self._rest(at)[0])
        except OSError:  # the disk is full, or Windows can't replace an open file
            if os.fstat(self._fd).st_size != self._done:
                return False
            os.ftruncate(self._fd, self._start)
            self._write(begin)
        finally:
            self._writing.release()
        self._end = os.fstat(self._fd).st_size
        self._read = self._done = self._start
        self._cut.update({"from": 0, "to": 0})
        return True

    def _rest(self, at: int) -> Tuple[bytes, int]:
        """Return the unsent records after the offset at, and the offset of their end."""
        kept = []
        for kind, payload, end in records(self._fd, at, os.fstat(self._fd).st_size, self._torn):
            if kind in (ITEM, CALL, FATE):
                kept.append(frame(kind, payload))
            at = end
        return b"".join(kept), at

    def _replace(self, rest: bytes) -> None:
        """Replace the file with a file that contains HEAD and rest."""
        path = self.path + ".new"
        fd = open_own(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC)
        try:
            lock(fd)
            head = MAGIC + frame(HEAD, json.dumps(self.head).encode())
            if os.write(fd, head + rest) < len(head) + len(rest):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.replace(path, self.path)
        except OSError:
            os.close(fd)
            _remove(path)
            raise
        former, self._fd, self._start = self._fd, fd, len(head)
        os.close(former)

    def keep_base(self, step: int) -> None:
        """Record the step from which a resumed run counts, so that a later process counts from the same step."""
        with self.changed:
            self.base = step
            try:
                self._write(frame(BASE, str(step).encode()))
            except OSError as error:
                self.failure = error

    def keep_line(self, line: int) -> None:
        """Record the number of the first console line, so that a later process counts from the same number."""
        with self.changed:
            self.line = line
            try:
                self._write(frame(LINE, str(line).encode()))
            except OSError as error:
                self.failure = error

    def keep_fate(self, fate: Dict[str, Any]) -> None:
        """Record how the run ends if nothing is logged after this call."""
        with self.changed:
            self.fate = fate
            try:
                self._write(frame(FATE, json.dumps(fate).encode()))
            except OSError as error:
                self.failure = error

    def touch(self) -> None:
        """Set the file's modification time to now, to record that the run is alive."""
        with self.changed:
            if self._fd >= 0 and os.utime in os.supports_fd:
                os.utime(self._fd)

    def reserve(self) -> None:
        """Reserve disk space for the record of the run's end."""
        try:
            with os.fdopen(open_own(self.path + ".reserve", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(os.urandom(RESERVE))  # a file of zeros might use no disk space
        except OSError:
            pass  # the disk is already full

    def rescue(self) -> None:
        """Write the requests in memory to the file. If the disk is full, use the reserve for the end of the run."""
        with self.changed:
            self._move_to_disk()
            if not self._memory or self._fd < 0:
                return
            _remove(self.path + ".reserve")
            last = self._memory[-1]
            if last.head["op"] == "end":
                try:
                    self._write(frame(ITEM, json.dumps(last.head).encode() + b"\n" + last.body))
                except OSError as error:
                    self.failure = error
                else:
                    self._memory.pop()
            self.lost += len(self._memory)
            self._memory.clear()
            self._memory_size = 0

    def abandon(self) -> None:
        """Close the file in a forked child, without the lock. The parent holds the lock, and the child has one thread."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def closed(self) -> bool:
        """Whether the file is closed. A closed spool records nothing."""
        return self._fd < 0

    @property
    def empty(self) -> bool:
        """Whether every request has a response."""
        with self.changed:
            return self._peek() is None

    def close(self, remove: bool = False) -> None:
        """Release the lock. If remove is set, delete the file."""
        with self.changed, self._writing:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                _remove(self.path + ".reserve")
                _remove(self.path + ".new")  # left by a killed process
                if remove:
                    _remove(self.path)  # before the lock is released, so that no other process opens it
                if self._depth:  # put continues after the signal handler, and must not write to another file
                    os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
                else:
                    os.close(fd)
        if remove and sys.platform == "win32":
            _remove(self.path)


def _is_logged(head: Any) -> bool:
    """Return whether an item contains points that the program has logged."""
    return isinstance(head, dict) and head.get("op") == "points" and not head.get("system")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the file does not exist
