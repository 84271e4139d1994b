"""Fixtures: a server that is built from the current sources, and a proxy in front of it that fails on demand."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from tracker._spool import Item, Spool

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

LIBRARIES = frozenset(("test_autolog.py", "test_callback.py", "test_jupyter.py", "test_keras.py", "test_library.py",
                       "test_media.py", "test_notebook.py", "test_tensorboard.py", "test_torch.py", "test_torch_tensorboard.py",
                       "test_torch_trainer.py"))
"""The tests need the packages in requirements-test.txt. The tests with PyTorch need one of requirements-torch*.txt
instead."""

FAULTS = frozenset(("test_dead.py", "test_document.py", "test_edge.py", "test_fault.py", "test_house.py", "test_kill.py",
                    "test_strain.py", "test_trust.py", "test_upload.py"))
"""The tests do not depend on the version of Python: they break connections, kill processes, fill disks, or read files of
this folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plain", action="store_true",
                     help="run only tests that need no package except pytest and depend on the version of Python")


def pytest_ignore_collect(collection_path: pathlib.Path, config: pytest.Config) -> Optional[bool]:
    return True if config.getoption("--plain") and collection_path.name in LIBRARIES | FAULTS else None


@pytest.fixture(scope="session")
def binary() -> Iterator[str]:
    """Return the path of the program: TRACKER_BINARY, or a new build."""
    if os.environ.get("TRACKER_BINARY"):
        yield os.environ["TRACKER_BINARY"]
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tracker")
        subprocess.run(["go", "build", "-o", path, "."], cwd=ROOT, check=True, env={**os.environ, "CGO_ENABLED": "0"})
        yield path


@pytest.fixture(scope="session")
def wheel(binary: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a wheel with the program: TRACKER_WHEEL, or a new build."""
    given = os.environ.get("TRACKER_WHEEL")
    if given:
        return given
    folder = str(tmp_path_factory.mktemp("dist"))
    made = subprocess.run([binary, "client", "python", "--with-program", "--out", folder], check=True, stdout=subprocess.PIPE,
                          text=True)
    return made.stdout.strip()


class Server:
    """A tracker server with a new database."""

    def __init__(self, binary: str, folder: pathlib.Path, **env: str) -> None:
        self.binary, self.folder, self.env = binary, folder, env
        self.port, self.ui_port = free_ports()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.token = ""
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.binary, "serve", "--port", str(self.port), "--ui-port", str(self.ui_port), "--log-level", "error",
             "--db-file", str(self.folder / "tracker.db"), "--artifact-root", str(self.folder / "artifacts")],
            cwd=self.folder, env={**os.environ, **self.env}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "the server did not start"
        self.process.stdout.readline()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()  # type: ignore[union-attr]

    def get(self, path: str) -> Any:
        headers = {"Authorization": "Bearer " + self.token} if self.token else {}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers)) as answer:
            return json.load(answer)

    def iterations(self) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = []
        for project in self.get("/project")["data"]:
            for experiment in self.get(f"/experiment/project/{project['id']}")["data"]:
                found += self.get(f"/iteration/experiment/{experiment['id']}")["data"]
        return found

    def points(self, iteration: str, key: str) -> List[Any]:
        """Return (step, value) of each point, ordered by step and then by the order of writing."""
        rows: List[Any] = []
        while True:
            page = self.get(f"/metric/iteration/{iteration}?key={quote(key, safe='')}&limit=1000&offset={len(rows)}")
            rows += page["data"]
            if len(rows) >= page["total"]:
                return [(row["step"], row["value"]) for row in rows]

    def artifacts(self, iteration: str) -> Dict[str, Any]:
        """Return the artifacts of an iteration by name."""
        experiment = self.get(f"/iteration/{iteration}")["experiment_id"]
        found = self.get(f"/resource/experiment/{experiment}?iteration_id={iteration}&limit=1000")["data"]
        return {row["name"]: row for row in found}

    def parameters(self, iteration: str) -> Dict[str, str]:
        return {row["key"]: row["value"] for row in self.get(f"/parameter/iteration/{iteration}?limit=1000")["data"]}


PORTS = 500
"""Number of ports that each test process reserves."""
_ports: "Iterator[int]" = iter(())
_claim: Optional[socket.socket] = None  # bound to the first port of the range


def own_ports() -> Iterator[int]:
    """Yield every second port of a range, repeatedly. No other test process uses the range, and the system does not assign
    ports from it."""
    global _claim
    for first in range(12000, 32000, PORTS):
        _claim = socket.socket()
        try:
            _claim.bind(("127.0.0.1", first))
        except OSError:
            _claim.close()
            continue  # claimed by another process
        return itertools.cycle(range(first + 2, first + PORTS, 2))
    raise OSError("all ports for tests are taken")


def free_ports() -> Tuple[int, int]:
    """Return two free consecutive ports, for API and dashboard. No other test process takes them."""
    global _ports
    if _claim is None:
        _ports = own_ports()
    for port in itertools.islice(_ports, PORTS):
        with socket.socket() as one, socket.socket() as next:
            try:
                one.bind(("127.0.0.1", port))
                next.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port, port + 1
    raise OSError("no two of the ports for tests are free")


@pytest.fixture
def server(binary: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    running = Server(binary, folder)
    monkeypatch.setenv("TRACKER_URL", running.url)
    yield running
    running.kill()


@pytest.fixture(autouse=True)
def surroundings(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test its own spool and credentials, and end its runs. Runs wait longer for the server, because the
    machine might be busy."""
    from tracker import _recorder, _run, _value

    monkeypatch.setattr(_recorder, "PATIENCE", 60.0)
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    for name in ("TRACKER_TOKEN", "TRACKER_PROJECT", "TRACKER_EXPERIMENT", "TRACKER_MODE", "TRACKER_UI_URL", "TRACKER_PROGRAM",
                 "TRACKER_QUIET", "JUPYTERHUB_SERVICE_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACKER_EMBED", "0")
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRACKER_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("TRACKER_CREDENTIALS", str(tmp_path / "credentials.json"))
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent))
    monkeypatch.chdir(tmp_path)
    yield
    for run in list(_run.live):
        run.finish(timeout=0)
    _run.idle.clear()
    _value._told.clear()


