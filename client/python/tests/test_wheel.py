"""Tests of the wheel with the program, in a new environment with only Python."""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import urllib.request
import zipfile
from typing import Any, Iterator, Tuple

import pytest

import tracker

from .browser import CHROMIUM, Browser
from .conftest import own_server, stop

MINUTE = """
import tracker
run = tracker.init(project="first", experiment="minute")
for step in range(100): run.log({"loss": 1 / (step + 1)}, step=step)
"""
"""The first script of a new user."""
CURVE = """(() => {
    const canvas = document.querySelector('figure[data-key="loss"] canvas')
    if (!canvas) return null
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
    const rows = []  // the topmost coloured pixel of each column: axes and labels are grey
    for (let x = 0; x < width; x++)
        for (let y = 0; y < height; y++) {
            const [r, g, b, a] = data.subarray(4 * (y * width + x))
            if (a > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 60) { rows.push(y); break }
        }
    return rows.length > width / 2 ? rows : null
})()"""


class Fresh:
    """A new environment with the wheel and its own home folder."""

    def __init__(self, folder: pathlib.Path, wheel: str) -> None:
        self.home = folder / "me"
        self.home.mkdir()
        self.bin = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        # The environment contains only PATH.
        self.env = {"HOME": str(self.home), "PATH": str(self.bin) + os.pathsep + os.environ["PATH"]}
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self.run("pip", "--isolated", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([str(self.bin / command[0]), *command[1:]], env=self.env, cwd=self.home, check=True,
                              capture_output=True, text=True)


@pytest.fixture(scope="module")
def fresh(wheel: str, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    return Fresh(tmp_path_factory.mktemp("fresh"), wheel)


@pytest.fixture
def home(fresh: Fresh) -> Iterator[pathlib.Path]:
    """Yield the data folder, and end a server that was started there."""
    with socket.socket() as default:
        assert default.connect_ex(("127.0.0.1", 9000)), "end the server at the default address: there must be none"
    folder = fresh.home / ".tracker"
    yield folder
    if own_server(folder):
        stop(folder)


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def test_both_commands_are_the_program_and_the_versions_agree(fresh: Fresh, wheel: str) -> None:
    said = fresh.run("tracker", "version").stdout
    assert said.split()[:2] == ["tracker", tracker.__version__]
    assert fresh.run("runtracker", "version").stdout == said
    assert fresh.run("python", "-c", "import tracker; print(tracker.__version__)").stdout.strip() == tracker.__version__
    assert fresh.run("pip", "show", "runtracker").stdout.splitlines()[1] == f"Version: {tracker.__version__}"
    assert os.path.basename(wheel).split("-")[:2] == ["runtracker", tracker.__version__]
    # The command is the packaged program itself, not a script that starts Python first.
    with zipfile.ZipFile(wheel) as packed:
        [program] = [name for name in packed.namelist() if ".data/scripts/" in name]
        assert (fresh.bin / os.path.basename(program)).read_bytes() == packed.read(program)


def test_serve(fresh: Fresh) -> None:
    server = subprocess.Popen([str(fresh.bin / "tracker"), "serve", "--port", "0", "--ui-port", "0", "--log-level", "error"],
                              cwd=fresh.home, env=fresh.env, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        api = server.stdout.readline().split()[-1]
        assert fetch(api + "/health")["version"] == tracker.__version__
    finally:
        server.terminate()
        server.communicate()


def minute(fresh: Fresh) -> Tuple[str, str]:
    """Run a new user's three lines. Return the address of the run's page and the run's id."""
    told = fresh.run("python", "-c", MINUTE).stderr
    page = re.search(r"run of first/minute: (http://\S+/iteration/(\S+))", told)
    assert page is not None, told
    return page.group(1), page.group(2)


def test_the_first_minute(fresh: Fresh, home: pathlib.Path) -> None:
    """After Python, the wheel and three lines, the dashboard shows the curve."""
    page, id = minute(fresh)
    said = own_server(home)
    run = fetch(f"{said['url']}/iteration/{id}")
    assert run["status"] == "SUCCEEDED"
    curve = fetch(f"{said['url']}/metric/iteration/{id}/series?key=loss&points=1000")["series"][0]
    assert curve["value"] == [1 / (step + 1) for step in range(100)]
    with urllib.request.urlopen(page) as answer:
        shown = answer.read().decode()
    assert answer.headers["Content-Type"].startswith("text/html") and "loss" in shown and "SUCCEEDED" in shown.upper()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_first_minute_in_the_browser(fresh: Fresh, home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    page, _ = minute(fresh)
    browser = Browser(tmp_path / "browser")
    try:
        browser.open(page)
        rows = browser.wait(CURVE)
        assert rows[0] < rows[len(rows) // 2] <= rows[-1], "it falls"
    finally:
        browser.close()


def test_any_program_is_a_run_without_a_server(fresh: Fresh, home: pathlib.Path) -> None:
    """`tracker run` starts a server as init does, even for a program that is not in Python, and commands that read find the
    run."""
    (fresh.home / "train.py").write_text(MINUTE)
    for program in (["python", "train.py", "--lr=0.1"], ["sh", "-c", "echo nothing to log"]):
        told = fresh.run("tracker", "run", "--project", "any", "--", *program).stderr
        assert "does not answer" not in told, told
    stop(home)  # commands that read start the server again
    [found] = json.loads(fresh.run("tracker", "runs", "--project", "any", "--json").stdout)
    assert [run["status"] for run in found["runs"]] == ["SUCCEEDED", "SUCCEEDED"]
    summary = json.loads(fresh.run("tracker", "show", found["runs"][1]["id"], "--json").stdout)["summary"]
    assert summary["params"] == {"lr": "0.1"} and summary["metrics"]["loss"]["count"] == 100


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_browser_finds_no_curve_where_there_is_none(tmp_path: pathlib.Path) -> None:
    """Proves that the check of the page can fail."""
    browser = Browser(tmp_path / "browser")
    try:
        for script in ("", "c.fillStyle = 'grey'; c.fillRect(0, 0, 300, 10)", "c.fillStyle = 'red'; c.fillRect(0, 0, 100, 10)"):
            browser.open("data:text/html,<figure data-key=loss><canvas></canvas></figure><script>"
                         "c = document.querySelector('canvas').getContext('2d');" + script + ";document.title = 'drawn'</script>")
            browser.wait("document.title == 'drawn'")
            assert browser.value(CURVE) is None
    finally:
        browser.close()
