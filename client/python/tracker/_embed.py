"""Finds a server on this machine if no address is given, and starts a server if none is running.

A server that this module starts belongs to the user. It listens on the loopback interface, stores its data in TRACKER_HOME
(~/.tracker), and exits after half an hour without use. The file server.json in that folder contains its address. The file
remains after the server has ended: the next server uses the same port, so that spools for that address can still be sent.
Only the process that holds the lock on server.lock starts a server.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import zlib
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from ._program import program
from ._record import lock
from ._trust import close_to_others, open_own
from ._value import is_quiet, tell

if TYPE_CHECKING:
    import subprocess

DEFAULT_URL = "http://127.0.0.1:9000"
"""The default address of the API of `tracker serve`."""
IDLE_EXIT = "30m"
START_TIMEOUT = 60.0
"""Maximum seconds until a new server listens, or until another process has started it."""
PATIENCE = 5.0
"""Maximum seconds that init spends finding or starting a server, and in which a server must respond to GET /health."""
PORTS = range(9100, 10000, 2)
"""API ports of servers that this module starts. They differ from the default ports. The dashboard has the next port."""

_process: "Optional[subprocess.Popen[bytes]]" = None  # the process of the server that this process has started, if any


class Server(NamedTuple):
    """A server that this module has started, as server.json describes it."""

    url: str  # the API's address
    pid: int
    base: str  # the server's base path

    @property
    def port(self) -> int:
        """The port of the API. The dashboard has the next port."""
        return urlsplit(self.url).port or 0

    @property
    def dashboard(self) -> str:
        """The address of the dashboard."""
        return f"http://127.0.0.1:{self.port + 1}"


def home() -> str:
    """Return the folder with the user's data: TRACKER_HOME, or .tracker in the home folder."""
    return os.path.abspath(os.environ.get("TRACKER_HOME") or os.path.join(os.path.expanduser("~"), ".tracker"))


def host() -> str:
    """Return the name of this machine."""
    import socket

    return socket.gethostname()


def enabled() -> bool:
    """Return whether this module may start servers. TRACKER_EMBED=0 forbids it."""
    return os.environ.get("TRACKER_EMBED", "").lower() not in ("0", "false", "no")


class Hangs(OSError):
    """A program or interface that is needed does not respond, and waiting longer would not help."""


def find(signed_in: bool, start: Optional[bool] = None, quiet: Optional[bool] = None) -> Tuple[str, str]:
    """Return the address of the API, and a message that names the program that does not respond, or "".

    If a usable server runs at the default address, that address is returned. Otherwise it is the address of the server that
    this module has started. The search takes at most PATIENCE seconds.

    start: whether to start a server if none is running. If False, the address of a running server or the last known address
        is returned. By default, a server is started if this module has started one before.
    signed_in: whether this user has a token for the server at the default address. Without a token, that server must
        belong to this user or to the administrator.
    quiet: whether to omit the message that a server was started.
    """
    end = time.monotonic() + PATIENCE
    found = None
    try:
        if not enabled() or at_default(signed_in, end):
            return DEFAULT_URL, ""
        if start is None:
            start = remembered() is not None
        found = (_ensure(None, quiet, end) if start else None) or remembered()
    except Hangs as error:
        return DEFAULT_URL, str(error)
    except OSError as error:
        _report(error)
        found = remembered()
    if found is not None and not foreign(found.url):
        return found.url, ""
    if program() is None or not foreign(DEFAULT_URL, 0):
        return DEFAULT_URL, ""
    # Data must not be sent to another user's server, so it waits for a server at a free port.
    return next((f"http://127.0.0.1:{port}" for port in _ports() if _free(port)), "http://127.0.0.1:1"), ""


def ensure(base: Optional[str] = None, quiet: Optional[bool] = None) -> Optional[Server]:
    """Return the server that this module has started. Start it if it is not running.

    If that fails, print the reason and return None. base is the required base path; a server with a different one is
    restarted.
    """
    try:
        return _ensure(base, quiet, time.monotonic() + START_TIMEOUT)
    except OSError as error:
        _report(error)
        return None


def _report(error: OSError) -> None:
    where = f" ({error.filename})" if error.filename else ""
    tell(f"no server is running, and none could be started: {error.strerror or error}{where}; set TRACKER_URL to the address "
         "of a server, or set TRACKER_HOME to a folder for the data of a new server", once="embed")


