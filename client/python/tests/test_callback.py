"""Tests of the callbacks with the real libraries."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy
import optuna
import pytest
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import tracker
import tracker.callback
from tracker._http import Client

from .conftest import Proxy, Server, eventually

random = numpy.random.default_rng(7)
FEATURES = random.normal(size=(200, 4))
LABELS = (FEATURES[:, 0] + FEATURES[:, 1] > 0).astype(int)


def test_xgboost(server: Server) -> None:
    data = xgboost.DMatrix(FEATURES, label=LABELS)
    kept: Any = {}
    with tracker.init(capture=False) as run:
        xgboost.train({"objective": "binary:logistic"}, data, num_boost_round=5, evals=[(data, "train")], evals_result=kept,
                      verbose_eval=False, callbacks=[tracker.callback.xgboost()])
    assert server.points(run.id, "train/logloss") == list(enumerate(kept["train"]["logloss"]))
    with tracker.init(capture=False) as run:
        xgboost.cv({"objective": "binary:logistic"}, data, num_boost_round=3, nfold=2, callbacks=[tracker.callback.xgboost()])
    assert len(server.points(run.id, "test/logloss")) == len(server.points(run.id, "test/logloss/std")) == 3


def test_xgboost_stops(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._sender.CHECK", 0.0)
    data = xgboost.DMatrix(FEATURES, label=LABELS)

    class Asks(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if epoch == 2:
                Client(server.url).call("POST", f"/iteration/{run.id}/stop")
                eventually(lambda: run.recorder.stop_request.message)
            return False

    with tracker.init(capture=False) as run:
        eventually(lambda: run.name)
        booster = xgboost.train({"objective": "binary:logistic"}, data, num_boost_round=100,
                                callbacks=[Asks(), tracker.callback.xgboost()])
        run.log({"saved": 1})
    assert booster.num_boosted_rounds() == 3
    assert server.get(f"/iteration/{run.id}")["error_message"] == "Stopped on request."
    assert run.status == "KILLED" and server.points(run.id, "saved")


def test_lightgbm(server: Server) -> None:
    data = lightgbm.Dataset(FEATURES, label=LABELS)
    kept: Any = {}
    with tracker.init(capture=False) as run:
        lightgbm.train({"objective": "binary", "verbose": -1}, data, num_boost_round=5, valid_sets=[data], valid_names=["train"],
                       callbacks=[lightgbm.record_evaluation(kept), tracker.callback.lightgbm()])
    assert server.points(run.id, "train/binary_logloss") == list(enumerate(kept["train"]["binary_logloss"]))


def test_optuna(server: Server) -> None:
    def objective(trial: Any) -> float:
        x = trial.suggest_float("x", -1, 1)
        trial.report(x, 0)
        if trial.number == 1:
            raise optuna.TrialPruned()
        return float(x * x)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    with tracker.init(capture=False) as run:
        study.optimize(objective, n_trials=3, callbacks=[tracker.callback.optuna()])
        assert tracker.run is run
    children = server.get(f"/iteration/{run.id}/children")["data"]
    assert [(c["name"], c["status"]) for c in children] == [
        ("trial 0", "SUCCEEDED"), ("trial 1", "KILLED"), ("trial 2", "SUCCEEDED")]
    assert server.points(children[0]["id"], "value") == [(0, study.trials[0].value)]
    assert float(server.parameters(children[2]["id"])["x"]) == study.trials[2].params["x"]
    assert server.points(run.id, "best_value")[-1] == (2, study.best_value)


def test_optuna_does_not_wait_for_a_server_that_is_away(server: Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._recorder.PATIENCE", 1e9)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    proxy.fault = lambda method, path, body: 500
    run = tracker.init(url=proxy.url, capture=False)
    optuna.create_study().optimize(lambda trial: float(trial.suggest_float("x", -1, 1)), n_trials=3,
                                   callbacks=[tracker.callback.optuna()])
    proxy.fault = lambda method, path, body: None
    run.finish()
    children = server.get(f"/iteration/{run.id}/children")["data"]
    assert [(c["name"], c["status"]) for c in children] == [(f"trial {n}", "SUCCEEDED") for n in range(3)]


def test_grid_search(server: Server) -> None:
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3).fit(FEATURES, LABELS)
    with tracker.init(capture=False) as run:
        tracker.callback.grid_search(search)
    children = server.get(f"/iteration/{run.id}/children")["data"]
    assert [server.parameters(c["id"]) for c in children] == [{"C": "0.1"}, {"C": "1.0"}]
    assert server.points(children[1]["id"], "mean_test_score") == [(0, pytest.approx(search.cv_results_["mean_test_score"][1]))]
    assert len(server.points(children[0]["id"], "split_test_score")) == 3
    assert server.points(run.id, "summary/best_score") == [(0, pytest.approx(search.best_score_))]
