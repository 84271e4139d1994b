"""Tests libraries that integrate MLflow: each installed library logs a small training run to a server, and the run is
read back.

    pip install mlflow-skinny pandas scikit-learn optuna-integration xgboost keras "jax[cpu]" pytorch-lightning "transformers[torch]"
    python integrations.py http://127.0.0.1:9000

With a distribution's torch-cpu instead of PyPI's torch, the packages take less than a gigabyte. The exit status is 1
if a test fails. Libraries that are not installed are listed.
"""

import os
import sys
import tempfile
import traceback
import warnings

URI = sys.argv[1]
os.environ.update(MLFLOW_TRACKING_URI=URI, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", MLFLOW_EXPERIMENT_NAME="transformers")
warnings.filterwarnings("ignore")

import mlflow  # noqa: E402
import numpy as np  # noqa: E402

random = np.random.default_rng(0)
INPUTS = random.normal(size=(200, 4))
LABELS = (INPUTS[:, 0] + INPUTS[:, 1] > 0).astype(int)


def runs(experiment):
    """Return the runs of an experiment, newest first."""
    found = mlflow.get_experiment_by_name(experiment)
    return mlflow.search_runs([found.experiment_id], output_format="list")


def optuna():
    from optuna import create_study
    from optuna_integration.mlflow import MLflowCallback

    study = create_study(study_name=f"optuna {os.getpid()}")
    study.optimize(lambda t: t.suggest_float("x", -1, 1) ** 2, n_trials=4, callbacks=[MLflowCallback(URI, metric_name="loss")])
    found = runs(study.study_name)
    assert len(found) == 4 and all("loss" in r.data.metrics and "x" in r.data.params for r in found)


def boosting():
    import xgboost

    mlflow.set_experiment("xgboost")
    mlflow.xgboost.autolog(model_format="json")
    data = xgboost.DMatrix(INPUTS, LABELS)
    with mlflow.start_run() as run:
        xgboost.train({"objective": "binary:logistic"}, data, 5, evals=[(data, "train")])
    mlflow.xgboost.autolog(disable=True)
    assert len(mlflow.MlflowClient().get_metric_history(run.info.run_id, "train-logloss")) >= 5
    assert len(mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict(INPUTS)) == len(INPUTS)


def keras():
    from keras import Sequential, layers

    model = Sequential([layers.Input((4,)), layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    mlflow.set_experiment("keras")
    with mlflow.start_run() as run:
        model.fit(INPUTS, LABELS, epochs=3, verbose=0, callbacks=[mlflow.keras.MlflowCallback(run)])
    assert "loss" in runs("keras")[0].data.metrics


def lightning():
    import pytorch_lightning
    import torch
    from pytorch_lightning.loggers import MLFlowLogger

    class Model(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.save_hyperparameters({"lr": 0.1})

        def training_step(self, batch, _):
            loss = torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1])
            self.log("loss", loss, on_epoch=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    data = torch.utils.data.TensorDataset(torch.tensor(INPUTS).float(), torch.tensor(LABELS).float())
    with tempfile.TemporaryDirectory() as folder:
        trainer = pytorch_lightning.Trainer(
            max_epochs=2, logger=MLFlowLogger("lightning", tracking_uri=URI, log_model=True), log_every_n_steps=1,
            enable_progress_bar=False, default_root_dir=folder,
        )  # fmt: skip
        trainer.fit(Model(), torch.utils.data.DataLoader(data, 20))
    run = runs("lightning")[0]
    assert run.info.status == "FINISHED" and run.data.params["lr"] == "0.1" and "loss_epoch" in run.data.metrics
    assert mlflow.MlflowClient().list_artifacts(run.info.run_id)


def transformers():
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    data = [{"input_ids": torch.randint(0, 50, (8,)), "labels": torch.tensor(i % 2)} for i in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(folder, report_to=["mlflow"], num_train_epochs=1, logging_steps=1, disable_tqdm=True)
        Trainer(BertForSequenceClassification(config), args, train_dataset=data).train()
    mlflow.end_run()
    run = runs("transformers")[0]
    assert "loss" in run.data.metrics and len(run.data.params) > 100


def main():
    """Test all libraries, and print a line for each."""
    failed = False
    for part in (optuna, boosting, keras, lightning, transformers):
        try:
            part()
            print(f"{part.__name__}: works", flush=True)
        except ModuleNotFoundError as e:
            print(f"{part.__name__}: not tried, {e}", flush=True)
        except Exception:
            failed = True
            print(f"{part.__name__}: fails\n{traceback.format_exc()}", flush=True)
        while mlflow.active_run():
            mlflow.end_run()
    sys.exit(failed)


if __name__ == "__main__":
    main()
