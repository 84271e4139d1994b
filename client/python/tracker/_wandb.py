"""What scripts for W&B call and we name otherwise, or do without."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Union

from ._value import tell

if TYPE_CHECKING:
    Path = Union[str, os.PathLike[str]]

MISSING = {
    "sweep": "use Optuna with tracker.callback.optuna, or make a run for each set of parameters",
    "agent": "use Optuna with tracker.callback.optuna, or make a run for each set of parameters",
    "plot": "log a matplotlib figure or a tracker.Table",
    "Video": "keep the file with log_artifact",
    "Audio": "keep the file with log_artifact",
    "Object3D": "keep the file with log_artifact",
    "Molecule": "keep the file with log_artifact",
    "Graph": "log a tracker.Image of it",
    "use_artifact": "download it with tracker.Api",
    "restore": "download it with tracker.Api",
}
"""Names of W&B that are not here, and what there is instead."""


class Artifact:
    """Files under one name: run.log_artifact keeps each as NAME/FILE."""

    def __init__(self, name: str, type: str = "", description: Optional[str] = None, metadata: Any = None) -> None:
        self.name, self.type, self.description, self.metadata = name, type, description, metadata
        self.files: Dict[str, str] = {}

    def add_file(self, local_path: Path, name: Optional[str] = None, **_: Any) -> None:
        """Add a file, which is called name in it, or as it is called. FileNotFoundError without one."""
        path = os.path.abspath(os.fspath(local_path))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path} to add to the artifact")
        self.files[name or os.path.basename(path)] = path

    def add_dir(self, local_path: Path, name: Optional[str] = None, **_: Any) -> None:
        """Add all files in a folder and below it. NotADirectoryError without one."""
        top = os.path.abspath(os.fspath(local_path))
        if not os.path.isdir(top):
            raise NotADirectoryError(f"there is no folder {top} to add to the artifact")
        for folder, _folders, names in os.walk(top):
            for file in names:
                path = os.path.join(folder, file)
                inner = os.path.relpath(path, top).replace(os.sep, "/")
                self.files[f"{name}/{inner}" if name else inner] = path


class Settings(Dict[str, Any]):
    """Takes any settings, and has none."""


def login(key: Optional[str] = None, **_: Any) -> bool:
    """Do nothing: the sign-in is TRACKER_TOKEN, or what python -m tracker login has kept."""
    if key:
        tell("login does not take a key of W&B; sign in with: python -m tracker login", once="login")
    return True


class Names:
    """The methods of a run that have W&B's names."""

    log_artifact: Callable[..., None]
    url: Any

    def save(self, path: Path, **_: Any) -> None:
        """Keep a file, or those that a pattern such as "out/*.pt" matches, as artifacts; W&B's name for log_artifact."""
        import glob

        kept = 0
        for found in sorted(glob.glob(os.fspath(path), recursive=True)):
            if os.path.isfile(found):
                name = os.path.relpath(found).replace(os.sep, "/")
                self.log_artifact(found, name=os.path.basename(found) if name.startswith("..") else name)
                kept += 1
        if not kept:
            tell(f"save has found no file at {os.fspath(path)}")

    def watch(self, *_: Any, **__: Any) -> None:
        """Do nothing. Gradients are not recorded by themselves: log what you want to see of them."""
        tell("watch records nothing; log the norms of gradients that you want to see", once="watch")

    def define_metric(self, *_: Any, **__: Any) -> None:
        """Do nothing: of every metric, the last, least, greatest and mean value are kept, whatever it is."""
        tell("define_metric changes nothing: each metric has its last, least, greatest and mean value anyway, and the step "
             "that log was given", once="define_metric")

    def alert(self, title: str, text: str = "", **_: Any) -> None:
        """Print title and text, so that they are in the output that is kept. Nobody is sent a message."""
        print(f"tracker: alert: {title}" + (f": {text}" if text else ""), file=sys.stderr)

    def unwatch(self, *_: Any, **__: Any) -> None:
        """Do nothing, as watch."""

    def mark_preempting(self) -> None:
        """Do nothing: go on with init(resume="auto")."""

    def get_url(self) -> str:
        """W&B's name for url."""
        return str(self.url)
