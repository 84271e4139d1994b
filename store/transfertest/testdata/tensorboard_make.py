"""Writes a folder of TensorBoard runs into argv[1]. Prints the data that TensorBoard's own reader finds in each file as JSON."""
import json
import math
import os
import struct
import sys
import time

import numpy as np
from tensorboard.backend.event_processing import event_file_loader
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.histogram import summary_v2 as histogram
from tensorboard.plugins.scalar import metadata as scalar_metadata
from tensorboard.plugins.text import plugin_data_pb2  # noqa: F401  (registers the plugin's messages)
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
from tensorboardX import SummaryWriter

root = sys.argv[1]


def write(folder, events):
    writer = EventFileWriter(os.path.join(root, folder))
    for e in events:
        writer.add_event(e)
    writer.close()
    return writer._general_file_writer if hasattr(writer, "_general_file_writer") else None


def scalar_v2(tag, step, value, dtype, first, wall):
    tensor = tensor_util.make_tensor_proto(value, dtype=dtype)
    v = summary_pb2.Summary.Value(tag=tag, tensor=tensor)
    if first:
        v.metadata.CopyFrom(scalar_metadata.create_summary_metadata("", ""))
    return event_pb2.Event(wall_time=wall, step=step, summary=summary_pb2.Summary(value=[v]))


# tensorboardX: simple values, including NaN and infinities, and names that are long or in other
# scripts.
w = SummaryWriter(os.path.join(root, "plain"))
for step in range(50):
    w.add_scalar("loss", 1 / (step + 1), step, walltime=1_700_000_000.25 + step)
    w.add_scalars("acc", {"train": step / 50, "valid": step / 60}, step, walltime=1_700_000_000.25 + step)
w.add_scalar("bad/nan", math.nan, 1)
w.add_scalar("bad/inf", math.inf, 1)
w.add_scalar("bad/-inf", -math.inf, 1)
w.add_scalar("größe/损失", 3.5, 7)
w.add_scalar("x" * 300, 1.0, 0)
w.add_text("note", "# Hello\n\nworld", 3)
w.add_image("digit", np.zeros((3, 4, 5), dtype=np.uint8), 2)
w.add_histogram("weights", np.array([0.0, 1.0, 1.0, 2.0]), 1)
w.add_hparams({"lr": 0.1, "batch": 32, "opt": "adam", "amp": True}, {"hparam/final": 0.9})
w.close()

# Version 2: tensors of floats and doubles, metadata on the first event only.
events = []
for step in range(20):
    events.append(scalar_v2("v2", step * 10, step * 0.5, np.float32, step == 0, 1_700_000_100 + step))
    events.append(scalar_v2("double", step, 0.1 * step, np.float64, step == 0, 1_700_000_100 + step))
write("v2/deep", events)

# A restart that repeats steps, in a second file.
a = os.path.join(root, "again")
write("again", [scalar_v2("loss", s, float(s), np.float32, s == 0, 1_700_000_200 + s) for s in range(30)])
os.rename(os.path.join(a, os.listdir(a)[0]), os.path.join(a, "events.out.tfevents.1700000200.one"))
time.sleep(0.01)
write("again", [scalar_v2("loss", s, float(-s), np.float32, s == 20, 1_700_000_300 + s) for s in range(20, 40)])
(other,) = [n for n in os.listdir(a) if not n.endswith(".one")]
os.rename(os.path.join(a, other), os.path.join(a, "events.out.tfevents.1700000300.two"))

# A damaged record in the middle and an incomplete record at the end.
write("damaged", [scalar_v2("loss", s, float(s), np.float32, s == 0, 1_700_000_400 + s) for s in range(10)])
(name,) = os.listdir(os.path.join(root, "damaged"))
path = os.path.join(root, "damaged", name)
data = bytearray(open(path, "rb").read())
at = 0
for _ in range(5):
    (length,) = struct.unpack("<Q", data[at:at + 8])
    at += 16 + length
(length,) = struct.unpack("<Q", data[at:at + 8])
data[at + 12 + length - 1] ^= 0xFF
open(path, "wb").write(data[:-7])

found = {}
for folder, _, names in sorted(os.walk(root)):
    for name in sorted(names):
        path = os.path.join(folder, name)
        points = []
        if "damaged" not in path:
            for e in event_file_loader.EventFileLoader(path).Load():
                for v in e.summary.value:
                    if v.metadata.plugin_data.plugin_name in ("", "scalars") and v.HasField("tensor"):
                        array = tensor_util.make_ndarray(v.tensor)
                        if array.size == 1 and array.dtype.kind == "f":
                            points.append([v.tag, e.step, repr(float(array.reshape(-1)[0])), round(e.wall_time * 1000)])
        found[os.path.relpath(path, root)] = points
json.dump(found, sys.stdout)
