"""Starts runs, and ends them when the process does."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import signal
import sys
import threading
from typing import Any, Dict, Iterable, Optional, Tuple, Union

from . import _check
from ._config import as_mapping
from ._finish import drain, ending
from ._http import TrackerError, service_url
from ._run import Run, live
from ._value import tell, uuid7

CAPTURED = frozenset(("git", "command", "host", "packages", "system", "output"))
"""What belongs to a run and is recorded without asking."""
REINIT = (None, True, False, "default", "finish_previous", "return_previous", "create_new")
OF_WANDB = frozenset(("entity", "job_type", "group", "settings", "save_code", "anonymous", "allow_val_change", "force",
                      "config_include_keys", "config_exclude_keys", "magic", "monitor_gym", "sync_tensorboard"))
"""Further arguments of W&B's init."""

_ended: Dict[str, Any] = {}  # how the process ends, when it is not in good order
_installed = False
_signals: Dict[int, Any] = {}


def spool_folder(folder: Optional[str] = None) -> str:
    """Where spools lie: folder, else TRACKER_SPOOL, else .tracker/spool in the home folder."""
    chosen = folder or os.environ.get("TRACKER_SPOOL") or os.path.join(os.path.expanduser("~"), ".tracker", "spool")
    return os.path.abspath(chosen)


