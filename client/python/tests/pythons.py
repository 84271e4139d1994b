"""Prints the oldest and the newest supported Python on this machine, except the one that runs this program."""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
from typing import Dict, Tuple

CHECK = "import ensurepip, ssl, sys, venv; print(*sys.version_info[:2])"


def main() -> None:
    """Print a line for each interpreter: its version and its path."""
    folders = [*os.environ["PATH"].split(os.pathsep),
               *glob.glob(os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions", "*", "bin"))]
    found: Dict[Tuple[int, int], str] = {}
    for path in (path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "python3*")))):
        if not re.fullmatch(r"python3(\.\d+)?", os.path.basename(path)):
            continue
        try:
            done = subprocess.run([path, "-c", CHECK], capture_output=True, text=True, timeout=180)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            major, minor = map(int, done.stdout.split())
            found.setdefault((major, minor), path)
    others = sorted(version for version in found if version >= (3, 9) and version != sys.version_info[:2])
    for version in sorted({*others[:1], *others[-1:]}):
        print("%d.%d" % version, found[version])


if __name__ == "__main__":
    main()
