"""Lets the processes that multiprocessing spawns find the run of the process that spawns them.

Such a worker imports the program again. Where the program calls init without asking for __main__, that call returns the run of
the parent, to which the worker then logs.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, Iterable, Optional

PARENT = "TRACKER_PARENT_RUN"
"""The variable with the current run of a process, for its workers."""


def share(runs: Iterable[Any]) -> None:
    """Set the run that workers spawned from now on join: the last one of runs, or none."""
    found = [run for run in runs if not run.finished and run.mode != "disabled"]
    if not found:
        os.environ.pop(PARENT, None)
        return
    run = found[-1]
    begin = {name: run.recorder.begin.get(name) for name in ("id", "project", "experiment", "name", "parent")}
    os.environ[PARENT] = json.dumps(
        {"pid": os.getpid(), "begin": {**begin, "notes": None}, "folder": run.folder, "url": run.server, "mode": run.mode})


def importing() -> bool:
    """Return whether this process is a worker that is just importing the program again."""
    workers = sys.modules.get("multiprocessing.process")
    return workers is not None and bool(getattr(workers.current_process(), "_inheriting", False))


def of_parent() -> Optional[Dict[str, Any]]:
    """Return the data of the run of the parent process, or None."""
    try:
        found = json.loads(os.environ[PARENT])
        return found if found.pop("pid") == os.getppid() or _of_forkserver() else None
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def _of_forkserver() -> bool:
    """Return whether this worker was forked by its parent's fork server, from which it has its environment."""
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    return getattr(server, "_forkserver_alive_fd", None) is not None
