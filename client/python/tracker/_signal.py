"""Makes sure that signal handlers run.

Python runs a signal handler in the main thread, between two instructions. If the signal arrives just before the main thread
waits in C code, for example for a lock, the wait is not interrupted. The handler runs after the wait, which might never end.
A pool terminates its workers while they wait like this. Therefore another thread interrupts the wait.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

TRIES = 20
"""Number of times that a wait is interrupted after a signal. More would disturb a program that handles the signal
itself."""

ENDS = [number for number in (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")) if number is not None]
"""The signals whose default action ends a process. Their handlers end its runs first."""

_reader = _writer = -1
_left = 0
_mask: Any = ()


def watch() -> None:
    """Start recording the signals of this process for interrupt. Must be called in the main thread.

    Does nothing if the program uses SIGURG or has set a wakeup descriptor, as asyncio does.
    """
    global _reader, _writer
    if _reader >= 0 or not hasattr(signal, "pthread_kill") or signal.getsignal(signal.SIGURG) is not signal.SIG_DFL:
        return
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before >= 0:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
        return
    _reader, _writer = reader, writer
    signal.signal(signal.SIGURG, _ignore)


def interrupt() -> None:
    """Interrupt the main thread if a signal has arrived. Another thread must call it periodically."""
    global _left
    try:
        while _reader >= 0:
            if set(os.read(_reader, 512)) & {*ENDS, signal.SIGINT}:
                _left = TRIES
    except OSError:
        pass  # no signal has arrived
    main = threading.main_thread()
    if _left > 0 and main.ident is not None and main.is_alive():
        _left -= 1
        signal.pthread_kill(main.ident, signal.SIGURG)


def wake() -> None:
    """Interrupt a wait of the main thread, so that the thread notices an exception. Do nothing if watch was not called."""
    main = threading.main_thread()
    if _reader >= 0 and main.ident is not None and main.is_alive():
        signal.pthread_kill(main.ident, signal.SIGURG)


def hold() -> None:
    """Block the ENDS signals while the calling thread forks. Only one thread can fork at a time.

    Without the block, Python would forget a signal that the child receives before it calls forked.
    """
    global _mask
    _mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)


def release() -> None:
    """Unblock the signals in the parent process after a fork."""
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask)


def forked(handler: Any) -> None:
    """Discard the parent's pending signals and its handlers of ENDS. It is called in a child process that was just forked.

    A child that logs nothing needs no handlers.
    """
    global _reader, _writer, _left
    for number in ENDS:
        if signal.getsignal(number) is handler:
            signal.signal(number, signal.SIG_DFL)
    if _reader >= 0:
        before = signal.set_wakeup_fd(-1)
        if before != _writer:
            signal.set_wakeup_fd(before)
        os.close(_reader)
        os.close(_writer)
        _reader, _writer, _left = -1, -1, 0
        if signal.getsignal(signal.SIGURG) is _ignore:
            signal.signal(signal.SIGURG, signal.SIG_DFL)
    release()


def _ignore(number: int, frame: Any) -> None:
    pass
