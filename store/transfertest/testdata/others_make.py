"""Writes runs of Trackio, Sacred or DVCLive (argv[2]) into argv[1], and prints their points as JSON: [run, key, step, value]. Trackio's points
are read with Trackio. The other tools have no reader, so the logged points are printed."""
import json
import math
import os
import sys
import warnings

warnings.simplefilter("ignore")
root, kind = os.path.abspath(sys.argv[1]), sys.argv[2]
os.makedirs(root, exist_ok=True)
os.chdir(root)
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # the libraries print
points = []


def number(value):
    return repr(float(value))


def trackio():
    os.environ.update(TRACKIO_DIR=root, HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    import numpy as np
    import trackio

    for name in ("first ы", "second"):
        trackio.init(project="größe/x", name=name, config={"lr": 0.1, "net": {"depth": 3, "names": ["x", "ы"]}, "none": None}, group="g",
                     auto_log_cpu=False, auto_log_gpu=False)
        for step in range(200):
            trackio.log({"loss": 1 / (step + 1), "nested": {"acc": step * 0.5}, "k" * 300: 1.0, "text": "hello"})
        trackio.log({"odd": math.nan}, step=500)
        trackio.log({"odd": math.inf}, step=501)
        trackio.log({"odd": -math.inf}, step=502)
        trackio.log({"picture": trackio.Image(np.zeros((4, 5, 3), dtype=np.uint8))}, step=503)
        trackio.finish()
    from trackio.sqlite_storage import SQLiteStorage

    for run in SQLiteStorage.get_runs("größe/x"):
        name = run if isinstance(run, str) else run["name"]
        for row in SQLiteStorage.get_logs("größe/x", name):
            for key, value in row.items():
                if key in ("step", "timestamp"):
                    continue
                for sub, v in value.items() if isinstance(value, dict) and "_type" not in value else [("", value)]:
                    if isinstance(v, (int, float)):
                        points.append([name, key + ("/" + sub if sub else ""), row["step"], number(v)])


def sacred():
    from sacred import Experiment
    from sacred.observers import FileStorageObserver

    def main(_run, fails):
        for step in range(200):
            _run.log_scalar("loss", 1 / (step + 1), step)
            points.append([_run._id, "loss", step, number(1 / (step + 1))])
        for step, value in enumerate([math.nan, math.inf, -math.inf]):
            _run.log_scalar("größe/" + "k" * 300, value, 500 + step)
            points.append([_run._id, "größe/" + "k" * 300, 500 + step, number(value)])
        with open("weights.bin", "wb") as f:
            f.write(bytes(range(256)))
        _run.add_artifact("weights.bin")
        if fails:
            raise ValueError("böse")
        return {"best": 0.5}

    for fails in (False, True):
        ex = Experiment("größe", save_git_info=False)
        ex.observers.append(FileStorageObserver(os.path.join(root, "runs")))
        ex.add_config({"lr": 0.1, "net": {"depth": 3, "names": ["x", "ы"]}, "none": None, "fails": fails})
        ex.main(main)
        try:
            ex.run(options={"--comment": "my comment"})
        except ValueError:
            pass


def dvclive():
    import numpy as np
    from dvclive import Live

    for name in ("one", "deep/two ы"):
        with Live(os.path.join(root, name), dvcyaml=None, save_dvc_exp=False, report=None) as live:
            live.log_params({"lr": 0.1, "net": {"depth": 3, "names": ["x", "ы"]}})
            for step in range(100):
                values = {"train/loss": 1 / (step + 1)} | ({"acc": step * 0.5} if step % 3 else {})
                if step in (7, 8, 9):
                    values["odd"] = [math.nan, math.inf, -math.inf][step - 7]
                for key, value in values.items():
                    live.log_metric(key, value, timestamp=key == "acc")
                    points.append([name, key, step, number(value)])
                live.next_step()
            live.log_image("img.png", np.zeros((4, 5, 3), dtype=np.uint8))


{"trackio": trackio, "sacred": sacred, "dvclive": dvclive}[kind]()
json.dump(points, out)
out.close()
os._exit(0)
