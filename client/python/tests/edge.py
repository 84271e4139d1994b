"""A small training for tests of failures: python -m tests.edge SEED FATE JOURNAL.

After each call of log and log_artifact, the training writes a line about the call to the journal. test_edge.py compares the
journal with the data on the server.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
from typing import Any

import tracker
from tracker import _recorder

STEPS = 60
FILES = 4
LARGE = 3_000_000
"""Size in bytes of every second file."""


def value(step: int) -> float:
    """The value that is logged at a step."""
    return step / 7


def data(seed: int, number: int) -> bytes:
    """The bytes of a file."""
    return random.Random(seed * 1000 + number).randbytes(LARGE if number % 2 else 20_000)


def train(seed: int, fate: str, journal: int) -> None:
    """Log like a training. fate is exit, which ends the process at a random step, or disk, which fills the disk for some
    steps or until the end."""
    chance = random.Random(seed)
    _recorder.PATIENCE = 5.0
    for number in range(FILES):
        with open(f"{number}.bin", "wb") as file:
            file.write(data(seed, number))
    at = sorted(chance.sample(range(5, STEPS), FILES))
    fatal, again = chance.randrange(STEPS), chance.randrange(STEPS * 2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def note(**what: Any) -> None:
        os.write(journal, (json.dumps({**what, "at": time.time()}) + "\n").encode())

    run = tracker.init(project="edge", config={"seed": seed}, capture=["output"])
    note(kind="run", id=run.id)
    print("ready", flush=True)
    for step in range(STEPS):
        if step == fatal and fate == "exit":
            os._exit(1)
        if step == fatal and fate == "disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (chance.randrange(20_000, 60_000), limits[1]))
        if step == again:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        run.log({"loss": value(step), "acc": -value(step)}, step=step)
        note(kind="point", step=step)
        if step % 7 == 0:
            run.log({"picture": tracker.Image([[step / STEPS, 0.5], [0.5, 1.0]])}, step=step)
            note(kind="drawing", name=f"picture_{step}.png")
        if step % 11 == 0:
            run.log({"rows": tracker.Table(["step"], [[step]])}, step=step)
            note(kind="drawing", name=f"rows_{step}.csv")
        if step in at:
            number = at.index(step)
            run.log_artifact(f"{number}.bin")
            note(kind="file", name=f"{number}.bin", number=number)
        print(f"step {step}", flush=True)
        time.sleep(chance.uniform(0, 0.05))
    run.finish()
    note(kind="end")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    train(int(sys.argv[1]), sys.argv[2], os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
