"""Uploads the files of a run."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import os
import threading
import time
from typing import IO, Any, Callable, Dict, Iterator, Optional, Tuple
from urllib.parse import quote

from ._check import identity
from ._http import Client, Refused, TrackerError, Unreachable
from ._part import SMALLEST, Parts, Progress, parts_for
from ._trust import open_own

CHUNK = 1 << 20
"""Number of bytes that are read from a file at once to compute its hash."""
PIECE = 64 << 10
"""Number of bytes that are passed to the connection at once."""
WHOLE = 1 << 20
"""Maximum size of a file that is sent in one request. Larger files are sent in parts."""
COMPLETING = 20e6
"""Bytes per second at which a slow server is assumed to complete an upload after the last part."""
LONG = 1000
"""Maximum characters of a description that is sent in a header. A longer one might not fit."""
BROKEN = frozenset((0, 504))
"""HTTP statuses after which a smaller part might succeed. 0 means no response; 504 is a proxy's timeout."""
TUS = {"Tus-Resumable": "1.0.0"}

# Only Python's built-in table of types is used: the tables of systems differ, and some have another type for .pt.
TYPES = mimetypes.MimeTypes()


class Transfer:
    """Uploads one file of a run.

    A small file is sent in one request. A larger file is sent in parts, with the server's resumable uploads. A later
    attempt continues where the previous attempt stopped. Another process can continue an upload if the spool has a copy
    of the file.
    """

    def __init__(self, client: Client, iteration: str, head: Dict[str, Any], progress: Progress, stop: threading.Event,
                 arrived: Callable[[], None]) -> None:
        """arrived is called after each part."""
        self.head, self._arrived = head, arrived
        self._client, self._iteration, self._progress, self._stop = client, iteration, progress, stop
        self._parts: Parts = parts_for(client.url)
        self._before = (-1, -1)  # size and modification time when the file was hashed
        self._digest = b""
        self._upload = ""  # id of the resumable upload
        self._reached = 0  # largest number of bytes that were passed to a connection or that the server has
        self._handed = 0  # bytes of the current request that were passed to the connection

    def send(self, experiment: str, path: str, own: bool) -> None:
        """Send the file at path. Do nothing if the run has an artifact with the same name and the same bytes.

        So an upload whose response was lost can be repeated. If own is set, the file is rejected if another account can
        write to it, as for files in the spool. Raises Refused if the file cannot be read or changes while it is sent.
        """
        try:
            fd = open_own(path) if own else os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
            with os.fdopen(fd, "rb") as file:
                if _state(file) != self._before:
                    self._before, self._digest = _state(file), self._hash(file)
                if (self.head.get("size") not in (None, self._before[0])
                        or self.head.get("changed") not in (None, self._before[1])):
                    raise _changed(path)
                self._send(experiment, file, path, own)
        except OSError as error:
            raise Refused(0, "", f"{path} can't be read: {error.strerror or error}") from error
        finally:
            self._progress.grace = 0.0

    def _send(self, experiment: str, file: IO[bytes], path: str, own: bool) -> None:
        name, description, listing = self.head["name"], self.head.get("description") or "", f"/resource/experiment/{experiment}"
        fields = {"name": name, "iteration_id": self._iteration, "description": description,
                  "content_type": self.head.get("content_type") or TYPES.guess_type(name)[0] or "application/octet-stream"}
        query = f"{listing}?limit=1000&iteration_id={self._iteration}&name={quote(name, safe='')}"
        found = self._find(query)
        try:
            if found is None and not self._send_whole(listing, fields, file, path):
                long = len(description) > LONG
                self._send_parts(listing, {**fields, "description": ""} if long else fields, file, path, own)
                found = self._find(query) if long else None
        except Unreachable as failure:
            if not 400 <= failure.status < 500:
                raise
            raise Refused(0, "", str(failure)) from None
        except Refused as refused:
            if refused.status in (409, 422) and _state(file) != self._before:
                raise _changed(path) from None
            if refused.status == 403 and not refused.code:
                raise Refused(0, "", f"a proxy of {self._client.url} responded with status 403") from None
            raise
        if found is not None and len(description) > LONG and found["description"] != description:
            boundary, form = _form({"description": description})
            self._client.send("PATCH", f"/resource/{found['id']}", f"{form}--{boundary}--\r\n".encode(),
                              {"Content-Type": f"multipart/form-data; boundary={boundary}"})

    def _find(self, query: str) -> Optional[Dict[str, Any]]:
        """Return the artifact with the name and the bytes of the file, or None if it does not exist."""
        for one in self._client.call("GET", query)["data"]:
            if one["name"] == self.head["name"] and one["content_hash"] == self._digest.hex():
                return dict(one)
        return None

    def _send_whole(self, listing: str, fields: Dict[str, str], file: IO[bytes], path: str) -> bool:
        """Send the file in one request. Return False if it is too large for that."""
        boundary, start = _form(fields)
        start += f'--{boundary}\r\nContent-Disposition: form-data; name="data"; filename="data"\r\n'
        start += f"Content-Digest: sha-256=:{base64.b64encode(self._digest).decode()}:\r\n\r\n"
        first, last = start.encode(), f"\r\n--{boundary}--\r\n".encode()
        length = len(first) + self._before[0] + len(last)
        if self._upload or length > min(self._parts.size, WHOLE):
            return False

        def body() -> Iterator[bytes]:
            yield first
            yield from self._pieces(file, path, 0, self._before[0])
            yield last

        begun, self._handed = time.monotonic(), 0
        try:
            self._client.send("POST", listing, body(), {
                "Content-Type": f"multipart/form-data; boundary={boundary}", "Content-Length": str(length)})
        except Unreachable as failure:
            if self._handed and failure.status in BROKEN:
                self._parts.broke(length)
            raise
        except Refused as refused:
            if refused.status != 413 or refused.code:
                raise
            self._parts.refused(length)
            return False
        self._parts.arrived(length, time.monotonic() - begun)
        return True

    def _send_parts(self, listing: str, fields: Dict[str, str], file: IO[bytes], path: str, own: bool) -> None:
        size, note = self._before[0], path + ".upload" if own else ""
        offset = self._resume(listing, fields, note)
        while offset < size:
            if self._stop.is_set():
                raise Unreachable(f"{fields['name']} was not sent completely")
            length = min(self._parts.size, size - offset)
            self._progress.grace = size / COMPLETING if offset + length == size else 0.0
            begun, self._handed = time.monotonic(), 0
            try:
                self._client.send("PATCH", f"/upload/{self._upload}", self._pieces(file, path, offset, length), {
                    **TUS, "Upload-Offset": str(offset), "Content-Length": str(length),
                    "Content-Type": "application/offset+octet-stream"})
            except Unreachable as failure:
                if self._handed and self._ask() <= offset and failure.status in BROKEN:
                    self._parts.broke(length)
                raise
            except Refused as refused:
                if refused.status == 413 and not refused.code:
                    if not self._parts.refused(length):
                        raise Refused(0, "", f"a proxy of {self._client.url} rejects requests of {SMALLEST >> 10} KiB") from None
                elif refused.status == 409 and refused.field == "Upload-Offset":
                    before, offset = offset, self._ask()
                    if offset != before:
                        continue
                    raise Unreachable(refused.message) from None
                elif refused.status == 404:
                    self._give_up(note)
                    raise Unreachable(refused.message) from None  # the next attempt begins a new upload
                else:
                    if refused.status not in (401, 403):
                        self._give_up(note)
                    raise
            else:
                self._parts.arrived(length, time.monotonic() - begun)
                offset += length
                self._reach(offset)
                self._arrived()

    def _resume(self, listing: str, fields: Dict[str, str], note: str) -> int:
        """Begin or continue the upload. Return the number of bytes that the server has."""
        self._upload = self._upload or _read_note(note)
        if self._upload:
            try:
                found = self._client.call("GET", f"/upload/{self._upload}")
                if (found["content_hash"], found["size_bytes"], found["name"], found["iteration_id"]) == (
                        self._digest.hex(), self._before[0], fields["name"], self._iteration):
                    self._reach(int(found["offset"]))
                    return int(found["offset"])
            except Refused as refused:
                if refused.status != 404:
                    raise
        metadata = ",".join(f"{field} {base64.b64encode(value.encode()).decode()}"
                            for field, value in {**fields, "sha256": self._digest.hex()}.items() if value)
        self._upload = self._client.send("POST", listing + "/upload", None, {
            **TUS, "Upload-Length": str(self._before[0]), "Upload-Metadata": metadata})[1]["id"]
        if note:
            try:
                with os.fdopen(open_own(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as out:
                    out.write(self._upload)
            except OSError:
                pass  # without the stored id, another process begins a new upload
        return 0

    def _ask(self) -> int:
        """Return the number of bytes that the server has."""
        offset = int(self._client.call("GET", f"/upload/{self._upload}")["offset"])
        self._reach(offset)
        return offset

    def _give_up(self, note: str) -> None:
        """Delete an upload that the server rejected."""
        upload, self._upload = self._upload, ""
        remove_note(note)
        try:
            self._client.send("DELETE", f"/upload/{upload}", None, TUS)
        except TrackerError:
            pass  # the server removes the upload when it expires

    def _pieces(self, file: IO[bytes], path: str, offset: int, length: int) -> Iterator[bytes]:
        """Yield length bytes of the file from offset on. Raises Refused before the last bytes if the file has changed."""
        self._handed = 0
        file.seek(offset)
        while self._handed < length:
            piece = file.read(min(PIECE, length - self._handed))
            if not piece or (self._handed + len(piece) == length and _state(file) != self._before):
                raise _changed(path)
            yield piece
            self._handed += len(piece)
            self._reach(offset + self._handed)

    def _reach(self, position: int) -> None:
        if position > self._reached:
            self._reached = position
            self._progress.move()

    def _hash(self, file: IO[bytes]) -> bytes:
        digest = hashlib.sha256()
        for part in iter(lambda: file.read(CHUNK), b""):
            digest.update(part)
            self._progress.move()
        return digest.digest()


def _form(fields: Dict[str, str]) -> Tuple[str, str]:
    """Return a boundary, and the beginning of a form. The form contains the fields that have a value."""
    boundary = "tracker-" + os.urandom(16).hex()
    return boundary, "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
                             for field, value in fields.items() if value)


def remove_note(note: str) -> None:
    """Remove the file with the id of an unfinished upload."""
    try:
        if note:
            os.unlink(note)
    except OSError:
        pass  # the file does not exist


def _read_note(note: str) -> str:
    """Return the id of the upload that an earlier process began. Return "" if there is none."""
    try:
        if note:
            with os.fdopen(open_own(note), "r", encoding="utf-8") as file:
                return identity("the id of an upload", file.read(100))
    except (OSError, ValueError):
        pass
    return ""


def _state(file: IO[bytes]) -> Tuple[int, int]:
    """Return the file's size, and its modification time in nanoseconds."""
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def _changed(path: str) -> Refused:
    return Refused(0, "", f"{path} was changed after it was logged, or while it was sent; log it again")
