"""Builds the wheel with the tracker program, so that pip install ./client/python works. Requires Go.

pyproject.toml names this module as the build backend (PEP 517). The wheel's content is defined in client/wheel.go.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    command = ["go", "run", ".", "client", "python", "--out", os.path.abspath(wheel_directory)]
    try:
        made = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        raise SystemExit("Building the client from source requires Go (https://go.dev). Wheels need only Python.") from None
    return os.path.basename(made.stdout.strip())
