"""Builds the wheel with nothing but Python: pip install . works without a network.

It is the build backend that pyproject.toml names (PEP 517). The program builds the same wheel for itself, see
client/wheel.go.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile
from typing import Any, Dict

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "tracker_client"


def version() -> str:
    with open(os.path.join(HERE, "tracker", "__init__.py"), encoding="utf-8") as file:
        found = re.search(r'^__version__ = "([^"]+)"$', file.read(), re.M)
    assert found is not None
    return found.group(1)


def sources() -> Dict[str, bytes]:
    found: Dict[str, bytes] = {}
    for folder, _, names in sorted(os.walk(os.path.join(HERE, "tracker"))):
        for name in sorted(names):
            if name.endswith(".py") or name == "py.typed":
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, HERE).replace(os.sep, "/")] = file.read()
    return found


def metadata() -> bytes:
    return (f"Metadata-Version: 2.1\nName: tracker-client\nVersion: {version()}\n"
            "Summary: Log machine-learning runs to a tracker server\nLicense: Apache-2.0\nRequires-Python: >=3.9\n").encode()


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    info = f"{NAME}-{version()}.dist-info"
    files = {**sources(), f"{info}/METADATA": metadata(),
             f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tracker\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = io.StringIO()
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.write(f"{path},sha256={digest},{len(data)}\n")
    record.write(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = record.getvalue().encode()
    name = f"{NAME}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as out:
        for path, data in files.items():
            out.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), data)
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    name = f"{NAME}-{version()}"
    with tarfile.open(os.path.join(sdist_directory, name + ".tar.gz"), "w:gz") as out:
        for path in ("pyproject.toml", "build_wheel.py", "tracker"):
            out.add(os.path.join(HERE, path), f"{name}/{path}",
                    filter=lambda info: None if "__pycache__" in info.name else info)
    return name + ".tar.gz"
