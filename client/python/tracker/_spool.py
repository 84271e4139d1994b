"""The spool: an append-only file of the requests that are still to be sent.

A file begins with MAGIC. Records follow, each with its length, a CRC-32 of the rest, a kind and a payload. A record that
a crash cut off fails its checksum and is the end of the file. HEAD names the run; ITEM is one request; DONE holds the
offset up to which every request is answered; BASE the step from which a resumed run counts; LINE the number of its first
line in the console; FATE how the run ends unless something is logged after that, for a process that dies before it says so. A
process that has the file open holds its lock, so that no two processes send the same requests.
"""

from __future__ import annotations

import collections
import json
import os
import struct
import sys
import threading
import time
import zlib
from typing import Any, Deque, Dict, List, NamedTuple, Optional

from ._trust import open_own

MAGIC = b"TRACKER1"
HEAD, ITEM, DONE, BASE, LINE, FATE = b"H", b"I", b"D", b"B", b"L", b"F"
_FRAME = struct.Struct("<IIc")
SHRINK = 4 << 20
"""Bytes from which a file without anything left to send is cut back to its head."""
MEMORY = 32 << 20
"""Bytes that are held in memory when the disk is full."""
RESERVE = 16 << 10
"""Bytes of a file beside the spool that is removed to make room for the end of the run when the disk is full."""
LONGEST = 256 << 20
"""No record is longer, in bytes; a larger length is damage."""

