"""Describes the end of a run to the API, and notices the end of a worker process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, Callable, Dict, Tuple

from . import _signal
from ._check import End

INTERRUPTED = "Interrupted from the keyboard."
"""The error message of a run that was interrupted by Ctrl-C."""
MOST_MESSAGE = 20_000
"""Maximum characters of an error message. The last characters are stored, because a traceback ends with the error."""


def ending(kind: Any, error: Any, traceback: Any) -> Tuple[End, str]:
    """Return the status and message of a run that ended with an exception, or without one if kind is None."""
    if kind is None or (kind is SystemExit and getattr(error, "code", None) in (None, 0)):
        return "SUCCEEDED", ""
    if kind is KeyboardInterrupt:
        return "KILLED", INTERRUPTED
    from traceback import format_exception

    return "FAILED", "".join(format_exception(kind, error, traceback))


def end_body(status: str, message: str) -> Dict[str, Any]:
    """Return the request body that ends a run."""
    end = {"status": status}
    if message:
        end["error_message"] = message[-MOST_MESSAGE:].encode("utf-8", "replace").decode()
    return end


def before_exit_of_worker(drain: Callable[..., Any]) -> None:
    """Arrange for drain to be called when the worker process ends. multiprocessing skips atexit handlers.

    A pool sends SIGTERM to its workers, even if they are already ending. On SIGTERM, drain gets a time limit in seconds.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, drain, exitpriority=0)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        def on_signal(number: int, frame: Any) -> None:
            signal.signal(number, signal.SIG_DFL)
            drain(1.0)
            os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, on_signal)
        _signal.watch()
