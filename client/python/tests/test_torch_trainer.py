"""Tests of the callbacks for PyTorch Lightning and Hugging Face, with the real libraries."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import lightning
import pytest
import torch
import transformers

import tracker

from .conftest import HERE, Server, sync

torch.manual_seed(7)
FEATURES = torch.randn(64, 4)
LABELS = (FEATURES[:, :1] > 0).float()


class Module(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self, rate: float = 0.1, hidden: int = 3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1))
        self.seen: Any = []

    def training_step(self, batch: Any, number: int) -> Any:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.layers(batch[0]), batch[1])
        self.log("train/loss", loss)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch: Any, number: int) -> None:
        self.log("val/loss", torch.nn.functional.binary_cross_entropy_with_logits(self.layers(batch[0]), batch[1]))

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)


def data() -> Any:
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(FEATURES, LABELS), batch_size=16)


def trainer(tmp_path: pathlib.Path, logger: Any) -> Any:
    return lightning.Trainer(max_epochs=2, logger=logger, log_every_n_steps=1, accelerator="cpu", enable_progress_bar=False,
                             enable_model_summary=False, enable_checkpointing=False, default_root_dir=tmp_path)


def test_lightning(server: Server, tmp_path: pathlib.Path) -> None:
    module = Module()
    logger = tracker.callback.lightning(project="p", experiment="e", capture=False)
    assert tracker.run is None, "it is started by the process that logs"
    trainer(tmp_path, logger).fit(module, data(), data())
    run = tracker.run
    assert run is not None and (run.project, run.experiment, logger.version) == ("p", "e", run.id)
    tracker.finish()
    assert server.points(run.id, "train/loss") == [(step, pytest.approx(loss)) for step, loss in enumerate(module.seen)]
    assert [step for step, _ in server.points(run.id, "val/loss")] == [3, 7]
    assert server.parameters(run.id) == {"rate": "0.1", "hidden": "3"}
    with tracker.init(capture=False) as other:
        trainer(tmp_path, tracker.callback.lightning()).fit(Module(), data())
    assert len(server.points(other.id, "train/loss")) == 8


def test_lightning_in_processes(server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text(f"""
import sys
sys.path.insert(0, {str(HERE.parent)!r})
from tests.test_torch_trainer import *
if __name__ == "__main__":
    made = lightning.Trainer(max_epochs=1, logger=tracker.callback.lightning(project="p", capture=False), log_every_n_steps=1,
                             accelerator="cpu", devices=2, strategy=sys.argv[1], enable_progress_bar=False,
                             enable_model_summary=False, enable_checkpointing=False)
    made.fit(Module(), data())
""")
    for strategy in ("ddp", "ddp_spawn"):
        done = subprocess.run([sys.executable, "train.py", strategy], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    assert sync().returncode == 0
    assert [it["status"] for it in server.iterations()] == ["SUCCEEDED", "SUCCEEDED"], "one run, however many processes"
    for it in server.iterations():
        assert [step for step, _ in server.points(it["id"], "train/loss")] == [0, 1]
        assert server.parameters(it["id"])["hidden"] == "3"


def small_trainer(tmp_path: pathlib.Path, **arguments: Any) -> Any:
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=32, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8))
    rows = [{"input_ids": torch.randint(0, 32, (6,)), "labels": torch.tensor(n % 2)} for n in range(16)]
    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2,
        eval_strategy="epoch", report_to="none", use_cpu=True, save_strategy="no", disable_tqdm=True)
    return transformers.Trainer(model=model, args=settings, train_dataset=rows, eval_dataset=rows, **arguments)


def test_transformers(server: Server, tmp_path: pathlib.Path) -> None:
    with tracker.init(capture=False) as run:
        made = small_trainer(tmp_path, callbacks=[tracker.callback.transformers()])
        made.train()
    logged = [entry for entry in made.state.log_history if "loss" in entry]
    assert server.points(run.id, "train/loss") == [(e["step"], pytest.approx(e["loss"])) for e in logged] and len(logged) == 4
    evaluated = [entry for entry in made.state.log_history if "eval_loss" in entry]
    assert server.points(run.id, "eval/loss") == [(e["step"], pytest.approx(e["eval_loss"])) for e in evaluated]
    assert len(server.points(run.id, "train/learning_rate")) == 4 and server.points(run.id, "summary/train_runtime")
    parameters = server.parameters(run.id)
    assert parameters["num_train_epochs"] == "2" and parameters["model/hidden_size"] == "8"


def test_trainers_log_by_themselves(server: Server, tmp_path: pathlib.Path) -> None:
    tracker.autolog("lightning", "transformers")
    try:
        with tracker.init(capture=False) as run:
            trainer(tmp_path, False).fit(Module(), data())
        with tracker.init(capture=False) as other:
            small_trainer(tmp_path).train()
    finally:
        tracker.autolog(disable=True)
    assert len(server.points(run.id, "train/loss")) == 8 and server.parameters(run.id)["hidden"] == "3"
    assert server.artifacts(run.id)["model.ckpt"]["size_bytes"] > 0
    assert server.points(other.id, "train/loss") and server.parameters(other.id)["num_train_epochs"]
    assert "model:v0/config.json" in server.artifacts(other.id)
