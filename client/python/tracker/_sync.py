"""Sends what is left in spool files: of runs before this one, or of runs that were offline."""

from __future__ import annotations

import os
import threading
from typing import List, Optional

from ._http import Client, Refused, TrackerError
from ._output import beside, request
from ._sender import Sender
from ._spool import Busy, Spool


def sync_file(path: str, url: Optional[str] = None, token: Optional[str] = None,
              stop: Optional[threading.Event] = None) -> Optional[TrackerError]:
    """Send what is left in a spool file, and what its process has printed, and remove both.

    Returns what kept it from that; None when all was sent.

    Raises Busy when another process has the file, and ValueError when it is no spool.
    """
    spool = Spool(path)
    sent = False
    try:
        if not spool.head:
            sent = True  # its process was killed before it had written anything
            return None
        sender = Sender(spool, Client(url or spool.head.get("url"), token), adopted=True)
        tries, printed = 0, None
        while not (stop is not None and stop.is_set()):
            item = spool.next()
            if item is None:
                printed = request(beside(path)) if printed is None else None
                if printed is not None:
                    spool.append(printed)
                    continue
                sent = True
                break
            if sender.step(item):
                tries = 0
            elif isinstance(sender.failure, Refused) or tries == 3:
                return sender.failure
            else:
                tries += 1
                (stop or threading.Event()).wait(0.25 * 2 ** tries)
        sender.client.close()
        return None
    finally:
        spool.close(remove=sent)
        if sent:
            remove_folder(spool)


def remove_folder(spool: Spool) -> None:
    """Remove the folder of what the run has drawn, once all of that is sent."""
    try:
        os.rmdir(os.path.join(os.path.dirname(spool.path), f"{spool.head.get('id')}.files"))
    except OSError:
        pass  # there is none, or another process still has files in it


def send_former(sender: Sender, paths: List[str]) -> None:
    """Send the spool files that earlier lives of the sender's run have left, until it is stopped."""
    for path in paths:
        while not sender.stop.is_set():
            try:
                failure = sync_file(path, sender.client.url, sender.client.given, sender.stop)
            except (Busy, ValueError, OSError):
                break  # another process is at it, or it is none of ours
            if failure is None:
                break
            sender.told(failure)
            sender.stop.wait(1)


def send_leftovers(sender: Sender, folder: str, token: Optional[str]) -> None:
    """Send what runs before this one have left in folder, once the server is seen to be there."""
    while not sender.progress:
        if sender.stop.wait(0.5):
            return
    for path in spool_files(folder):
        if path == sender.spool.path or sender.stop.is_set():
            continue
        try:
            if url_of(path) == sender.client.url:
                sync_file(path, sender.client.url, token, stop=sender.stop)
        except (Busy, ValueError, OSError):
            continue  # another process is at it, or it is none of ours


def spool_files(folder: str, suffix: str = ".spool") -> List[str]:
    """The spool files in folder, or those with another suffix, the oldest first."""
    try:
        found = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffix)]
        return sorted(found, key=os.path.splitext)  # without the suffix: a run comes before its later lives and its workers
    except OSError:
        return []


def url_of(path: str) -> str:
    """The address that a spool file is for."""
    spool = Spool(path)
    try:
        return str(spool.head.get("url", ""))
    finally:
        spool.close()
