"""Lets a process that multiprocessing spawns find the run of its parent process.

A spawned worker imports the program again. If the program calls init without a check of __name__ == "__main__", init returns
the parent's run in the worker. The worker then logs to this run.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, Iterable, Optional

PARENT = "TRACKER_PARENT_RUN"
"""The environment variable in which a process describes its current run to its workers."""


def share(runs: Iterable[Any]) -> None:
    """Set the run that newly spawned workers join: the last active run in runs, if any."""
    found = [run for run in runs if not run.finished and run.mode != "disabled"]
    if not found:
        os.environ.pop(PARENT, None)
        return
    run = found[-1]
    begin = {name: run.recorder.begin.get(name) for name in ("id", "project", "experiment", "name", "parent")}
    os.environ[PARENT] = json.dumps(
        {"pid": os.getpid(), "begin": {**begin, "notes": None}, "folder": run.folder, "url": run.server, "mode": run.mode})


def importing() -> bool:
    """Return whether this process is a worker that is importing the program again."""
    workers = sys.modules.get("multiprocessing.process")
    return workers is not None and bool(getattr(workers.current_process(), "_inheriting", False))


def of_parent() -> Optional[Dict[str, Any]]:
    """Return the description of the parent process's run, or None."""
    try:
        found = json.loads(os.environ[PARENT])
        return found if found.pop("pid") == os.getppid() or _of_forkserver() else None
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def _of_forkserver() -> bool:
    """Return whether the parent's fork server forked this worker, which then has the environment of the fork server."""
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    return getattr(server, "_forkserver_alive_fd", None) is not None
