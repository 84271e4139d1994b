"""Finds projects and experiments by name. Creates them if they do not exist."""

from __future__ import annotations

from typing import Dict, Optional
from urllib.parse import quote

from ._http import Client
from ._value import digest


class Names:
    """The ids of records on a server, by name."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ids: Dict[str, str] = {}  # ids by path and name

    def id(self, path: str, name: str, query: str = "") -> str:
        """Return the id of the record with this name in the listing at path. If it does not exist, create it.

        Programs that start simultaneously send the same request with the same idempotency key. So the server creates
        one record for all of them.
        """
        found = self._ids.get(path + " " + name) or self._find(path, name, query)
        if found:
            self._ids[path + " " + name] = found
            return found
        key = "named-" + digest(f"{path}\n{name}".encode())
        made = str(self._client.call("POST", path, {"name": name}, key)["id"])
        if self._find(path, name, query) is None:  # a repeated response, whose record was deleted or has ended since
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
