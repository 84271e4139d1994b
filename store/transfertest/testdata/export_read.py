"""Reads the runs in a folder with MLflow, pyarrow or TensorBoard, and prints their points."""

import glob
import json
import math
import os
import sys

kind, folder = sys.argv[1], sys.argv[2]
points = {}


def add(key, step, value):
    points.setdefault(key, []).append([step, value if math.isfinite(value) else str(value)])


if kind == "mlflow":
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    client = mlflow.MlflowClient(tracking_uri="file://" + os.path.join(folder, "mlruns"))
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            for key in run.data.metrics:
                for m in client.get_metric_history(run.info.run_id, key):
                    add(key, m.step, m.value)
elif kind == "parquet":
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = {name: pq.read_table(os.path.join(folder, name + ".parquet")) for name in ("runs", "parameters", "tags", "points", "artifacts")}
    assert tables["runs"].schema.field("created").type == pa.timestamp("ms", tz="UTC"), tables["runs"].schema
    assert tables["points"].schema.types == [pa.string(), pa.string(), pa.int64(), pa.float64(), pa.timestamp("ms", tz="UTC")], tables["points"].schema
    assert tables["runs"]["name"].to_pylist() == ["run 1"] and tables["runs"]["ended"].to_pylist() == [None], tables["runs"]
    for point in tables["points"].to_pylist():
        add(point["metric"], point["step"], point["value"])
else:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for run in glob.glob(os.path.join(folder, "*", "*")):
        events = EventAccumulator(run, size_guidance={"scalars": 0})
        events.Reload()
        for key in events.Tags()["scalars"]:
            for m in events.Scalars(key):
                add(key, m.step, m.value)
print(json.dumps(points))
