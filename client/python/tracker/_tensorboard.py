"""Reads TensorBoard's event files while they are written, and logs their values to a run."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Union

from ._media import Histogram, Image, Text
from ._object import drawings
from ._patch import Undo, change, replace
from ._recorder import Recorder
from ._tfevents import MOST_TAGS, Damaged, Event, event, records
from ._value import tell

PERIOD = 1.0
"""Minimum seconds between two polls of the files."""
SHARE = 20
"""The pause between two polls is at least SHARE times as long as the last search for files."""
MOST_ENTRIES = 20_000
"""Maximum number of directory entries that a search for event files visits."""
MOST_MEDIA = 2000
"""Maximum number of pictures, texts and histograms from event files that a run stores."""
FLUSH_TIMEOUT = 5.0
"""Maximum seconds that the end of a run waits for writers to flush their buffers."""
PARTS = frozenset(("train", "training", "val", "valid", "validation", "eval", "evaluation", "test"))
"""Names of folders that hold the parts of one training."""
Settings = Callable[[Dict[str, Any]], None]
_WRITER = re.compile(r"tfevents\.\d+\.(.+)\.(\d+)\.\d+(?:\.|$)")
_following: "List[Follower]" = []
"""Active followers of this process's writers. The last follower gets new writers."""


def follow(recorder: Recorder, settings: Settings, where: Union[bool, str, Iterable[str]],
           held: Callable[[], Optional[str]] = lambda: None) -> Callable[[], None]:
    """Log the values of event files until the returned function is called.

    where: True logs the values that writers of this process write from now on. Otherwise, where is a folder or several
        folders; new event files in and below them are logged.
    settings: a function that records hyperparameters.
    held: a function that returns a reason not to read now, or None. A reason other than "" is printed once when
        there are files to read.
    """
    follower = Follower(recorder, settings, held)
    if where is True:
        for module in ("tensorboard.summary.writer.event_file_writer", "tensorboardX.event_file_writer"):
            change(module.partition(".")[0], [module], _changer(module))
        change("tensorflow", ["tensorflow.python.ops.summary_ops_v2"], _change_tensorflow)
        _following.append(follower)
    else:
        for folder in [where] if isinstance(where, (str, os.PathLike)) else list(where or ()):
            follower.watch(os.fspath(folder), deep=True)
    recorder.background("tracker-tensorboard", follower.run)
    return follower.finish


def _changer(module: str) -> Callable[[Undo], None]:
    def make(undo: Undo) -> None:
        replace(sys.modules[module].EventFileWriter, "__init__", _noted, undo)

    return make


def _change_tensorflow(undo: Undo) -> None:
    module = sys.modules["tensorflow.python.ops.summary_ops_v2"]
    before = module.create_file_writer_v2
    replace(module, "create_file_writer_v2", _noted_folder, undo)
    public = sys.modules.get("tensorflow._api.v2.summary")
    if public is not None and public.__dict__.get("create_file_writer") is before:
        replace(public, "create_file_writer", _noted_folder, undo)


