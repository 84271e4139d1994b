"""Tests of autolog with the real libraries."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import urllib.request
from typing import Any, Iterator

import lightgbm
import numpy
import pytest
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tracker

from .conftest import Server

random = numpy.random.default_rng(7)
FEATURES = random.normal(size=(200, 4))
LABELS = (FEATURES[:, 0] + FEATURES[:, 1] > 0).astype(int)


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    yield
    tracker.autolog(disable=True)


def data(server: Server, row: Any) -> bytes:
    with urllib.request.urlopen(f"{server.url}/resource/{row['id']}/data") as answer:
        return bytes(answer.read())


def test_sklearn(server: Server) -> None:
    tracker.autolog("sklearn")
    with tracker.init(capture=False) as run:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5)).fit(FEATURES, LABELS)
    parameters = server.parameters(run.id)
    assert parameters["estimator"] == "Pipeline" and parameters["logisticregression__C"] == "0.5"
    assert server.points(run.id, "training/score") == [(0, model.score(FEATURES, LABELS))], "only the outermost fit"
    kept = pickle.loads(data(server, server.artifacts(run.id)["model.pkl"]))
    assert (kept.predict(FEATURES) == model.predict(FEATURES)).all()
    assert [it["id"] for it in server.iterations()] == [run.id]


def test_a_fit_without_a_run_has_one_of_its_own(server: Server) -> None:
    tracker.autolog("sklearn", log_models=False)
    LogisticRegression().fit(FEATURES, y=LABELS)
    with pytest.raises(ValueError):
        LogisticRegression().fit(FEATURES, LABELS[:3])
    found = sorted(server.iterations(), key=lambda it: str(it["created_date"]))
    assert [it["status"] for it in found] == ["SUCCEEDED", "FAILED"] and "inconsistent" in found[1]["error_message"]
    assert "model.pkl" not in server.artifacts(found[0]["id"]) and server.points(found[0]["id"], "training/score")
    assert tracker.run is None
    tracker.autolog("sklearn", disable=True)
    LogisticRegression().fit(FEATURES, LABELS)
    assert len(server.iterations()) == 2


def test_a_grid_search(server: Server) -> None:
    tracker.autolog()
    with tracker.init(capture=False) as run:
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(FEATURES, LABELS)
    children = server.get(f"/iteration/{run.id}/children")["data"]
    assert [server.parameters(c["id"])["C"] for c in children] == ["0.1", "1.0"]
    assert server.parameters(run.id)["estimator"] == "GridSearchCV" and "model.pkl" in server.artifacts(run.id)


def test_xgboost(server: Server) -> None:
    tracker.autolog("xgboost")
    matrix = xgboost.DMatrix(FEATURES, label=LABELS)
    with tracker.init(capture=False) as run:
        xgboost.train({"objective": "binary:logistic", "max_depth": 2}, matrix, num_boost_round=3, evals=[(matrix, "train")],
                      verbose_eval=False)
    assert len(server.points(run.id, "train/logloss")) == 3 and server.parameters(run.id)["max_depth"] == "2"
    assert server.parameters(run.id)["num_boost_round"] == "3"
    booster = xgboost.Booster(model_file=bytearray(data(server, server.artifacts(run.id)["model.ubj"])))
    assert booster.num_boosted_rounds() == 3
    with tracker.init(capture=False) as other:
        xgboost.XGBClassifier(n_estimators=2).fit(FEATURES, LABELS, eval_set=[(FEATURES, LABELS)], verbose=False)
    assert len(server.points(other.id, "validation_0/logloss")) == 2


def test_lightgbm(server: Server) -> None:
    tracker.autolog("lightgbm")
    rows = lightgbm.Dataset(FEATURES, label=LABELS)
    with tracker.init(capture=False) as run:
        lightgbm.train({"objective": "binary", "verbose": -1, "num_leaves": 4}, rows, num_boost_round=3, valid_sets=[rows],
                       valid_names=["train"])
    assert len(server.points(run.id, "train/binary_logloss")) == 3 and server.parameters(run.id)["num_leaves"] == "4"
    booster = lightgbm.Booster(model_str=data(server, server.artifacts(run.id)["model.txt"]).decode())
    assert booster.num_trees() == 3
    with tracker.init(capture=False) as other:
        lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(FEATURES, LABELS, eval_set=[(FEATURES[:50], LABELS[:50])])
    assert len(server.points(other.id, "valid_0/binary_logloss")) == 2


IMPORTED_LATER = """
    import tracker
    tracker.autolog()
    import numpy, keras, sklearn.tree
    keras.utils.set_random_seed(7)
    x = numpy.random.rand(64, 4)
    y = (x.sum(axis=1) > 2).astype("float32")
    with tracker.init(name="keras", capture=False):
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
        model.compile("sgd", "binary_crossentropy")
        model.fit(x, y, epochs=2, verbose=0)
    with tracker.init(name="sklearn", capture=False):
        sklearn.tree.DecisionTreeClassifier().fit(x, y)
"""


def test_libraries_that_are_imported_later(server: Server) -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(IMPORTED_LATER)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "KERAS_BACKEND": "jax"})
    assert done.returncode == 0 and "autolog can't" not in done.stderr, done.stderr
    found = {it["name"]: it["id"] for it in server.iterations()}
    assert len(server.points(found["keras"], "loss")) == 2 and "model.keras" in server.artifacts(found["keras"])
    assert server.parameters(found["keras"])["epochs"] == "2"
    assert server.parameters(found["sklearn"])["estimator"] == "DecisionTreeClassifier"


def test_a_library_that_is_not_known(server: Server) -> None:
    with pytest.raises(ValueError, match="autolog supports sklearn, .*, not 'xgbost'; did you mean 'xgboost'"):
        tracker.autolog("xgbost")  # type: ignore[arg-type]
