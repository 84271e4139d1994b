"""Names and arguments for compatibility with W&B and MLflow: aliases of functions, and names without an equivalent."""

from __future__ import annotations

import json
import os
import sys
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional, Union

from ._check import unused
from ._value import tell

if TYPE_CHECKING:
    Path = Union[str, os.PathLike[str]]

MISSING = {
    "sweep": "use Optuna with tracker.callback.optuna, or create a run for each set of parameters",
    "agent": "use Optuna with tracker.callback.optuna, or create a run for each set of parameters",
    "plot": "log a matplotlib figure or a tracker.Table",
    "Object3D": "store the file with log_artifact",
    "Molecule": "store the file with log_artifact",
    "Graph": "log a tracker.Image of it",
    "restore": "download the file with tracker.Api",
    "setup": "no setup is required",
    "teardown": "call tracker.finish",
    "tensorboard": "call init with sync_tensorboard=True, or with the folder of the event files",
    "log_code": "git's commit and diff are recorded automatically; store other files with log_artifact",
    "util": "an id can be any name, and init makes up an id if none is given",
    "AlertLevel": "alert prints its text at any level",
    "Plotly": "log a tracker.Html of it: tracker.Html(figure.to_html())",
    "Classes": "log a tracker.Table",
}
"""Names that only W&B has, with advice on what to use."""


def environment(ours: str, theirs: str) -> Optional[str]:
    """Return the value of the variable ours. If it is not set, return the value of W&B's variable theirs, and report that
    once."""
    found = os.environ.get(ours) if ours else None
    if found:
        return found
    found = os.environ.get(theirs)
    if found:
        tell(f"using {theirs}, because {ours or 'an argument of init'} is not set", once=theirs)
    return found or None


def mode_of_environment() -> Optional[str]:
    """Return TRACKER_MODE, or the mode according to WANDB_MODE and WANDB_DISABLED."""
    if not os.environ.get("TRACKER_MODE") and os.environ.get("WANDB_DISABLED", "").lower() in ("1", "true", "yes"):
        tell("using WANDB_DISABLED, because TRACKER_MODE is not set", once="WANDB_DISABLED")
        return "disabled"
    found = environment("TRACKER_MODE", "WANDB_MODE")
    return {"dryrun": "offline", "run": "online", "shared": "online"}.get(found or "", found)


class Artifact:
    """Files under one name. run.log_artifact stores each file as NAME/FILE, and all files together as a version of NAME."""

    def __init__(self, name: str, type: str = "", description: Optional[str] = None, metadata: Any = None) -> None:
        self.name, self.type, self.description, self.metadata = name, type, description, metadata
        self.files: Dict[str, str] = {}
        self._folder: Any = None  # temporary folder for the files that new_file creates

    def add_file(self, local_path: Path, name: Optional[str] = None, is_tmp: Any = None, skip_cache: Any = None,
                 policy: Any = None, overwrite: Any = None) -> None:
        """Add a file. name is by default the file's own name. Raises FileNotFoundError if the file does not exist."""
        path = os.path.abspath(os.fspath(local_path))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path} does not exist, so it can't be added to the artifact")
        self.files[name or os.path.basename(path)] = path

    def add_dir(self, local_path: Path, name: Optional[str] = None, skip_cache: Any = None, policy: Any = None,
                merge: Any = None) -> None:
        """Add all files in and below a folder. Raises NotADirectoryError if the folder does not exist."""
        top = os.path.abspath(os.fspath(local_path))
        if not os.path.isdir(top):
            raise NotADirectoryError(f"{top} is not a folder, so it can't be added to the artifact")
        for folder, _folders, names in os.walk(top):
            for file in names:
                path = os.path.join(folder, file)
                inner = os.path.relpath(path, top).replace(os.sep, "/")
                self.files[f"{name}/{inner}" if name else inner] = path

    def new_file(self, name: str, mode: str = "w", encoding: Optional[str] = None) -> IO[Any]:
        """Create a file of the artifact and open it for writing. Close the file before you log the artifact."""
        path = self._new(name)
        self.files[name] = path
        return open(path, mode, encoding=encoding if "b" in mode else encoding or "utf-8")

    def add(self, obj: Any, name: str, overwrite: Any = None) -> None:
        """Add an image, a table or another value that can be logged. Raises TypeError for other values."""
        from ._media import drawing

        found = drawing(obj)
        if found is None:
            raise TypeError(f"a {type(obj).__name__} can't be added to an artifact; write it to a file and add the file")
        file = found.draw()
        with self.new_file(name if name.endswith(file.suffix) else name + file.suffix, "wb") as out:
            out.write(file.data)

    def add_reference(self, uri: Union[str, Path], name: Optional[str] = None, checksum: Any = None,
                      max_objects: Any = None) -> None:
        """Add a file that contains the address uri. Nothing is downloaded."""
        text = os.fspath(uri)
        with self.new_file((name or text.rstrip("/").rpartition("/")[2] or "reference") + ".uri") as out:
            out.write(text + "\n")

    def _new(self, name: str) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.TemporaryDirectory(prefix="tracker-")
        path = os.path.normpath(os.path.join(self._folder.name, *name.split("/")))
        if not path.startswith(self._folder.name + os.sep):
            raise ValueError(f"{name!r} is not the name of a file in an artifact")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path


class Settings(Dict[str, Any]):
    """Accepts any settings and ignores them."""


