"""Tests of media and artifact versions, with the clients and the native API."""

import hashlib

from test_reading import said


def test_media(server, script):
    script(server.uri, """
        import numpy as np
        run = wandb.init(project="pictures", name="media", id="media")
        for i in range(3):
            run.log({"pic": wandb.Image(np.full((8, 8, 3), 40 * i, dtype=np.uint8), caption=f"at {i}"),
                     "hist": wandb.Histogram([1, 2, 2, 3]), "page": wandb.Html("<p>hello</p>"),
                     "loss": i})
        run.log({"pics": [wandb.Image(np.zeros((4, 4, 3), dtype=np.uint8)) for _ in range(2)]})
        run.finish()
    """)
    run = server.runs("pictures")["media"]
    names = server.artifacts(run)
    assert sum(name.startswith("media/images/pic_") for name in names) == 3
    assert sum(name.startswith("media/html/page_") for name in names) == 3
    assert server.points(run)["loss"] == [(0, 0), (1, 1), (2, 2)]
    out = said(script, server, """
rows = list(api.run("default/pictures/media").scan_history())
print(json.dumps([rows[1]["pic"], rows[1]["hist"], rows[1]["loss"], len(rows)]))
""")
    assert out[0]["_type"] == "image-file" and out[0]["caption"] == "at 1" and out[1]["_type"] == "histogram"
    assert out[2:] == [1, 4]
    image = server.read(names[out[0]["path"]])
    assert hashlib.sha256(image).hexdigest() == out[0]["sha256"]


def test_table(server, script):
    script(server.uri, """
        run = wandb.init(project="tables", name="table", id="table")
        run.log({"rows": wandb.Table(columns=["a", "b"], data=[[1, "x"], [2, "y"]])})
        table = wandb.Table(columns=["x", "y"], data=[[i, i * i] for i in range(5)])
        run.log({"curve": wandb.plot.line(table, "x", "y", title="squares")})
        run.finish()
    """)
    out = said(script, server, """
run = api.run("default/tables/table")
logged = {a.type: a.name for a in run.logged_artifacts()}
row = [r for r in run.scan_history() if r.get("rows")][0]["rows"]
print(json.dumps([logged, row]))
""")
    assert "run_table" in out[0] and out[1]["_type"] == "table-file"


def test_versions(server, script):
    script(server.uri, """
        import os
        for i in range(3):
            run = wandb.init(project="versions", name=f"run {i}", id=f"run{i}")
            os.makedirs("data", exist_ok=True)
            open("data/first.txt", "w").write("always the same")
            open("data/second.txt", "w").write("version %d" % (i // 2))  # the first two are the same
            art = wandb.Artifact("corpus", type="dataset", description="words", metadata={"n": i})
            art.add_dir("data")
            art.add_reference(os.environ["WANDB_BASE_URL"] + "/health", name="far.bin", checksum=False)
            run.log_artifact(art, aliases=["best"] if i == 0 else None).wait()
            run.finish()
    """)
    out = said(script, server, """
import os
arts = list(api.artifacts("dataset", "default/versions/corpus"))
first = api.artifact("default/versions/corpus:v0")
best = api.artifact("default/versions/corpus:best")
latest = api.artifact("default/versions/corpus:latest")
folder = download(latest, "down")
latest.verify(folder)
other = download(latest, "changed")
open(other + "/second.txt", "a").write("!")
try:
    latest.verify(other)
    raise SystemExit("a changed file is mistaken for the artifact's file")
except ValueError:
    pass
print(json.dumps([[[a.version, sorted(a.aliases), a.state, a.metadata] for a in arts], first.digest == best.digest, first.description,
                  sorted(f for f in os.listdir(folder)), open(folder + "/second.txt").read(), first.logged_by().name,
                  sorted(e.path for e in first.manifest.entries.values()), [t.name for t in api.artifact_types("default/versions")],
                  [c.name for c in api.artifact_type("dataset", "default/versions").collections()], sorted(f.name for f in list(first.files()))]))
""")
    assert [a[0] for a in out[0]] == ["v1", "v0"] and out[0][0][1] == ["latest"] and out[0][1][1] == ["best"]
    assert out[1] and out[2] == "words" and out[4] == "version 1" and out[5] == "run 0"
    assert {"first.txt", "second.txt"} <= set(out[3])
    assert out[6] == ["far.bin", "first.txt", "second.txt"]
    assert out[7] == ["dataset"] and out[8] == ["corpus"] and out[9] == ["far.bin", "first.txt", "second.txt"]
    runs = server.runs("versions")
    found = server.artifacts(runs["run 0"])
    assert server.read(found["corpus:v0/first.txt"]) == b"always the same"


def test_use_and_change(server, script):
    script(server.uri, """
        run = wandb.init(project="use", name="makes", id="makes")
        open("w.bin", "wb").write(b"weights")
        run.log_model("w.bin", name="model")
        run.finish()
        run = wandb.init(project="use", name="uses", id="uses")
        path = run.use_model("model:latest")
        assert open(path, "rb").read() == b"weights"
        run.finish()
        api = wandb.Api()
        art = api.artifact("default/use/model:v0")
        art.aliases.append("good")
        art.description = "a model"
        art.metadata["x"] = 1
        art.save()
    """)
    out = said(script, server, """
art = api.artifact("default/use/model:good")
print(json.dumps([art.description, art.metadata, sorted(art.aliases), [r.name for r in art.used_by()],
                  [a.name for a in api.run("default/use/uses").used_artifacts()]]))
api.artifact("default/use/model:v0").delete(delete_aliases=True)
try:
    api.artifact("default/use/model:v0")
    print('"still there"')
except Exception:
    print(json.dumps(%s))
""" % '[art.description, art.metadata, ["good", "latest"], ["uses"], ["model:v0"]]')
    assert out == ["a model", {"x": 1}, ["good", "latest"], ["uses"], ["model:v0"]]


