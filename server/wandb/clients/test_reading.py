"""Tests that read data with wandb.Api() in another process than the one that logs it."""

import json

# download reads files from the server one after another. Artifact.download(skip_cache=True) reads them at once, and then the
# client can write a file to the path of another one.
READ = """
import json
api = wandb.Api()

def download(art, root):
    for name in sorted(art.manifest.entries):
        art.get_entry(name).download(root=root, skip_cache=True)
    return root

"""


def said(script, server, code, **env):
    """Run a script and return the list that it prints."""
    return json.loads([line for line in script(server.uri, READ + code, **env).splitlines() if line.startswith("[")][-1])


def test_run(server, script):
    script(server.uri, """
        run = wandb.init(project="read", name="first", id="first", tags=["a"], notes="n", group="g", job_type="j",
                         config={"lr": 0.1, "net": {"depth": 3}, "text": "t", "list": [1, 2]})
        for i in range(2500):
            row = {"loss": i / 2, "train/acc": i, "nest": {"a": {"b": i}}}
            if i % 500 == 0:
                row.update(text=f"at {i}", nothing=None, flag=True, odd=float("nan"))
            run.log(row)
        run.summary["best"] = {"x": 1}
        run.finish()
    """)
    out = said(script, server, """
run = api.run("default/read/first")
rows = list(run.scan_history())
some = list(run.scan_history(keys=["loss", "_step"], min_step=10, max_step=20))
sampled = run.history(samples=100, pandas=False)
picked = run.history(keys=["loss", "train/acc"], samples=50, pandas=False)
print(json.dumps([run.state, run.name, run.tags, run.notes, run.group, run.config, len(rows), rows[500], some, len(sampled),
                  len(picked), picked[0], dict(run.summary["best"]), run.summary["loss"], run.lastHistoryStep]))
""")
    assert out[:5] == ["finished", "first", ["a"], "n", "g"]
    assert out[5] == {"lr": 0.1, "net": {"depth": 3}, "text": "t", "list": [1, 2]}
    assert out[6] == 2500
    row = out[7]
    assert row["_step"] == 500 and row["loss"] == 250 and row["train/acc"] == 500 and row["nest"] == {"a": {"b": 500}} or row["nest.a.b"] == 500
    assert row["text"] == "at 500" and row["flag"] is True and row["odd"] != row["odd"] and row["nothing"] is None
    assert [r["loss"] for r in out[8]] == [s / 2 for s in range(10, 20)]
    assert (out[9], out[10]) == (100, 50) and set(out[11]) >= {"loss", "train/acc"}
    assert out[12]["x"] == 1 and out[13] == 2499 / 2 and out[14] == 2499


def test_runs(server, script):
    script(server.uri, """
        for i in range(12):
            run = wandb.init(project="many", name=f"run {i}", id=f"run{i}", config={"lr": i, "kind": "a" if i % 2 else "b"},
                             tags=["even"] if i % 2 == 0 else [])
            run.log({"loss": 100 - i})
            run.finish()
    """)
    out = said(script, server, """
def names(**more):
    return [r.name for r in api.runs("default/many", per_page=5, **more)]
print(json.dumps([
    sorted(names()), len(api.runs("default/many")),
    names(order="-summary_metrics.loss"), names(order="+summary_metrics.loss"),
    sorted(names(filters={"config.lr": {"$gte": 9}})), sorted(names(filters={"config.lr.value": {"$in": [1, 2]}})),
    sorted(names(filters={"$and": [{"config.kind": "a"}, {"summary_metrics.loss": {"$lt": 92}}]})),
    sorted(names(filters={"tags": "even", "config.lr": {"$lt": 3}})),
    sorted(names(filters={"$or": [{"display_name": "run 3"}, {"name": "run4"}]})),
    names(filters={"display_name": {"$regex": "1[01]$"}}, order="+config.lr.value"), names(filters={"state": "running"})]))
""")
    every = [f"run {i}" for i in range(12)]
    assert out[:4] == [sorted(every), 12, every, every[::-1]]
    assert out[4:] == [["run 10", "run 11", "run 9"], ["run 1", "run 2"], ["run 11", "run 9"], ["run 0", "run 2"],
                       ["run 3", "run 4"], ["run 10", "run 11"], []]


