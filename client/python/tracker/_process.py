"""Ends the runs of a process when the process ends, and lets forked processes log to them."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import signal
import sys
import threading
from typing import Any, Dict, List, NoReturn, Tuple, cast

from . import _check, _signal, _stop, _worker
from ._end import ending
from ._http import TrackerError
from ._run import Run, live
from ._value import printing, tell

LATE = ("encodings.idna", "gzip", "http.client", "uuid", "tracker._artifact", "tracker._unsent")
"""Modules that sender threads import lazily."""

_ended: Dict[str, Any] = {}  # under "how", status and message after an exception; under "hook", the installed excepthook
_installed = False
_cells: List[bool] = []  # not empty while IPython executes a cell


def install() -> None:
    """Install the handlers that end the runs when the process ends."""
    global _installed
    if threading.current_thread() is threading.main_thread():
        for number in _signal.ENDS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _on_signal)
                _signal.watch()
    if _installed:
        return
    _installed = True
    atexit.register(_at_exit)
    before = sys.excepthook

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        _ended["how"] = ending(kind, error, traceback)
        for run in live:
            run.has_failed(*_ended["how"])
        if kind is KeyboardInterrupt:
            for run in live:
                run.recorder.interrupts = 1
            if threading.current_thread() is threading.main_thread():
                # A second interrupt between the end of the script and the end of its run must not kill the process.
                signal.signal(signal.SIGINT, _count_interrupt)
        before(kind, error, traceback)

    sys.excepthook = _ended["hook"] = hook
    leave = sys.exit

    @functools.wraps(leave)
    def leaving(code: Any = None) -> NoReturn:
        if code not in (None, 0) and threading.current_thread() is threading.main_thread():
            for run in live:
                run.has_failed(*run.exited(f"exit status {code}" if isinstance(code, int) else str(code)))
        leave(code)

    sys.exit = leaving
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)
    core = sys.modules.get("IPython")
    shell = core.get_ipython() if core is not None else None
    if shell is not None:  # IPython handles the exceptions of cells without calling sys.excepthook
        shell.events.register("pre_execute", lambda: _cells.append(True))
        shell.events.register("post_execute", _cells.clear)
        shell.events.register("post_run_cell", _after_cell)
        _cells.append(True)  # this cell


def interrupt(run: Run) -> bool:
    """Interrupt the program, because somebody has asked the run to stop. If no cell of a notebook is running, end the
    run."""
    core = sys.modules.get("IPython")
    shell = core.get_ipython() if core is not None else None
    if shell is not None and not (_cells and callable(signal.getsignal(signal.SIGINT))):
        threading.Thread(target=run.finish, name="tracker-stop", daemon=True).start()
        return True
    return _stop.interrupt()


def _after_cell(result: Any) -> None:
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        for run in live:
            run.has_failed(*ending(type(error), error, error.__traceback__))


def _count_interrupt(number: int, frame: Any) -> None:
    for run in live:
        run.recorder.interrupts += 1
        if run.recorder.interrupts > 3:  # the process hangs for a different reason, so the next interrupt kills it
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _before_fork() -> None:
    """Import the modules that sender threads need, and wait until no thread is printing.

    If another thread were importing a module during the fork, the module would remain incomplete in the child.
    """
    if live:
        for name in LATE:
            importlib.import_module(name)
    printing.acquire()
    _signal.hold()


def _after_fork() -> None:
    _signal.release()
    printing.release()


def _forked() -> None:
    _signal.forked(_on_signal)
    printing.release()
    for run in live:
        run.forked()
    if live:
        _worker.share(live)


def _at_exit() -> None:
    for run in reversed(list(live)):
        if run.recorder.worker:
            run.drain()
        else:
            try:
                run.finish(*_end_of_program(run))
            except TrackerError as error:
                tell(str(error))


def _end_of_program(run: Run) -> Tuple[_check.End, str]:
    """Return the status and message for a run that the program has not ended."""
    if "how" in _ended:
        return cast(Tuple[_check.End, str], _ended["how"])
    error = getattr(sys, "last_value", None)
    if error is not None and sys.excepthook is not _ended["hook"] and not hasattr(sys, "ps1"):  # a library replaced the hook
        return ending(type(error), error, error.__traceback__)
    return run.likely_end()


def _on_signal(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_DFL)
    name = signal.Signals(number).name
    for run in reversed(list(live)):
        if run.recorder.worker:
            run.drain(1.0)
        else:
            try:
                run.finish("KILLED", f"Ended by {name}.")
            except TrackerError as error:
                tell(str(error))
    os.kill(os.getpid(), number)
