"""Versions of artifacts. Each call of log_artifact with the same name adds a version.

The server identifies files by name, run and time. A version is represented by the file NAME/artifact.json, which lists its
files by SHA-256. Versions are numbered in the order of creation, across all experiments of a project.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from typing import Any, Dict, Iterable, List, Optional, Sequence

from ._encode import File
from ._http import Client, TrackerError, download
from ._media import Drawing

MANIFEST = "artifact.json"
SMALL = 32 << 20
"""Maximum total size of files that the logging thread hashes. If they are larger, the writer's thread hashes them."""
LATEST = "latest"


def manifest(name: str, type: str, metadata: Any, aliases: Sequence[str], files: Dict[str, str]) -> Drawing:
    """Return the drawing of a version's manifest. files maps names in the version to paths of stored copies."""
    def draw() -> File:
        found = {"name": name, "type": type, "metadata": metadata, "aliases": list(aliases),
                 "files": {inner: _digest(path) for inner, path in files.items()}}
        return File(json.dumps(found, default=str).encode(), "", "application/json")

    return Drawing(draw, 200 * len(files), ready=_size(files.values()) <= SMALL)


def _size(paths: Iterable[str]) -> float:
    """Return the total size of files in bytes, or infinity if it is unknown."""
    try:
        return sum(map(os.path.getsize, paths))
    except OSError:
        return math.inf


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


class Version:
    """A logged version of an artifact. It has name, version (v0, v1, ...), type, aliases, metadata and iteration_id."""

    def __init__(self, client: Client, record: Dict[str, Any], number: int, said: Dict[str, Any]) -> None:
        self._client, self._record, self._files = client, record, said.get("files") or {}
        self.name, self.version = str(said.get("name")), f"v{number}"
        self.type, self.metadata = str(said.get("type") or ""), said.get("metadata")
        self.aliases: List[str] = [str(alias) for alias in said.get("aliases") or ()]
        self.iteration_id: Optional[str] = record["iteration_id"]

    @property
    def files(self) -> List[str]:
        """The names of the files."""
        return sorted(self._files)

    def download(self, root: Optional[str] = None) -> str:
        """Write the files below root, verify their hashes, and return the folder. root is artifacts/NAME-VERSION by default.
        """
        safe = re.sub(r"[^\w.-]", "_", self.name)
        top = os.path.abspath(root or os.path.join("artifacts", f"{safe}-{self.version}"))
        for inner, digest in self._files.items():
            target = os.path.normpath(os.path.join(top, *inner.split("/")))
            if not target.startswith(top + os.sep):
                raise TrackerError(f"{inner!r} in {self.name} is not below its folder")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            self._write(f"{self.name}/{inner}", digest, target)
        return top

    def _write(self, name: str, digest: str, target: str) -> None:
        rows = _resources(self._client, self._record["experiment_id"], name)
        row = next((row for row in rows if row["content_hash"] == digest), None)
        if row is None:
            raise TrackerError(f"the server no longer has {name} as it was in {self.version}")
        fd, partial = tempfile.mkstemp(dir=os.path.dirname(target))
        try:
            with os.fdopen(fd, "wb") as file:
                found = download(self._client, f"/resource/{row['id']}/data", file)
            if found != digest:
                raise TrackerError(f"{name} arrived damaged: its SHA-256 is {found}, not {digest}")
            os.replace(partial, target)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)

    def __repr__(self) -> str:
        return f"<Version {self.name}:{self.version}>"


def find(client: Client, experiments: Sequence[str], wanted: str) -> Version:
    """Return the version that NAME, NAME:v3 or NAME:alias refers to. NAME alone refers to the latest version.

    Raises KeyError if the version does not exist.
    """
    name, _, which = wanted.rpartition(":") if ":" in wanted else (wanted, "", LATEST)
    rows = [row for experiment in experiments for row in _resources(client, experiment, f"{name}/{MANIFEST}")]
    rows.sort(key=lambda row: (row["created_date"], row["id"]))
    if not rows:
        raise KeyError(f"there is no artifact {name!r}")
    if which == LATEST:
        return _read(client, rows, len(rows) - 1)
    if re.fullmatch(r"v\d+", which) and int(which[1:]) < len(rows):
        return _read(client, rows, int(which[1:]))
    for number in range(len(rows) - 1, -1, -1):
        found = _read(client, rows, number)
        if which in found.aliases:
            return found
    raise KeyError(f"no version of {name!r} is called {which!r}; there are v0 to v{len(rows) - 1}")


def _read(client: Client, rows: List[Dict[str, Any]], number: int) -> Version:
    with tempfile.TemporaryFile() as file:
        download(client, f"/resource/{rows[number]['id']}/data", file)
        file.seek(0)
        said = json.load(file)
    return Version(client, rows[number], number, said)


def _resources(client: Client, experiment: str, name: str) -> List[Dict[str, Any]]:
    from urllib.parse import urlencode

    found: List[Dict[str, Any]] = []
    offset = 0
    while True:
        query = urlencode({"name": name, "limit": 1000, "offset": offset})
        page = client.call("GET", f"/resource/experiment/{experiment}?{query}")
        found += [row for row in page["data"] if row["name"] == name]
        offset += len(page["data"])
        if not page["data"] or offset >= page["total"]:
            return found
