"""Callbacks that log what other libraries train. Each library is imported only when its callback is made.

    xgboost.train(..., callbacks=[tracker.callback.xgboost()])
    lightgbm.train(..., callbacks=[tracker.callback.lightgbm()])
    study.optimize(objective, callbacks=[tracker.callback.optuna()])
    tracker.callback.grid_search(search)    # after search.fit

Without a run they log to the current one.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Callable, Dict, Optional

from ._init import current, init
from ._run import Run


def xgboost(run: Optional[Run] = None) -> Any:
    """A callback for xgboost.train, xgboost.cv and its scikit-learn estimators.

    Logs each metric of each evaluation set as SET/METRIC, with the boosting round as step.
    """
    from xgboost.callback import TrainingCallback

    chosen = run or current("callback")

    class Callback(TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Dict[str, Dict[str, Any]]) -> bool:
            numbers: Dict[str, float] = {}
            for data, metrics in evals_log.items():
                for metric, values in metrics.items():
                    last = values[-1]
                    if isinstance(last, tuple):  # of cross-validation
                        numbers[f"{data}/{metric}"], numbers[f"{data}/{metric}/std"] = last
                    else:
                        numbers[f"{data}/{metric}"] = last
            chosen.log(numbers, step=epoch)
            return False

    return Callback()


def lightgbm(run: Optional[Run] = None) -> Callable[[Any], None]:
    """A callback for lightgbm.train and its scikit-learn estimators.

    Logs each metric of each evaluation set as SET/METRIC, with the boosting round as step.
    """
    chosen = run or current("callback")

    def callback(env: Any) -> None:
        numbers = {f"{one[0]}/{one[1]}": one[2] for one in env.evaluation_result_list or ()}
        chosen.log(numbers, step=env.iteration)

    callback.order = 30  # type: ignore[attr-defined]  # after what evaluates, before what may stop the training
    return callback


def optuna(run: Optional[Run] = None) -> Callable[[Any, Any], None]:
    """A callback for Study.optimize: each trial becomes a child of the run, with its parameters and values.

    A trial that failed is FAILED, one that was pruned is KILLED. The best value so far is logged to the run.
    """
    chosen, one_at_a_time = run or current("callback"), threading.Lock()

    def callback(study: Any, trial: Any) -> None:
        with one_at_a_time:
            child = init(chosen.project, chosen.experiment, trial.params, name=f"trial {trial.number}", parent=chosen,
                         mode=chosen.mode, url=chosen.server, token=chosen._token, dir=chosen.folder, capture=False)
            for step, value in sorted(trial.intermediate_values.items()):
                child.log({"intermediate": value}, step=step)
            values = dict(enumerate(trial.values or ()))
            child.log({"value" if len(values) == 1 else f"value/{n}": value for n, value in values.items()}, step=0)
            child.finish({"FAIL": "FAILED", "PRUNED": "KILLED"}.get(trial.state.name, "SUCCEEDED"))
            if len(study.directions) == 1 and values:
                chosen.log({"best_value": study.best_value}, step=trial.number)

    return callback


def grid_search(search: Any, run: Optional[Run] = None) -> None:
    """Log the results of a fitted GridSearchCV or RandomizedSearchCV: each candidate becomes a child of the run.

    A child has the candidate's parameters, and what cv_results_ has of it: means and deviations at step 0, and the
    score of each split with the split as its step.
    """
    chosen, results = run or current("callback"), search.cv_results_
    for number, params in enumerate(results["params"]):
        child = init(chosen.project, chosen.experiment, params, name=f"candidate {number}", parent=chosen,
                     mode=chosen.mode, url=chosen.server, token=chosen._token, dir=chosen.folder, capture=False)
        for name, column in results.items():
            if name.startswith(("mean_", "std_", "rank_")):
                child.log({name: column[number]}, step=0)
            elif name.startswith("split"):
                split, _, score = name[len("split"):].partition("_")
                child.log({"split_" + score: column[number]}, step=int(split))
        child.finish("FAILED" if math.isnan(float(next(v for k, v in results.items() if k.startswith("mean_test"))[number]))
                     else "SUCCEEDED")
    if hasattr(search, "best_score_"):
        chosen.summary["best_score"] = float(search.best_score_)
        chosen.config.update({"best": dict(search.best_params_)})
