"""Copies the printed output of a process to a file and to the console of its run."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional, TextIO

from ._console import Console
from ._trust import open_own
from ._value import printing

MOST_OUTPUT = 10 << 20
"""Maximum characters of output that are stored."""


def beside(spool: str) -> str:
    """Return the path of the file with the output of the process that uses the given spool."""
    return os.path.splitext(spool)[0] + ".out"


def request(path: str) -> Optional[Dict[str, Any]]:
    """Return the head of the item that sends the file at path. If the file is empty, remove it and return None."""
    try:
        if os.path.getsize(path):
            return {"op": "artifact", "file": os.path.basename(path), "name": "output.log",
                    "description": "Output of the process.", "content_type": "text/plain; charset=utf-8", "temporary": True}
        os.unlink(path)
    except OSError:
        pass  # the file does not exist
    return None


class Output:
    """Copies sys.stdout and sys.stderr to a file and to the run's console, until it is closed."""

    def __init__(self, path: str, console: Console) -> None:
        self.path, self._left, self._console = path, MOST_OUTPUT, console
        fd = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._file: Optional[TextIO] = os.fdopen(fd, "w", encoding="utf-8", errors="replace", buffering=1)
        self._before = (sys.stdout, sys.stderr)
        self._after = (_Copy(sys.stdout, self), _Copy(sys.stderr, self))
        sys.stdout, sys.stderr = self._after

    def keep(self, text: str) -> None:
        """Add text, up to MOST_OUTPUT characters in total."""
        if self._file is None or self._left <= 0:
            return
        kept = text[:self._left]
        self._left -= len(text)
        if self._left <= 0:
            kept += "\n[further output is omitted]\n"
        self._console.keep(kept)
        try:
            self._file.write(kept)
        except (OSError, ValueError):
            self._left = 0  # for example, the disk is full

    def close(self, remove: bool = False) -> None:
        """Stop copying. If the program has replaced a stream, leave it unchanged. If remove is set, delete the file."""
        if sys.stdout is self._after[0]:
            sys.stdout = self._before[0]
        if sys.stderr is self._after[1]:
            sys.stderr = self._before[1]
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
                if remove:
                    os.unlink(self.path)
            except OSError:
                pass


class _Copy:
    """A stream that passes text to another stream and to an Output."""

    def __init__(self, stream: Any, output: Output) -> None:
        self._stream, self._output = stream, output

    def write(self, text: Any) -> Any:
        with printing:
            written = self._stream.write(text)
            if isinstance(text, str):
                self._output.keep(text)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)