def test_incremental(server, script):
    script(server.uri, """
        run = wandb.init(project="grows", name="one", id="one")
        art = wandb.Artifact("set", type="dataset")
        for i in range(3):
            open(f"{i}.txt", "w").write(f"file {i}")
            art.add_file(f"{i}.txt")
        run.log_artifact(art).wait()
        run.finish()
        run = wandb.init(project="grows", name="two", id="two")
        draft = run.use_artifact("set:latest").new_draft()
        open("3.txt", "w").write("file 3")
        draft.add_file("3.txt")
        draft.remove("0.txt")
        run.log_artifact(draft).wait()
        run.finish()
    """)
    found = server.artifacts(server.runs("grows")["two"])
    assert {name: server.read(a) for name, a in found.items() if name.startswith("set:v1/") and name.endswith(".txt")} == {
        f"set:v1/{i}.txt": f"file {i}".encode() for i in (1, 2, 3)}


def test_single_entries(server, script):
    """Single files and objects of a version can be read, even if an earlier version added them."""
    script(server.uri, """
        run = wandb.init(project="entries", name="one", id="one")
        art = wandb.Artifact("mixed", type="dataset")
        art.add(wandb.Table(columns=["a", "b"], data=[[1, "x"], [2, "y"]]), "rows")
        for name in ("first.txt", "second.txt"):
            open(name, "w").write("the " + name)
            art.add_file(name)
        run.log_artifact(art).wait()
        run.finish()
        run = wandb.init(project="entries", name="two", id="two")
        draft = run.use_artifact("mixed:latest").new_draft()
        draft.remove("second.txt")
        run.log_artifact(draft).wait()
        run.finish()
    """)
    read = """
def read(version):
    art = api.artifact("default/entries/mixed:" + version)
    return [art.get("rows").data, open(art.get_entry("first.txt").download(root="of-" + version, skip_cache=True)).read()]
"""
    want = [[[1, "x"], [2, "y"]], "the first.txt"]
    assert said(script, server, read + 'print(json.dumps([read("v0"), read("v1")]))\napi.artifact("default/entries/mixed:v0").delete(delete_aliases=True)') == [want, want]
    assert said(script, server, read + 'print(json.dumps(read("v1")))') == want  # the version that added them is deleted


def test_several_writers(server, script):
    """An artifact that several runs write has the files of all runs and a correct digest."""
    out = said(script, server, """
for name, text in ("a.txt", "one"), ("b.txt", "two"), ("a.txt", "three"), (None, None):
    with wandb.init(project="writers", group="all of them") as run:
        art = wandb.Artifact("shared", "dataset")
        if name:
            with art.new_file(name) as f:
                f.write(text)
            run.upsert_artifact(art, distributed_id="first")
        else:
            run.finish_artifact(art, distributed_id="first", aliases=["done"]).wait()
found = api.artifact("default/writers/shared:done")
folder = found.download()
found.verify(folder)
read = {n: open(folder + "/" + n).read() for n in found.manifest.entries}
with wandb.init(project="writers") as run:
    art = wandb.Artifact("shared", "dataset")
    with art.new_file("c.txt") as f:
        f.write("four")
    run.finish_artifact(art, distributed_id="first").wait()  # the next version
print(json.dumps([found.version, read, sorted(wandb.Api().artifact("default/writers/shared:latest").manifest.entries)]))
""")
    assert out == ["v0", {"a.txt": "three", "b.txt": "two"}, ["c.txt"]]
    names = {name for run in server.runs("writers").values() for name in server.artifacts(run)}
    assert {n for n in names if n.startswith("shared:v0/")} == {"shared:v0/a.txt", "shared:v0/b.txt", "shared:v0/wandb_manifest.json"}


def test_incremental_table(server, script):
    """The newest version of a growing table has the rows of all versions, even if the run was resumed in between."""
    out = said(script, server, """
import inspect
if "log_mode" not in inspect.signature(wandb.Table.__init__).parameters:
    print([])  # clients before 0.20
    raise SystemExit
for first in 0, 3:
    with wandb.init(project="grows", id="grows", resume="allow") as run:
        table = wandb.Table(columns=["a"], log_mode="INCREMENTAL")
        for i in range(first, first + 3):
            table.add_data(i)
            run.log({"tab": table})
found = api.artifact("default/grows/run-grows-incr-tab:latest")
found.verify(found.download())
entry = next(iter(found.manifest.entries))
print(json.dumps([found.version, len(found.manifest.entries), found.get(entry.removesuffix(".table.json")).data]))
""")
    if out:
        version, files, data = out
        assert (version, files) == ("v5", 6) and sorted(data) == [[i] for i in range(6)], out


def test_tags(server, script):
    script(server.uri, """
        run = wandb.init(project="tagged", name="first", id="first")
        open("w.bin", "wb").write(b"weights")
        art = wandb.Artifact("net", type="model")
        art.add_file("w.bin")
        # Clients before 0.18 have no tags of artifacts.
        if hasattr(wandb.Artifact, "tags"):
            run.log_artifact(art, tags=["baseline", "small"]).wait()
        else:
            run.log_artifact(art).wait()
        run.finish()
    """)
    out = said(script, server, """
art = api.artifact("default/tagged/net:v0")
if hasattr(wandb.Artifact, "tags"):
    before = sorted(art.tags)
    art.tags = ["baseline", "large"]
    art.save()
    print(json.dumps([before, sorted(api.artifact("default/tagged/net:v0").tags), art.aliases]))
else:
    print(json.dumps([]))
""")
    if out:
        assert out == [["baseline", "small"], ["baseline", "large"], ["latest"]]