Fault = Callable[[str, str, bytes], Optional[int]]


class Proxy:
    """Forwards requests to a server. If fault(method, path, body) returns a status, the proxy responds with it instead.

    For the status 0, the proxy never responds. For a negative status, it forwards the request and drops the response.
    """

    def __init__(self, target: int) -> None:
        self.fault: Fault = lambda method, path, body: None
        self.page = b'{"code":"FAULT","message":"The proxy says no."}'
        self.seen: List[str] = []
        self.released = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status = proxy.fault(self.command, self.path, body)
                proxy.seen.append(f"{self.command} {self.path}")
                if status == 0:
                    proxy.released.wait()
                    self.close_connection = True
                    return
                if status is not None and status > 0:
                    self.reply(status, proxy.page)
                    return
                connection = http.client.HTTPConnection("127.0.0.1", target)
                try:
                    connection.request(self.command, self.path, body, dict(self.headers))
                    answer = connection.getresponse()
                    data = answer.read()
                except OSError:
                    self.reply(502, b"")
                    return
                finally:
                    connection.close()
                if status is not None:
                    self.close_connection = True
                    return
                self.reply(answer.status, data)

            def reply(self, status: int, data: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if data[:1] == b"<" else "application/json")
                if status != 204:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_one

            def log_message(self, *_: Any) -> None:
                pass

        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._httpd.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._httpd.server_address[1]}"
        threading.Thread(target=self._httpd.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._httpd.shutdown()
        self._httpd.server_close()


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.port)
    yield made
    made.close()


LOGGER = """
    import sys, time, tracker
    run = tracker.init(project="p", capture=False, resume=sys.argv[1] if sys.argv[1:] else None)
    run.log({"a": 1})
    run.flush()
    print(run.id, flush=True)
    time.sleep(600)
"""
"""A script that logs a point, prints the id of its run, and waits to be killed."""


class Script:
    """A Python program in a separate process."""

    def __init__(self, text: str, *arguments: str, **env: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text), *arguments],
                                        env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, timeout: float = 180) -> str:
        """Wait for the end of the program, and return its stderr."""
        out, err = self.process.communicate(timeout=timeout)
        return err


@pytest.fixture
def script() -> Iterator[Callable[..., Script]]:
    made: List[Script] = []

    def run(text: str, *arguments: str, **env: str) -> Script:
        made.append(Script(text, *arguments, **env))
        return made[-1]

    yield run
    for one in made:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGKILL)
        one.process.communicate()


def sync(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "tracker", "sync", *arguments], capture_output=True, text=True, timeout=180)


def eventually(what: Callable[[], Any], seconds: float = 180) -> Any:
    """Call what() repeatedly until it returns a true value, and return that value."""
    end = time.monotonic() + seconds
    while True:
        answer = what()
        if answer:
            return answer
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def drained(spool: Spool) -> Iterator[Item]:
    """Remove the items from a spool, and return them in order."""
    item = spool.next()
    while item is not None:
        yield item
        spool.done(item)
        item = spool.next()


@pytest.fixture
def home(binary: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """Return the home folder of a user who has the program but no server. Nothing listens at the default address."""
    port, _ = free_ports()
    (tmp_path / "sitecustomize.py").write_text(
        f"import tracker._embed, tracker._http\ntracker._embed.DEFAULT_URL = 'http://127.0.0.1:{port}'\n"
        "tracker._http.DEFAULT_URL = tracker._embed.DEFAULT_URL\ntracker._embed.PATIENCE = 60.0\n")  # the machine may be busy
    monkeypatch.setenv("PYTHONPATH", str(tmp_path) + os.pathsep + os.environ["PYTHONPATH"])
    monkeypatch.delenv("TRACKER_URL", raising=False)
    monkeypatch.delenv("TRACKER_EMBED")
    monkeypatch.delenv("TRACKER_SPOOL")
    monkeypatch.setenv("TRACKER_PROGRAM", binary)
    folder = tmp_path / "home"
    yield folder
    if own_server(folder):
        stop(folder)


def own_server(folder: pathlib.Path) -> Dict[str, Any]:
    """Return the content of server.json in a home folder, or {} if no server was started."""
    try:
        found: Dict[str, Any] = json.loads((folder / "server.json").read_text())
        return found
    except FileNotFoundError:
        return {}


def stop(folder: pathlib.Path, number: int = signal.SIGTERM) -> None:
    """End the server of a home folder if it is running."""
    from tracker import _embed

    said = own_server(folder)
    if _embed.alive(said["pid"]):
        os.kill(said["pid"], number)
    eventually(lambda: not _embed.alive(said["pid"]))