def _noted(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a constructor that creates a writer with make, and adds the writer and its folder to the follower."""
    def noted(self: Any, logdir: Any, *args: Any, **kwargs: Any) -> None:
        follower = _follower(logdir)
        make(self, logdir, *args, **kwargs)
        if follower is not None:
            follower.writers.append(weakref.ref(self))

    return noted


def _noted_folder(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that creates a TensorFlow writer with make, and adds the writer and its folder to the follower."""
    def noted(logdir: Any, *args: Any, **kwargs: Any) -> Any:
        follower = _follower(logdir)
        made = make(logdir, *args, **kwargs)
        if follower is not None and hasattr(made, "flush"):
            follower.writers.append(weakref.ref(made))
        return made

    return noted


def _follower(logdir: Any) -> "Optional[Follower]":
    """Return the follower for a writer that is about to be created. The follower watches logdir from now on."""
    if not _following or not isinstance(logdir, (str, os.PathLike)):
        return None
    if _following[-1].process != os.getpid():
        tell("event files that a worker process writes are not logged; log to the run in the worker", once="tensorboard worker")
        return None
    _following[-1].watch(os.fspath(logdir))
    return _following[-1]


class Follower:
    """Reads event files as they grow, and logs their values. Files are closed between two polls."""

    def __init__(self, recorder: Recorder, settings: Settings, held: Callable[[], Optional[str]]) -> None:
        self.process = os.getpid()
        self.writers: "List[weakref.ReferenceType[Any]]" = []  # this process's writers, to be flushed at the end
        self._recorder, self._settings, self._held = recorder, settings, held
        self._folders: Dict[str, bool] = {}  # watched folders; True if their subfolders are also watched
        self._others: Set[str] = set()  # event files that existed before, or that another program writes
        self._files: Dict[str, int] = {}  # bytes read of each file
        self._plugins: Dict[str, Dict[str, str]] = {}  # plugins by folder and tag
        self._begun: Dict[str, Set[str]] = {}  # metrics in each file since its last restart
        self._restarts: Dict[str, int] = {}  # step of the last restart in each file
        self._latest: Dict[str, int] = {}  # largest step of each metric
        self._upwards: Set[str] = set()  # folders with hyperparameters; their metrics belong to the parent folder
        self._root: Optional[str] = None
        self._media = 0
        self._busy = threading.Lock()
        self._stop = threading.Event()

    def watch(self, folder: str, deep: bool = False) -> None:
        """Log new event files in folder. If deep is set, also log new event files below folder."""
        if "://" in folder:
            tell(f"the event files in {folder} are not logged: only folders of this machine can be read", once=folder)
            return
        folder = os.path.abspath(folder)
        if folder in self._folders:
            return
        self._others.update(path for path in find(folder, deep) if path not in self._files)
        self._folders = {**self._folders, folder: deep}

    def run(self) -> None:
        """Poll the files until finish is called."""
        wait = PERIOD
        while not self._stop.wait(wait) and not self._recorder.finished:
            wait = max(PERIOD, SHARE * self.poll())

    def poll(self) -> float:
        """Log new data. Return the seconds spent searching for files."""
        with self._busy:
            begun = time.monotonic()
            found = {path for folder, deep in self._folders.items() for path in find(folder, deep)}
            for path in sorted(found - self._others - self._files.keys(), key=lambda path: (path.count(os.sep), path)):
                if _is_of_another(path):
                    self._others.add(path)
                else:
                    self._files[path] = 0
            took = time.monotonic() - begun
            held = self._held()
            if held is not None:
                if held and self._files:
                    tell(held, once=held)
                return took
            for path in self._files:
                self._read(path)
            return took

    def finish(self) -> None:
        """Flush the writers of this process, read their files, and stop."""
        if self in _following:
            _following.remove(self)
        self._stop.set()
        if self.writers:
            # A signal might have interrupted this thread inside a writer that holds a lock, so another thread flushes.
            flushing = threading.Thread(target=self._flush, name="tracker-tensorboard-flush", daemon=True)
            flushing.start()
            flushing.join(FLUSH_TIMEOUT)
        if self._busy.acquire(timeout=FLUSH_TIMEOUT):
            self._busy.release()
            self.poll()

    def _flush(self) -> None:
        for one in self.writers:
            writer = one()
            if writer is not None:
                try:
                    writer.flush()
                except Exception:  # the writer is closed, and has flushed its data
                    continue

    # -- reading

    def _read(self, path: str) -> None:
        folder = os.path.dirname(path)
        plugins = self._plugins.setdefault(folder, {})
        try:
            size = os.path.getsize(path)
            if size < self._files[path]:
                self._files[path] = 0  # the file was replaced
                self._begun.pop(path, None)
            if size == self._files[path]:
                return
            for record in records(path, self._files[path]):
                self._files[path] = record.end
                if record.fault:
                    tell(f"{record.fault}; it is omitted")
                    continue
                try:
                    found = event(record.data, plugins)
                except Exception as error:  # the data might be anything
                    tell(f"the record before byte {record.end} of {path} can't be read, and is omitted: {error}")
                    continue
                self._log(path, found)
        except Damaged as error:
            tell(f"{error}; later bytes of the file are not read", once=f"damaged {path}")
        except OSError as error:
            tell(f"{path} can't be read: {error.strerror or error}", once=f"unreadable {path}")

    def _log(self, path: str, found: Event) -> None:
        folder, numbers = os.path.dirname(path), {}  # type: str, Dict[str, float]
        if found.start and found.step >= 0:  # the writer was created with purge_step
            self._begun[path], self._restarts[path] = set(), found.step
        for value in found.values:
            if value.kind == "hparams":
                if os.path.basename(folder) not in PARTS:
                    self._upwards.add(folder)
                self._settings(value.value)
            elif value.kind == "scalar":
                numbers[self._name(folder, value.tag)] = value.value
            elif value.kind == "other":
                tell(f"{value.tag} in event files is not logged: the plugin {value.value} is not supported",
                     once=f"plugin {value.value}")
            else:
                self._keep(self._name(folder, value.tag), value.kind, value.value, found.step)
        if numbers:
            if folder not in self._upwards:
                self._rewind(path, numbers, found.step)
            self._recorder.log(numbers, found.step, found.wall_time if 0 < found.wall_time < 1 << 33 else time.time())

    def _rewind(self, path: str, names: Iterable[str], step: int) -> None:
        """Remove the points of a metric from step on if a file begins the metric at a step that was logged before.

        In this case, the program was restarted from a checkpoint.
        """
        begun, resumed = self._begun.setdefault(path, set()), self._recorder.begin.get("resume")
        for name in names:
            latest = self._latest.get(name)
            if name not in begun and len(begun) < MOST_TAGS:
                begun.add(name)
                first = min(step, self._restarts.get(path, step))
                if first <= latest if latest is not None else resumed:
                    self._recorder.rewind(name, first)
                    latest = None
            if name in self._latest or len(self._latest) < MOST_TAGS:
                self._latest[name] = step if latest is None else max(step, latest)

    def _keep(self, name: str, kind: str, value: Any, step: int) -> None:
        if self._media >= MOST_MEDIA:
            tell(f"only the first {MOST_MEDIA} pictures, texts and histograms of the event files are stored", once="event media")
            return
        try:
            media: Any = Text(value) if kind == "text" else Histogram(np_histogram=value) if kind == "histogram" else \
                [Image(one) for one in value]
        except (TypeError, ValueError) as error:
            tell(f"{name} in event files is not stored: {error}", once=f"event media {name}")
            return
        self._media += 1
        self._recorder.draw(name, drawings(name.rpartition("/text_summary")[0] or name, media, step))

    def _name(self, folder: str, tag: str) -> str:
        """Return the metric name for a tag in an event file in folder."""
        place = self._place(os.path.dirname(folder) if folder in self._upwards and folder != self._root else folder)
        if not place:
            return tag
        above, _, last = place.rpartition("/")
        flat = tag.replace("/", "_") + "_"
        if last.startswith(flat):  # PyTorch's add_scalars, which makes a folder for each line of a chart
            return f"{above}/{tag}/{last[len(flat):]}".lstrip("/")
        if place.startswith(tag + "/"):  # tensorboardX's add_scalars, whose folder contains the tag
            return place
        return f"{place}/{tag}"

    def _place(self, folder: str) -> str:
        """Return folder relative to the first folder with an event file, with slashes. Return "" for that folder."""
        if self._root is None:
            self._root = os.path.dirname(folder) if os.path.basename(folder) in PARTS else folder
        for top in (self._root, os.path.dirname(self._root)):
            place = os.path.relpath(folder, top)
            if place == os.curdir:
                return ""
            if place.split(os.sep)[0] != os.pardir:
                return place.replace(os.sep, "/")
        return os.path.basename(folder)


def find(folder: str, deep: bool) -> Iterator[str]:
    """Yield the paths of the event files in folder. If deep is set, search below folder, too.

    At most MOST_ENTRIES entries are visited. Links are followed. Hidden folders and folders of installed packages are
    skipped.
    """
    left, seen, waiting = MOST_ENTRIES, set(), [folder]
    while waiting:
        inside = waiting.pop(0)
        try:
            entries = list(os.scandir(inside))
        except OSError:
            continue  # the folder does not exist yet, or can't be read
        for entry in entries:
            left -= 1
            if left < 0:
                tell(f"{folder} has too many entries to search for event files; name the folder of the event files",
                     once="find " + folder)
                return
            try:
                if "tfevents" in entry.name and entry.is_file():
                    yield os.path.join(inside, entry.name)
                elif deep and entry.name[0] != "." and entry.name not in ("node_modules", "site-packages", "__pycache__") \
                        and entry.is_dir():
                    real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                    if real not in seen:
                        seen.add(real)
                        waiting.append(entry.path)
            except OSError:
                continue


def _is_of_another(path: str) -> bool:
    """Return whether another program is writing an event file. Descendants of this process are not other programs.

    The name of an event file contains host and process id, except for files of tensorboardX.
    """
    named = _WRITER.search(os.path.basename(path))
    if named is None or named.group(1) != socket.gethostname():
        return False
    number: Optional[int] = int(named.group(2))
    while number != os.getpid():
        number = _parent(int(number or 0))
        if not number:
            return number == 0
    return False


def _parent(number: int) -> Optional[int]:
    """Return the parent's id of a process on Linux; 0 if it has no parent. Return None if the process has ended, and on
    other systems."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def folders_of(parameters: Dict[str, str]) -> Sequence[str]:
    """Return the folders outside of the working folder that a program's options name as output folders."""
    found: List[str] = []
    for name, value in parameters.items():
        if re.search(r"log|out|tensorboard|tb|save|work|result|checkpoint", name, re.I):
            path = os.path.abspath(os.path.expanduser(value))
            if os.sep in value and os.path.relpath(path).split(os.sep)[0] == os.pardir and os.path.dirname(path) != path:
                found.append(path)
    return found
