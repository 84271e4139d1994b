"""Runs the examples in the documentation."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import List

from .conftest import ROOT, Server, sync


def examples(document: str) -> List[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.M | re.S)


def test_the_first_examples_run(server: Server) -> None:
    for document in ("README.md", "docs/python.md"):
        done = subprocess.run([sys.executable, "-c", examples(document)[0]], capture_output=True, text=True, timeout=180)
        said = done.stderr.splitlines()
        assert done.returncode == 0, done.stderr
        assert "/iteration/" in said[0] and "SUCCEEDED" in said[-1]
        assert not [line for line in said[1:-1] if "sending what is left" not in line], "a slow client reports that it waits"
    hello, iris = sorted(server.iterations(), key=lambda it: it["created_date"])
    assert server.points(hello["id"], "loss") == [(s, 1 / (s + 1)) for s in range(100)]
    assert len(server.points(iris["id"], "train/loss")) == 1000
    assert {hello["status"], iris["status"]} == {"SUCCEEDED"}


def test_all_examples_run_in_their_order(server: Server) -> None:
    text = "".join(example for example in examples("docs/python.md") if "import torch" not in example)  # see test_torch.py
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert f"http://127.0.0.1:{server.ui_port}/" in done.stdout and "does not answer" in done.stdout
    assert sync().returncode == 0
    found = {it["name"]: it["status"] for it in server.iterations()}
    assert len(found) == 12 and (found["search"], found["first"], found["second"]) == ("SUCCEEDED", "SUCCEEDED", "FAILED")
