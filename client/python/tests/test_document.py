"""The examples of the documents, as they are printed there."""

from __future__ import annotations

import re
import subprocess
import sys

from .conftest import ROOT, Server


def test_the_first_examples_run(server: Server) -> None:
    for document in ("README.md", "docs/python.md"):
        found = re.search(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.M | re.S)
        assert found is not None
        done = subprocess.run([sys.executable, "-c", found.group(1)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
    square, iris = sorted(server.iterations(), key=lambda it: it["created_date"])
    assert server.points(square["id"], "square") == [(s, s * s) for s in range(10)]
    assert len(server.points(iris["id"], "train/loss")) == 1000
    assert {square["status"], iris["status"]} == {"SUCCEEDED"}
