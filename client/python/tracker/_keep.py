"""Copies the current bytes of a run's files to the run's folder in the spool."""

from __future__ import annotations

import itertools
import os
import stat
import sys
from typing import Any, Dict, NamedTuple, Tuple

from ._trust import make_own_folder, open_own
from ._value import tell

CHUNK = 1 << 20
FICLONE = 0x40049409
"""The ioctl number of Linux that clones a file. Both files share their bytes until one of them is written to."""


class Changed(OSError):
    """The file changed while it was copied."""


class Kept(NamedTuple):
    """A stored copy of a file for an artifact."""

    number: int  # the upload's number
    path: str
    head: Dict[str, Any]  # description of the file in the spool; empty if the run does not record any more


class Files:
    """The numbered files that one process stores for a run."""

    def __init__(self, folder: str, id: str) -> None:
        self._folder, self._id = folder, id
        self._numbers = itertools.count(1)

    def keep(self, path: str) -> Kept:
        """Store the current bytes of the file at path.

        If the disk has no space for a copy, the original file is recorded. It is sent later, if it is unchanged. Raises
        OSError if the file cannot be read or changes while it is copied.
        """
        number = next(self._numbers)
        found = os.stat(path)
        try:
            name = take(path, self._folder, self._id, number)
        except Changed:
            raise
        except OSError as error:
            with open(path, "rb"):
                pass  # the file can be read, so the reason is that the copy could not be written
            tell(f"{path} could not be copied into {self._folder}: {error.strerror or error}; the original file is sent later, "
                 "so do not change it before the end of the run", once="copy " + self._folder)
            whole = os.path.abspath(path)
            return Kept(number, whole, {"file": whole, "size": found.st_size, "changed": found.st_mtime_ns})
        return Kept(number, os.path.join(self._folder, *name.split("/")), {"file": name, "temporary": True})

    def number(self) -> int:
        """Return the number of an upload that is not a file."""
        return next(self._numbers)

    def write(self, data: bytes, suffix: str) -> Tuple[int, str]:
        """Write a new file. Return its number and its path relative to the spool folder. Raises OSError."""
        number = next(self._numbers)
        fd, name = new_file(self._folder, self._id, number, suffix)
        with os.fdopen(fd, "wb") as out:
            out.write(data)
        return number, name


def new_file(folder: str, id: str, number: int, suffix: str) -> Tuple[int, str]:
    """Create a file for the run. Return its descriptor and its path relative to the spool folder. Raises OSError."""
    inside = f"{id}.files"
    make_own_folder(os.path.join(folder, inside))
    name = f"{inside}/{os.getpid()}-{number}{suffix}"
    return open_own(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL), name


def take(path: str, folder: str, id: str, number: int) -> str:
    """Store the current bytes of the file at path. Return the path of the copy relative to the spool folder.

    A read-only file gets a hard link. Other files are cloned if the file system can do that, and copied otherwise.
    Raises Changed if the file changes while it is copied, and other OSErrors if the copy fails.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(f"{path} is not a regular file")
        target, name = new_file(folder, id, number, "")
        kept = os.path.join(folder, name)
        try:
            if _link(path, before, kept):
                return name
            if not _clone(fd, target):
                _copy(fd, target)
            after = os.fstat(fd)
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise Changed(f"{path} was changed while it was copied")
        except BaseException:
            os.unlink(kept)
            raise
        finally:
            os.close(target)
        return name
    finally:
        os.close(fd)


def _link(path: str, found: os.stat_result, kept: str) -> bool:
    """Create a hard link of a read-only file of this account. Return whether that was possible."""
    if sys.platform == "win32" or found.st_mode & 0o222 or found.st_uid != os.geteuid():
        return False
    try:
        os.link(path, kept + ".link", follow_symlinks=True)
        os.replace(kept + ".link", kept)
    except OSError:
        return False  # for example, the file is on another file system
    return os.stat(kept).st_ino == found.st_ino


def _clone(source: int, target: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError:
        return False  # the file system does not support clones
    return True


def _copy(source: int, target: int) -> None:
    at = 0
    if hasattr(os, "copy_file_range"):
        try:
            while True:
                done = os.copy_file_range(source, target, CHUNK << 6, at, at)
                if not done:
                    break
                at += done
        except OSError:
            pass  # these file systems do not support copy_file_range; the loop below copies the remaining bytes
    os.lseek(source, at, os.SEEK_SET)
    os.lseek(target, at, os.SEEK_SET)
    while True:
        part = os.read(source, CHUNK)
        if not part:
            return
        while part:
            part = part[os.write(target, part):]
