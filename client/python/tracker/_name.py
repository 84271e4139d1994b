"""Finds projects and experiments by name. Creates them if they do not exist."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Optional
from urllib.parse import quote

from ._http import Client, Refused
from ._value import digest

PROJECTS = "/project"


class Names:
    """The ids of records on a server, by name."""

    def __init__(self, client: Client, warn: Callable[[str], None] = lambda text: None) -> None:
        self._client = client
        self._warn = warn
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
        if path == PROJECTS:
            self._warn_of_others(name)
        key = "named-" + digest(f"{path}\n{name}".encode())
        made = str(self._client.call("POST", path, {"name": name}, key)["id"])
        if self._find(path, name, query) is None:  # a repeated response, whose record was deleted or has ended since
            made = str(self._client.call("POST", path, {"name": name})["id"])
        self._ids[path + " " + name] = made
        return made

    def _find(self, path: str, name: str, query: str) -> Optional[str]:
        if path == PROJECTS:
            try:
                return next((str(r["id"]) for r in self._named(path, name, "&given=true")), None)
            except Refused as refused:
                if refused.field != "given":
                    raise  # the server is not too old for the parameter
        return next((str(r["id"]) for r in self._named(path, name, query)), None)

    def _named(self, path: str, name: str, query: str) -> Iterator[Dict[str, Any]]:
        offset = 0
        while True:
            page = self._client.call("GET", f"{path}?name={quote(name, safe='')}&limit=1000&offset={offset}{query}")
            yield from (record for record in page["data"] if record["name"] == name)
            offset += len(page["data"])
            if not page["data"] or offset >= page["total"]:
                return

    def _warn_of_others(self, name: str) -> None:
        """Warn if the account can read a project with this name that it was not given."""
        other = next(self._named(PROJECTS, name, ""), None)
        if other is not None:
            owner = other.get("owner") or "an admin"
            self._warn(f"a new project {name!r} is created, because the project {name!r} of {owner} is not yours; "
                       f"to log there, ask {owner} to share it with your account")
