"""Log machine-learning runs to a tracker server.

    import tracker

    with tracker.init(project="iris", experiment="sweep", config={"lr": 0.1}) as run:
        for step in range(1000):
            run.log({"train/loss": loss, "val": {"acc": acc}}, step=step)

A call of log appends its numbers to a spool, a file on disk, and another thread sends the spool to the server. If the
server fails or is slow, no call raises an error or waits, except in a strict run.

tracker.init starts a run. tracker.log, config, summary, log_artifact and finish act on the current run, tracker.run.
tracker.callback has callbacks for Keras, PyTorch Lightning, Hugging Face, XGBoost, LightGBM, Optuna and scikit-learn.
tracker.Api reads runs from the server. tracker.show shows the dashboard in a notebook. python -m tracker --help lists the
commands.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional, Sequence, Union

from ._check import suggestion as _suggestion
from ._http import Refused, TrackerError, Unreachable
from ._init import current as _current
from ._init import finish, init, show
from ._init import pending as _pending
from ._run import Run
from ._run import idle as _idle
from ._run import live as _live

if TYPE_CHECKING:
    from . import callback as callback
    from ._api import Api
    from ._autolog import autolog
    from ._config import Config, Summary
    from ._media import Audio, Histogram, Html, Image, Table, Text, Video
    from ._upload import Upload
    from ._version import Version
    from ._wandb import Artifact, Path, Settings, login

    run: Optional[Run]
    config: Config
    summary: Summary

__version__ = "0.1.0"
__all__ = ["Api", "Artifact", "Audio", "Histogram", "Html", "Image", "Refused", "Run", "Settings", "Table", "Text",
           "TrackerError", "Unreachable", "Video", "alert", "autolog", "callback", "config", "define_metric", "finish",
           "init", "log", "log_artifact", "log_metric", "log_metrics", "log_param", "log_params", "login", "run", "save",
           "set_tag", "set_tags", "show", "summary", "unwatch", "use_artifact", "watch"]

_PLACES = {"Api": "_api", "Artifact": "_wandb", "Audio": "_media", "Histogram": "_media", "Html": "_media",
           "Image": "_media", "Settings": "_wandb", "Table": "_media", "Text": "_media", "Video": "_media",
           "autolog": "_autolog", "login": "_wandb"}
"""The modules of names that are imported when they are first used. This keeps import tracker fast."""


def log(data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
    """Log values to the current run. See Run.log."""
    _current("log").log(data, step, commit)


def log_artifact(path: Union[Path, Artifact], name: Optional[str] = None, description: str = "",
                 content_type: Optional[str] = None, type: Optional[str] = None, aliases: Sequence[str] = (),
                 tags: Sequence[str] = (), metadata: Optional[Dict[str, Any]] = None) -> Upload:
    """Store a file as an artifact of the current run. See Run.log_artifact."""
    return _current("log_artifact").log_artifact(path, name, description, content_type, type, aliases, tags, metadata)


def use_artifact(artifact: str, type: Optional[str] = None) -> Version:
    """Return a version of an artifact. See Run.use_artifact."""
    return _current("use_artifact").use_artifact(artifact, type)


def save(path: Optional[Path] = None, base_path: Any = None, policy: Any = None) -> None:
    """Store files as artifacts of the current run. See Run.save."""
    _current("save").save(path, base_path, policy)


def log_metric(key: str, value: Any, step: Optional[int] = None) -> None:
    """Log one number to the current run."""
    _current("log_metric").log_metric(key, value, step)


def log_metrics(metrics: Dict[str, Any], step: Optional[int] = None) -> None:
    """Log numbers to the current run. See Run.log."""
    _current("log_metrics").log_metrics(metrics, step)


def log_param(key: str, value: Any) -> None:
    """Record one parameter of the current run."""
    _current("log_param").log_param(key, value)


def log_params(params: Dict[str, Any]) -> None:
    """Record parameters of the current run."""
    _current("log_params").log_params(params)


def set_tag(key: str, value: Any = None) -> None:
    """Add the tag key=value to the current run. If value is None, the tag is key."""
    _current("set_tag").set_tag(key, value)


def set_tags(tags: Union[Dict[str, Any], Iterable[str]]) -> None:
    """Add tags to the current run."""
    _current("set_tags").set_tags(tags)


def watch(models: Any = None, criterion: Any = None, log: Any = None, log_freq: Any = None, idx: Any = None,
          log_graph: Any = None) -> None:
    """Print that watch has no effect. See Run.watch."""
    _current("watch").watch()


def unwatch(models: Any = None) -> None:
    """Do nothing. watch has no effect that could be undone."""


def define_metric(name: Any = None, step_metric: Any = None, step_sync: Any = None, hidden: Any = None,
                  summary: Any = None, goal: Any = None, overwrite: Any = None) -> None:
    """Define how pages show the metric name. See Run.define_metric."""
    _current("define_metric").define_metric(name, step_metric, step_sync, hidden, summary, goal, overwrite)


def alert(title: str, text: str = "", level: Any = None, wait_duration: Any = None) -> None:
    """Print title and text. See Run.alert."""
    _current("alert").alert(title, text)


class _Module(types.ModuleType):
    """The type of this module. It lets an assignment to tracker.config set parameters."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "config":
            active = [*_idle, *_live]
            if active:
                active[-1].config.update(value)
            else:
                _pending.update(value)
            return
        if name in ("run", "summary"):
            raise AttributeError(f"tracker.{name} can't be set")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Module

if not TYPE_CHECKING:  # type checkers that saw __getattr__ would accept misspelled names
    def __getattr__(name: str) -> Any:
        if name in ("config", "summary"):
            return getattr(_current(name), name)
        if name == "run":
            return [None, *_idle, *_live][-1]
        if name == "callback":
            return importlib.import_module("tracker.callback")
        if name in _PLACES:
            return getattr(importlib.import_module("tracker." + _PLACES[name]), name)
        from ._wandb import MISSING

        advice = f"; {MISSING[name]}" if name in MISSING else _suggestion(name, __all__)
        raise AttributeError(f"module 'tracker' has no attribute {name!r}{advice}")


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