def _ensure(base: Optional[str], quiet: Optional[bool], end: float) -> Optional[Server]:
    """Do what ensure does, but raise OSError instead of printing the reason. Raise Hangs at the time end."""
    close_to_others(home())
    close_to_others(os.path.join(home(), "server.log"))
    found = running(end)
    if found is not None and base in (None, found.base):
        return found
    path = program()
    if path is None:
        return None  # only the client is installed
    with _locked(end):
        found = running(end)
        if found is not None and base not in (None, found.base):
            _stop(found)
            found = None
        if found is None:
            _check_loopback(end)
            found = _start(path, base, end)
            if not is_quiet(quiet):
                tell(f"started a server with the dashboard at {found.dashboard} (data in {home()}; it ends after 30 minutes "
                     "without use; TRACKER_EMBED=0 disables it)")
        return found


def _check_loopback(end: float) -> None:
    """Raise Hangs if this process can't listen on 127.0.0.1 and connect to itself, as in some sandboxes."""
    import socket

    try:
        with socket.socket() as listener, socket.socket() as connection:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            connection.settimeout(_left(end))
            connection.connect(listener.getsockname())
    except OSError as error:
        why = error.strerror or error
        raise Hangs(f"no server can be started, because this program can't connect to 127.0.0.1 ({why})") from None


def _left(end: float) -> float:
    """Return the seconds until end for a socket timeout, at least 0.01."""
    return max(0.01, end - time.monotonic())


