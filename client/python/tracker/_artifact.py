"""Files that belong to a run."""

from __future__ import annotations

import hashlib
import mimetypes
import os
from typing import Any, Dict, Iterator
from urllib.parse import quote

from ._http import Client, Refused


def upload(client: Client, experiment: str, iteration: str, head: Dict[str, Any]) -> None:
    """Send the file that head names, unless the iteration has an artifact of that name with the same bytes.

    The look before is what makes it safe to repeat: an upload whose answer was lost is found there.
    """
    path, name = head["file"], head["name"]
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for piece in iter(lambda: file.read(1 << 20), b""):
                digest.update(piece)
    except OSError as error:
        raise Refused(0, "", f"the file can't be read any more: {error}") from error
    query = f"?limit=1000&iteration_id={iteration}&name={quote(name, safe='')}"
    found = client.call("GET", f"/resource/experiment/{experiment}{query}")["data"]
    if not any(r["name"] == name and r["content_hash"] == digest.hexdigest() for r in found):
        fields = {"name": name, "iteration_id": iteration, "description": head.get("description") or "",
                  "content_type": head.get("content_type") or mimetypes.guess_type(name)[0] or "application/octet-stream"}
        boundary = "tracker-" + os.urandom(16).hex()
        before = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
                         for field, value in fields.items() if value)
        before += f'--{boundary}\r\nContent-Disposition: form-data; name="data"; filename="data"\r\n\r\n'
        first, last = before.encode(), f"\r\n--{boundary}--\r\n".encode()
        size = os.path.getsize(path)
        client.send("POST", f"/resource/experiment/{experiment}", _stream(first, path, size, last), {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(first) + size + len(last))})
    if head.get("temporary"):
        try:
            os.unlink(path)
        except OSError:
            pass


def _stream(first: bytes, path: str, size: int, last: bytes) -> Iterator[bytes]:
    yield first
    with open(path, "rb") as file:
        while size > 0:
            piece = file.read(min(size, 1 << 20))
            if not piece:
                raise OSError(f"{path} became shorter while it was sent")
            size -= len(piece)
            yield piece
    yield last
