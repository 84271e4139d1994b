"""Tests of functions for scripts that were written for W&B or MLflow. A function without an effect reports that."""

from __future__ import annotations

import hashlib
import json
import pathlib
import urllib.request
from typing import Any, Dict

import pytest

import tracker
import tracker as wandb

from .conftest import Server, sync


def test_what_a_run_says_of_itself(server: Server, tmp_path: pathlib.Path) -> None:
    run = wandb.init(project="p", group="sweep", tags=["a"], capture=False, config={"lr": 1})
    assert (run.group, run.entity, run.tags, run.step, run.resumed) == ("sweep", "", ("a",), 0, False)
    run.tags = (*run.tags, "b")
    run.log({"loss": 1})
    assert run.step == 1 and run.config.as_dict() == {"lr": 1}
    (pathlib.Path(run.dir) / "deep").mkdir()
    (pathlib.Path(run.dir) / "deep" / "weights.txt").write_text("w")
    folder = run.dir
    run.finish()
    assert list(server.artifacts(run.id)) == ["deep/weights.txt"] and not pathlib.Path(folder).exists()
    assert server.iterations()[0]["tags"] == ["a", "b"]


def test_config_may_be_assigned(server: Server) -> None:
    wandb.config = {"early": 1}  # type: ignore[assignment]
    run = wandb.init(project="p", capture=False)
    wandb.config = {"late": 2}  # type: ignore[assignment]
    assert wandb.config.late == 2
    with pytest.raises(AttributeError, match="tracker.run can't be set"):
        wandb.run = None
    run.finish()
    assert server.parameters(run.id) == {"early": "1", "late": "2"}
    with wandb.init(project="p", capture=False) as other:
        pass
    assert server.parameters(other.id) == {}


def test_an_id_may_be_any_name(server: Server) -> None:
    for value in range(2):
        with wandb.init(project="p", id="my run", resume="allow", capture=False) as run:
            run.log({"a": value})
    with wandb.init(project="other", id="my run", resume="allow", capture=False) as elsewhere:
        pass
    assert server.points(run.id, "a") == [(0, 0), (1, 1)] and elsewhere.id != run.id
    found = {it["id"]: it["name"] for it in server.iterations()}
    assert found == {run.id: "my run", elsewhere.id: "my run"}


