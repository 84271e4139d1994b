"""Tests of logged models and prompts with a client of MLflow 3."""

from __future__ import annotations

from typing import Any, List

import mlflow
import pytest
from mlflow import MlflowClient, genai
from mlflow.exceptions import MlflowException

from models import code, loads, log_model

pytestmark = pytest.mark.usefixtures("fresh")


def test_logged_models() -> None:
    client = MlflowClient()
    model, run, info = log_model(params={"C": 1.0})
    with mlflow.start_run(run_id=run.info.run_id):
        mlflow.log_metric("accuracy", 0.9, model_id=info.model_id)
    loads("models:/" + info.model_id, model)
    logged = mlflow.get_logged_model(info.model_id)
    assert str(logged.status) == "READY" and logged.source_run_id == run.info.run_id and logged.params["C"] == "1.0"
    assert [(m.key, m.value, m.run_id) for m in logged.metrics] == [("accuracy", 0.9, run.info.run_id)]
    assert [m.model_id for m in client.get_run(run.info.run_id).outputs.model_outputs] == [info.model_id]

    bare = mlflow.initialize_logged_model("bare", params={str(n): "x" for n in range(250)}, tags={"a": "b"})
    mlflow.finalize_logged_model(bare.model_id, "FAILED")
    mlflow.set_logged_model_tags(bare.model_id, {"c": "d"})
    mlflow.delete_logged_model_tag(bare.model_id, "a")
    bare = mlflow.get_logged_model(bare.model_id)
    assert len(bare.params) == 250 and bare.tags["c"] == "d" and "a" not in bare.tags and str(bare.status) == "FAILED"

    def names(**query: Any) -> List[str]:
        return [m.name for m in mlflow.search_logged_models(output_format="list", **query)]

    assert sorted(names()) == ["bare", "model"]
    assert names(filter_string="metrics.accuracy > 0.5 AND params.C = '1.0'") == ["model"]
    assert names(filter_string="tags.c = 'd'") == ["bare"]
    assert names(order_by=[{"field_name": "metrics.accuracy", "ascending": False}]) == ["model", "bare"]
    client.delete_logged_model(bare.model_id)
    assert names() == ["model"]
    assert code(lambda: mlflow.get_logged_model(bare.model_id)) == "RESOURCE_DOES_NOT_EXIST"


def test_prompts() -> None:
    long = "x" * 50_000
    genai.register_prompt(name="greeting", template="Hello {{name}}" + long, commit_message="first", tags={"lang": "en"})
    genai.register_prompt(name="greeting", template=[{"role": "user", "content": "Hi {{name}}"}], commit_message="second")
    genai.set_prompt_alias("greeting", "live", 1)
    assert genai.load_prompt("prompts:/greeting@live").template == "Hello {{name}}" + long
    assert genai.load_prompt("prompts:/greeting/2").format(name="Ada")[0]["content"] == "Hi Ada"
    assert genai.load_prompt("greeting").version == 2
    assert [p.name for p in genai.search_prompts()] == ["greeting"]
    assert MlflowClient().search_registered_models() == []
    genai.delete_prompt_alias("greeting", "live")
    with pytest.raises(MlflowException):
        genai.register_prompt(name="large", template="x" * 100_001)
