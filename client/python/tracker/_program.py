"""Finds the program tracker, which the wheel for a platform installs, and runs it as the command runtracker."""

from __future__ import annotations

import os
import sys
from typing import Optional

DISTRIBUTION = "runtracker"
PROGRAM = "tracker.exe" if sys.platform == "win32" else "tracker"


def program() -> Optional[str]:
    """Return the path of the program: TRACKER_PROGRAM, or the installed program. Return None if there is neither."""
    given = os.environ.get("TRACKER_PROGRAM")
    if given:
        return given
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution(DISTRIBUTION).files or []
    except PackageNotFoundError:
        return None
    for file in installed:
        if file.name == PROGRAM:
            path = os.path.normpath(str(file.locate()))
            if os.path.isfile(path):
                return path
    return None


def main() -> int:
    """Run the program. This function is the command runtracker."""
    found = program()
    if found is None:
        print("tracker: only the client is installed; install the wheel for your platform, or set TRACKER_PROGRAM to the path "
              "of the program; python -m tracker --help lists the commands of the client", file=sys.stderr)
        return 1
    if sys.platform == "win32":
        import subprocess

        return subprocess.call([found, *sys.argv[1:]])
    os.execv(found, [found, *sys.argv[1:]])
