"""Stops a program after somebody has asked its run to stop, for example in the dashboard."""

from __future__ import annotations

import signal
import threading
from typing import Any, Callable, Dict, Optional, Set

from . import _signal


class StopRequest:
    """A request to stop a run.

    message: the error message of the stopped run, "" before a stop is requested. told: whether the program knows about the
        request, because it was interrupted or has read should_stop. watched: whether the program reads should_stop by
        itself. watchers: the callbacks that will stop a training in progress. interrupt: a function that interrupts the
        program and returns whether that was done; None if this process does not interrupt it.

    The program is interrupted once for each request, except if the program or a callback checks for requests by itself.
    """

    def __init__(self) -> None:
        self.message = ""
        self.told = self.watched = False
        self.watchers: Set[Any] = set()
        self.interrupt: Optional[Callable[[], bool]] = None
        self._date = ""
        self._busy = threading.Lock()

    @property
    def needed(self) -> bool:
        """Whether this process must notice requests."""
        return self.interrupt is not None or self.watched or bool(self.watchers)

    def update(self, found: Dict[str, Any]) -> bool:
        """Record the request in the run that the server has returned. Return whether the request is new."""
        date = found.get("stop_requested") if found.get("status") == "RUNNING" else None
        fresh = bool(date) and date != self._date
        if not date:
            self._date, self.message, self.told = "", "", False
            return False
        if fresh:
            by = found.get("stop_requested_by")
            self._date, self.told = str(date), False
            self.message = f"Stopped on request of {by}." if by else "Stopped on request."
        return fresh

    def deliver(self) -> None:
        """Interrupt the program if necessary."""
        with self._busy:
            if self.message and not self.told and not self.watched and not self.watchers and self.interrupt is not None:
                self.told = True  # before the interrupt, because the program might end the run at once
                self.told = self.interrupt()

    def ask(self) -> bool:
        """Return whether there is a request. The program then stops by itself."""
        if self.message:
            self.told = True
        return bool(self.message)

    def close(self) -> None:
        """Stop interrupting the program, because the run is ending."""
        with self._busy:
            self.interrupt = None


def interrupt() -> bool:
    """Raise KeyboardInterrupt in the main thread, as Ctrl-C does. Other processes of the terminal are not interrupted."""
    main = threading.main_thread().ident
    if callable(signal.getsignal(signal.SIGINT)):
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, signal.SIGINT)  # also interrupts a wait, unlike interrupt_main
        else:
            import _thread

            _thread.interrupt_main()
        return True
    # The process ignores SIGINT, because a shell has started it in the background.
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main or 0), ctypes.py_object(KeyboardInterrupt))
    _signal.wake()
    return True
