"""Reads and writes the records of a spool file, and locks the file.

A file begins with MAGIC, followed by records. A record has a length, a CRC-32 of kind and payload, a kind and a payload.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import zlib
from typing import Iterator, Tuple

MAGIC, OLD_MAGIC = b"TRACKER2", b"TRACKER1"
"""The beginning of a file. Older clients, which do not know the kind CALL, write OLD_MAGIC and do not open files with
MAGIC."""
HEAD, ITEM, CALL, CUT, DONE, BASE, LINE, FATE = b"H", b"I", b"C", b"R", b"D", b"B", b"L", b"F"
LONGEST = 256 << 20
"""Maximum bytes of a record. A larger length means that the file is damaged."""
_FRAME = struct.Struct("<IIc")
_KINDS = re.compile(rb"[HICRDBLF]")
_CHUNK = 64 << 10
_START = {kind: zlib.crc32(kind) for kind in (HEAD, ITEM, CALL, CUT, DONE, BASE, LINE, FATE)}

if sys.platform == "win32":
    import msvcrt

    def lock(fd: int) -> bool:
        """Lock an open file. Return False if another process has the lock."""
        os.lseek(fd, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def lock(fd: int) -> bool:
        """Lock an open file. Return False if another process has the lock."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def frame(kind: bytes, payload: bytes) -> bytes:
    """Return a record with the given kind and payload."""
    return _FRAME.pack(len(payload), zlib.crc32(payload, _START[kind]), kind) + payload


def pread(fd: int, length: int, at: int) -> bytes:
    """Return length bytes of a file at the given offset. Return fewer bytes at the end of the file."""
    if sys.platform == "win32":
        os.lseek(fd, at, os.SEEK_SET)
        return os.read(fd, length)
    return os.pread(fd, length, at)


def records(fd: int, at: int, end: int, torn: bool = True) -> Iterator[Tuple[bytes, bytes, int]]:
    """Yield kind, payload and end offset of each record between two offsets.

    If torn is set, incomplete records, which a full disk causes, are skipped. Otherwise, reading stops at the first
    incomplete record.
    """
    data, start = b"", at  # bytes read so far, and their offset
    while at + _FRAME.size <= end:
        if at + _FRAME.size > start + len(data):
            start, data = at, pread(fd, min(_CHUNK, end - at), at)
            if len(data) < _FRAME.size:
                return
        length, checksum, kind = _FRAME.unpack_from(data, at - start)
        after = at + _FRAME.size + length
        payload = None
        if length <= LONGEST and after <= end and kind in _START:
            if after > start + len(data):
                start, data = at, pread(fd, max(min(_CHUNK, end - at), after - at), at)
            payload = data[at - start + _FRAME.size:after - start]
            if len(payload) < length or zlib.crc32(payload, _START[kind]) != checksum:
                payload = None
        if payload is not None:
            yield kind, payload, after
            at = after
        elif torn:
            at = _next_record(fd, at + 1, end)
        else:
            return


def _next_record(fd: int, at: int, end: int) -> int:
    """Return the offset of the first complete record at or after the given offset. Return end if there is none."""
    while at + _FRAME.size <= end:
        data = pread(fd, min(_CHUNK, end - at), at)
        for found in _KINDS.finditer(data, _FRAME.size - 1):
            place = found.start() - _FRAME.size + 1
            length, checksum, kind = _FRAME.unpack_from(data, place)
            first = at + place + _FRAME.size
            if length <= LONGEST and first + length <= end and zlib.crc32(pread(fd, length, first), _START[kind]) == checksum:
                return at + place
        at += max(1, len(data) - _FRAME.size + 1)
    return end
