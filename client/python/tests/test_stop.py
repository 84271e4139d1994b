"""Tests of requests to stop a run."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional

import pytest

import tracker
from tracker import _check
from tracker._http import Client
from tracker._stop import StopRequest

from .conftest import Script, Server, eventually

QUICK = "import os, signal, sys, time, tracker\nfrom tracker import _sender\n_sender.CHECK = 0.1\n"
"""The beginning of a script that often checks whether its run should stop."""


def ask(server: Server, id: str) -> None:
    eventually(lambda: any(it["id"] == id for it in server.iterations()))
    Client(server.url).call("POST", f"/iteration/{id}/stop")


WITH = QUICK + "with tracker.init(project='p', capture=False) as run:\n    print(run.id, flush=True)\n    "
ALONE = QUICK + "run = tracker.init(project='p', capture=False)\nprint(run.id, flush=True)\n"


@pytest.mark.parametrize("text", [
    WITH + "while True: pass",
    WITH + "time.sleep(600)",
    ALONE + "while True: pass",
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + WITH + "while True: pass",
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + WITH + "time.sleep(600)",
    WITH + "import threading; threading.Event().wait()",
    WITH + "import asyncio; asyncio.run(asyncio.sleep(600))",
], ids=["busy", "sleep", "without with", "background", "background sleep", "wait", "asyncio"])
def test_a_script_is_interrupted(server: Server, script: Callable[..., Script], text: str) -> None:
    one = script(text)
    id = one.line()
    ask(server, id)
    said = one.end()
    assert "KeyboardInterrupt" in said and "somebody has asked run" in said
    it = server.get(f"/iteration/{id}")
    assert (it["status"], it["error_message"], it["stop_requested"]) == ("KILLED", "Stopped on request.", None)


@pytest.mark.parametrize("end, status, message", [
    ("pass", "KILLED", "Stopped on request."),
    ("run.finish()", "KILLED", "Stopped on request."),
    ("run.finish('KILLED', 'enough')", "KILLED", "enough"),
    ("run.finish('FAILED', 'no data')", "FAILED", "no data"),
    ("sys.exit(3)", "KILLED", "Stopped on request."),
    ("1 / 0", "FAILED", "ZeroDivisionError"),
])
@pytest.mark.parametrize("start", ["with tracker.init(project='p', capture=False) as run:",
                                   "run = tracker.init(project='p', capture=False)\nif True:"], ids=["with", "alone"])
def test_an_interrupted_script_saves_first(server: Server, script: Callable[..., Script], start: str, end: str, status: str,
                                           message: str) -> None:
    """The script is interrupted once."""
    one = script(QUICK + f"""{start}
    print(run.id, flush=True)
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        checked = [run.recorder.sender._checked]
        while len(checked) < 4:
            checked += [run.recorder.sender._checked] if run.recorder.sender._checked != checked[-1] else []
        run.log({{"saved": 1}})
        {end}
""")
    id = one.line()
    ask(server, id)
    one.end()
    it = server.get(f"/iteration/{id}")
    assert it["status"] == status and message in it["error_message"]
    assert server.points(id, "saved") == [(0, 1)]


def test_a_script_that_looks_at_should_stop_is_not_interrupted(server: Server, script: Callable[..., Script]) -> None:
    one = script(WITH + """while not run.should_stop:
        pass
    time.sleep(1)
    run.log({"saved": 1})
    print("saved", flush=True)
""")
    id = one.line()
    ask(server, id)
    assert one.line() == "saved"
    assert "KeyboardInterrupt" not in one.end() and one.process.returncode == 0
    it = server.get(f"/iteration/{id}")
    assert (it["status"], it["error_message"]) == ("KILLED", "Stopped on request.")
    assert server.points(id, "saved") == [(0, 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_only_the_process_that_began_the_run_is_interrupted(server: Server, script: Callable[..., Script],
                                                            tmp_path: pathlib.Path) -> None:
    go = tmp_path / "go"
    one = script(QUICK + f"""
run = tracker.init(project="p", capture=False)
child = os.fork()
if not child:
    tracker.log({{"child": 1}})
    while not os.path.exists({str(go)!r}):
        time.sleep(0.01)
    print("continued", flush=True)
    sys.exit()
print(run.id, flush=True)
try:
    time.sleep(600)
except KeyboardInterrupt:
    open({str(go)!r}, "w").close()
    print("child", os.waitpid(child, 0)[1], flush=True)
