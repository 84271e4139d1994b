"""Functions shared by the tests of models."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import mlflow
import mlflow.sklearn
import numpy
import pytest
from mlflow.exceptions import MlflowException
from sklearn.linear_model import LogisticRegression

VERSION = tuple(int(part) for part in mlflow.__version__.split(".")[:2])
INPUTS = numpy.array([[0.0], [1.0], [2.0], [3.0]])
LABELS = numpy.array([0, 0, 1, 1])


def log_model(**also: Any) -> Tuple[Any, Any, Any]:
    """Train and log a model. Return the model, its run, and the client's description of the logged model."""
    mlflow.set_experiment("iris")
    model = LogisticRegression().fit(INPUTS, LABELS)
    name = {"name": "model"} if VERSION >= (3, 0) else {"artifact_path": "model"}
    with mlflow.start_run() as run:
        return model, run, mlflow.sklearn.log_model(model, **name, **also)


def loads(uri: str, model: Any) -> None:
    assert list(mlflow.pyfunc.load_model(uri).predict(INPUTS)) == list(model.predict(INPUTS)), uri


def number(version: Any) -> str:
    return str(version.version)


def code(call: Callable[[], Any]) -> str:
    with pytest.raises(MlflowException) as caught:
        call()
    return str(caught.value.error_code)
