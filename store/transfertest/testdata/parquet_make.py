"""Writes a table with pyarrow in many encodings, a W&B run history, and files as
neptune-exporter writes them. Prints the rows of the table."""

import datetime
import decimal
import json
import math
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = sys.argv[1]
utc = datetime.timezone.utc
begin = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=utc)
N = 3000


def odd(i, value):
    return None if i % 5 == 3 else value


rows = [
    {
        "step": i * i - 7,
        "small": odd(i, i % 100 - 50),
        "big": (1 << 63) - 1 - i,
        "loss": [1 / (i + 1), math.nan, math.inf, -math.inf, -0.0][i % 5],
        "half": odd(i, i / 4),
        "good": odd(i, i % 3 == 0),
        "name": odd(i, f"näme {i // 7}" if i % 2 else ""),
        "at": begin + datetime.timedelta(milliseconds=i),
        "day": odd(i, datetime.date(2024, 2, 29)),
        "price": odd(i, decimal.Decimal(i - 50) / 4),
        "tags": odd(i, [f"t{k}" for k in range(i % 4)]),
        "nested": odd(i, {"deep": {"x": odd(i + 1, i)}, "y": i / 2}),
    }
    for i in range(N)
]
schema = pa.schema(
    [
        ("step", pa.int64()),
        ("small", pa.int8()),
        ("big", pa.uint64()),
        ("loss", pa.float64()),
        ("half", pa.float32()),
        ("good", pa.bool_()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(18, 6)),
        ("tags", pa.list_(pa.string())),
        ("nested", pa.struct([("deep", pa.struct([("x", pa.int32())])), ("y", pa.float64())])),
    ]
)
table = pa.Table.from_pylist(rows, schema=schema)
numbers = ["step", "small", "big", "nested.deep.x"]
texts = ["name"]
ways = {
    "default": {},
    "none": {"compression": "none", "use_dictionary": False},
    "gzip2": {"compression": "gzip", "data_page_version": "2.0"},
    "zstd": {"compression": "zstd", "row_group_size": 700, "data_page_size": 500, "write_page_checksum": True},
    "delta": {
        "use_dictionary": False,
        "data_page_version": "2.0",
        "data_page_size": 900,
        "column_encoding": {
            **{c: "DELTA_BINARY_PACKED" for c in numbers},
            "name": "DELTA_BYTE_ARRAY",
            "loss": "BYTE_STREAM_SPLIT",
            "good": "RLE",
        },
    },
    "lengths": {"use_dictionary": False, "column_encoding": {"name": "DELTA_LENGTH_BYTE_ARRAY"}},
    "integers": {"store_decimal_as_integer": True, "version": "1.0", "use_deprecated_int96_timestamps": True},
}
for name, way in ways.items():
    pq.write_table(table, os.path.join(folder, name + ".parquet"), **way)


def plain(v):
    if isinstance(v, datetime.datetime):
        return v.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(v, datetime.date):
        return v.isoformat() + "T00:00:00.000Z"
    if isinstance(v, decimal.Decimal):
        v = float(v)
    if isinstance(v, float) and not math.isfinite(v):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(v)]
    return v


flat = []
for r in rows:
    nested = r.pop("nested")
    r["nested/deep/x"] = nested and nested["deep"]["x"]
    r["nested/y"] = nested and nested["y"]
    flat.append([plain(v) for v in r.values()])
print(json.dumps(flat))

# A W&B run history: a wide table in which most cells are empty.
history = os.path.join(folder, "history", "run-abc123-history_v0")
os.makedirs(history)
for part, steps in enumerate([[0, 1], [2, 3]]):
    pq.write_table(
        pa.table(
            {
                "_step": pa.array(steps, pa.int64()),
                "_timestamp": pa.array([1700000000.5 + s for s in steps]),
                "_runtime": pa.array([0.5 + s for s in steps]),
                "loss": pa.array([[0.5, None, math.nan, -math.inf][s] for s in steps], pa.float64()),
                "val/acc": pa.array([[None, 0.25, None, 0.5][s] for s in steps], pa.float64()),
                "note": pa.array([[None, "x", None, None][s] for s in steps], pa.string()),
            }
        ),
        os.path.join(history, f"{part:04}.parquet"),
    )

