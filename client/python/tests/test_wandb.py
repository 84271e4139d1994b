"""A script that was written for W&B, in which only the import is changed."""

from __future__ import annotations

from typing import Any, Callable

import pytest

import tracker

from .conftest import Script, Server

TUTORIAL = '''
    import argparse, math, os, random
    import tracker as wandb

    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args([])

    class Model:
        def state(self): return "weights"

    wandb.login()
    run = wandb.init(project="tutorial", entity="team", group="sweep", job_type="train", name="first", notes="a note",
                     tags=["baseline"], config=args, reinit=True, save_code=True, settings=wandb.Settings(silent=True))
    config = wandb.config
    config.update({"architecture": "CNN", "dropout": 0.2}, allow_val_change=True)
    config.batch_size = 32
    model = Model()
    wandb.watch(model, log="all", log_freq=10)
    wandb.define_metric("val/*", step_metric="epoch", summary="max")
    examples = wandb.Table(columns=["id", "prediction"])
    best = 0.0
    random.seed(7)
    for epoch in range(config.epochs):
        for batch in range(4):
            wandb.log({"train/loss": math.exp(-epoch)}, commit=False)
        accuracy = 1 - 1 / (epoch + 2)
        wandb.log({"epoch": epoch, "val/accuracy": accuracy,
                   "gradients": wandb.Histogram([random.gauss(0, 1) for _ in range(50)]),
                   "examples": [wandb.Image([[epoch / 5, 1.0]], caption=f"epoch {epoch}") for _ in range(2)]})
        examples.add_data(epoch, accuracy)
        if accuracy > best:
            best = accuracy
            wandb.run.summary["best_accuracy"] = best
    wandb.log({"predictions": examples})
    os.makedirs("out/deep", exist_ok=True)
    for name in ("out/model.pt", "out/deep/vocabulary.txt"):
        with open(name, "w") as file: file.write(model.state())
    wandb.save("out/*.pt")
    artifact = wandb.Artifact("classifier", type="model", description="the best one")
    artifact.add_file("out/model.pt")
    artifact.add_dir("out/deep", name="extra")
    run.log_artifact(artifact)
    wandb.alert(title="Done", text="accuracy is high", level="INFO")
    wandb.summary.update({"loss": wandb.summary["train/loss"]})
    wandb.unwatch(model)
    print(run.id, flush=True)
    wandb.finish(exit_code=0, quiet=True)
'''


def test_a_tutorial_runs(server: Server, script: Callable[..., Script]) -> None:
    one = script(TUTORIAL)
    id, said = one.line(), one.end()
    assert one.process.returncode == 0, said
    [it] = server.iterations()
    assert (it["id"], it["name"], it["notes"], it["tags"], it["status"]) == (id, "first", "a note", ["baseline"], "SUCCEEDED")
    assert server.get(f"/experiment/{it['experiment_id']}")["name"] == "sweep"
    assert server.parameters(id) == {"lr": "0.1", "epochs": "5", "architecture": "CNN", "dropout": "0.2", "batch_size": "32",
                                     "job_type": "train"}
    assert server.points(id, "val/accuracy") == [(e, 1 - 1 / (e + 2)) for e in range(5)]
    assert len(server.points(id, "train/loss")) == 20 and server.points(id, "summary/best_accuracy") == [(0, 1 - 1 / 6)]
    assert server.points(id, "summary/loss") == [(0, server.points(id, "train/loss")[-1][1])]
    found = server.artifacts(id)
    assert {"gradients_0.histogram.json", "examples_4_1.png", "predictions_5.csv", "out/model.pt", "classifier:v0/model.pt",
            "classifier:v0/extra/vocabulary.txt", "output.log"} <= set(found)
    assert found["examples_4_1.png"]["description"] == "epoch 4"
    [version] = server.get(f"/artifactversion/iteration/{id}")["data"]
    assert (version["name"], version["description"]) == ("classifier", "the best one")
    assert sum(server.get(f"/resource/{found['gradients_0.histogram.json']['id']}/data")["counts"]) == 50
    assert server.get(f"/iteration/{id}/summary")["definitions"] == {"val/accuracy": {"step_metric": "epoch", "goal": "maximize"}}
    for note in ("watch has no effect", "alert: Done: accuracy is high"):
        assert said.count(note) == 1


def test_define_metric_refuses_mistakes(server: Server) -> None:
    run = tracker.init(project="p")
    for name, goal in ((None, None), ("", None), ("a*b", None), ("loss", "best")):
        with pytest.raises(ValueError, match="metric|goal"):
            run.define_metric(name, goal=goal)
    run.define_metric("*", step_metric="epoch", hidden=True)
    run.define_metric("loss", step_metric="batch", summary="mean")
    run.log({"loss": 1.0, "epoch": 1, "batch": 2})
    run.finish()
    assert server.get(f"/iteration/{run.id}/summary")["definitions"] == {
        "loss": {"step_metric": "batch"}, "epoch": {"hidden": True}, "batch": {"step_metric": "epoch", "hidden": True}}


def test_what_is_not_there_is_told_with_what_is(server: Server, capfd: Any) -> None:
    with pytest.raises(AttributeError, match="optuna"):
        tracker.sweep({})  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="log_artifact"):
        tracker.Object3D("a.obj")  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'lgo'; did you mean 'log'"):
        tracker.lgo({})  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="call tracker.init first"):
        tracker.log({"a": 1})
    with pytest.raises(TypeError, match="no argument 'projekt'; did you mean 'project'"):
        tracker.init(projekt="p")  # type: ignore[call-arg]
    assert tracker.run is None and tracker.login(key="secret")
    assert "python -m tracker login" in capfd.readouterr().err
    with tracker.init(mode="disabled") as run:
        run.log({"a": 1})
        run.config.update({"a": 1})
        assert run.last() == {}
    with pytest.raises(FileNotFoundError):
        tracker.Artifact("a").add_file("nowhere")
