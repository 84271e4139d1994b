"""Tests with PyTorch: tensors, workers of a DataLoader, and a typical training loop."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

import tracker

from .conftest import Server, sync
from .test_document import examples

torch.manual_seed(7)
FEATURES = torch.randn(64, 4)


class Noting(torch.utils.data.Dataset):  # type: ignore[misc]
    """A data set that logs in the worker processes."""

    def __init__(self, run: tracker.Run) -> None:
        self.run = run

    def __len__(self) -> int:
        return len(FEATURES)

    def __getitem__(self, index: int) -> Any:
        self.run.log({"loaded": FEATURES[index, 0]}, step=index)
        return FEATURES[index]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_workers_of_a_data_loader_log_to_the_run(server: Server, method: str) -> None:
    seen = []
    with tracker.init(capture=False) as run:
        loader = torch.utils.data.DataLoader(Noting(run), batch_size=16, num_workers=2, multiprocessing_context=method)
        for features in loader:
            run.log({"mean": features.mean()})
            seen.append(features.mean().item())
    assert sync().returncode == 0, "no spool of a slow worker remains"
    assert server.points(run.id, "mean") == list(enumerate(seen)) and len(seen) == 4
    assert server.points(run.id, "loaded") == list(enumerate(FEATURES[:, 0].tolist()))
    assert [it["status"] for it in server.iterations()] == ["SUCCEEDED"], "one run, however many processes"


def test_tensors(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(capture=False, config={"rate": torch.tensor(0.5), "kind": torch.float16, "on": torch.device("cpu")}) as run:
        for step in range(3):
            loss = torch.tensor(float(step), requires_grad=True)
            run.log({"loss": loss, "half": torch.tensor([step], dtype=torch.bfloat16), "count": torch.tensor(step),
                     "right": torch.tensor(step > 0), "norm": torch.nn.Parameter(torch.ones(1, 1) * step)}, step=step)
            loss.data.fill_(-1)
        run.log({"nan": torch.tensor(float("nan")), "pair": torch.zeros(2), "nothing": torch.zeros(0)}, step=3)
        run.log({"weights": tracker.Histogram(torch.arange(6.0).reshape(2, 3)), "image": tracker.Image(torch.zeros(2, 3))})
    for name in ("loss", "half", "count", "norm"):
        assert server.points(run.id, name) == [(0, 0), (1, 1), (2, 2)], name
    assert server.points(run.id, "right") == [(0, 0), (1, 1), (2, 1)]
    assert server.points(run.id, "nan") == [(3, "NaN")]
    assert server.points(run.id, "pair") == server.points(run.id, "nothing") == []
    told = capfd.readouterr().err
    assert "pair" in told and "nothing" in told
    assert server.parameters(run.id) == {"rate": "0.5", "kind": "torch.float16", "on": "cpu"}
    assert set(server.artifacts(run.id)) == {"weights_4.histogram.json", "image_4.png"}


def test_the_example_of_the_document_runs(server: Server) -> None:
    [example] = [text for text in examples("docs/python.md") if "import torch" in text]
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    [it] = server.iterations()
    losses = server.points(it["id"], "train/loss")
    assert it["status"] == "SUCCEEDED" and [step for step, _ in losses] == list(range(80))
    assert [step for step, _ in server.points(it["id"], "val/loss")] == [15, 31, 47, 63, 79]
    assert losses[-1][1] < losses[0][1], "it learns"
    assert server.parameters(it["id"]) == {"rate": "0.01", "batch": "32"} and "model.pt" in server.artifacts(it["id"])
