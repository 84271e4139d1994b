"""Versions of artifacts. Each call of log_artifact with new content adds a version of the artifact's name.

The server numbers the versions of a name in an experiment, and records which run logged a version and which runs use it.
Earlier versions of this client wrote a file NAME/artifact.json instead, which lists the files of a version by SHA-256.
Such versions can still be read.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
from urllib.parse import quote, urlencode

from ._http import Client, Refused, TrackerError, download

MANIFEST = "artifact.json"
LATEST = "latest"


class VersionFile(NamedTuple):
    """A file of a version."""

    name: str
    size: int
    hash: str  # SHA-256
    resource_id: str


class Version:
    """A logged version of an artifact.

    name, version (v0, v1, ...), type, aliases, tags, description and metadata describe it. iteration_id is the run that
    logged it. id is empty for a version of an earlier client.
    """

    def __init__(self, client: Client, record: Dict[str, Any]) -> None:
        self._client, self._record = client, record
        self.id, self.name, self.version = str(record.get("id") or ""), str(record["name"]), f"v{record['version']}"
        self.type, self.metadata = str(record.get("type") or ""), record.get("metadata")
        self.description = str(record.get("description") or "")
        self.aliases: List[str] = [str(alias) for alias in record.get("aliases") or ()]
        self.tags: List[str] = [str(tag) for tag in record.get("tags") or ()]
        self.iteration_id: Optional[str] = record["iteration_id"]
        self._files: Optional[List[VersionFile]] = None

    def files(self) -> List[VersionFile]:
        """Return the files, sorted by name."""
        if self._files is None:
            rows = _pages(self._client, f"/artifactversion/{self.id}/files")
            self._files = [VersionFile(row["name"], row["size_bytes"], row["content_hash"], row["resource_id"]) for row in rows]
        return self._files

    def download(self, root: Optional[str] = None) -> str:
        """Write the files below root, verify their hashes, and return the folder. root is artifacts/NAME-VERSION by default.
        """
        safe = re.sub(r"[^\w.-]", "_", self.name)
        top = os.path.abspath(root or os.path.join("artifacts", f"{safe}-{self.version}"))
        for file in self.files():
            target = os.path.normpath(os.path.join(top, *file.name.split("/")))
            if not target.startswith(top + os.sep):
                raise TrackerError(f"{file.name!r} in {self.name} is not below its folder")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            self._write(file, target)
        return top

    def lineage(self, depth: int = 6) -> Dict[str, Any]:
        """Return the records from which the version was made, and the records that were made from it.

        The result has nodes, edges and cut, as in the response of GET /lineage. depth is the maximum number of edges
        between the version and a record.
        """
        found: Dict[str, Any] = self._client.call("GET", f"/lineage/artifactversion/{self.id}?depth={depth}")
        return found

    def _write(self, file: VersionFile, target: str) -> None:
        fd, partial = tempfile.mkstemp(dir=os.path.dirname(target))
        try:
            with os.fdopen(fd, "wb") as out:
                found = download(self._client, f"/resource/{file.resource_id}/data", out)
            if found != file.hash:
                raise TrackerError(f"{file.name} arrived damaged: its SHA-256 is {found}, not {file.hash}")
            os.replace(partial, target)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)

    def __repr__(self) -> str:
        return f"<Version {self.name}:{self.version}>"


class _OldVersion(Version):
    """A version of an earlier client. Its files are found by name and hash."""

    def files(self) -> List[VersionFile]:
        """Return the files, sorted by name."""
        if self._files is None:
            self._files = [self._find(name, digest) for name, digest in sorted((self._record.get("files") or {}).items())]
        return self._files

    def _find(self, name: str, digest: str) -> VersionFile:
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise TrackerError(f"{name!r} in {self.name} is not below its folder")
        rows = _resources(self._client, self._record["experiment_id"], f"{self.name}/{name}")
        row = next((row for row in rows if row["content_hash"] == digest), None)
        if row is None:
            raise TrackerError(f"the server no longer has {self.name}/{name} as it was in {self.version}")
        return VersionFile(name, row["size_bytes"], digest, row["id"])


def find(client: Client, project: str, experiments: Callable[[], Sequence[str]], wanted: str) -> Version:
    """Return the version that NAME, NAME:v3 or NAME:alias refers to. NAME alone refers to the latest version.

    experiments returns the ids of the project's experiments. Raises KeyError if the version does not exist.
    """
    name, _, which = wanted.rpartition(":") if ":" in wanted else (wanted, "", LATEST)
    try:
        return Version(client, client.call("GET", f"/artifactversion/project/{project}/{quote(f'{name}:{which}', safe='')}"))
    except Refused as refused:
        if refused.status != 404:
            raise
    known = _pages(client, f"/artifactversion/project/{project}", name=name)
    if known:
        raise KeyError(f"no version of {name!r} is called {which!r}; there are v{known[-1]['version']} to v{known[0]['version']}")
    return _find_old(client, experiments(), name, which)


def _find_old(client: Client, experiments: Sequence[str], name: str, which: str) -> Version:
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
    row = rows[number]
    return _OldVersion(client, {**said, "id": "", "version": number, "name": str(said.get("name")),
                                "experiment_id": row["experiment_id"], "iteration_id": row["iteration_id"]})


def _resources(client: Client, experiment: str, name: str) -> List[Dict[str, Any]]:
    return [row for row in _pages(client, f"/resource/experiment/{experiment}", name=name) if row["name"] == name]


def _pages(client: Client, path: str, **query: str) -> List[Dict[str, Any]]:
    """Return all records of a listing."""
    found: List[Dict[str, Any]] = []
    while True:
        page = client.call("GET", f"{path}?{urlencode({**query, 'limit': '1000', 'offset': str(len(found))})}")
        found += page["data"]
        if not page["data"] or len(found) >= page["total"]:
            return found
