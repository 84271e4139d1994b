"""Finds the folder for spools."""

from __future__ import annotations

import os
from typing import List, NamedTuple, Optional

from ._embed import home
from ._trust import close_to_others, make_own_folder, open_own
from ._value import tell

PROBE = 4096
"""Number of bytes that are written to test whether a folder is usable."""


class Folder(NamedTuple):
    """A folder for spools. If it is not writable, failure is the reason."""

    path: str
    failure: Optional[OSError] = None


def spool_folder(folder: Optional[str] = None) -> str:
    """Return the folder for spools: folder, TRACKER_SPOOL, or spool in TRACKER_HOME. spool in TRACKER_HOME is made
    private."""
    chosen = folder or os.environ.get("TRACKER_SPOOL")
    if chosen:
        return os.path.abspath(chosen)
    own = os.path.join(home(), "spool")
    close_to_others(own)
    return own


def spool_folders() -> List[str]:
    """Return the folder for spools, and the temporary spool folder if it exists."""
    own, other = spool_folder(), temporary_folder()
    return [own, *([other] if other is not None and other != own and os.path.isdir(other) else [])]


def temporary_folder() -> Optional[str]:
    """Return this account's spool folder in the system's temporary folder. It might not exist yet.

    Returns None if the system has no temporary folder.
    """
    import tempfile

    try:
        account = f"tracker-{os.geteuid()}" if hasattr(os, "geteuid") else "tracker"
        return os.path.join(tempfile.gettempdir(), account, "spool")
    except OSError:
        return None


def writable_folder(folder: Optional[str] = None) -> Folder:
    """Return the folder for spools. If it is not writable, report that once and return the temporary spool folder."""
    wanted = spool_folder(folder)
    try:
        os.makedirs(wanted, mode=0o700, exist_ok=True)
        _probe(wanted)
        return Folder(wanted)
    except OSError as error:
        failure = error
    other = temporary_folder()
    try:
        if other is None:
            return Folder(wanted, failure)
        for path in (os.path.dirname(other), other):
            make_own_folder(path)
            close_to_others(path)
        _probe(other)
    except OSError:
        return Folder(wanted, failure)
    tell(f"{wanted} can't be written to ({failure.strerror or failure}); unsent data is stored in {other}, and a restart of "
         "the machine might remove it; set TRACKER_HOME or TRACKER_SPOOL to another folder", once="folder " + wanted)
    return Folder(other)


def _probe(folder: str) -> None:
    """Write a file to folder, and remove it. Raises OSError if that fails."""
    path = os.path.join(folder, f".probe-{os.getpid()}-{os.urandom(4).hex()}")
    fd = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(fd, os.urandom(PROBE))  # a file of zeros might use no disk space
    finally:
        os.close(fd)
        os.unlink(path)
