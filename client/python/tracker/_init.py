"""Starts runs."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, Iterable, Optional, Union, cast

from . import _check, _worker
from ._config import as_mapping
from ._http import TrackerError, find_service
from ._process import install, interrupt
from ._recorder import Recorder
from ._run import Run, attach, idle, live
from ._trust import open_own
from ._value import is_quiet, tell, uuid7
from ._wandb import environment, mode_of_environment

CAPTURED = frozenset(("git", "command", "host", "packages", "system", "output"))
"""The parts of the environment that are recorded by default."""
JOINED = "TRACKER_RUN_ID"
"""The environment variable in which `tracker run` passes the id of its run to the program.

init in that program logs to this run. `tracker run` ends the run."""
REINIT = (None, True, False, "default", "finish_previous", "return_previous", "create_new")
ALIASES = "5a1a4f53-7d4b-5e0a-9d58-6ad0d9c1c7a1"
"""The UUID namespace for run ids that are derived from free-form ids."""


@_check.known_arguments
def init(project: Optional[str] = None, experiment: Optional[str] = None, config: Any = None, *,
         name: Optional[str] = None, notes: Optional[str] = None, tags: Union[str, Iterable[str]] = (),
         parent: Union[None, str, Run] = None, resume: Union[None, bool, str] = None, id: Optional[str] = None,
         mode: Optional[_check.Mode] = None, url: Optional[str] = None, token: Optional[str] = None, strict: bool = False,
         capture: Union[bool, _check.Capture, Iterable[_check.Capture]] = True, dir: Optional[str] = None,
         reinit: Union[None, bool, _check.Reinit] = None, quiet: Optional[bool] = None,
         group: Optional[str] = None, job_type: Optional[str] = None, entity: Any = None, settings: Any = None,
         save_code: Any = None, anonymous: Any = None, allow_val_change: Any = None, force: Any = None,
         config_include_keys: Optional[Iterable[str]] = None, config_exclude_keys: Optional[Iterable[str]] = None,
         magic: Any = None, monitor_gym: Any = None,
         sync_tensorboard: Union[None, bool, str, Iterable[str]] = None) -> Run:
    """Start a run in an experiment of a project. The experiment and the project are found by name, or created.

    project: the name of the project; by default, TRACKER_PROJECT or the name of the working folder.
    experiment: the name of the experiment; by default, TRACKER_EXPERIMENT or "default".
    config: the parameters, as a dictionary or an object with attributes, for example the result of argparse.
        config_include_keys, config_exclude_keys: names of parameters in config to include or exclude.
    name, notes, tags: the run's name, notes and tags. By default, the server chooses a name.
    parent: the parent run, or its id. If it is a run, its mode, url, token and dir are the defaults for this run.
    resume: the id of a run to continue, or "auto" for the last run of this experiment on this machine that did not
        succeed. If the last run is active in this process, init returns it, except if it was ended elsewhere.
    id: the id of the run, a UUID or any name. A name always refers to the same run of a project.
        resume="allow" continues that run if it exists.
    mode: "online" sends data while the run is active. "offline" only writes the spool, which python -m tracker sync sends
        later. "disabled" does nothing. The default is TRACKER_MODE, or "online".
    url: the address of the API; by default, TRACKER_URL, or http://127.0.0.1:9000 if your server runs at that address.
        Otherwise init starts a server for you if the program is installed. TRACKER_EMBED=0 disables that.
    token: the token to sign in with; by default, TRACKER_TOKEN or the token that python -m tracker login has stored.
    strict: raise an error if the server rejects a request or cannot be reached. Runs that are not strict print a message
        on stderr.
    capture: False, or the parts to record: git, command, host, packages, system, output. The default is all parts.
    dir: the folder of the spool; by default, TRACKER_SPOOL, or spool in TRACKER_HOME (.tracker in the home folder).
    reinit: what to do with a run that is active in this process: "finish_previous" ends it and is the default;
        "return_previous" returns it; "create_new" leaves it active beside the new run.
    sync_tensorboard: True logs the values that TensorBoard writers of this process write, if the writers are created after
        this call. A folder or a list of folders logs the values in new event files in and below these folders.
    quiet: True omits the lines on stderr about the start and end of the run. The default is TRACKER_QUIET. Problems are
        always printed.

    init does not wait for the server, except if the run is strict. If no address is given, it waits up to five seconds to
    find or start your own server. If your server does not respond in that time, the run is offline.

    The other arguments are W&B's: group is the experiment, job_type becomes a parameter, and the others have no effect,
    which is reported if it matters. If the TRACKER_ variables are not set, init reads W&B's: WANDB_PROJECT, _RUN_GROUP,
    _NAME, _NOTES, _TAGS, _MODE, _RUN_ID, _RESUME, _JOB_TYPE.

    Raises TypeError and ValueError for invalid arguments. Raises TrackerError if a strict run cannot be started, or if
    an offline run has no writable folder.
    """
    from ._folder import Folder, spool_folder, writable_folder

    if isinstance(parent, Run):
        mode = mode or cast(_check.Mode, parent.mode)
        url, token = url or parent.server, token or parent.recorder.token
        dir = dir or parent.folder
    chosen_mode = mode or mode_of_environment() or "online"
    if chosen_mode not in ("online", "offline", "disabled"):
        raise ValueError(f"mode must be online, offline or disabled, not {chosen_mode!r}")
    mode = cast(_check.Mode, chosen_mode)
    wanted = CAPTURED if capture is True else frozenset([capture] if isinstance(capture, str) else capture or ())
    if wanted - CAPTURED:
        raise ValueError(f"capture takes {', '.join(sorted(CAPTURED))}, not {', '.join(sorted(wanted - CAPTURED))}")
    if reinit not in REINIT:
        raise ValueError(f"reinit must be finish_previous, return_previous or create_new, not {reinit!r}")
    if _worker.importing():
        found = _worker.of_parent() if mode != "disabled" else None
        if found is not None:
            return attach(token=token, **found)
        tell("init does nothing while a worker process imports the program again, so values that the worker logs are not "
             "recorded; put init under: if __name__ == '__main__', and pass the run to the worker", once="inheriting")
        mode = "disabled"
    _check.unused("init", {"monitor_gym": monitor_gym, "magic": magic, "settings": settings})
    if parent is None:  # the environment variables describe the parent, not its children
        name, notes = name or environment("", "WANDB_NAME"), notes or environment("", "WANDB_NOTES")
        id, resume = id or environment("", "WANDB_RUN_ID"), resume if resume is not None else environment("", "WANDB_RESUME")
        tags = tags or [tag for tag in (environment("", "WANDB_TAGS") or "").split(",") if tag]
        job_type = job_type or environment("", "WANDB_JOB_TYPE")
    stream = sys.stderr  # the original stream, before printed lines are copied to the run
    where = Folder(spool_folder(dir)) if mode == "disabled" else writable_folder(dir)
    address, fault = find_service(url, start=mode == "online", quiet=quiet)
    if fault and mode == "online":
        if strict:
            raise TrackerError(fault)
        mode = "offline"
        tell(f"{fault}, so the run is offline; set TRACKER_URL to the address of another server, or set TRACKER_EMBED=0 to "
             f"keep trying {address}", once="fault " + fault)
    folder = where.path
    if where.failure is not None and mode == "offline":
        raise TrackerError(f"an offline run needs a writable folder, and {folder} is not writable: "
                           f"{where.failure.strerror or where.failure}; set TRACKER_SPOOL to another folder")
    project = project or environment("TRACKER_PROJECT", "WANDB_PROJECT") or os.path.basename(os.getcwd()) or "default"
    experiment = experiment or group or environment("TRACKER_EXPERIMENT", "WANDB_RUN_GROUP") or "default"
    _check.name("project", project)
    _check.name("experiment", experiment)
    if name:
        _check.name("name", name)
    if notes:
        _check.text("notes", notes)
    if parent is not None and not isinstance(parent, Run):
        parent = _check.identity("parent", parent)
    parameters = None if config is None else {
        name: value for name, value in as_mapping(config).items()
        if name not in (config_exclude_keys or ()) and (config_include_keys is None or name in config_include_keys)}
    labels = [_check.name("a tag", tag) for tag in ([tags] if isinstance(tags, str) else tags or ())]
    joined = os.environ.get(JOINED)
    if joined and mode != "disabled" and parent is None and reinit != "create_new":
        program = _join(joined, name, notes, parameters, labels, folder=folder, url=address, token=token, mode=mode)
        _note_joined(folder, joined, bool(sync_tensorboard))
        _follow(program, sync_tensorboard)
        return program
    last = _last_file(folder, address, project, experiment)
    if id:
        free, id = id, _run_id(project, id)
        name = name or (free if free.lower() != id else None)
    chosen = id or (resume if isinstance(resume, str) and resume not in ("auto", "allow", "must", "never") else None)
    if chosen is not None:
        chosen = _check.identity("resume", chosen)
    active = [run for run in live if not run.recorder.worker and not (isinstance(parent, Run) and run is parent)]
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
                former.finish(*former.likely_end())
        begin = {"id": chosen or uuid7(), "project": project, "experiment": experiment, "name": name, "notes": notes,
                 "parent": parent.id if isinstance(parent, Run) else parent,
                 "resume": chosen is not None and resume not in (None, False, "never")}
        run = _start(begin, last, mode, wanted, folder=folder, url=address, token=token, strict=strict)
    run.config.update(pending)
    pending.clear()
    if parameters is not None:
        run.config.update(parameters)
    if job_type:
        run.config["job_type"] = job_type
    run.tag(*labels)
    _follow(run, sync_tensorboard)
    if strict and mode == "online":
        try:
            run.recorder.await_begin()
        except TrackerError:
            run.discard()
            raise
    if fresh and mode != "disabled":
        run.quiet = is_quiet(quiet)
        if not run.quiet:
            page = run.url if mode == "online" else "offline, see python -m tracker sync"
            tell(f"run {name + ' ' if name else ''}of {project}/{experiment}: {page}", stream=stream)
    return run


def _follow(run: Run, where: Union[None, bool, str, Iterable[str]]) -> None:
    if where and run.mode != "disabled" and not run.before_end:
        from ._tensorboard import follow

        run.before_end.append(follow(run.recorder, run.config.setdefaults, where))


def joined_file(folder: str, id: str) -> str:
    """Return the path of the file that exists once a program has joined the run of `tracker run`.

    The file is not empty if the program logs its own event files.
    """
    return os.path.join(folder, id + ".joined")


def _note_joined(folder: str, id: str, follows: bool) -> None:
    try:
        with os.fdopen(open_own(joined_file(folder, id), os.O_WRONLY | os.O_APPEND | os.O_CREAT), "w", encoding="utf-8") as file:
            file.write("tensorboard\n" if follows else "")
    except OSError:
        pass  # without this file, `tracker run` logs the program's event files


def _run_id(project: str, id: str) -> str:
    """Return id if it is a UUID. Otherwise return the UUID that is derived from project and id."""
    from uuid import UUID, uuid5

    _check.name("id", id)
    try:
        return str(UUID(id))
    except ValueError:
        return str(uuid5(UUID(ALIASES), f"{project}\n{id}"))


def _join(id: str, name: Optional[str], notes: Optional[str], settings: Any, labels: Iterable[str], **options: Any) -> Run:
    """Return the run that `tracker run` created for this program."""
    begin = {"id": _check.identity(JOINED, id), "project": os.environ.get("TRACKER_PROJECT"),
             "experiment": os.environ.get("TRACKER_EXPERIMENT"), "name": None, "notes": None, "parent": None}
    install()
    run = attach(begin, **options)
    run.recorder.stop_request.interrupt = lambda: interrupt(run)  # `tracker run` leaves that to this program
    run.recorder.revive()  # even a program that logs nothing must notice a request to stop
    if name:
        run.name = name
    if notes:
        run.notes = notes
    run.config.update(pending)
    pending.clear()
    if settings is not None:
        run.config.update(settings)
    run.tag(*labels)
    return run


def _start(begin: Dict[str, Any], last: str, mode: str, wanted: Any, strict: bool, **options: Any) -> Run:
    run = Run(Recorder(begin, mode=mode, **options), strict)
    idle[:] = [run] if mode == "disabled" else []
    if mode != "disabled":
        install()
        live.append(run)
        run.recorder.stop_request.interrupt = lambda: interrupt(run)
        _worker.share(live)
        _write(last, run.id)
        run.on_success = lambda: _remove(last, run.id)
        _capture(run, wanted)
    return run


def _capture(run: Run, wanted: Any) -> None:
    if "output" in wanted:
        run.recorder.copy_output()
    if "system" in wanted:
        from ._system import System

        run.recorder.sample(System())
    if wanted & {"git", "command", "host", "packages"}:
        def look() -> None:
            from ._capture import snapshot

            try:
                found = snapshot(lambda part: part in wanted)
            except Exception as error:  # a broken installation must not stop the training
                tell(f"the environment could not be recorded: {type(error).__name__}: {error}")
                return
            run.recorder.request("POST", "/iteration/{id}/snapshot", found)

        run.recorder.background("tracker-capture", look)


def _last_file(folder: str, url: str, project: str, experiment: str) -> str:
    from hashlib import sha256

    named = sha256("\n".join((url, project, experiment)).encode()).hexdigest()[:24]
    return os.path.join(folder, f"last-{named}.json")


def _read(path: str) -> Optional[str]:
    try:
        with os.fdopen(open_own(path), encoding="utf-8") as file:
            return _check.identity("id", json.load(file)["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: str, run: str) -> None:
    try:
        with os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
            json.dump({"id": run}, file)
    except OSError:
        pass  # without the file, resume="auto" starts a new run


def _remove(path: str, run: str) -> None:
    if _read(path) == run:
        try:
            os.unlink(path)
        except OSError:
            pass


def finish(status: _check.End = "SUCCEEDED", error_message: str = "", timeout: Optional[float] = None,
           exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
    """End the current run, if any. See Run.finish."""
    idle.clear()
    if live:
        live[-1].finish(status, error_message, timeout, exit_code, quiet)


pending: Dict[str, Any] = {}
"""Parameters that were set by tracker.config = {...} before the first run began."""


def current(what: str) -> Run:
    """Return the current run, or the disabled run if no other run is active. Raises RuntimeError if there is neither."""
    if not live:
        if idle:
            return idle[-1]
        raise RuntimeError(f"tracker.{what} needs a run: call tracker.init first")
    return live[-1]


def show(run: Optional[Run] = None, *, height: int = 600, url: Optional[str] = None) -> None:
    """Show the dashboard in a notebook: the page of run or of the current run, or the first page if there is no run.

    height: height of the frame in pixels.
    url: the address at which the browser can reach the dashboard. The default is TRACKER_UI_URL, or the API's address with
        the next port. url can be a path on the notebook's own host, such as /proxy/9001 of jupyter-server-proxy. If the
        server was started with SERVICE_BASE_PATH=/proxy/9001, show finds this path without url.

    If the notebook cannot embed the dashboard, show prints a link. Outside a notebook, show prints the address.
    """
    from . import _show

    chosen = run or (live[-1] if live else None)
    path = f"/iteration/{chosen.id}" if chosen is not None else "/"
    _show.show(url or _show.dashboard(chosen.server if chosen is not None else None), path, height)
