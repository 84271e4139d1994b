"""Tests of event files that PyTorch's SummaryWriter writes."""

from __future__ import annotations

from torch.utils.tensorboard import SummaryWriter

import tracker

from .conftest import Server


def test_the_writer_of_pytorch_is_followed(server: Server) -> None:
    with tracker.init(project="p", sync_tensorboard=True, capture=False, quiet=True) as run:
        writer = SummaryWriter()  # nobody closes it
        for step in range(30):
            writer.add_scalar("loss", step / 2, step)
            writer.add_scalar("new", step / 4, step, new_style=True)
            writer.add_scalar("double", 0.1, step, new_style=True, double_precision=True)
            writer.add_scalars("losses/both", {"train": step, "test": -step}, step)
        writer.add_hparams({"lr": 0.1, "bsize": 4, "name": "net"}, {"score": 9})
        writer.add_text("note", "hello", 6)
    assert server.points(run.id, "loss") == [(s, s / 2) for s in range(30)]
    assert server.points(run.id, "new") == [(s, s / 4) for s in range(30)]
    assert server.points(run.id, "double") == [(s, 0.1) for s in range(30)]
    assert server.points(run.id, "losses/both/train") == [(s, s) for s in range(30)]
    assert server.points(run.id, "losses/both/test") == [(s, -s) for s in range(30)]
    assert server.points(run.id, "score") == [(0, 9)]
    assert server.parameters(run.id) == {"lr": "0.1", "bsize": "4", "name": "net"}
    assert set(server.artifacts(run.id)) == {"note_6.txt"}
