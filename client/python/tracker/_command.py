"""Runs a program and records it as a run: its output, its exit status and the parameters on its command line."""

from __future__ import annotations

import codecs
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Dict, List, Optional, Sequence, Tuple

from ._capture import snapshot
from ._http import Client, TrackerError
from ._init import JOINED, init, joined_file
from ._run import Run
from ._spool import Busy
from ._sync import spool_files, sync_file
from ._system import System
from ._tensorboard import folders_of, follow
from ._value import tell

TAIL = 2000
"""Maximum characters of a failed program's stderr in the error message of its run. If there are more, the last ones are
stored."""
LAST_WORDS = 5.0
"""Maximum seconds to wait, after the end of the program, for output of child processes that are still running."""
HELD = ("the program logs to the run itself, so its event files are not logged automatically; "
        "to log them, call init(sync_tensorboard=True)")
_VALUE = re.compile(r"-?(\d|\.\d|inf|nan)", re.I)
_ASSIGNMENT = re.compile(r"\+{0,2}([A-Za-z_][\w./-]*)=(.*)", re.S)


def parameters(command: Sequence[str]) -> Dict[str, str]:
    """Return the parameters on a command line, which have the forms --name value, --name=value, --name, and name=value."""
    rest = list(command[1:])
    if re.match(r"(python|pypy)[\d.]*(\.exe)?$", os.path.basename(command[0])):
        while rest and rest[0].startswith("-"):  # options of Python
            option = rest.pop(0)
            if option in ("-m", "-c"):
                break
            if option in ("-W", "-X"):
                rest = rest[1:]
        rest = rest[1:]  # the script or module
    found: Dict[str, str] = {}
    while rest:
        word = rest.pop(0)
        assignment = _ASSIGNMENT.fullmatch(word.lstrip("-") if word.startswith("-") else word)
        if word == "--":
            continue
        if assignment:
            found[assignment.group(1)] = assignment.group(2)
        elif word.startswith("-") and not _VALUE.match(word) and word.strip("-"):
            takes = rest and (not rest[0].startswith("-") or _VALUE.match(rest[0])) and not _ASSIGNMENT.fullmatch(rest[0])
            found[word.lstrip("-")] = rest.pop(0) if takes else "true"
    return {name: value for name, value in found.items() if len(name) <= 250}


