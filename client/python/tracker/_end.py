"""The end of a run: how it is recorded, and how a worker is noticed to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, Callable, Dict, Tuple

from . import _signal
from ._check import End

MOST_MESSAGE = 20_000
"""Characters of an error message that are kept: its end, where a traceback says what happened."""


def ending(kind: Any, error: Any, traceback: Any) -> Tuple[End, str]:
    """Return status and message of a run that ends with this exception, or without one."""
    if kind is None or (kind is SystemExit and getattr(error, "code", None) in (None, 0)):
        return "SUCCEEDED", ""
    if kind is KeyboardInterrupt:
        return "KILLED", "Interrupted from the keyboard."
    from traceback import format_exception

    return "FAILED", "".join(format_exception(kind, error, traceback))


def end_body(status: str, message: str) -> Dict[str, Any]:
    """Return the end of a run, in the form of the API."""
    end = {"status": status}
    if message:
        end["error_message"] = message[-MOST_MESSAGE:].encode("utf-8", "replace").decode()
    return end


def before_exit_of_worker(drain: Callable[..., Any]) -> None:
    """Arrange that drain is called when the worker ends: multiprocessing skips the usual handlers.

    A pool ends its workers by SIGTERM, even while they are ending already. drain then gets the number of seconds it may
    take.
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