def init(project: Optional[str] = None, experiment: Optional[str] = None, config: Any = None, *,
         name: Optional[str] = None, notes: Optional[str] = None, tags: Union[str, Iterable[str]] = (),
         parent: Union[None, str, Run] = None, resume: Union[None, bool, str] = None, id: Optional[str] = None,
         mode: Optional[str] = None, url: Optional[str] = None, token: Optional[str] = None, strict: bool = False,
         capture: Union[bool, Iterable[str]] = True, dir: Optional[str] = None,
         reinit: Union[None, bool, str] = None, quiet: Optional[bool] = None, **others: Any) -> Run:
    """Start a run in an experiment of a project; both are found by their name, or made.

    project: its name; without it TRACKER_PROJECT, or the name of the working folder.
    experiment: its name; without it TRACKER_EXPERIMENT, or "default".
    config: the parameters: a dictionary, or an object with attributes such as argparse makes.
    name, notes, tags: of the run. Without a name the server makes one up.
    parent: the run, or the id of one, that this one is a child of.
    resume: the id of a run to go on with, or "auto" for the last one of this experiment, on this machine, that did not
        succeed. If that is the run that is active here, it simply goes on, unless somebody has ended it elsewhere.
    id: the id of the run, a UUID, when it has to be known before.
    mode: "online"; "offline" only spools, see python -m tracker sync; "disabled" does nothing. Without it, TRACKER_MODE.
    url: the address of the API; without it TRACKER_URL, or http://127.0.0.1:9000.
    token: the token to sign in with; without it TRACKER_TOKEN, or what python -m tracker login has kept.
    strict: raise what the server refuses, and that it can't be reached, in place of telling it on stderr.
    capture: False, or what to record of: git, command, host, packages, system, output. All of it without.
    dir: the folder of the spool; without it TRACKER_SPOOL, or .tracker/spool in the home folder.
    reinit: what becomes of the run that is active here, when there is one: "finish_previous" ends it as it stands, also
        when nothing is said; "return_previous" returns it; "create_new" leaves it as it is, beside the new one.
    quiet: True leaves out the lines on stderr that say where the run is, at its beginning and its end; without it,
        TRACKER_QUIET. What goes wrong is told all the same.

    Does not wait for the server unless the run is strict. Other arguments of W&B's init are taken: group is the
    experiment, job_type a parameter; entity, settings and the like change nothing. Raises TypeError and ValueError for
    arguments that are wrong, and TrackerError only when strict.
    """
    mode = mode or os.environ.get("TRACKER_MODE") or "online"
    if mode not in ("online", "offline", "disabled"):
        raise ValueError(f"mode must be online, offline or disabled, not {mode!r}")
    wanted = CAPTURED if capture is True else frozenset([capture] if isinstance(capture, str) else capture or ())
    if wanted - CAPTURED:
        raise ValueError(f"capture takes {', '.join(sorted(CAPTURED))}, not {', '.join(sorted(wanted - CAPTURED))}")
    if reinit not in REINIT:
        raise ValueError(f"reinit must be finish_previous, return_previous or create_new, not {reinit!r}")
    workers = sys.modules.get("multiprocessing.process")
    if workers is not None and getattr(workers.current_process(), "_inheriting", False):
        tell("init does nothing while a worker process imports the program again; "
             "put it under: if __name__ == '__main__'", once="inheriting")
        mode = "disabled"
    for other in sorted(set(others) - OF_WANDB):
        raise TypeError(f"init has no argument {other!r}")
    stream = sys.stderr  # before what is printed is kept as the run's
    folder, address = spool_folder(dir), service_url(url)
    project = project or os.environ.get("TRACKER_PROJECT") or os.path.basename(os.getcwd()) or "default"
    experiment = experiment or others.get("group") or os.environ.get("TRACKER_EXPERIMENT") or "default"
    _check.name("project", project)
    _check.name("experiment", experiment)
    if name:
        _check.name("name", name)
    if notes:
        _check.text("notes", notes)
    if parent is not None and not isinstance(parent, Run):
        parent = _check.identity("parent", parent)
    settings = None if config is None else as_mapping(config)
    labels = [_check.name("a tag", tag) for tag in ([tags] if isinstance(tags, str) else tags or ())]
    last = _last_file(folder, address, project, experiment)
    chosen = id or (resume if isinstance(resume, str) and resume not in ("auto", "allow", "must", "never") else None)
    if chosen is not None:
        chosen = _check.identity("id" if id else "resume", chosen)
    active = [run for run in live if not run._worker and not (isinstance(parent, Run) and run is parent)]
    if chosen is None and resume in ("auto", True):
        place = (address, project, experiment)
        chosen = next((r.id for r in reversed(active) if (r.server, r.project, r.experiment) == place), None) or _read(last)
    run = next((r for r in reversed(active) if r.id == chosen and r.server == address and not r.ended), None)
    if run is None and active and reinit in (False, "return_previous"):
        run = active[-1]
    fresh = run is None
    if run is None:
        if reinit != "create_new":
            for former in active:
                former.finish(*_state(former))
        begin = {"id": chosen or uuid7(), "project": project, "experiment": experiment, "name": name, "notes": notes,
                 "parent": parent.id if isinstance(parent, Run) else parent,
                 "resume": chosen is not None and resume not in (None, False, "never")}
        run = _start(begin, last, mode, wanted, folder=folder, url=address, token=token, strict=strict)
    if settings is not None:
        run.config.update(settings)
    if others.get("job_type"):
        run.config["job_type"] = others["job_type"]
    run.tag(*labels)
    if strict and mode == "online":
        _await_begin(run)
    if fresh and mode != "disabled":
        run.quiet = os.environ.get("TRACKER_QUIET", "").lower() not in ("", "0", "false", "no") if quiet is None else quiet
        if not run.quiet:
            where = run.url if mode == "online" else "offline, see python -m tracker sync"
            tell(f"run {name + ' ' if name else ''}of {project}/{experiment}: {where}", stream=stream)
    return run


def _start(begin: Dict[str, Any], last: str, mode: str, wanted: Any, **options: Any) -> Run:
    run = Run(begin, mode=mode, **options)
    if mode != "disabled":
        _install()
        live.append(run)
        _write(last, run.id)
        run.on_success = lambda: _remove(last, run.id)
        _capture(run, wanted)
    return run


