"""Media and code that clients send become artifacts of the run, and media keep their captions."""

import hashlib
import json
import math
import struct
import wave

import pytest


def test_media(server, script, tmp_path):
    with wave.open(str(tmp_path / "tone.wav"), "wb") as f:
        f.setparams((1, 2, 8000, 0, "NONE", "none"))
        f.writeframes(b"".join(struct.pack("<h", int(8000 * math.sin(i / 5))) for i in range(8000)))
    (tmp_path / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(range(256)) * 20)
    (tmp_path / "thing.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    script(server.uri, """
        import numpy as np
        run = wandb.init(project="media", name="media", id="media")
        pixels = np.arange(12 * 12 * 3, dtype=np.uint8).reshape(12, 12, 3)
        masks = {"truth": {"mask_data": np.ones((12, 12), dtype=np.uint8), "class_labels": {1: "cat"}}}
        if wandb.__version__.startswith(("0.15", "0.17", "0.19")):
            masks = None  # it makes them with a mode that this Pillow does not have
        for step in range(2):
            run.log({"pic": wandb.Image(pixels + step, caption=f"a picture {step}"),
                     "pics": [wandb.Image(pixels, caption="one"), wandb.Image(pixels + 9, caption="two")], "loss": step})
        run.log({"marked": wandb.Image(pixels, boxes={"predictions": {"box_data": [{"position": {"minX": 0.1, "maxX": 0.5, "minY": 0.1, "maxY": 0.5},
                    "class_id": 1, "box_caption": "cat 0.9", "scores": {"p": 0.9}}], "class_labels": {1: "cat"}}},
                    masks=masks),
                 "sound": wandb.Audio("tone.wav", caption="a tone"), "clip": wandb.Video("clip.mp4", caption="a clip"),
                 "page": wandb.Html("<p>hello</p>"), "cloud": wandb.Object3D(np.random.rand(10, 3)), "thing": wandb.Object3D(open("thing.obj")),
                 "hist": wandb.Histogram(np.arange(100)), "numbers": wandb.Table(columns=["a", "b"], data=[[1, "x"], [2.5, None]])})
        run.finish()
    """)
    run = server.runs("media")["media"]
    found = server.artifacts(run)

    def one(folder, start):
        (name,) = [n for n in found if n.startswith(f"media/{folder}/{start}")]
        return found[name]

    png = b"\x89PNG"
    assert server.read(one("images", "pic_0"))[:4] == png == server.read(one("images", "pic_1"))[:4]
    assert one("images", "pic_1")["description"] == "a picture 1"
    assert len([n for n in found if n.startswith("media/images/pics_")]) == 4
    assert server.read(one("audio", "sound"))[:4] == b"RIFF"
    assert server.read(one("videos", "clip")) == (tmp_path / "clip.mp4").read_bytes()
    assert b"<p>hello</p>" in server.read(one("html", "page"))
    assert server.read(one("object3D", "thing")) == (tmp_path / "thing.obj").read_bytes()
    assert one("object3D", "cloud")
    assert json.loads(server.read(one("table", "numbers"))) == {"columns": ["a", "b"], "data": [[1, "x"], [2.5, None]]}
    boxes = json.loads(server.read(one("metadata/boxes2D", "")))
    assert boxes["box_data"][0]["box_caption"] == "cat 0.9"
    if any("mask" in name for name in found):
        assert server.read(one("images/mask", ""))[:4] == png
    for artifact in found.values():
        assert artifact["content_hash"] == hashlib.sha256(server.read(artifact)).hexdigest()


def test_read_back(server, script):
    """Rows of the history contain media with the paths of their files."""
    script(server.uri, """
        import numpy as np
        run = wandb.init(project="media-back", name="back", id="back")
        run.log({"pic": wandb.Image(np.zeros((4, 4), dtype=np.uint8), caption="black"), "hist": wandb.Histogram([1, 2, 2, 3]), "text": "t"})
        run.finish()
        back = wandb.Api().run("media-back/back")
        (row,) = back.scan_history()
        assert row["pic"]["_type"] == "image-file" and row["pic"]["caption"] == "black" and row["hist"]["_type"] == "histogram" and row["text"] == "t", row
        path = back.file(row["pic"]["path"]).download(replace=True).name
        assert open(path, "rb").read(4) == b"\\x89PNG"
    """)


@pytest.mark.parametrize("how", ["save_code", "log_code"])
def test_code(server, script, tmp_path, how):
    (tmp_path / "other.py").write_text("x = 1\n")
    script(server.uri, f"""
        run = wandb.init(project="code", name="{how}", id="{how}", save_code={how == "save_code"})
        if "{how}" == "log_code":
            run.log_code(".")
        run.log({{"loss": 1}})
        run.finish()
    """)
    found = server.artifacts(server.runs("code")[how])
    scripts = {n: server.read(a) for n, a in found.items() if n.endswith(".py")}
    assert (tmp_path / "script.py").read_bytes() in scripts.values(), list(found)
    if how == "log_code":
        assert b"x = 1\n" in scripts.values()


def test_plots(server, script):
    """A wandb.plot chart is stored as a panel in the configuration and a table in a file."""
    script(server.uri, """
        t = wandb.Table(columns=["x", "y"], data=[[i, i * i] for i in range(5)])
        run = wandb.init(project="plots", name="plots", id="plots")
        run.log({"line": wandb.plot.line(t, "x", "y", title="a line"), "bar": wandb.plot.bar(t, "x", "y"),
                 "scatter": wandb.plot.scatter(t, "x", "y"), "histogram": wandb.plot.histogram(t, "y"),
                 "series": wandb.plot.line_series(xs=[0, 1, 2], ys=[[1, 2, 3], [3, 2, 1]], keys=["a", "b"]),
                 "cm": wandb.plot.confusion_matrix(y_true=[0, 1, 1], preds=[0, 1, 0], class_names=["a", "b"])})
        run.finish()
        config = wandb.Api().run("plots/plots").rawconfig["_wandb"]["visualize"]
        assert config["line"]["panel_config"]["panelDefId"] == "wandb/line/v0" and set(config) == {"line", "bar", "scatter", "histogram", "series", "cm"}, config
    """)
    found = server.artifacts(server.runs("plots")["plots"])
    tables = [json.loads(server.read(a)) for n, a in found.items() if n.startswith("media/table/")]
    assert [[i, i * i] for i in range(5)] in [t["data"] for t in tables] and len(tables) == 3  # four charts share one table
