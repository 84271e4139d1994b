"""Log machine-learning runs to a tracker server.

    import tracker

    with tracker.init(project="iris", experiment="sweep", config={"lr": 0.1}) as run:
        for step in range(1000):
            run.log({"train/loss": loss, "val": {"acc": acc}}, step=step)

What is logged goes into a queue; threads write it to a spool on disk and send it from there. No call raises or waits
because of the server, unless the run is strict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

from ._http import Refused, TrackerError, Unreachable
from ._init import current as _current
from ._init import finish, init
from ._run import Run

if TYPE_CHECKING:
    from ._api import Api
    from ._media import Histogram, Html, Image, Table, Text

__version__ = "0.1.0"
__all__ = ["Api", "Histogram", "Html", "Image", "Refused", "Run", "Table", "Text", "TrackerError", "Unreachable",
           "config", "finish", "init", "log", "log_artifact", "run", "save", "summary", "watch"]


def log(data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
    """Log to the current run, see Run.log."""
    _current("log").log(data, step, commit)


def log_artifact(path: Any, name: Optional[str] = None, description: str = "", content_type: Optional[str] = None) -> None:
    """Keep a file as an artifact of the current run, see Run.log_artifact."""
    _current("log_artifact").log_artifact(path, name, description, content_type)


def save(path: Any, **_: Any) -> None:
    """Keep files as artifacts of the current run, see Run.save."""
    _current("save").save(path)


def watch(*_: Any, **__: Any) -> None:
    """Do nothing but say so, see Run.watch."""
    _current("watch").watch()


def __getattr__(name: str) -> Any:
    if name in ("config", "summary"):
        return getattr(_current(name), name)
    if name == "run":
        from ._run import live

        return live[-1] if live else None
    if name == "Api":
        from ._api import Api

        return Api
    if name in ("Histogram", "Html", "Image", "Table", "Text"):
        from . import _media

        return getattr(_media, name)
    raise AttributeError(f"module 'tracker' has no attribute {name!r}")