def remembered() -> Optional[Server]:
    """Return the server that this module started last on this machine. It might have ended.

    server.json is ignored if another user could have written it.
    """
    try:
        with os.fdopen(open_own(os.path.join(home(), "server.json")), encoding="utf-8") as file:
            said: Dict[str, Any] = json.load(file)
        if said["host"] != host():
            return None  # several machines share the folder, and another machine ran the server
        return Server(str(said["url"]), int(said["pid"]), str(said["base"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def running(end: Optional[float] = None) -> Optional[Server]:
    """Return the server that this module has started, if it is running. A server that is too busy to respond counts.

    Another user's server might now have the same port. Such a server is never returned.
    """
    end = time.monotonic() + PATIENCE if end is None else end
    if _process is not None:
        _process.poll()  # reaps the process if it has ended
    found = remembered()
    if found is None or not alive(found.pid) or not _listening(found.url, end) or foreign(found.url):
        return None
    if _health(found.url, end) is False:
        return None
    return found


def alive(pid: int) -> bool:
    """Return whether this user has a running process with that id. On Windows, where this is unknown, return True."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"  # containers might have no process that reaps zombies
    except FileNotFoundError:
        return sys.platform != "linux"
    except (OSError, IndexError):
        return False


def _listening(url: str, end: float) -> bool:
    import socket

    split = urlsplit(url)
    try:
        socket.create_connection((split.hostname or "", split.port or 80), _left(end)).close()
    except OSError:
        return False
    return True


def _health(url: str, end: float) -> Optional[bool]:
    """Return whether a tracker server responds at url. Return None if the program there does not respond before the time
    end."""
    import socket

    split = urlsplit(url)
    answer = b""
    try:
        with socket.create_connection((split.hostname or "", split.port or 80), _left(end)) as connection:
            connection.sendall(f"GET /health HTTP/1.0\r\nHost: {split.netloc}\r\n\r\n".encode())
            while len(answer) < 10_000:
                connection.settimeout(_left(end))
                piece = connection.recv(4096)
                if not piece:
                    break
                answer += piece
    except socket.timeout:
        return None
    except OSError:
        return False
    return b'"app_name"' in answer


def at_default(signed_in: bool, end: Optional[float] = None) -> bool:
    """Return whether a usable server runs at the default address. find describes which servers are usable.

    Raises Hangs if the program at that address does not respond before the time end.
    """
    end = time.monotonic() + PATIENCE if end is None else end
    if not _listening(DEFAULT_URL, end) or not (signed_in or not foreign(DEFAULT_URL, 0)):
        return False
    answers = _health(DEFAULT_URL, end)
    if answers is None:
        raise Hangs(f"a program listens at {DEFAULT_URL} and has not answered for {PATIENCE:.0f} seconds")
    return answers


def foreign(url: str, *trusted: int) -> bool:
    """Return whether another user's program listens at the port of url on this machine.

    trusted holds ids of other users whose programs are accepted. Only Linux is supported; elsewhere, return False.
    """
    wanted = f":{urlsplit(url).port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                for line in file:
                    field = line.split()
                    if field[1].endswith(wanted) and field[3] == "0A":
                        return int(field[7]) not in (os.geteuid(), *trusted)
        except (OSError, ValueError, IndexError):
            continue
    return False


@contextlib.contextmanager
def _locked(end: float) -> Iterator[None]:
    """Create the folder, and hold its lock.

    Raises OSError if the lock can't be created. Raises Hangs if another process still holds the lock at the time end.
    """
    os.makedirs(home(), mode=0o700, exist_ok=True)
    fd = os.open(os.path.join(home(), "server.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not lock(fd):
            if time.monotonic() > end:
                raise Hangs("another process is starting a server, which does not respond yet")
            time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def _stop(server: Server) -> None:
    """Shut down a server. Its clients will continue with the next server at the same port."""
    import signal

    os.kill(server.pid, signal.SIGTERM)
    end = time.monotonic() + START_TIMEOUT
    while _listening(server.url, end):
        if time.monotonic() > end:
            raise OSError("the running server does not end")
        time.sleep(0.02)


def _start(path: str, base: Optional[str], end: float) -> Server:
    """Start the program, detached, and return when it responds.

    Raises OSError if the program exits. Raises Hangs if it does not listen before the time end. A server listens before it
    opens its database. If it listens but does not respond before the time end, it might be upgrading its database, so it is
    returned.
    """
    former = remembered()
    if base is None:
        base = former.base if former is not None else ""
    failure = f"all ports from {PORTS[0]} to {PORTS[-1]} are taken"
    for port in _ports():
        if not _free(port) or not _free(port + 1):
            continue
        url = f"http://127.0.0.1:{port}"
        process = _spawn(path, port, base)
        while process.poll() is None:
            if _listening(url, end) and _health(url, end) is not False:
                found = Server(url, process.pid, base)
                _remember(found)
                return found
            if time.monotonic() > end:
                process.kill()
                process.wait()
                raise Hangs(f"the started server ({path}) does not listen; see {os.path.join(home(), 'server.log')}")
            time.sleep(0.02)
        with open(os.path.join(home(), "server.log"), encoding="utf-8", errors="replace") as log:
            failure = (log.read(4096).strip().splitlines() or ["the server ended at once"])[-1].replace("tracker: ", "", 1)
        if "is in use" not in failure:
            break
    raise OSError(failure)


def _spawn(path: str, port: int, base: str) -> "subprocess.Popen[bytes]":
    import subprocess

    global _process
    folder = home()
    # The SERVICE_ variables are for servers that are started by hand.
    env = {name: value for name, value in os.environ.items() if not name.startswith("SERVICE_")}
    flags: Dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    with os.fdopen(open_own(os.path.join(folder, "server.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as log:
        _process = subprocess.Popen(
            [path, "serve", "--host", "127.0.0.1", "--port", str(port), "--ui-host", "127.0.0.1", "--ui-port", str(port + 1),
             "--base-path", base, "--db-file", os.path.join(folder, "tracker.db"),
             "--artifact-root", os.path.join(folder, "artifacts"), "--idle-exit", IDLE_EXIT, "--log-level", "warn"],
            cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **flags)
    return _process


def _ports() -> List[int]:
    """Return the ports to try: the former port first, then all others. The order depends on the folder, so that servers for
    different folders use different ports."""
    former = remembered()
    first = zlib.crc32(home().encode()) % len(PORTS)
    return [*([former.port] if former is not None else []), *PORTS[first:], *PORTS[:first]]


def _free(port: int) -> bool:
    import socket

    with socket.socket() as one:
        if sys.platform != "win32":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True


def _remember(server: Server) -> None:
    path = os.path.join(home(), "server.json")
    fd = os.open(f"{path}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump({"url": server.url, "pid": server.pid, "base": server.base, "host": host()}, file)
    os.replace(f"{path}.{os.getpid()}", path)
