"""Makes sure that the handler of a signal runs.

Python runs a handler in the main thread, between two instructions. A signal that comes just before that thread waits inside
of C, for the lock of a queue say, does not interrupt the wait: the handler runs when the wait is over, which may be never.
A pool ends its workers while they wait like that. Here another thread interrupts the wait.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

TRIES = 20
"""Interruptions after a signal. More would only disturb a program that has a handler of its own."""

ENDS = [number for number in (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")) if number is not None]
"""The signals that end a process and its run."""

_reader = _writer = -1
_left = 0
_mask: Any = ()


def watch() -> None:
    """Make the signals of this process visible to interrupt. Must be called in the main thread.

    Does nothing if the program does the same, as asyncio does, or uses SIGURG itself.
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
    """Interrupt the main thread if a signal has arrived. Must be called periodically by another thread."""
    global _left
    try:
        while _reader >= 0:
            if set(os.read(_reader, 512)) & {*ENDS, signal.SIGINT}:
                _left = TRIES
    except OSError:
        pass  # nothing has come
    main = threading.main_thread()
    if _left > 0 and main.ident is not None and main.is_alive():
        _left -= 1
        signal.pthread_kill(main.ident, signal.SIGURG)


def hold() -> None:
    """Block the signals that end the process while the calling thread forks. Only one thread may do so at a time."""
    global _mask
    _mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)


def release() -> None:
    """Unblock the signals in the process that has forked."""
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask)


def forked(handler: Any) -> None:
    """Drop the parent's pending signals and its handlers of ending signals, in a child that was just forked.

    A child that logs nothing has nothing to do before it ends. A signal that had arrived earlier would be forgotten.
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
