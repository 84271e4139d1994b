"""Uploads the files of a run."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import os
from typing import IO, Any, Dict, Iterator, Tuple
from urllib.parse import quote

from ._http import Client, Refused
from ._trust import open_own

CHUNK = 1 << 20
"""Bytes that are read at a time."""

# Python's own table: that of the system differs from one to the next, and takes a .pt for a page table.
TYPES = mimetypes.MimeTypes()


def upload(client: Client, experiment: str, iteration: str, head: Dict[str, Any], path: str, own: bool = True) -> None:
    """Send the file at path as head describes it, unless the iteration has an artifact of that name with the same bytes.

    Looking first makes it safe to repeat: an upload whose answer was lost is found. own: the file must belong to this account
    alone, as those in the spool do. Raises Refused for a file that can't be read or that changes meanwhile.
    """
    try:
        fd = open_own(path) if own else os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(fd, "rb") as file:
            before, digest = _state(file), _digest(file)
            if head.get("size") not in (None, before[0]) or head.get("changed") not in (None, before[1]):
                raise _changed(path)
            _send(client, experiment, iteration, head, file, path, before, digest)
    except OSError as error:
        raise Refused(0, "", f"{path} can't be read: {error.strerror or error}") from error
    if head.get("temporary"):
        try:
            os.unlink(path)
        except OSError:
            pass


def _send(client: Client, experiment: str, iteration: str, head: Dict[str, Any], file: IO[bytes], path: str,
          before: Tuple[int, int], digest: bytes) -> None:
    name, listing = head["name"], f"/resource/experiment/{experiment}"
    found = client.call("GET", f"{listing}?limit=1000&iteration_id={iteration}&name={quote(name, safe='')}")["data"]
    if any(r["name"] == name and r["content_hash"] == digest.hex() for r in found):
        return
    fields = {"name": name, "iteration_id": iteration, "description": head.get("description") or "",
              "content_type": head.get("content_type") or TYPES.guess_type(name)[0] or "application/octet-stream"}
    boundary = "tracker-" + os.urandom(16).hex()
    start = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
                    for field, value in fields.items() if value)
    start += f'--{boundary}\r\nContent-Disposition: form-data; name="data"; filename="data"\r\n'
    start += f"Content-Digest: sha-256=:{base64.b64encode(digest).decode()}:\r\n\r\n"
    first, last = start.encode(), f"\r\n--{boundary}--\r\n".encode()
    file.seek(0)
    try:
        client.send("POST", listing, _body(first, file, path, before, last), {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(first) + before[0] + len(last))})
    except Refused as refused:
        if refused.status == 422 and _state(file) != before:
            raise _changed(path) from None
        raise


def _body(first: bytes, file: IO[bytes], path: str, before: Tuple[int, int], last: bytes) -> Iterator[bytes]:
    yield first
    left = before[0]
    while left > 0:
        part = file.read(min(left, CHUNK))
        if not part:
            raise _changed(path)
        left -= len(part)
        yield part
    if _state(file) != before:
        raise _changed(path)  # before the last byte, so that the server keeps nothing
    yield last


def _state(file: IO[bytes]) -> Tuple[int, int]:
    """Size and time of the last change, in nanoseconds."""
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def _digest(file: IO[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in iter(lambda: file.read(CHUNK), b""):
        digest.update(part)
    return digest.digest()


def _changed(path: str) -> Refused:
    return Refused(0, "", f"{path} was changed after it was logged, or while it was sent; log it again")
