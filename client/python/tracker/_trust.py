"""Opens files in a spool folder, and checks that only the account of this process can write to them.

If several accounts share a spool folder, other accounts might plant files in it. The checks use the open file, because a
path might be replaced between check and use. Windows has no comparable owners and modes, so only the protection of the
folder counts there.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def open_own(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a file of this account, or create it with mode 0600 if flags allow that. Return its descriptor.

    Raises PermissionError if the file belongs to another account, if other accounts can write to it, or if it is not a
    regular file. Links are not followed. O_TRUNC takes effect after these checks.
    """
    try:
        fd = os.open(path, (flags & ~os.O_TRUNC) | _FLAGS, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PermissionError(errno.EPERM, "it is a link, and links are not allowed in a spool; remove it", path) from None
        raise
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(errno.EPERM, "it is not a regular file", path)
        _check(path, found)
        if flags & os.O_TRUNC:
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def make_own_folder(path: str) -> None:
    """Create a folder with mode 0700 if it does not exist. Raises PermissionError if other accounts can write to it."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        check_own_folder(path)


def close_to_others(path: str) -> None:
    """Remove the rights of other accounts from a folder or file of this account.

    Shared folders, such as /tmp, and the home folder are not changed.
    """
    try:
        found = os.lstat(path)
        if sys.platform == "win32" or not found.st_mode & 0o077 or found.st_uid != os.geteuid():
            return
        shared = bool(found.st_mode & stat.S_ISVTX) or os.path.realpath(path) == os.path.realpath(os.path.expanduser("~"))
        if stat.S_ISREG(found.st_mode) or (stat.S_ISDIR(found.st_mode) and not shared):
            os.chmod(path, stat.S_IMODE(found.st_mode) & 0o700)
    except OSError:
        pass  # the path does not exist yet, or the file system has no modes


def check_own_folder(path: str) -> None:
    """Raise PermissionError if path is not a folder, or if other accounts can write to it."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(errno.EPERM, "it is not a folder", path)
    _check(path, found)


def _check(path: str, found: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another account, and only that account can send it", path)
    if found.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "other accounts can write to it, so it is not trusted; chmod go-w it", path)
