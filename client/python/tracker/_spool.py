"""The spool: what is still to be sent, in an append-only file.

A file begins with MAGIC; then records follow, each with its length, a CRC-32 of what follows, a kind and a payload. A
record that was cut off by a crash fails its checksum and is the end of the file. HEAD says what run it is; ITEM is one
request to be made; DONE has the offset up to which everything has been answered. Whoever has the file open holds its
lock, so that no other process sends the same.
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
from typing import Any, Deque, Dict, NamedTuple, Optional

MAGIC = b"TRACKER1"
HEAD, ITEM, DONE = b"H", b"I", b"D"
_FRAME = struct.Struct("<IIc")
SHRINK = 4 << 20
"""Bytes from which a file without anything left to send is cut back to its head."""
MEMORY = 32 << 20
"""Bytes that are held in memory when the disk takes no more."""
LONGEST = 256 << 20
"""No record is longer, in bytes; a larger length is damage."""

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> bool:
        os.lseek(fd, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class Item(NamedTuple):
    """A request to be made."""

    head: Dict[str, Any]
    body: bytes
    end: int  # the offset behind it; 0 when it is held in memory


class Busy(Exception):
    """Another process has the file."""


class Spool:
    """One spool file. Its methods may be called by several threads; none but the constructor raises OSError."""

    def __init__(self, path: str, head: Optional[Dict[str, Any]] = None) -> None:
        """Open path, or make it when head is given. Busy when another process has it; ValueError when it is no spool."""
        self.path = path
        self.head: Dict[str, Any] = head or {}
        self.lost = 0  # records that neither disk nor memory took
        self.changed = threading.Condition()
        self._memory: Deque[Item] = collections.deque()
        self._memory_size = 0
        self._fd = -1
        self._end = self._start = self._read = self._done = 0
        self.failure: Optional[OSError] = None
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        if head is None:
            self._adopt(os.open(path, flags))
            return
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            self._fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            while not _lock(self._fd):
                time.sleep(0.001)  # somebody looks at whether it is a leftover, and lets go of it again
            self._write(MAGIC + _frame(HEAD, json.dumps(head).encode()))
        except OSError as error:
            self.failure = error
        self._start = self._read = self._done = self._end

    def _adopt(self, fd: int) -> None:
        self._fd = fd
        if not _lock(fd) or not os.path.exists(self.path):
            self.close()
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

    def append(self, head: Dict[str, Any], body: bytes = b"") -> None:
        """Add a request at the end: to the file, else to memory, else it is counted as lost."""
        payload = json.dumps(head).encode() + b"\n" + body
        with self.changed:
            self._settle()
            try:
                if self._memory:
                    raise self.failure or OSError("the spool is full")
                self._write(_frame(ITEM, payload))
                self.failure = None
            except OSError as error:
                self.failure = error
                if self._memory_size + len(payload) > MEMORY and head["op"] == "points":
                    self.lost += 1
                else:
                    self._memory.append(Item(head, body, 0))
                    self._memory_size += len(payload)
            self.changed.notify_all()

    def _settle(self) -> None:
        """Move to the file what had to be held in memory, as far as it takes it now."""
        while self._memory and self._fd >= 0:
            item = self._memory[0]
            try:
                self._write(_frame(ITEM, json.dumps(item.head).encode() + b"\n" + item.body))
            except OSError:
                return
            self._forget()

    def _forget(self) -> None:
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

    def done(self, item: Item) -> None:
        """Note that item has its answer, whatever it was. It must be what next returned."""
        with self.changed:
            if item.end == 0:
                if self._memory and self._memory[0] is item:
                    self._forget()
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
                else:
                    self._write(_frame(DONE, str(self._done).encode()))
            except OSError as error:
                self.failure = error  # sent again by the next process, under the same idempotency key
            self.changed.notify_all()

    def abandon(self) -> None:
        """Let go of the file in a forked child, where the lock is the parent's and no other thread lives on."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def empty(self) -> bool:
        """Whether everything has its answer."""
        with self.changed:
            return self._peek() is None

    def close(self, remove: bool = False) -> None:
        """Give the lock back. With remove, the file goes."""
        with self.changed:
            fd, self._fd = self._fd, -1
            if remove:
                try:
                    os.unlink(self.path)  # before the lock goes, so that nobody opens what is done
                except OSError:
                    pass
            if fd >= 0:
                os.close(fd)
        if remove and sys.platform == "win32" and os.path.exists(self.path):
            os.unlink(self.path)


def _frame(kind: bytes, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload), zlib.crc32(kind + payload), kind) + payload


def _pread(fd: int, length: int, at: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(fd, at, os.SEEK_SET)
        return os.read(fd, length)
    return os.pread(fd, length, at)
