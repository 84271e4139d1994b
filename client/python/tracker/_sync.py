"""Sends spools that other processes left behind because they were killed or their runs were offline."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ._check import identity, text
from ._http import Client, Refused, TrackerError, Unreachable
from ._output import beside, request
from ._sender import Sender
from ._spool import Busy, Spool
from ._value import timestamp

if TYPE_CHECKING:
    from ._part import Progress

ELSEWHERE = 120.0
"""Seconds. If the server saw a run this much later than the last write to its spool, another process has resumed the
run."""
DEAD = "The process ended without ending the run."
_WORKER = re.compile(r"-\d+-[0-9a-f]{6}\.spool$")


def sync_file(path: str, url: Optional[str] = None, token: Optional[str] = None, stop: Optional[threading.Event] = None,
              moved: Optional[Progress] = None) -> Optional[TrackerError]:
    """Send the requests in a spool file and the output of its process. If that succeeds, remove both files.

    Returns the error that stopped the transfer, or None. moved is the progress of another sender that waits for this
    spool.

    If the process died without ending its run, the run is ended with the time of its last sign of life. Its status is
    KILLED, or FAILED if the spool contains the failure.

    Raises Busy if another process uses the file and ValueError if it is not a spool. Raises PermissionError if other
    accounts can write to it.
    """
    alive = os.lstat(path).st_mtime
    spool = Spool(path)
    sent = False
    try:
        if not spool.head:
            sent = True  # its process was killed before the first write
            return None
        identity("the id in the spool", spool.head.get("id"))
        client = Client(url or text("the address in the spool", spool.head.get("url")), token, url_of_file=url is None)
        sender = Sender(spool, client, adopted=True, moved=moved)
        sender.stop = stop or sender.stop
        died: Optional[bool] = False if spool.ended or spool.head.get("worker") or _WORKER.search(path) else None
        tries = 0
        printing = not spool.head.get("refused")  # in a spool of rejected requests, the output is one of the items
        while not (stop is not None and stop.is_set()):
            if died is None:
                died = _has_died(sender, alive)
            item = spool.next() if died is not None else None
            if died is not None and item is None:
                printed, printing = request(beside(path)) if printing else None, False
                if printed is not None:
                    spool.append(printed)
                elif died and _is_running(sender):
                    died = False
                    end = _end_of_dead(spool)
                    spool.append({"op": "end", "at": timestamp(int(alive * 1000))}, json.dumps(end).encode())
                else:
                    try:
                        sender.announce()
                    except Unreachable as failure:
                        return failure
                    sent = True
                    break
                continue
            before = sender.moved.moves
            if item is not None and sender.step(item):
                tries = 0
            elif isinstance(sender.failure, Refused) or tries == 3:
                return sender.failure
            else:
                tries = 0 if sender.moved.moves != before else tries + 1
                (stop or threading.Event()).wait(0.25 * 2 ** tries)
        sender.client.close()
        return None
    finally:
        spool.close(remove=sent)
        if sent:
            remove_folder(spool)


def _has_died(sender: Sender, alive: float) -> Optional[bool]:
    """Return whether no process is logging the run any more. Return None if the server does not respond.

    Other processes on this machine hold locks on spools. The server knows about processes on other machines.
    """
    folder, name = os.path.split(sender.spool.path)
    for path in spool_files(folder):
        other = os.path.basename(path)
        if other != name and other.startswith(sender.id) and not _WORKER.search(other):
            try:
                Spool(path).close()
            except Busy:
                return False  # another process has resumed the run
            except (OSError, ValueError):
                continue
    try:
        found = sender.client.call("GET", f"/iteration/{sender.id}")
    except Refused:
        return True  # the run does not exist yet, or the next request reports the problem
    except Unreachable as failure:
        sender.report(failure)
        return None
    return bool(found["last_seen"] <= timestamp(int((alive + ELSEWHERE) * 1000)))


def _end_of_dead(spool: Spool) -> Dict[str, Any]:
    """Return the end of a run whose process has died, which is the recorded fate if the spool contains one."""
    fate: Any = spool.fate
    if not isinstance(fate, dict) or fate.get("status") not in ("FAILED", "KILLED"):
        fate = {"status": "KILLED"}
    return {"status": fate["status"], "error_message": (str(fate.get("error_message", "")).rstrip() + "\n\n" + DEAD).strip()}


def _is_running(sender: Sender) -> bool:
    try:
        return bool(sender.client.call("GET", f"/iteration/{sender.id}")["status"] == "RUNNING")
    except TrackerError:
        return False  # for example, the run was deleted; it needs no end


def remove_folder(spool: Spool) -> None:
    """Remove the folder with the run's files if all files were sent."""
    try:
        os.rmdir(os.path.join(os.path.dirname(spool.path), f"{spool.head.get('id')}.files"))
    except OSError:
        pass  # the folder does not exist, or contains files of another process


def send_former(sender: Sender, paths: List[str]) -> None:
    """Send the spool files that earlier processes of the sender's run left behind, until the sender is stopped."""
    for path in paths:
        while not sender.stop.is_set():
            try:
                failure = sync_file(path, sender.client.url, sender.client.given, sender.stop, sender.moved)
            except (Busy, ValueError, TypeError, OSError):
                break  # another process is sending the file, or it is not a trusted spool
            if failure is None:
                break
            sender.report(failure)
            sender.stop.wait(1)


def send_all(sender: Sender, paths: List[str]) -> None:
    """Try to send each spool file that no other process has open."""
    for path in paths:
        if sender.stop.is_set():
            return
        try:
            sync_file(path, sender.client.url, sender.client.given, sender.stop, sender.moved)
        except (Busy, ValueError, TypeError, OSError):
            continue  # a worker is still using the file, or it is not a trusted spool
        sender.progress += 1


def send_leftovers(sender: Sender, folder: str, token: Optional[str], own: Callable[[str], bool]) -> None:
    """Send spool files of earlier runs in folder after the server has responded.

    own(path) reports whether the sender itself sends a spool file before the run ends. Such files are skipped.
    """
    while not sender.progress:
        if sender.stop.wait(0.5):
            return
    for path in spool_files(folder):
        if own(path) or sender.stop.is_set():
            continue
        try:
            if url_of(path) == sender.client.url:
                sync_file(path, sender.client.url, token, stop=sender.stop)
        except (Busy, ValueError, TypeError, OSError):
            continue  # another process is sending the file, or it is not a trusted spool


def spool_files(folder: str, suffix: str = ".spool") -> List[str]:
    """Return the files in folder with the given suffix, oldest first. The default suffix selects spool files."""
    try:
        found = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffix)]
        return sorted(found, key=os.path.splitext)  # compares without the suffix: a run sorts before its workers
    except OSError:
        return []


def url_of(path: str) -> str:
    """Return the server address of a spool file."""
    spool = Spool(path)
    try:
        return str(spool.head.get("url", ""))
    finally:
        spool.close()