""")
    id = one.line()
    ask(server, id)
    assert one.line() == "continued" and one.line() == "child 0"
    one.end()
    assert server.get(f"/iteration/{id}")["status"] == "KILLED"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_can_look_at_should_stop(server: Server, script: Callable[..., Script]) -> None:
    one = script(QUICK + """
run = tracker.init(project="p", capture=False)
child = os.fork()
if not child:
    while not tracker.run.should_stop:
        tracker.log({"child": 1})
        time.sleep(0.05)
    print("child stops", flush=True)
    sys.exit()
print(run.id, flush=True)
while not run.should_stop:
    time.sleep(0.05)
print("child", os.waitpid(child, 0)[1], flush=True)
""")
    id = one.line()
    ask(server, id)
    assert one.line() == "child stops" and one.line() == "child 0"
    one.end()
    assert server.get(f"/iteration/{id}")["status"] == "KILLED"


def test_a_request_is_withdrawn(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker._sender.CHECK", 0.0)
    run = tracker.init("p", capture=False)
    assert not run.should_stop
    ask(server, run.id)
    eventually(lambda: run.should_stop)
    Client(server.url).call("PATCH", f"/iteration/{run.id}", {"status": "RUNNING"})
    eventually(lambda: not run.should_stop)
    run.finish()
    assert server.get(f"/iteration/{run.id}")["status"] == "SUCCEEDED"


def test_a_request_that_the_script_does_not_notice_changes_nothing(server: Server) -> None:
    run = tracker.init("p", capture=False)
    assert not run.should_stop
    ask(server, run.id)
    run.finish()
    it = server.get(f"/iteration/{run.id}")
    assert (it["status"], it["error_message"], it["stop_requested"]) == ("SUCCEEDED", "", None)


def test_a_run_that_is_not_sent_never_stops() -> None:
    modes: List[_check.Mode] = ["offline", "disabled"]
    for mode in modes:
        with tracker.init("p", capture=False, mode=mode) as run:
            assert not run.should_stop


def answer(date: Optional[str], by: Optional[str] = None, status: str = "RUNNING") -> Dict[str, Any]:
    return {"status": status, "stop_requested": date, "stop_requested_by": by}


def test_each_request_interrupts_once() -> None:
    request, told = StopRequest(), []

    def interrupt() -> bool:
        told.append(request.message)
        return True

    request.interrupt = interrupt

    def see(found: Dict[str, Any]) -> bool:
        fresh = request.update(found)
        request.deliver()
        return fresh

    assert not see({"status": "RUNNING"}), "the server is too old"
    assert not see(answer(None)) and not told
    assert see(answer("1", "ada")) and not see(answer("1", "ada"))
    assert told == ["Stopped on request of ada."] and request.told
    assert not see(answer(None)) and not request.told and not request.message
    assert see(answer("2")) and told[1:] == ["Stopped on request."]
    assert not see(answer("2", status="KILLED")) and not request.told
    request.watchers.add(1)
    assert see(answer("3")) and len(told) == 2 and not request.told
    assert request.ask() and request.told
    request.watchers.clear()
    assert not see(answer("3")) and len(told) == 2, "a callback has stopped the training"
    request.close()
    assert see(answer("4")) and len(told) == 2


RUN = QUICK + "from tracker.__main__ import main\nsys.exit(main(['run', '--project', 'p', '--'] + sys.argv[1:]))"


def test_a_command_is_interrupted(server: Server, tmp_path: pathlib.Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", RUN, "sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    [one] = eventually(server.iterations)
    ask(server, one["id"])
    process.communicate()
    it = server.get(f"/iteration/{one['id']}")
    assert (it["status"], it["error_message"]) == ("KILLED", "Stopped on request.")


@pytest.mark.parametrize("loop, saved", [("while True: pass", False), ("while not run.should_stop: pass", True)])
def test_a_program_that_has_joined_stops_itself(server: Server, tmp_path: pathlib.Path, loop: str, saved: bool) -> None:
    (tmp_path / "train.py").write_text(QUICK + f"""
with tracker.init() as run:
    print("ready", flush=True)
    {loop}
    run.log({{"saved": 1}})
""")
    process = subprocess.Popen([sys.executable, "-c", RUN, sys.executable, "train.py"], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    [one] = eventually(server.iterations)
    ask(server, one["id"])
    process.communicate()
    it = server.get(f"/iteration/{one['id']}")
    assert (it["status"], it["error_message"]) == ("KILLED", "Stopped on request.")
    assert bool(server.points(one["id"], "saved")) is saved