def test_update_and_delete(server, script):
    script(server.uri, """
        for name in ("changed", "deleted"):
            run = wandb.init(project="update", name=name, id=name, config={"lr": 1})
            run.log({"loss": 1})
            run.finish()
    """)
    script(server.uri, READ + """
run = api.run("default/update/changed")
run.config["lr"] = 2
run.config["more"] = "m"
run.tags.append("late")
run.notes = "what it was"
run.summary["score"] = 5
run.update()
run.summary.update()
api.run("default/update/deleted").delete()
""")
    runs = server.runs("update")
    assert list(runs) == ["changed"]
    run = runs["changed"]
    assert (run["status"], run["tags"], run["notes"]) == ("SUCCEEDED", ["late"], "what it was")
    assert server.params(run) == {"lr": "2", "more": "m"}
    assert server.points(run)["summary/score"][0][1] == 5


def test_files(server, script, tmp_path):
    script(server.uri, """
        run = wandb.init(project="readfiles", name="f", id="f")
        open("note.txt", "w").write("some text")
        run.save("note.txt", policy="now")
        data = wandb.Artifact("data", type="dataset")
        data.add_file("note.txt")
        run.log_artifact(data)
        run.finish()
    """)
    out = said(script, server, """
run = api.run("default/readfiles/f")
files = {f.name: f.size for f in run.files()}
one = run.file("note.txt")
with one.download(root="down", replace=True) as f:
    text = f.read()
only = [f.name for f in run.files(["note.txt"])]
one.delete()
left = [f.name for f in api.run("default/readfiles/f").files()]
print(json.dumps([files, text, only, left]))
""")
    files, text, only, left = out
    assert files["note.txt"] == 9 and text == "some text" and only == ["note.txt"] and "note.txt" not in left
    assert not [name for name in files if name.startswith("data:")], "the run lists files of versions"


def test_run_of_another_client(server, script):
    """wandb.Api() can read a run logged by a client of another kind like any other run."""
    import urllib.request

    def post(path, body):
        request = urllib.request.Request(server.uri + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    project = post("/project", {"name": "native"})["id"]
    experiment = post(f"/experiment/project/{project}", {"name": "e"})["id"]
    run = post(f"/iteration/experiment/{experiment}", {"name": "own"})["id"]
    post(f"/parameter/iteration/{run}", {"key": "lr", "value": "0.5"})
    post(f"/metric/iteration/{run}/bulk", {"metrics": [{"key": "loss", "value": i, "step": i} for i in range(5)]})
    patch = urllib.request.Request(
        f"{server.uri}/property/iteration/{run}", method="PATCH", headers={"Content-Type": "application/json"},
        data=json.dumps({"properties": {"tracker.summary.phase": "main", "tracker.summary.ok": "true"}}).encode())
    urllib.request.urlopen(patch).close()
    out = said(script, server, f"""
run = api.run("default/native/{run}")
print(json.dumps([run.name, run.state, run.config, [r["loss"] for r in run.scan_history()],
                  [run.summary[k] for k in ("loss", "phase", "ok")]]))
""")
    assert out == ["own", "running", {"lr": 0.5}, [0, 1, 2, 3, 4], [4, "main", True]]


def test_restore(server, script):
    script(server.uri, """
        run = wandb.init(project="restore", name="one", id="one")
        open("kept.txt", "w").write("the kept text")
        run.save("kept.txt", policy="now")
        run.finish()
    """)
    out = said(script, server, """
found = [open(wandb.restore("kept.txt", run_path="default/restore/one", root="other").name).read()]
try:
    wandb.restore("none.txt", run_path="default/restore/one", root="other")
except ValueError as error:
    found.append(str(error))
run = api.run("default/restore/one")
try:
    run.file("none.txt").download(root="other")
except Exception as error:
    found.append(str(error))
print(json.dumps([*found, run.file("kept.txt").size, run.file("none.txt").size]))
""")
    assert out[0] == "the kept text" and "not found" in out[1] and "404" in out[2]
    assert out[3:] == [13, 0]
