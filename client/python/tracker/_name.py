"""Finds projects and experiments by their names, and creates those that do not exist."""

from __future__ import annotations

from typing import Dict, Optional
from urllib.parse import quote

from ._http import Client
from ._value import digest


class Names:
    """The ids of records on a server, by name."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids: Dict[str, str] = {}  # by path and name

    def id(self, path: str, name: str, query: str = "") -> str:
        """Return the id of the record of that name in the listing at path. The record is created if it does not exist.

        Programs that start at the same time send the same request with the same idempotency key, so they get the same
        record.
        """
        found = self._ids.get(path + " " + name) or self._find(path, name, query)
        if found:
            self._ids[path + " " + name] = found
            return found
        key = "named-" + digest(f"{path}\n{name}".encode())
        made = str(self._client.call("POST", path, {"name": name}, key)["id"])
        if self._find(path, name, query) is None:  # the answer of long ago, about what was deleted or ended since
            made = str(self._client.call("POST", path, {"name": name})["id"])
        self._ids[path + " " + name] = made
        return made

    def _find(self, path: str, name: str, query: str) -> Optional[str]:
        offset = 0
        while True:
            page = self._client.call("GET", f"{path}?name={quote(name, safe='')}&limit=1000&offset={offset}{query}")
            for record in page["data"]:
                if record["name"] == name:
                    return str(record["id"])
            offset += len(page["data"])
            if not page["data"] or offset >= page["total"]:
                return None
