"""Log machine-learning runs to a tracker server.

    import tracker

    with tracker.init(project="iris", experiment="sweep", config={"lr": 0.1}) as run:
        for step in range(1000):
            run.log({"train/loss": loss, "val": {"acc": acc}}, step=step)

What is logged goes into a queue; threads write it to a spool on disk and send it from there. No call raises or waits
because of the server, unless the run is strict.

tracker.init starts a run. tracker.log, config, summary, log_artifact, finish are those of the current run, tracker.run.
tracker.callback has callbacks for Keras, PyTorch Lightning, Hugging Face, XGBoost, LightGBM, Optuna and scikit-learn.
tracker.Api reads back. tracker.show shows the dashboard in a notebook. On the command line: python -m tracker --help.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from ._http import Refused, TrackerError, Unreachable
from ._init import current as _current
from ._init import finish, init
from ._run import Run, live

if TYPE_CHECKING:
    from . import callback as callback
    from ._api import Api
    from ._config import Config, Summary
    from ._media import Histogram, Html, Image, Table, Text
    from ._show import show
    from ._wandb import Artifact, Path, Settings, login

    run: Optional[Run]
    config: Config
    summary: Summary

__version__ = "0.1.0"
__all__ = ["Api", "Artifact", "Histogram", "Html", "Image", "Refused", "Run", "Settings", "Table", "Text", "TrackerError",
           "Unreachable", "alert", "callback", "config", "define_metric", "finish", "init", "log", "log_artifact", "login",
           "run", "save", "show", "summary", "unwatch", "watch"]

_PLACES = {"Api": "_api", "Artifact": "_wandb", "Histogram": "_media", "Html": "_media", "Image": "_media",
           "Settings": "_wandb", "Table": "_media", "Text": "_media", "login": "_wandb", "show": "_show"}
"""The modules of what is imported when it is first used, so that import tracker stays quick."""


def log(data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
    """Log to the current run, see Run.log."""
    _current("log").log(data, step, commit)


def log_artifact(path: Union[Path, Artifact], name: Optional[str] = None, description: str = "",
                 content_type: Optional[str] = None) -> None:
    """Keep a file as an artifact of the current run, see Run.log_artifact."""
    _current("log_artifact").log_artifact(path, name, description, content_type)


def save(path: Path, **_: Any) -> None:
    """Keep files as artifacts of the current run, see Run.save."""
    _current("save").save(path)


def watch(*_: Any, **__: Any) -> None:
    """Do nothing but say so, see Run.watch."""
    _current("watch").watch()


def unwatch(*_: Any, **__: Any) -> None:
    """Do nothing, as watch."""


def define_metric(*_: Any, **__: Any) -> None:
    """Do nothing but say so, see Run.define_metric."""
    _current("define_metric").define_metric()


def alert(title: str, text: str = "", **_: Any) -> None:
    """Print title and text, see Run.alert."""
    _current("alert").alert(title, text)


def __getattr__(name: str) -> Any:
    if name in ("config", "summary"):
        return getattr(_current(name), name)
    if name == "run":
        return live[-1] if live else None
    if name == "callback":
        return importlib.import_module("tracker.callback")
    if name in _PLACES:
        return getattr(importlib.import_module("tracker." + _PLACES[name]), name)
    from ._wandb import MISSING

    advice = f"; {MISSING[name]}" if name in MISSING else ""
    raise AttributeError(f"module 'tracker' has no attribute {name!r}{advice}")


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