def run_command(command: List[str], tensorboard: Sequence[str] = (), **options: Any) -> int:
    """Run command as a run and return its exit status.

    options are arguments of init. tensorboard is a list of folders; new event files in and below them are logged. By
    default, these are the working folder and the folders in options of the command. If the command joins the run, it logs
    by itself, so event files are logged only if tensorboard is given.
    """
    if shutil.which(command[0]) is None:
        tell(f"the program {command[0]} was not found")
        return 127
    if os.environ.get(JOINED):
        return subprocess.call(command)  # this process runs inside another `tracker run`, which records the output
    forwarded: "List[subprocess.Popen[bytes]]" = []

    def forward(number: int, frame: Any) -> None:
        for process in forwarded:
            process.send_signal(number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), forward)
    found = parameters(command)
    run = init(config=found, capture=["output"], **options)
    joined = joined_file(run.folder, run.id)
    folders = tensorboard or [os.getcwd(), *folders_of(found)]
    run.before_end.append(follow(run.recorder, run.config.setdefaults, folders,
                                 held=lambda: None if tensorboard else _joined(joined)))
    run.recorder.stop_request.interrupt = lambda: os.path.exists(joined) or _interrupt(forwarded)
    system = System()
    run.recorder.sample(lambda: {name: value for name, value in system().items() if not name.startswith("system/process.")})
    run.recorder.background("tracker-capture", lambda: _record(run, command))
    try:
        process = subprocess.Popen(command, env=_environment(run), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        run.finish("FAILED", f"{command[0]} could not be started: {error.strerror}")
        return 126
    forwarded.append(process)
    code, interrupted, said = _attend(process)
    _send_workers(run)
    if run.recorder.stop_request.told or (os.path.exists(joined) and _was_asked(run)):
        run.finish("KILLED")
    elif code == 0:
        run.finish()
    elif code < 0 or interrupted:
        run.finish("KILLED", f"Ended by {signal.Signals(-code).name}." if code < 0 else f"Interrupted; exit status {code}.")
    else:
        run.finish("FAILED", f"exit status {code}\n{said}".strip())
    if os.path.exists(joined):
        os.unlink(joined)
    return code if code >= 0 else 128 - code


def _joined(path: str) -> Optional[str]:
    """Return None if the program has not joined the run, and otherwise the reason why its event files are not logged.

    The reason is "" if the program logs its event files itself.
    """
    try:
        return "" if os.path.getsize(path) else HELD
    except OSError:
        return None


def _interrupt(processes: "List[subprocess.Popen[bytes]]") -> bool:
    """Interrupt the program as Ctrl-C does. Return False if it has not started yet."""
    for process in processes:
        if os.name == "nt":
            process.terminate()
        else:
            process.send_signal(signal.SIGINT)
    return bool(processes)


def _was_asked(run: Run) -> bool:
    """Return whether somebody has asked the run to stop. The program might have noticed the request first."""
    if run.mode != "online":
        return False
    try:
        client = Client(run.server, run.recorder.token)
        run.recorder.stop_request.update(client.call("GET", f"/iteration/{run.id}"))
        client.close()
    except TrackerError:
        return False
    return run.recorder.stop_request.ask()


def _environment(run: Run) -> Dict[str, str]:
    """Return the environment variables for the program. They make init in the program join the run."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", JOINED: run.id, "TRACKER_URL": run.server, "TRACKER_SPOOL": run.folder,
            "TRACKER_PROJECT": run.project, "TRACKER_EXPERIMENT": run.experiment, "TRACKER_MODE": run.mode}


def _record(run: Run, command: List[str]) -> None:
    """Record code, machine and command, but not packages: the program might use another Python."""
    try:
        found = snapshot(lambda part: part in ("git", "host"))
    except Exception as error:  # a broken installation must not stop the program
        tell(f"the environment could not be recorded: {type(error).__name__}: {error}")
        found = {}
    found.update(command=shlex.join(command)[:100_000], entrypoint=command[0])
    run.recorder.request("POST", "/iteration/{id}/snapshot", found)


def _attend(process: "subprocess.Popen[bytes]") -> Tuple[int, bool, str]:
    """Copy the output of the program until the program ends.

    Returns the exit status, whether the user interrupted the program, and the last characters of stderr.
    """
    tail: List[str] = []
    assert process.stdout is not None and process.stderr is not None
    readers = [threading.Thread(target=_copy, args=(process.stdout, sys.stdout, None), daemon=True),
               threading.Thread(target=_copy, args=(process.stderr, sys.stderr, tail), daemon=True)]
    for reader in readers:
        reader.start()
    interrupts = 0
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:  # the terminal also sends the interrupt to the program
            interrupts += 1
            if interrupts > 2:
                process.kill()
    for reader in readers:
        reader.join(LAST_WORDS)
    return code, interrupts > 0, "".join(tail)[-TAIL:]


def _copy(source: IO[bytes], target: Any, tail: "List[str] | None") -> None:
    """Copy text as it arrives. The last TAIL characters are stored in tail."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        piece = os.read(source.fileno(), 1 << 16)
        text = decoder.decode(piece, not piece)
        if text:
            try:
                target.write(text)
                target.flush()
            except (OSError, ValueError):
                pass  # nothing reads this output any more, which must not stop the program
            if tail is not None:
                tail.append(text)
                if len(tail) > 1:
                    tail[:] = ["".join(tail)[-TAIL:]]
        if not piece:
            return


def _send_workers(run: Run) -> None:
    """Send the spools of the program's workers before the run ends."""
    if run.mode != "online":
        return
    for path in spool_files(run.folder):
        if os.path.basename(path).startswith(run.id + "-"):
            try:
                sync_file(path, run.server, run.recorder.token)
            except (Busy, OSError, ValueError):
                continue  # a child process that is still running uses the spool
