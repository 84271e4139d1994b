"""Has the program build the wheel, so that pip install ./client/python works. Needs Go.

It is the build backend that pyproject.toml names (PEP 517); what makes the wheel is in client/wheel.go.
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
        raise SystemExit("To build the client from the sources needs Go (https://go.dev); a wheel needs Python alone.") from None
    return os.path.basename(made.stdout.strip())
