"""Tests that after any failure of a training, all logged data is on the server exactly once, or a message names the missing
data.

TRACKER_EDGE_ROUNDS is the number of rounds, TRACKER_EDGE_SEED the first seed.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Union

import pytest

from . import edge
from .conftest import HERE, Server, sync
from .line import Line, Nginx

ROUNDS = int(os.environ.get("TRACKER_EDGE_ROUNDS") or 8)
SEED = int(os.environ.get("TRACKER_EDGE_SEED") or 1)
FATES = ("finish", "kill", "exit", "disk")
LINES = ("good", "slow", "nginx", "breaks", "down")
DRAWING = 2.0
"""Seconds before the death of a process in which logged images and tables might be missing."""


def made_line(kind: str, server: Server, folder: pathlib.Path) -> Union[Line, Nginx]:
    if kind == "nginx":
        return Nginx(folder / "nginx", server.port)
    return Line(server.port, speed=1e6 if kind == "slow" else 0, cut=500_000 if kind == "breaks" else 0)


def trained(seed: int, fate: str, kind: str, line: Union[Line, Nginx], journal: pathlib.Path) -> str:
    """Run the training until it ends or is killed. Return its stderr."""
    chance = random.Random(-seed)
    process = subprocess.Popen([sys.executable, "-m", "tests.edge", str(seed), fate, str(journal)],
                               env={**os.environ, "TRACKER_URL": line.url, "PYTHONPATH": str(HERE.parent)},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    stop = threading.Event()

    def disturb() -> None:
        assert isinstance(line, Line)
        stop.wait(chance.uniform(0, 2))
        line.down = True
        stop.wait(chance.uniform(0.5, 10))
        line.down = False

    disturbing = threading.Thread(target=disturb)
    if kind == "down":
        disturbing.start()
    killing = threading.Timer(chance.uniform(0, 3), process.kill)
    if fate == "kill":
        killing.start()
    _, said = process.communicate(timeout=300)
    killing.cancel()
    stop.set()
    if kind == "down":
        disturbing.join()
    return said


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_nothing_is_lost_without_a_word(server: Server, tmp_path: pathlib.Path, seed: int) -> None:
    fate, kind = FATES[seed % len(FATES)], LINES[seed % len(LINES)]
    line, journal = made_line(kind, server, tmp_path), tmp_path / "journal"
    try:
        said = trained(seed, fate, kind, line, journal)
    finally:
        line.close()
    ended = time.time()
    done = [sync("--url", server.url) for _ in range(2)]
    status = subprocess.run([sys.executable, "-m", "tracker", "status"], capture_output=True, text=True, timeout=180)
    what = f"seed {seed}: {fate}, line {kind}\n{said}{done[0].stderr}{done[1].stderr}{status.stdout}"
    assert (done[1].returncode == 0) is ("rejected:" not in status.stdout), f"sync and status do not agree\n{what}"
    named = [text for text in said.splitlines() if "were lost" in text or "could not be stored" in text]
    named += status.stdout.splitlines()
    logged = [json.loads(text) for text in journal.read_text().splitlines()]
    dead = fate in ("kill", "exit") and logged[-1]["kind"] != "end"
    drawn = [one for one in logged if not dead or one["kind"] != "drawing" or one["at"] < ended - DRAWING]
    compare(server, drawn, "\n".join(named), what, seed)
    if not dead:
        assert server.get(f"/iteration/{logged[0]['id']}")["status"] == "SUCCEEDED", what


def compare(server: Server, logged: List[Dict[str, Any]], named: str, what: str, seed: int) -> None:
    """Compare the logged data with the data on the server. named: the messages that name missing data."""
    found = server.iterations()
    if not logged:
        return
    assert [one["id"] for one in found] == [logged[0]["id"]], what
    id = logged[0]["id"]
    for key, sign in (("loss", 1), ("acc", -1)):
        points = server.points(id, key)
        assert points == [(step, sign * edge.value(step)) for step, _ in points], what
        assert len({step for step, _ in points}) == len(points), f"points are there twice\n{what}"
        lost = {one["step"] for one in logged if one["kind"] == "point"} - {step for step, _ in points}
        assert not lost or "were lost" in named, f"{key} of {lost} is missing\n{what}"
    artifacts = all_artifacts(server, id)
    for name, hashes in artifacts.items():
        assert len(hashes) == 1, f"{name} is there {len(hashes)} times\n{what}"
    for one in logged:
        if one["kind"] in ("file", "drawing"):
            could_not = f"{one['name'].partition('_')[0]} could not be stored"
            assert one["name"] in artifacts or one["name"] in named or could_not in named, f"{one['name']} is missing\n{what}"
        if one["kind"] == "file" and one["name"] in artifacts:
            assert artifacts[one["name"]] == [hashlib.sha256(edge.data(seed, one["number"])).hexdigest()], what


def all_artifacts(server: Server, id: str) -> Dict[str, List[Optional[str]]]:
    experiment = server.get(f"/iteration/{id}")["experiment_id"]
    found: Dict[str, List[Optional[str]]] = collections.defaultdict(list)
    for row in server.get(f"/resource/experiment/{experiment}?iteration_id={id}&limit=1000")["data"]:
        found[row["name"]].append(row["content_hash"])
    return found
