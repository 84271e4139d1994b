"""Makes training libraries log their parameters, metrics and models automatically.

In each library, only the functions that train are replaced, when autolog is called or, if the library is not imported yet,
when it is imported. Training is logged to the current run. If no run is active, a run is started for the training and ends
with it. If calls of such functions are nested, for example in a grid search, only the outermost call is logged.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, Iterator, Literal, Sequence

from . import callback
from ._check import suggestion
from ._end import ending
from ._init import init
from ._patch import Undo, change, replace, restore
from ._run import Run, live
from ._value import tell
from ._wandb import Artifact

Library = Literal["sklearn", "xgboost", "lightgbm", "keras", "lightning", "transformers"]
Fit = Callable[..., Any]

_inside = threading.local()
_models = True


def autolog(*libraries: Library, log_models: bool = True, disable: bool = False) -> None:
    """Log training with the given libraries automatically. The default is all supported libraries.

    Supported are scikit-learn, XGBoost, LightGBM, Keras, Lightning and Transformers. log_models: store the trained model
    as an artifact. disable: undo an earlier call of autolog.
    """
    global _models
    for unknown in set(libraries) - set(_LIBRARIES):
        raise ValueError(f"autolog supports {', '.join(_LIBRARIES)}, not {unknown!r}{suggestion(unknown, _LIBRARIES)}")
    _models = log_models
    chosen: Sequence[str] = libraries or list(_LIBRARIES)
    for name in chosen:
        if disable:
            restore(name)
        else:
            change(name, *_LIBRARIES[name])


def _recorded(train: Callable[[Run], Any]) -> Any:
    """Call train with the current run, and return its result. If no run is active, start and end a run for the call."""
    if live:
        return train(live[-1])
    run = init()
    try:
        result = train(run)
    except BaseException as error:
        run.finish(*ending(type(error), error, error.__traceback__))
        raise
    run.finish()
    return result


def _outermost(fit: Fit, record: Callable[..., Any]) -> Fit:
    """Return a function that calls record(run, fit, arguments...). If it is called within another such call, it calls only
    fit."""
    def fitted(*args: Any, **kwargs: Any) -> Any:
        if getattr(_inside, "fitting", False):
            return fit(*args, **kwargs)
        _inside.fitting = True
        try:
            return _recorded(lambda run: record(run, fit, *args, **kwargs))
        finally:
            _inside.fitting = False

    return fitted


def _settings(run: Run, values: Dict[str, Any]) -> None:
    """Record the parameters that the run does not have yet."""
    simple = {name: value for name, value in values.items()
              if isinstance(value, (str, int, float, bool, list, tuple, dict, type(None))) or hasattr(value, "item")}
    run.config.setdefaults(simple)


def _model(run: Run, name: str, save: Callable[[str], Any]) -> None:
    """Store a model as an artifact. save writes the model to a path, as a file or folder."""
    if not _models:
        return
    with tempfile.TemporaryDirectory(prefix="tracker-") as folder:
        path = os.path.join(folder, name)
        try:
            save(path)
            if os.path.isdir(path):
                artifact = Artifact(name, "model")
                artifact.add_dir(path)
                run.log_artifact(artifact)
            else:
                run.log_artifact(path, name=name)
        except Exception as error:  # the model can't be saved
            tell(f"the model could not be stored: {type(error).__name__}: {error}")


# -- scikit-learn

def _sklearn(undo: Undo) -> None:
    from sklearn.base import BaseEstimator

    seen = set()

    def patch(kind: Any) -> None:
        if kind in seen or not kind.__module__.startswith("sklearn.") or "fit" not in kind.__dict__:
            return
        seen.add(kind)
        replace(kind, "fit", lambda fit: _outermost(fit, _fit_sklearn), undo)

    def below(kind: Any) -> Iterator[Any]:
        yield kind
        for one in kind.__subclasses__():
            yield from below(one)

    for kind in list(below(BaseEstimator)):
        patch(kind)
    own = BaseEstimator.__dict__.get("__init_subclass__")

    def made(cls: Any, **kwargs: Any) -> None:  # patches classes of modules that are imported later
        super(BaseEstimator, cls).__init_subclass__(**kwargs)
        patch(cls)

    BaseEstimator.__init_subclass__ = classmethod(made)  # type: ignore[arg-type]

    def restore() -> None:
        if own is None:
            del BaseEstimator.__init_subclass__
        else:
            BaseEstimator.__init_subclass__ = own

    undo.append(restore)


def _fit_sklearn(run: Run, fit: Fit, estimator: Any, *args: Any, **kwargs: Any) -> Any:
    _settings(run, {**estimator.get_params(deep=True), "estimator": type(estimator).__name__})
    result = fit(estimator, *args, **kwargs)
    if hasattr(estimator, "cv_results_") and hasattr(estimator, "best_params_"):
        callback.grid_search(estimator, run)
    elif hasattr(estimator, "score"):
        data = {name: kwargs[name] for name in ("X", "y") if name in kwargs}
        try:
            run.log({"training/score": float(estimator.score(*args[:2], **data))}, commit=False)
        except Exception as error:  # for example, the estimator has no score without y
            tell(f"there is no training score of {type(estimator).__name__}: {error}", once=f"score {type(estimator).__name__}")
    import pickle

    def save(path: str) -> None:
        with open(path, "wb") as file:
            pickle.dump(estimator, file)

    _model(run, "model.pkl", save)
    return result


# -- XGBoost and LightGBM

def _boosting(modules: Sequence[str], make: Callable[[Run], Any],
              save: Callable[[Any, str], Any], file: str) -> Callable[[Undo], None]:
    def record(run: Run, fit: Fit, params: Any, *args: Any, **kwargs: Any) -> Any:
        _settings(run, {**dict(params), "num_boost_round": kwargs.get("num_boost_round", args[1] if len(args) > 1 else None)})
        kwargs["callbacks"] = [*(kwargs.get("callbacks") or ()), make(run)]
        booster = fit(params, *args, **kwargs)
        _model(run, file, lambda path: save(booster, path))
        return booster

    def patch(undo: Undo) -> None:
        for module in modules:
            replace(importlib.import_module(module), "train", lambda fit: _outermost(fit, record), undo)

    return patch


# -- networks

def _keras(undo: Undo) -> None:
    import keras

    owner = next(kind for kind in keras.Model.__mro__ if "fit" in kind.__dict__)

    def record(run: Run, fit: Fit, model: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs["callbacks"] = [*(kwargs.get("callbacks") or ()), callback.keras(run)]
        result = fit(model, *args, **kwargs)
        _model(run, "model.keras", model.save)
        return result

    for kind in {owner, *(one for one in keras.Model.__subclasses__() if "fit" in one.__dict__)}:
        replace(kind, "fit", lambda fit: _outermost(fit, record), undo)


def _lightning(undo: Undo) -> None:
    if "lightning.pytorch" in sys.modules or "pytorch_lightning" not in sys.modules:
        from lightning.pytorch import Trainer
    else:
        from pytorch_lightning import Trainer

    def record(run: Run, fit: Fit, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(type(one).__name__ == "TrackerLogger" for one in trainer.loggers):
            trainer.loggers = [*trainer.loggers, callback.lightning(run)]
        result = fit(trainer, *args, **kwargs)
        if trainer.is_global_zero:
            _model(run, "model.ckpt", trainer.save_checkpoint)
        return result

    replace(Trainer, "fit", lambda fit: _outermost(fit, record), undo)


def _transformers(undo: Undo) -> None:
    from transformers.trainer import Trainer

    def record(run: Run, fit: Fit, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        trainer.add_callback(callback.transformers(run))
        result = fit(trainer, *args, **kwargs)
        if trainer.is_world_process_zero():
            _model(run, "model", trainer.save_model)
        return result

    replace(Trainer, "train", lambda fit: _outermost(fit, record), undo)


_LIBRARIES: Dict[str, Any] = {
    "sklearn": (("sklearn.base",), _sklearn),
    "xgboost": (("xgboost",), _boosting(("xgboost", "xgboost.sklearn"), callback.xgboost,
                                                lambda booster, path: booster.save_model(path), "model.ubj")),
    "lightgbm": (("lightgbm",), _boosting(("lightgbm", "lightgbm.sklearn"), callback.lightgbm,
                                                  lambda booster, path: booster.save_model(path), "model.txt")),
    "keras": (("keras",), _keras),
    "lightning": (("lightning.pytorch", "pytorch_lightning"), _lightning),
    "transformers": (("transformers.trainer",), _transformers),
}
"""For each library: modules, and a function that changes the library when one of the modules is imported."""
