"""Writes offline runs of W&B into argv[1]: a run that ends, and a run that is killed and then resumed. Prints the logged data as JSON."""
import glob
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=sys.argv[1], WANDB_ERROR_REPORTING="false", WANDB_DISABLE_GIT="true",
                  WANDB_DATA_DIR=sys.argv[1] + "-data")
import wandb

root = sys.argv[1]
os.makedirs(root, exist_ok=True)
points = []
config = {"lr": 0.1, "net": {"depth": 3, "names": ["x", "ы"]}, "flag": True, "none": None, "optimizer": "adam"}


def log(run, name, values, step):
    run.log(values, step=step)
    for key, value in values.items():
        for sub, v in value.items() if isinstance(value, dict) else [("", value)]:
            points.append([name, key + ("/" + sub if sub else ""), step, repr(float(v))])


if sys.argv[2:] == ["killed"]:
    r = wandb.init(project="größe", name="killed", id="bbbb2222", dir=root)
    for step in range(50):
        r.log({"loss": float(step)}, step=step)
    r.log({"last": 1.0}, step=50)
    print("logged", flush=True)
    time.sleep(600)

r = wandb.init(project="größe", name="ends", id="aaaa1111", notes="some\nnotes", tags=["a", "b c"], group="g", job_type="train", config=config, dir=root)
for step in range(3000):
    log(r, "ends", {"loss": 1 / (step + 1), "nested": {"acc": step * 0.5}, "a/b": step}, step)
for step, value in enumerate([math.nan, math.inf, -math.inf]):
    log(r, "ends", {"odd": value, "k" * 300: 1.0}, 5000 + step)
r.log({"table": wandb.Table(columns=["a"], data=[[1], [2]]), "histogram": wandb.Histogram([1, 2, 3])}, step=6000)  # the parts of these objects must not become metrics
with open(os.path.join(r.dir, "notes.txt"), "w") as f:
    f.write("kept")
for weights in (b"first", b"second"):
    with open(os.path.join(root, "weights.bin"), "wb") as f:
        f.write(weights)
    artifact = wandb.Artifact("model", "model")
    artifact.add_file(os.path.join(root, "weights.bin"), "sub/weights.bin")
    r.log_artifact(artifact)
r.finish(exit_code=3)

alone = {k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"}  # start a separate W&B service process, which is killed with the child
child = subprocess.Popen([sys.executable, __file__, root, "killed"], stdout=subprocess.PIPE, start_new_session=True, env=alone)
child.stdout.readline()
deadline = time.monotonic() + 60
while True:  # W&B's service process writes with a delay
    [path] = glob.glob(os.path.join(root, "wandb", "offline-run-*-bbbb2222", "*.wandb"))
    with open(path, "rb") as f:
        if re.search(rb"_step.{0,8}49", f.read(), re.DOTALL):
            break
    if time.monotonic() > deadline:
        sys.exit("W&B has not written what was logged")
    time.sleep(0.1)
os.killpg(child.pid, signal.SIGKILL)
child.wait()
for step in range(50):
    points.append(["killed", "loss", step, repr(float(step))])
r = wandb.init(project="größe", name="killed", id="bbbb2222", resume="allow", dir=root)
for step in range(50, 80):
    log(r, "killed", {"loss": float(step)}, step)
r.finish()
json.dump(points, sys.stdout)