def _state(run: Run) -> Tuple[str, str]:
    """As what a run ends that nobody has ended: as FAILED or KILLED when nothing was logged since a cell that failed."""
    if run._broken is not None and run._broken[0] == run._calls():
        return run._broken[1:]
    return "SUCCEEDED", ""


def _await_begin(run: Run) -> None:
    sender = run._sender
    assert sender is not None
    while not sender.progress:
        if sender.failure is not None:
            failure = sender.failure
            run._discard()
            raise TrackerError(f"the run could not be started: {failure}") from failure
        sender.stop.wait(0.005)


def _capture(run: Run, wanted: Any) -> None:
    if "output" in wanted:
        from ._output import Output, beside

        assert run._spool is not None
        try:
            run.output = Output(beside(run._spool.path))
        except OSError:
            pass  # there is no room for it; the spool has told
    if "system" in wanted:
        from ._system import System

        run._writer.sample = System()
    if wanted & {"git", "command", "host", "packages"}:
        def look() -> None:
            from ._capture import snapshot

            try:
                found = snapshot(lambda part: part in wanted)
            except Exception as error:  # of a broken installation; the training goes on without it
                tell(f"the environment could not be recorded: {type(error).__name__}: {error}")
                return
            run._request("POST", "/iteration/{id}/snapshot", found)

        run._background("tracker-capture", look)


def _last_file(folder: str, url: str, project: str, experiment: str) -> str:
    named = hashlib.sha256("\n".join((url, project, experiment)).encode()).hexdigest()[:24]
    return os.path.join(folder, f"last-{named}.json")


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: str, run: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"id": run}, file)
    except OSError:
        pass  # then resume="auto" starts anew


def _remove(path: str, run: str) -> None:
    if _read(path) == run:
        try:
            os.unlink(path)
        except OSError:
            pass


def _install() -> None:
    """Have the end of the process end its runs."""
    global _installed
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _on_signal)
    if _installed:
        return
    _installed = True
    atexit.register(_at_exit)
    before = sys.excepthook

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        _ended["how"] = ending(kind, error, traceback)
        if kind is KeyboardInterrupt:
            for run in live:
                run.interrupts = 1
            if threading.current_thread() is threading.main_thread():
                # The next one must not come between the end of the script and the end of its run.
                signal.signal(signal.SIGINT, _count_interrupt)
        before(kind, error, traceback)

    sys.excepthook = hook
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    core = sys.modules.get("IPython")
    shell = core.get_ipython() if core is not None else None
    if shell is not None:  # it handles what a cell raises, and sys.excepthook is not asked
        shell.events.register("post_run_cell", _after_cell)


def _after_cell(result: Any) -> None:
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        for run in live:
            run._broken = (run._calls(), *ending(type(error), error, error.__traceback__))


def _count_interrupt(number: int, frame: Any) -> None:
    for run in live:
        run.interrupts += 1
        if run.interrupts > 3:  # somebody else holds the process
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _forked() -> None:
    for run in live:
        run._forked()


def _at_exit() -> None:
    for run in reversed(list(live)):
        if run._worker:
            drain(run)
        else:
            try:
                run.finish(*_ended.get("how", _state(run)))
            except TrackerError as error:
                tell(str(error))


def _on_signal(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_DFL)
    name = signal.Signals(number).name
    for run in reversed(list(live)):
        if run._worker:
            drain(run, 1.0)
        else:
            try:
                run.finish("KILLED", f"Ended by {name}.")
            except TrackerError as error:
                tell(str(error))
    os.kill(os.getpid(), number)


def finish(status: str = "SUCCEEDED", error_message: str = "", timeout: Optional[float] = None,
           exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
    """End the current run, if there is one; see Run.finish."""
    if live:
        live[-1].finish(status, error_message, timeout, exit_code, quiet)


def current(what: str) -> Run:
    """The current run. Raises RuntimeError when there is none."""
    if not live:
        raise RuntimeError(f"tracker.{what} needs a run: call tracker.init first")
    return live[-1]


