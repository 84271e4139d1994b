"""Tests of the callback for Keras, with Keras on JAX."""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy
import pytest

import tracker
from tracker._http import Client

from .conftest import Server, eventually

random = numpy.random.default_rng(7)
FEATURES = random.normal(size=(64, 4)).astype("float32")
LABELS = (FEATURES[:, 0] > 0).astype("float32")


def test_keras(server: Server) -> None:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    with tracker.init(capture=False, config={"epochs": "mine"}) as run:
        callback = tracker.callback.keras(every=2)
        kept = model.fit(FEATURES, LABELS, epochs=3, batch_size=16, validation_split=0.25, verbose=0, callbacks=[callback])
        result = model.evaluate(FEATURES, LABELS, verbose=0, callbacks=[callback], return_dict=True)
    for name in ("loss", "val_loss", "accuracy", "val_accuracy"):
        assert server.points(run.id, name) == [(n, pytest.approx(v)) for n, v in enumerate(kept.history[name])]
    assert server.points(run.id, "learning_rate")[0] == (0, pytest.approx(0.01))
    assert [step for step, _ in server.points(run.id, "batch/loss")] == [2, 4, 6, 8]
    assert server.points(run.id, "test/loss") == [(3, pytest.approx(result["loss"]))]
    parameters = server.parameters(run.id)
    assert parameters["epochs"] == "mine" and parameters["model/parameters"] == "5"
    assert parameters["optimizer/name"] == "adam" and float(parameters["optimizer/beta_1"]) == 0.9


def test_keras_stops(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training ends after the current batch, and the script continues."""
    monkeypatch.setattr("tracker._sender.CHECK", 0.0)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="sgd", loss="binary_crossentropy")

    def ask(epoch: int, logs: object) -> None:
        if epoch == 1:
            Client(server.url).call("POST", f"/iteration/{run.id}/stop")
            eventually(lambda: run.recorder.stop_request.message)

    with tracker.init(capture=False) as run:
        eventually(lambda: run.name)
        kept = model.fit(FEATURES, LABELS, epochs=100, batch_size=16, verbose=0,
                         callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=ask), tracker.callback.keras()])
        run.log({"saved": 1})
    assert len(kept.history["loss"]) == 3
    assert run.status == "KILLED" and server.points(run.id, "saved")
    assert server.get(f"/iteration/{run.id}")["error_message"] == "Stopped on request."
