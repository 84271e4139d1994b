"""Tests of the model registry with the installed MLflow client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from typing import Any, List

import mlflow
import mlflow.sklearn
import pytest
from mlflow import MlflowClient
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from models import INPUTS, LABELS, code, loads, log_model, number

pytestmark = pytest.mark.usefixtures("fresh")


def native(path: str) -> Any:
    with urllib.request.urlopen(os.environ["MLFLOW_TRACKING_URI"] + path) as answer:
        return json.load(answer)


def test_models_are_logged_registered_and_loaded() -> None:
    client = MlflowClient()
    model, run, info = log_model(registered_model_name="iris")
    loads("runs:/%s/model" % run.info.run_id, model)
    loads(info.model_uri, model)
    loads("models:/iris/1", model)
    loads("models:/iris/latest", model)
    assert number(mlflow.register_model("runs:/%s/model" % run.info.run_id, "iris", tags={"a": "b"})) == "2"
    client.set_registered_model_alias("iris", "champion", "2")
    loads("models:/iris@champion", model)
    client.transition_model_version_stage("iris", "1", "Production")
    loads("models:/iris/Production", model)
    made = client.get_model_version("iris", "2")
    assert made.run_id == run.info.run_id and made.tags == {"a": "b"} and made.status == "READY" and made.aliases == ["champion"]
    assert number(client.copy_model_version("models:/iris@champion", "copy")) == "1"
    loads("models:/copy/1", model)


def test_native_api_shows_the_same_models() -> None:
    client = MlflowClient()
    _, run, _ = log_model(registered_model_name="iris")
    client.set_registered_model_alias("iris", "champion", "1")
    client.transition_model_version_stage("iris", "1", "Staging")
    project = next(p for p in native("/project")["data"] if p["name"] == "MLflow")
    model = native("/model/project/" + project["id"])["data"][0]
    version = native("/modelversion/model/" + model["id"])["data"][0]
    assert model["name"] == "iris" and version["aliases"] == ["champion"] and version["stage"] == "STAGING"
    assert version["iteration_id"].replace("-", "") == run.info.run_id


def test_registry() -> None:
    client = MlflowClient()
    client.create_registered_model("fraud", tags={"team": "risk"}, description="first")
    assert code(lambda: client.create_registered_model("fraud")) == "RESOURCE_ALREADY_EXISTS"
    assert code(lambda: client.create_registered_model("a/b")) == "INVALID_PARAMETER_VALUE"
    assert code(lambda: client.get_registered_model("none")) == "RESOURCE_DOES_NOT_EXIST"
    assert number(client.create_model_version("fraud", "s3://bucket/one", description="d")) == "1"
    assert number(client.create_model_version("fraud", "s3://bucket/two", tags={"k": "v"})) == "2"
    assert client.get_model_version_download_uri("fraud", "2") == "s3://bucket/two"
    client.update_model_version("fraud", "1", "new")
    client.set_model_version_tag("fraud", "1", "k", "w")
    client.set_registered_model_tag("fraud", "team", "cards")
    client.delete_model_version_tag("fraud", "1", "k")
    client.transition_model_version_stage("fraud", "1", "production")
    client.transition_model_version_stage("fraud", "2", "Production", archive_existing_versions=True)
    client.set_registered_model_alias("fraud", "best", "2")
    client.rename_registered_model("fraud", "cards")
    model = client.get_registered_model("cards")
    assert model.tags == {"team": "cards"} and model.description == "first"
    assert {key: str(value) for key, value in model.aliases.items()} == {"best": "2"}
    assert {v.current_stage: number(v) for v in client.get_latest_versions("cards")} == {"Archived": "1", "Production": "2"}
    assert [number(v) for v in client.get_latest_versions("cards", ["Production"])] == ["2"]
    assert number(client.get_model_version_by_alias("cards", "best")) == "2"
    assert client.get_model_version("cards", "1").description == "new"
    client.delete_model_version("cards", "2")
    assert code(lambda: client.get_model_version_by_alias("cards", "best")) == "INVALID_PARAMETER_VALUE"
    assert number(client.create_model_version("cards", "s3://bucket/three")) == "3"
    client.delete_registered_model_alias("cards", "best")
    client.delete_registered_model_tag("cards", "team")
    client.delete_registered_model("cards")
    assert code(lambda: client.get_registered_model("cards")) == "RESOURCE_DOES_NOT_EXIST"


def test_registry_is_searched() -> None:
    client = MlflowClient()
    for name in ("alpha", "Beta", "gämma"):
        client.create_registered_model(name, tags={"letter": name[0]})
        for n in range(3):
            client.create_model_version(name, "s3://bucket/%s" % name, tags={"n": str(n)})
    for query, want in {
        "": ["Beta", "alpha", "gämma"],
        "name = 'alpha'": ["alpha"],
        "name LIKE '%a'": ["Beta", "alpha", "gämma"],
        "name ILIKE 'b%'": ["Beta"],
        "tags.letter = 'g'": ["gämma"],
        "tags.letter != 'g'": ["Beta", "alpha"],
    }.items():
        assert [m.name for m in client.search_registered_models(query)] == want, query
    assert [m.name for m in client.search_registered_models(order_by=["name DESC"], max_results=1)] == ["gämma"]
    first = client.search_registered_models(max_results=2)
    assert [m.name for m in client.search_registered_models(max_results=2, page_token=first.token)] == ["gämma"]

    def versions(query: str, **also: Any) -> List[str]:
        return [v.name + number(v) for v in client.search_model_versions(query, **also)]

    assert versions("name='alpha'", order_by=["version_number ASC"]) == ["alpha1", "alpha2", "alpha3"]
    assert versions("tags.n = '1'", order_by=["name ASC"]) == ["Beta2", "alpha2", "gämma2"]
    assert versions("source_path = 's3://bucket/Beta' AND version_number > 2") == ["Beta3"]
    assert versions("run_id = 'none'") == []
    assert code(lambda: client.search_model_versions("size > 2")) == "INVALID_PARAMETER_VALUE"


@pytest.mark.filterwarnings("ignore")
def test_autologged_models_are_loaded() -> None:
    mlflow.set_experiment("grid")
    mlflow.sklearn.autolog()
    try:
        with mlflow.start_run() as run:
            search = GridSearchCV(LogisticRegression(), {"C": [0.5, 1.0]}, cv=2).fit(INPUTS, LABELS)
    finally:
        mlflow.sklearn.autolog(disable=True)
    loads("runs:/%s/best_estimator" % run.info.run_id, search)


def test_command_line_downloads_a_model() -> None:
    _, run, _ = log_model(registered_model_name="iris")
    for uri in ("models:/iris/1", "runs:/%s/model" % run.info.run_id):
        subprocess.run([sys.executable, "-m", "mlflow", "artifacts", "download", "--artifact-uri", uri, "--dst-path", "down"], check=True)
        found = [os.path.join(folder, name) for folder, _, names in os.walk("down") for name in names]
        assert any(os.path.basename(path) == "MLmodel" for path in found), found
