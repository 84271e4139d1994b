"""Callbacks that log training with other libraries. A library is imported only when its callback is created.

    model.fit(..., callbacks=[tracker.callback.keras()])
    lightning.Trainer(logger=tracker.callback.lightning(project="p"))
    transformers.Trainer(..., callbacks=[tracker.callback.transformers()])
    xgboost.train(..., callbacks=[tracker.callback.xgboost()])
    lightgbm.train(..., callbacks=[tracker.callback.lightgbm()])
    study.optimize(objective, callbacks=[tracker.callback.optuna()])
    tracker.callback.grid_search(search)    # after search.fit

Callbacks log to the given run, or else to the current run. Settings of the training become parameters, except if the run
already has a parameter with the same name.

If somebody asks the run to stop, the callbacks for Keras, Hugging Face and XGBoost end the training after the current batch,
step or round. The other callbacks leave that to the client, which interrupts the program.
"""

from __future__ import annotations

import math
import sys
import threading
from functools import partial
from typing import Any, Callable, Dict, Optional

from ._check import End
from ._config import as_mapping
from ._init import current, init
from ._run import Run, live


def keras(run: Optional[Run] = None, every: Optional[int] = None) -> Any:
    """Return a callback for Model.fit and Model.evaluate of Keras 3, including tensorflow.keras.

    The results of each epoch are logged with the epoch as step: loss, val_loss, the metrics and learning_rate. If every is
    given, the results of every `every`-th batch are logged under batch/, with the number of batches so far as step. Results
    of evaluate outside of fit are logged under test/. The optimizer, its settings and the size of the model become
    parameters.
    """
    from keras.callbacks import Callback as Base

    chosen = run or current("callback")

    class Callback(Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._fitting, self._batches, self._epochs = False, 0, 0

        def on_train_begin(self, logs: Any = None) -> None:
            self._fitting = True
            chosen.recorder.stop_request.watchers.add(self)
            optimizer = {f"optimizer/{k}": v for k, v in self.model.optimizer.get_config().items()
                         if isinstance(v, (str, int, float, bool))}
            found = {"epochs": self.params.get("epochs"), "steps": self.params.get("steps"),
                     "model/parameters": self.model.count_params() if self.model.built else None, **optimizer}
            chosen.config.setdefaults({name: value for name, value in found.items() if value is not None})

        def on_train_end(self, logs: Any = None) -> None:
            self._fitting = False
            chosen.recorder.stop_request.watchers.discard(self)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._batches += 1
            if every and self._batches % every == 0:
                chosen.log({"batch": logs or {}}, step=self._batches)
            if chosen.recorder.stop_request.ask():
                self.model.stop_training = True

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            numbers = dict(logs or {})
            numbers.setdefault("learning_rate", float(self.model.optimizer.learning_rate))
            self._epochs = epoch + 1
            chosen.log(numbers, step=epoch)

        def on_test_end(self, logs: Any = None) -> None:
            if not self._fitting:
                chosen.log({"test": logs or {}}, step=self._epochs)

    return Callback()


def lightning(run: Optional[Run] = None, **arguments: Any) -> Any:
    """Return a logger for PyTorch Lightning's Trainer. The package is lightning or pytorch_lightning.

    Values of a module are logged under their names, at the Trainer's global step. Hyperparameters become parameters.

    If run is None, the logger uses the current run. If no run is active, or if arguments for tracker.init are given, the
    logger starts a run with these arguments when a value is first logged. So if there are several processes, only the first
    starts a run. tracker.finish or the end of the program ends the run.
    """
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
        from pytorch_lightning.utilities import rank_zero_only
    else:
        from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
        from lightning.pytorch.utilities import rank_zero_only

    class TrackerLogger(Logger):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._run = run

        def __reduce__(self) -> Any:  # spawned processes receive the logger by pickle
            return partial(lightning, self._run, **arguments), ()

        @property
        @rank_zero_experiment  # type: ignore[untyped-decorator]
        def experiment(self) -> Run:
            """The run of the logger."""
            if self._run is None:
                self._run = init(**arguments) if arguments or not live else live[-1]
            return self._run

        @property
        def name(self) -> Optional[str]:
            return self._run.experiment if self._run else None

        @property
        def version(self) -> Optional[str]:
            return self._run.id if self._run else None

        @rank_zero_only  # type: ignore[untyped-decorator]
        def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
            self.experiment.config.setdefaults(as_mapping(params))

        @rank_zero_only  # type: ignore[untyped-decorator]
        def log_metrics(self, metrics: Dict[str, float], step: Optional[int] = None) -> None:
            self.experiment.log(metrics, step=step)

    return TrackerLogger()


def transformers(run: Optional[Run] = None) -> Any:
    """Return a callback for the Trainer of Hugging Face's transformers.

    Values are logged at the Trainer's global step: eval_loss as eval/loss, other numbers as train/NAME. Values for the
    whole training, such as train_runtime, are stored in the summary. The training arguments become parameters, and the
    model's settings become parameters under model/. If there are several processes, only the first logs. To disable other
    reports, set report_to="none".
    """
    from transformers import TrainerCallback

    chosen = run or current("callback")

    class Callback(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if not state.is_world_process_zero:
                return
            found = dict(args.to_sanitized_dict())
            settings: Any = getattr(model, "config", None)
            if hasattr(settings, "to_dict"):
                found["model"] = settings.to_dict()
            chosen.config.setdefaults(found)
            if args.world_size == 1:  # the other processes would wait for this process
                chosen.recorder.stop_request.watchers.add(self)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            request = chosen.recorder.stop_request
            if self in request.watchers and request.ask():
                control.should_training_stop = True

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            chosen.recorder.stop_request.watchers.discard(self)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if not state.is_world_process_zero:
                return
            numbers = {}
            for name, value in (logs or {}).items():
                kind, _separator, rest = name.partition("_")
                if kind == "train" and rest:
                    chosen.summary[name] = value
                elif isinstance(value, (int, float)):
                    numbers[f"{kind}/{rest}" if kind in ("eval", "test") and rest else f"train/{name}"] = value
            if numbers:
                chosen.log(numbers, step=state.global_step)

    return Callback()


def xgboost(run: Optional[Run] = None) -> Any:
    """Return a callback for xgboost.train, xgboost.cv and XGBoost's scikit-learn estimators.

    Each metric of each evaluation set is logged as SET/METRIC, with the boosting round as step.
    """
    from xgboost.callback import TrainingCallback

    chosen = run or current("callback")

    class Callback(TrainingCallback):  # type: ignore[misc]
        def before_training(self, model: Any) -> Any:
            chosen.recorder.stop_request.watchers.add(self)
            return model

        def after_training(self, model: Any) -> Any:
            chosen.recorder.stop_request.watchers.discard(self)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Dict[str, Dict[str, Any]]) -> bool:
            numbers: Dict[str, float] = {}
            for data, metrics in evals_log.items():
                for metric, values in metrics.items():
                    last = values[-1]
                    if isinstance(last, tuple):  # cross-validation reports mean and standard deviation
                        numbers[f"{data}/{metric}"], numbers[f"{data}/{metric}/std"] = last
                    else:
                        numbers[f"{data}/{metric}"] = last
            chosen.log(numbers, step=epoch)
            return chosen.recorder.stop_request.ask()

    return Callback()


def lightgbm(run: Optional[Run] = None) -> Callable[[Any], None]:
    """Return a callback for lightgbm.train and LightGBM's scikit-learn estimators.

    Each metric of each evaluation set is logged as SET/METRIC, with the boosting round as step.
    """
    chosen = run or current("callback")

    def callback(env: Any) -> None:
        numbers = {f"{one[0]}/{one[1]}": one[2] for one in env.evaluation_result_list or ()}
        chosen.log(numbers, step=env.iteration)

    callback.order = 30  # type: ignore[attr-defined]  # after evaluation, before callbacks that might stop the training
    return callback


def optuna(run: Optional[Run] = None) -> Callable[[Any, Any], None]:
    """Return a callback for Study.optimize. Each trial becomes a child of the run, with its parameters and values.

    A failed trial is FAILED, and a pruned trial is KILLED. The best value so far is logged to the run.
    """
    chosen, one_at_a_time = run or current("callback"), threading.Lock()

    def callback(study: Any, trial: Any) -> None:
        with one_at_a_time:
            child = init(chosen.project, chosen.experiment, trial.params, name=f"trial {trial.number}", parent=chosen,
                         capture=False, quiet=True)
            for step, value in sorted(trial.intermediate_values.items()):
                child.log({"intermediate": value}, step=step)
            values = dict(enumerate(trial.values or ()))
            child.log({"value" if len(values) == 1 else f"value/{n}": value for n, value in values.items()}, step=0)
            ends: Dict[str, End] = {"FAIL": "FAILED", "PRUNED": "KILLED"}
            _finish_child(chosen, child, ends.get(trial.state.name, "SUCCEEDED"))
            if len(study.directions) == 1 and values:
                chosen.log({"best_value": study.best_value}, step=trial.number)

    return callback


def grid_search(search: Any, run: Optional[Run] = None) -> None:
    """Log the results of a fitted GridSearchCV or RandomizedSearchCV. Each candidate becomes a child of the run.

    A child has the candidate's parameters and its results in cv_results_. Means and deviations are logged at step 0. The
    score of each split is logged with the split's number as step.
    """
    chosen, results = run or current("callback"), search.cv_results_
    for number, params in enumerate(results["params"]):
        child = init(chosen.project, chosen.experiment, params, name=f"candidate {number}", parent=chosen, capture=False,
                     quiet=True)
        for name, column in results.items():
            if name.startswith(("mean_", "std_", "rank_")):
                child.log({name: column[number]}, step=0)
            elif name.startswith("split"):
                split, _, score = name[len("split"):].partition("_")
                child.log({"split_" + score: column[number]}, step=int(split))
        failed = math.isnan(float(next(v for k, v in results.items() if k.startswith("mean_test"))[number]))
        _finish_child(chosen, child, "FAILED" if failed else "SUCCEEDED")
    if hasattr(search, "best_score_"):
        chosen.summary["best_score"] = float(search.best_score_)
        chosen.config.update({"best": dict(search.best_params_)})


def _finish_child(parent: Run, child: Run, status: End) -> None:
    """End a child without waiting for an unreachable server. Unsent data of the child is sent before the parent ends."""
    child.recorder.hasty = True
    parent.recorder.adopt(child.recorder)
    child.finish(status, quiet=True)