def login(key: Optional[str] = None, anonymous: Any = None, relogin: Any = None, host: Any = None, force: Any = None,
          timeout: Any = None, verify: Any = None) -> bool:
    """Do nothing. To sign in, set TRACKER_TOKEN or run python -m tracker login."""
    if key:
        tell("login does not accept W&B's keys; sign in with: python -m tracker login", once="login")
    return True


class Names:
    """The methods of a run that are named as in W&B or MLflow."""

    id: str
    experiment: str
    log: Callable[..., None]
    log_artifact: Callable[..., Any]
    tag: Callable[..., None]
    config: Any
    url: Any
    recorder: Any

    def save(self, path: Optional[Path] = None, base_path: Any = None, policy: Any = None) -> None:
        """Store a file as an artifact, or all files that match a pattern such as "out/*.pt".

        The content of the file at the time of the call is stored. base_path: the folder to which artifact names are
        relative; by default, the working folder. Without path, save does nothing, because names of runs are always stored.
        """
        if path is None:
            return
        import glob

        if policy == "live":
            tell("save stores the current content of files; policy='live' has no effect", once="save live")
        kept, base = 0, os.fspath(base_path) if base_path else os.curdir
        for found in sorted(glob.glob(os.fspath(path), recursive=True)):
            if os.path.isfile(found):
                name = os.path.relpath(found, base).replace(os.sep, "/")
                self.log_artifact(found, name=os.path.basename(found) if name.startswith("..") else name)
                kept += 1
        if not kept:
            tell(f"save found no file that matches {os.fspath(path)}")

    def watch(self, models: Any = None, criterion: Any = None, log: Any = None, log_freq: Any = None, idx: Any = None,
              log_graph: Any = None) -> None:
        """Do nothing. Gradients are not recorded automatically. Log the values that you need."""
        tell("watch has no effect; use log to record gradient norms", once="watch")

    def define_metric(self, name: Any = None, step_metric: Any = None, step_sync: Any = None, hidden: Any = None,
                      summary: Any = None, goal: Any = None, overwrite: Any = None) -> None:
        """Define how pages show the metric name.

        If name ends with *, the definition applies to all metrics whose names begin with the part before it.

        step_metric: the metric on the X axis of its charts. hidden: whether charts omit the metric at first. goal:
        "minimize" or "maximize"; the goal of the only metric with a goal becomes the objective of the experiment.
        summary="min" and summary="max" also set the goal. Other summaries, step_sync and overwrite have no effect: the
        last, smallest, largest and mean values are always stored.
        """
        if not isinstance(name, str) or not name or "*" in name[:-1]:
            raise ValueError(f"{name!r} is not the name of a metric, or the start of names with a * at the end")
        summaries = set(summary.split(",")) if isinstance(summary, str) else set()
        if goal is None and len(summaries & {"min", "max"}) == 1:
            goal = "minimize" if "min" in summaries else "maximize"
        if goal not in (None, "minimize", "maximize"):
            raise ValueError(f"the goal of {name} must be 'minimize' or 'maximize', not {goal!r}")
        found: Dict[str, Any] = {}
        if step_metric is not None:
            found["step_metric"] = str(step_metric)
        if hidden:
            found["hidden"] = True
        if goal is not None:
            found["goal"] = goal
        self.recorder.request("PATCH", "/property/iteration/{id}", {"properties": {"tracker.metric." + name: json.dumps(found)}})

    def alert(self, title: str, text: str = "", level: Any = None, wait_duration: Any = None) -> None:
        """Print title and text, so that they are part of the recorded output. No notification is sent."""
        print(f"tracker: alert: {title}" + (f": {text}" if text else ""), file=sys.stderr)

    def unwatch(self, models: Any = None) -> None:
        """Do nothing. watch has no effect that could be undone."""

    def log_code(self, root: Any = None, name: Any = None, include_fn: Any = None, exclude_fn: Any = None) -> None:
        """Print that log_code has no effect. The commit and the uncommitted changes are recorded automatically."""
        tell("log_code has no effect: the commit and the diff are recorded automatically; store other files with log_artifact",
             once="log_code")

    def mark_preempting(self) -> None:
        """Do nothing. To continue the run later, call init(resume="auto")."""

    def get_url(self) -> str:
        """Return url. The name is W&B's."""
        return str(self.url)

    @property
    def group(self) -> str:
        """The experiment. The name is W&B's."""
        return self.experiment

    @property
    def entity(self) -> str:
        """Always empty, because projects do not belong to teams."""
        return ""

    def link_artifact(self, artifact: Any = None, target_path: Any = None, aliases: Any = None) -> None:
        """Print how to create a model version."""
        unused("link_artifact", {"artifact": True})
        tell("create a model version from the artifact in the dashboard or with the API", once="link_artifact")

    # -- MLflow

    def log_metric(self, key: str, value: Any, step: Optional[int] = None) -> None:
        """Log one number."""
        self.log({key: value}, step)

    def log_metrics(self, metrics: Dict[str, Any], step: Optional[int] = None) -> None:
        """Log numbers, as log does. The name is MLflow's."""
        self.log(metrics, step)

    def log_param(self, key: str, value: Any) -> None:
        """Record one parameter."""
        self.config[key] = value

    def log_params(self, params: Dict[str, Any]) -> None:
        """Record several parameters."""
        self.config.update(params)

    def set_tag(self, key: str, value: Any = None) -> None:
        """Add the tag key=value. If value is None, the tag is key."""
        self.tag(str(key) if value is None else f"{key}={value}")

    def set_tags(self, tags: Union[Dict[str, Any], Iterable[str]]) -> None:
        """Add several tags."""
        for key in tags:
            self.set_tag(key, tags[key] if isinstance(tags, dict) else None)