def test_variables_of_wandb(server: Server, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    for name, value in {"PROJECT": "of-wandb", "RUN_GROUP": "g", "NAME": "n", "NOTES": "text", "TAGS": "x,y",
                        "RUN_ID": "again", "RESUME": "allow", "JOB_TYPE": "train"}.items():
        monkeypatch.setenv("WANDB_" + name, value)
    with wandb.init(capture=False) as run:
        with tracker.init(parent=run, capture=False) as child:
            pass
    [it] = [it for it in server.iterations() if it["id"] != child.id]
    assert (it["name"], it["notes"], it["tags"], run.project, run.experiment) == ("n", "text", ["x", "y"], "of-wandb", "g")
    assert server.parameters(run.id) == {"job_type": "train"}
    assert "using WANDB_PROJECT, because TRACKER_PROJECT is not set" in capfd.readouterr().err
    monkeypatch.setenv("TRACKER_PROJECT", "ours")
    monkeypatch.setenv("WANDB_MODE", "dryrun")
    with wandb.init(capture=False) as run:
        assert (run.project, run.mode) == ("ours", "offline")
    monkeypatch.setenv("WANDB_DISABLED", "true")
    assert wandb.init().mode == "disabled"


def test_a_disabled_run_takes_everything(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    run = wandb.init(mode="disabled", config={"lr": 1})
    assert wandb.run is run
    wandb.log({"loss": 0.5, "picture": wandb.Image([[0.5]])})
    assert wandb.summary["loss"] == 0.5 and wandb.config.lr == 1
    wandb.summary["best"] = 1
    wandb.log_artifact("a.txt").wait()
    wandb.save("a.txt")
    wandb.finish()
    assert wandb.run is None and not (tmp_path / "spool").exists()
    with pytest.raises(RuntimeError):
        wandb.log({"a": 1})


def test_what_changes_nothing_is_told(server: Server, capfd: Any) -> None:
    settings = wandb.Settings(start_method="fork")
    with wandb.init(project="p", monitor_gym=True, entity="team", settings=settings, capture=False) as run:
        run.name = "renamed"
        run.save()  # as older scripts do after that
        run.log_code(".")
        wandb.Image([[0.5]], mode="L", masks={"a": {}})
    said = capfd.readouterr().err
    for sentence in ("init takes monitor_gym, settings for compatibility with W&B; it has no effect", "log_code has no effect",
                     "Image takes masks for compatibility with W&B"):
        assert sentence in said, said
    assert "entity" not in said and "save" not in said and server.iterations()[0]["name"] == "renamed"
    for name in ("util", "AlertLevel", "Plotly"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; "):
            getattr(wandb, name)
    with pytest.raises(TypeError, match="init has no argument 'experimnet'; did you mean 'experiment'"):
        wandb.init(experimnet="x")  # type: ignore[call-arg]


def test_artifacts_have_versions(server: Server, tmp_path: pathlib.Path) -> None:
    run = wandb.init(project="p", group="train", capture=False)
    for epoch in range(3):
        (tmp_path / "model.pt").write_text(f"weights {epoch}")
        artifact = wandb.Artifact("classifier", type="model", metadata={"epoch": epoch})
        artifact.add_file("model.pt")
        with artifact.new_file("deep/notes.txt") as file:
            file.write(f"note {epoch}")
        artifact.add(wandb.Table(["a"], [[epoch]]), "rows")
        artifact.add_reference("s3://bucket/data.bin")
        run.log_artifact(artifact, aliases=["best"] if epoch == 1 else []).wait()
    run.log_artifact("model.pt", name="plain", type="model", aliases=["first"])
    run.finish()
    with wandb.init(project="p", group="test", capture=False) as user:
        for name, version, epoch in (("classifier", "v2", 2), ("classifier:latest", "v2", 2), ("classifier:v0", "v0", 0),
                                     ("classifier:best", "v1", 1)):
            found = user.use_artifact(name, type="model")
            assert (found.version, found.type, found.metadata) == (version, "model", {"epoch": epoch})
            assert [file.name for file in found.files()] == ["data.bin.uri", "deep/notes.txt", "model.pt", "rows.csv"]
            folder = pathlib.Path(found.download())
            assert folder == tmp_path / "artifacts" / f"classifier-{version}"
            assert (folder / "model.pt").read_text() == f"weights {epoch}"
            assert (folder / "deep" / "notes.txt").read_text() == f"note {epoch}"
            assert (folder / "data.bin.uri").read_text() == "s3://bucket/data.bin\n"
        assert [file.name for file in tracker.Api().artifact("p", "plain:first").files()] == ["model.pt"]
        with pytest.raises(KeyError, match="no version of 'classifier' is called 'worst'; there are v0 to v2"):
            user.use_artifact("classifier:worst")
        with pytest.raises(KeyError, match="there is no artifact 'none'"):
            user.use_artifact("none")
    assert server.parameters(user.id) == {"uses/classifier": "classifier:v1"}


def test_lineage(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("x")
    with tracker.init("p", "e", name="prepare", capture=False) as run:
        done = run.log_artifact("data", name="set", type="dataset", aliases=["clean"], tags=["small"],
                                metadata={"rows": 1, "nan": float("nan")}, description="words").wait()
        assert done.name == "set"
        run.log_artifact("data", name="set", type="dataset").wait()  # the same content
    assert not [name for name in server.artifacts(run.id) if name.startswith(".version-")]
    with tracker.init("p", "e", name="train", capture=False) as run:
        found = run.use_artifact("set:clean")
        assert (found.version, found.tags, found.description) == ("v0", ["small"], "words")
        assert found.metadata == {"rows": 1, "nan": "NaN"} and sorted(found.aliases) == ["clean", "latest"]
        assert pathlib.Path(found.download(str(tmp_path / "got")), "a.csv").read_text() == "x"
        (tmp_path / "w.pt").write_text("weights")
        run.log_artifact("w.pt", name="net", type="model").wait()
    graph = found.lineage()
    names = {(node["kind"], node["id"]): node["name"] for node in graph["nodes"]}
    edges = {(names[edge["from"]["kind"], edge["from"]["id"]], names[edge["to"]["kind"], edge["to"]["id"]])
             for edge in graph["edges"]}
    assert edges == {("prepare", "set:v0"), ("set:v0", "train"), ("train", "net:v0")} and graph["cut"] is False
    assert tracker.Api().artifact("p", "net").lineage(1)["cut"] is True


def test_versions_of_earlier_clients(server: Server, tmp_path: pathlib.Path) -> None:
    """Versions that are files NAME/artifact.json can be read."""
    (tmp_path / "a.txt").write_text("x")
    with tracker.init("p", capture=False) as run:
        run.log_artifact("a.txt", name="old/a.txt")
        (tmp_path / "artifact.json").write_text(json.dumps({
            "name": "old", "type": "dataset", "metadata": None, "aliases": ["first"],
            "files": {"a.txt": hashlib.sha256(b"x").hexdigest()}}))
        run.log_artifact("artifact.json", name="old/artifact.json").wait()
        found = run.use_artifact("old:first")
    assert (found.version, [file.name for file in found.files()]) == ("v0", ["a.txt"])
    assert pathlib.Path(found.download(), "a.txt").read_text() == "x"


def test_a_version_writes_nothing_outside_of_its_folder(server: Server, tmp_path: pathlib.Path) -> None:
    said = {"name": "bad", "files": {"../out.txt": "0" * 64}}
    with tracker.init("p", capture=False) as run:
        (tmp_path / "artifact.json").write_text(json.dumps(said))
        run.log_artifact("artifact.json", name="bad/artifact.json")
    with pytest.raises(tracker.TrackerError, match="is not below its folder"):
        tracker.Api().artifact("p", "bad").download(str(tmp_path / "got"))


def test_names_of_mlflow(server: Server) -> None:
    with tracker.init("p", capture=False) as run:
        tracker.log_metric("loss", 0.5, step=3)
        tracker.log_metrics({"acc": 1, "f1": 2}, step=3)
        tracker.log_param("lr", 0.1)
        tracker.log_params({"depth": 3})
        tracker.set_tag("kind", "test")
        tracker.set_tags({"a": 1})
    assert server.points(run.id, "loss") == [(3, 0.5)] and server.points(run.id, "f1") == [(3, 2)]
    assert server.parameters(run.id) == {"lr": "0.1", "depth": "3"}
    assert server.iterations()[0]["tags"] == ["a=1", "kind=test"]


def names(server: Server, id: str) -> Dict[str, bytes]:
    found = {}
    for name, row in server.artifacts(id).items():
        with urllib.request.urlopen(f"{server.url}/resource/{row['id']}/data") as answer:
            found[name] = answer.read()
    return found


def test_saved_files_are_kept_as_they_were(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("first")
    run = wandb.init(project="p", mode="offline", capture=False)
    wandb.save("out/*.txt", base_path="out")
    (tmp_path / "out" / "a.txt").write_text("second")
    run.finish()
    assert sync().returncode == 0
    assert names(server, run.id) == {"a.txt": b"first"}


def test_arguments_of_wandb(server: Server, tmp_path: pathlib.Path) -> None:
    class Frame:
        columns = ["a", "b"]

        def rows(self) -> Any:
            return [(1, 2), (3, 4)]

    (tmp_path / "page.html").write_text("<p>of a file")
    config = {"lr": 1, "secret": "x"}
    with wandb.init(project="p", config=config, config_exclude_keys=["secret"], capture=False) as run:
        wandb.log({"frame": wandb.Table(data=Frame(), allow_mixed_types=True), "rows": wandb.Table(["a"], rows=[[1]]),
                   "counted": wandb.Histogram(sequence=[1, 2, 2]), "page": wandb.Html("<p>here"), "file": wandb.Html("page.html"),
                   "open": wandb.Html(open("page.html"))}, step=0)
    with wandb.init(project="p", config=config, config_include_keys=["lr"], capture=False) as other:
        pass
    assert server.parameters(run.id) == server.parameters(other.id) == {"lr": "1"}
    found = names(server, run.id)
    assert found["frame_0.csv"].split() == [b"a,b", b"1,2", b"3,4"] and found["rows_0.csv"].split() == [b"a", b"1"]
    assert sum(json.loads(found["counted_0.histogram.json"])["counts"]) == 3
    assert (found["page_0.html"], found["file_0.html"], found["open_0.html"]) == (b"<p>here", b"<p>of a file", b"<p>of a file")
    assert server.artifacts(run.id)["page_0.html"]["content_type"].startswith("text/html")
