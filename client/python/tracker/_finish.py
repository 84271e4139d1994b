"""How a run ends: what is queued goes into the spool, what is in the spool is sent, and then it lets go."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ._config import SUMMARY
from ._http import Refused
from ._output import request
from ._sender import ENDED
from ._sync import remove_folder
from ._value import flatten, parameter_text, scalar, tell

if TYPE_CHECKING:
    from ._run import Run

PATIENCE = 10.0
"""Seconds without progress after which finish leaves the rest to the spool."""
MOST_MESSAGE = 20_000
"""Characters of an error message that are kept: its end, where a traceback says what happened."""


def ending(kind: Any, error: Any, traceback: Any) -> Tuple[str, str]:
    """The status and message of a run that ends with this exception, or with none."""
    if kind is None or (kind is SystemExit and getattr(error, "code", None) in (None, 0)):
        return "SUCCEEDED", ""
    if kind is KeyboardInterrupt:
        return "KILLED", "Interrupted from the keyboard."
    from traceback import format_exception

    return "FAILED", "".join(format_exception(kind, error, traceback))


def close_down(run: Run, status: str, message: str) -> None:
    """Put all that is queued into the spool, and then the end."""
    end: Dict[str, Any] = {"status": status}
    if message:
        end["error_message"] = message[-MOST_MESSAGE:].encode("utf-8", "replace").decode()
    try:
        for thread in run._threads:
            if thread.name == "tracker-capture":
                thread.join(15)
        numbers = {}
        for name, value in flatten(run.summary):
            number = None if isinstance(value, bool) else scalar(value)
            if number is None:
                run._parameter(SUMMARY + name, parameter_text(value))
            else:
                numbers[SUMMARY + name] = number
        if numbers:
            run._queue.append((numbers, None, None, time.time()))
        if run.output is not None:
            run.output.close()
            printed = request(run.output.path)
            if printed is not None:
                run._add(printed)
    finally:  # an interrupt in between leaves no run without its end
        run.finished, run.status = True, status
        run._writer.stop(None if run._worker else json.dumps(end).encode())


def wait(run: Run, timeout: Optional[float]) -> bool:
    """Wait for the sender; whether all was sent."""
    sender, spool = run._sender, run._spool
    if sender is None or spool is None:
        return False
    sender.hurry.set()
    begun = moved = time.monotonic()
    seen, shown = sender.progress, False
    while not spool.empty:
        now = time.monotonic()
        if sender.progress != seen:
            seen, moved = sender.progress, now
        refused = isinstance(sender.failure, Refused) and sender.failure.code != ENDED
        patience = 2.0 if refused else PATIENCE
        if now - moved > patience or (timeout is not None and now - begun > timeout):
            break
        if now - begun > 2 and not shown:
            shown = True
            tell(f"sending what is left of {run.label}; Ctrl-C leaves it in the spool")
        try:
            with spool.changed:
                spool.changed.wait(0.1)
            if run.interrupts > 1:
                break
        except KeyboardInterrupt:
            run.interrupts += 1
            if run.interrupts > 1:
                break
            tell("still sending; Ctrl-C again leaves the rest in the spool")
    return spool.empty


def leave(run: Run, complete: bool, quiet: bool = False) -> None:
    """Stop the sender, close the spool, and say what is left in it."""
    spool, sender = run._spool, run._sender
    assert spool is not None
    if sender is not None:
        sender.stop.set()
        sender.hurry.set()
        with spool.changed:
            spool.changed.notify_all()
        for thread in run._threads:
            if thread.name == "tracker-sender":
                thread.join(1 if complete else 0.2)
        if sender.ended is not None and not run._worker:
            run.status = sender.ended["status"]
    lost = run._writer.dropped + spool.lost
    if lost:
        tell(f"{lost} calls or requests were lost: neither the disk nor the memory had room for them")
    in_memory = spool.failure is not None and not complete
    spool.close(remove=complete)
    if complete:
        remove_folder(spool)
    elif not quiet:
        what = f"{'what it has logged' if run.mode == 'offline' else 'the rest'} is kept in {spool.path}"
        if in_memory:
            what = "a part is lost, since the disk took no more"
        tell(f"{run.label} has ended; {what}. Send it with: python -m tracker sync")


def drain(run: Run, timeout: float = 5.0) -> None:
    """In a worker: put what is queued into the spool, and wait a moment, timeout seconds at most, for it to be sent."""
    if not run._started or run.finished:
        return
    run.finished = True
    try:
        run._writer.stop()
        complete = wait(run, timeout)
    except KeyboardInterrupt:
        complete = False
    run._leave(complete, quiet=True)
