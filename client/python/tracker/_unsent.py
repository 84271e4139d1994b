"""Lists the requests of a run that are not on the server: rejected requests and unsent requests.

Rejected requests are stored in a file beside the spool, one request per line. The run's page describes them.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Dict, Iterator, List

from ._http import Client, Refused
from ._spool import Spool
from ._trust import open_own

REJECTED = ".rejected"
"""The suffix of the file with rejected requests."""
PROPERTY = "tracker.not_sent"
"""The property of an iteration that describes missing data. For a worker, the suffix of its spool's name is appended."""
MOST = 10_000
"""Maximum number of rejected requests that are counted."""
SHOWN = 5
"""Maximum number of file names in one message."""
WORDS = {"points": "points", "console": "lines of the console", "begin": "the beginning", "end": "the end", "rewind": "a rewind"}


def keep(path: str, head: Dict[str, Any], item: Dict[str, Any], body: bytes, error: str) -> None:
    """Append a rejected request to the file beside the spool at path. head is the spool's head. Raises OSError."""
    spool = {name: head.get(name) for name in ("id", "url", "project", "experiment")}
    line = json.dumps({**item, "error": error, "body": body.decode("utf-8", "replace"), "spool": spool})
    with os.fdopen(open_own(path + REJECTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def rejected(path: str) -> List[Dict[str, Any]]:
    """Return the first MOST rejected requests of the spool at path, without their bodies. Raises OSError."""
    return [{name: value for name, value in one.items() if name != "body"} for one in itertools.islice(_lines(path), MOST)]


def _lines(path: str) -> Iterator[Dict[str, Any]]:
    try:
        fd = open_own(path + REJECTED)
    except FileNotFoundError:
        return
    with os.fdopen(fd, encoding="utf-8") as file:
        for line in file:
            try:
                one = json.loads(line)
            except ValueError:
                continue  # the process was killed during the write; the spool still has the request
            if isinstance(one, dict) and isinstance(one.get("op"), str):
                yield one


def try_again(path: str) -> None:
    """Move the rejected requests of the spool at path back into the spool. If the spool was removed, create it.

    Raises Busy if another process has the spool, and OSError if the disk is full.
    """
    first = next(_lines(path), None)
    if first is None:
        return
    if os.path.exists(path):
        spool = Spool(path)
    else:
        head = {"id": os.path.basename(path)[:36], "url": "", "project": "", "experiment": "", **(first.get("spool") or {})}
        spool = Spool(path, {"version": 1, **head, "worker": True, "refused": True})  # the spool of a worker does not end the run
    try:
        for line in _lines(path):
            body = str(line.get("body", "")).encode()
            spool.append({name: value for name, value in line.items() if name not in ("error", "spool", "body")}, body)
            if spool.failure is not None:
                raise spool.failure
        os.unlink(path + REJECTED)
    finally:
        spool.close()


def describe(folder: str, heads: List[Dict[str, Any]], were: str = "") -> str:
    """Return a description of requests, such as "2 files and 1 other request: a.bin (1 kB), b.bin (2 kB), points".

    folder is the folder of the spool. The words in were are inserted before the colon.
    """
    files = [head for head in heads if head.get("op") == "artifact"]
    names = [f"{head.get('name')} ({size_text(_size(folder, head))})" for head in files[:SHOWN]]
    if len(files) > SHOWN:
        names.append(f"and {len(files) - SHOWN} more")
    others = [head for head in heads if head.get("op") != "artifact"]
    words: Dict[str, None] = {}
    for head in others:
        op = str(head.get("op"))
        word = f"{op} {head.get('name')}" if op in ("parameter", "version") else str(head.get("path", op)).rpartition("/")[2]
        words[WORDS.get(op, word)] = None
    names += list(words)[:SHOWN]
    counts = (_count(len(files), "file"), _count(len(others), "other request" if files else "request"))
    return f"{' and '.join(filter(None, counts))}{were}: {', '.join(names)}"


def sentence(folder: str, heads: List[Dict[str, Any]]) -> str:
    """Return a message about requests that are not on the server, or "" if heads is empty."""
    if not heads:
        return ""
    return describe(folder, heads, f" {'was' if len(heads) == 1 else 'were'} not sent") + "."


def announce(client: Client, id: str, path: str, heads: List[Dict[str, Any]]) -> None:
    """Show a message about the missing requests on the run's page. If heads is empty, remove the message. Raises
    Unreachable.

    path is the path of the spool. Servers that do not support properties show nothing.
    """
    name = PROPERTY + os.path.basename(path)[len(id):].rpartition(".spool")[0]
    said = sentence(os.path.dirname(path), heads)
    try:
        if said:
            said += " Run `tracker sync` on the run's machine to send the missing data or see why it can't be sent."
            client.call("PATCH", f"/property/iteration/{id}", {"properties": {name: said}})
            return
        there = client.call("GET", f"/property/iteration/{id}?limit=1000")["data"]
        if not any(one["key"] == name and one["value"] for one in there):
            return
        try:
            client.call("DELETE", f"/property/iteration/{id}/{name}")
        except Refused:  # the token allows updates but no deletions
            client.call("PATCH", f"/property/iteration/{id}", {"properties": {name: ""}})
    except Refused:
        pass  # the run was deleted, or the server is too old for properties


def size_text(size: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _size(folder: str, head: Dict[str, Any]) -> int:
    try:
        return os.path.getsize(os.path.join(folder, *str(head.get("file", "")).split("/")))
    except (OSError, ValueError):
        return 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""