# Files in the format of neptune-exporter.
fields = [
    ("project_id", pa.string()),
    ("run_id", pa.string()),
    ("attribute_path", pa.string()),
    ("attribute_type", pa.string()),
    ("step", pa.decimal128(18, 6)),
    ("timestamp", pa.timestamp("ms", tz="UTC")),
    ("int_value", pa.int64()),
    ("float_value", pa.float64()),
    ("string_value", pa.string()),
    ("bool_value", pa.bool_()),
    ("datetime_value", pa.timestamp("ms", tz="UTC")),
    ("string_set_value", pa.list_(pa.string())),
    ("file_value", pa.struct([("path", pa.string())])),
    (
        "histogram_value",
        pa.struct([("type", pa.string()), ("edges", pa.list_(pa.float64())), ("values", pa.list_(pa.float64()))]),
    ),
]
data = os.path.join(folder, "exports", "data", "team_project-1a2b")
files = os.path.join(folder, "exports", "files", "team_project-1a2b")
os.makedirs(data)
os.makedirs(os.path.join(files, "SAN-1", "set"))
for name in ("model.bin", "set/a.txt", "set/b.txt", "image_1.png"):
    with open(os.path.join(files, "SAN-1", name), "w") as f:
        f.write(name)
os.symlink("/etc", os.path.join(files, "etc"))


def row(path, kind, **values):
    return {"project_id": "team/project", "run_id": "SAN-1", "attribute_path": path, "attribute_type": kind, **values}


def at(i):
    return begin + datetime.timedelta(seconds=i)


first = [
    row("sys/name", "string", string_value="fast büild"),
    row("sys/description", "string", string_value="a note"),
    row("sys/creation_time", "datetime", datetime_value=begin),
    row("sys/ping_time", "datetime", datetime_value=at(60)),
    row("sys/state", "string", string_value="Inactive"),
    row("sys/failed", "bool", bool_value=False),
    row("sys/owner", "string", string_value="ann"),
    row("sys/tags", "string_set", string_set_value=["one", "two"]),
    row("parameters/lr", "float", float_value=0.1),
    row("parameters/layers", "int", int_value=3),
    row("parameters/amp", "bool", bool_value=True),
    row("metrics/hist", "histogram_series", step=0, timestamp=at(0), histogram_value={"type": "COUNTING", "edges": [0, 1], "values": [2]}),
    row("model", "file", file_value={"path": "team_project-1a2b/SAN-1/model.bin"}),
    row("dataset", "file", file_value={"path": "team_project-1a2b/SAN-1/set"}),
    row("passwords", "file", file_value={"path": "team_project-1a2b/../etc/passwd"}),
    row("outside", "file", file_value={"path": "../../../etc/passwd"}),
    row("images", "file_series", step=1, timestamp=at(1), file_value={"path": "team_project-1a2b/SAN-1/image_1.png"}),
]
second = [row("metrics/loss", "float_series", step=i, timestamp=at(i), float_value=v) for i, v in enumerate([0.5, math.nan, math.inf])]
second += [
    row("metrics/odd", "float_series", step=decimal.Decimal("0.5"), timestamp=at(0), float_value=1.0),
    row("monitoring/stdout", "string_series", step=0, timestamp=at(0), string_value="hello"),
    row("monitoring/stdout", "string_series", step=1, timestamp=at(1), string_value="world"),
]
for number, part in enumerate([first, second]):
    pq.write_table(
        pa.Table.from_pylist(part, schema=pa.schema(fields)), os.path.join(data, f"SAN-1_part_{number}.parquet"), compression="snappy"
    )
# A run whose first part is missing is incomplete.
pq.write_table(pa.Table.from_pylist(second, schema=pa.schema(fields)), os.path.join(data, "SAN-2_part_1.parquet"))