if sys.platform == "win32":
    import msvcrt

    def lock(fd: int) -> bool:
        """Lock an open file, unless another process has; whether it was done."""
        os.lseek(fd, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def lock(fd: int) -> bool:
        """Lock an open file, unless another process has; whether it was done."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class Item(NamedTuple):
    """A request to be made."""

    head: Dict[str, Any]
    body: bytes
    end: int  # the offset after it; 0 when it is held in memory


class Busy(Exception):
    """Another process has the file."""


class Spool:
    """One spool file. Its methods may be called by several threads; none but the constructor raises OSError."""

    def __init__(self, path: str, head: Optional[Dict[str, Any]] = None) -> None:
        """Open path, or create it when head is given.

        Raises Busy when another process has it, ValueError when it is not a spool, and PermissionError when it is not only this
        account's, see _trust.py.
        """
        self.path = path
        self.head: Dict[str, Any] = head or {}
        self.lost = 0  # records that there was no room for on disk or in memory
        self.changed = threading.Condition()
        self.ended = False  # whether the end of the run was in the file when it was opened
        self._memory: Deque[Item] = collections.deque()
        self._memory_size = 0
        self.fate: Optional[Dict[str, Any]] = None  # status and error_message
        self.line: Optional[int] = None  # number of the first line in the console, once the server was asked
        self.base: Optional[int] = None  # step from which a resumed run counts, once the server was asked
        self._fd = -1
        self._end = self._start = self._read = self._done = 0
        self.failure: Optional[OSError] = None
        flags = os.O_RDWR | os.O_APPEND
        if head is None:
            self._adopt(open_own(path, flags))
            return
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            self._fd = open_own(path, flags | os.O_CREAT | os.O_EXCL)
            while not lock(self._fd):
                time.sleep(0.001)  # another process is checking whether it is a leftover
            self._write(MAGIC + _frame(HEAD, json.dumps(head).encode()))
        except OSError as error:
            self.failure = error
        self._start = self._read = self._done = self._end

    def _adopt(self, fd: int) -> None:
        self._fd = fd
        if not lock(fd) or not os.path.exists(self.path):
            self.abandon()
            raise Busy(self.path)
        size = os.fstat(fd).st_size
        if _pread(fd, len(MAGIC), 0) != MAGIC:
            self.close()
            if size < len(MAGIC):
                raise Busy(self.path)  # just made
            raise ValueError(f"{self.path} is not a spool file")
        self._end = len(MAGIC)
        while True:
            record = self._record(self._end, size)
            if record is None:
                break
            kind, payload, self._end = record
            if kind == HEAD:
                self.head = json.loads(payload)
                self._start = self._done = max(self._done, self._end)
            elif kind == DONE:
                self._done = int(payload)
            elif kind == ITEM:
                self.ended = self.ended or payload.startswith(b'{"op": "end"')
                self._look_for_points(json.loads(payload.partition(b"\n")[0]))
            elif kind == BASE:
                self.base = int(payload)
            elif kind == LINE:
                self.line = int(payload)
            elif kind == FATE:
                self.fate = json.loads(payload)
        self._read = self._done
        if self._end < size:
            os.ftruncate(fd, self._end)  # a record that was cut off

    def _record(self, at: int, size: int) -> Optional[Any]:
        raw = _pread(self._fd, _FRAME.size, at)
        if len(raw) < _FRAME.size:
            return None
        length, checksum, kind = _FRAME.unpack(raw)
        end = at + _FRAME.size + length
        if length > LONGEST or end > size:
            return None
        payload = _pread(self._fd, length, at + _FRAME.size)
        if len(payload) < length or zlib.crc32(kind + payload) != checksum:
            return None
        return kind, payload, end

    def _write(self, data: bytes) -> None:
        """Append all of data, or nothing and raise OSError."""
        if self._fd < 0:
            raise self.failure or OSError("the spool is closed")
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            if written:
                os.ftruncate(self._fd, self._end)
            raise
        self._end += len(data)

    def _look_for_points(self, head: Any) -> None:
        if isinstance(head, dict) and head.get("op") == "points" and not head.get("system"):
            self.fate = None

    def append(self, head: Dict[str, Any], body: bytes = b"") -> None:
        """Add a request at the end: to the file, else to memory, else it is counted as lost."""
        payload = json.dumps(head).encode() + b"\n" + body
        with self.changed:
            self._look_for_points(head)
            self._move_to_disk()
            try:
                if self._memory:
                    raise self.failure or OSError("the spool is full")
                self._write(_frame(ITEM, payload))
                self.failure = None
            except OSError as error:
                self.failure = error
                if self._memory_size + len(payload) > MEMORY and head["op"] not in ("begin", "end"):
                    self.lost += 1
                else:
                    self._memory.append(Item(head, body, 0))
                    self._memory_size += len(payload)
            self.changed.notify_all()

    def _move_to_disk(self) -> None:
        """Write to the file what is held in memory, as far as there is room now."""
        while self._memory and self._fd >= 0:
            item = self._memory[0]
            try:
                self._write(_frame(ITEM, json.dumps(item.head).encode() + b"\n" + item.body))
            except OSError:
                return
            self._drop_first()

    def _drop_first(self) -> None:
        item = self._memory.popleft()
        self._memory_size -= len(json.dumps(item.head)) + 1 + len(item.body)

    def next(self, timeout: float = 0) -> Optional[Item]:
        """The oldest request that has no answer yet; None when there is none within timeout seconds."""
        with self.changed:
            item = self._peek()
            if item is None and timeout > 0:
                self.changed.wait(timeout)
                item = self._peek()
            return item

    def _peek(self) -> Optional[Item]:
        while self._fd >= 0 and self._read < self._end:
            try:
                record = self._record(self._read, self._end)
            except OSError as error:
                self.failure, record = error, None
            if record is None:
                break
            kind, payload, end = record
            if kind == ITEM:
                head, _, body = payload.partition(b"\n")
                return Item(json.loads(head), body, end)
            self._read = end
        return self._memory[0] if self._memory else None

    def heads(self) -> List[Dict[str, Any]]:
        """The heads of the requests that have no answer yet."""
        with self.changed:
            found, at = [], self._read
            while self._fd >= 0 and at < self._end:
                record = self._record(at, self._end)
                if record is None:
                    break
                kind, payload, at = record
                if kind == ITEM:
                    found.append(json.loads(payload.partition(b"\n")[0]))
            return found + [item.head for item in self._memory]

    def done(self, item: Item) -> None:
        """Record that item was answered. It must be the item that next returned."""
        with self.changed:
            if item.end == 0:
                if self._memory and self._memory[0] is item:
                    self._drop_first()
                    self.changed.notify_all()
                    return
                moved = self._peek()  # to the file, while it was sent
                if moved is None or moved.end == 0:
                    return
                item = moved
            self._read = self._done = item.end
            try:
                if self._read == self._end and self._end > SHRINK:
                    os.ftruncate(self._fd, self._start)
                    self._end = self._read = self._done = self._start
                    if self.base is not None:
                        self._write(_frame(BASE, str(self.base).encode()))
                    if self.line is not None:
                        self._write(_frame(LINE, str(self.line).encode()))
                    if self.fate is not None:
                        self._write(_frame(FATE, json.dumps(self.fate).encode()))
                else:
                    self._write(_frame(DONE, str(self._done).encode()))
            except OSError as error:
                self.failure = error  # sent again by the next process, under the same idempotency key
            self.changed.notify_all()

    def keep_base(self, step: int) -> None:
        """Record the step from which a resumed run counts, so that a later process counts from the same."""
        with self.changed:
            self.base = step
            try:
                self._write(_frame(BASE, str(step).encode()))
            except OSError as error:
                self.failure = error

    def keep_line(self, line: int) -> None:
        """Record the number of the first line in the console, so that a later process counts from the same."""
        with self.changed:
            self.line = line
            try:
                self._write(_frame(LINE, str(line).encode()))
            except OSError as error:
                self.failure = error

    def keep_fate(self, fate: Dict[str, Any]) -> None:
        """Record how the run ends, unless something is logged after this."""
        with self.changed:
            self.fate = fate
            try:
                self._write(_frame(FATE, json.dumps(fate).encode()))
            except OSError as error:
                self.failure = error

    def touch(self) -> None:
        """Set the time of the file: it is when the run was last alive."""
        with self.changed:
            if self._fd >= 0 and os.utime in os.supports_fd:
                os.utime(self._fd)

    def reserve(self) -> None:
        """Reserve room on the disk for the end of the run."""
        try:
            with os.fdopen(open_own(self.path + ".reserve", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(os.urandom(RESERVE))  # zeros might take no room
        except OSError:
            pass  # the disk is full already

    def rescue(self) -> None:
        """Write what is held in memory to the file, at least the end of the run, for which the reserve is given up."""
        with self.changed:
            self._move_to_disk()
            if not self._memory or self._fd < 0:
                return
            _remove(self.path + ".reserve")
            last = self._memory[-1]
            if last.head["op"] == "end":
                try:
                    self._write(_frame(ITEM, json.dumps(last.head).encode() + b"\n" + last.body))
                except OSError as error:
                    self.failure = error
                else:
                    self._memory.pop()
            self.lost += len(self._memory)
            self._memory.clear()
            self._memory_size = 0

    def abandon(self) -> None:
        """Close the file in a forked child, where the lock is the parent's and no other thread runs."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def closed(self) -> bool:
        """Return whether the file is closed, so that nothing more can be recorded in it."""
        return self._fd < 0

    @property
    def empty(self) -> bool:
        """Return whether every request was answered."""
        with self.changed:
            return self._peek() is None

    def close(self, remove: bool = False) -> None:
        """Release the lock. With remove, delete the file."""
        with self.changed:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                _remove(self.path + ".reserve")
                if remove:
                    _remove(self.path)  # before the lock is released, so that no other process opens it
                os.close(fd)
        if remove and sys.platform == "win32":
            _remove(self.path)


def _frame(kind: bytes, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload), zlib.crc32(kind + payload), kind) + payload


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # it is not there


def _pread(fd: int, length: int, at: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(fd, at, os.SEEK_SET)
        return os.read(fd, length)
    return os.pread(fd, length, at)
