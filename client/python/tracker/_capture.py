"""What a run is made of: code, command, machine, packages; and what the machine does meanwhile."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

MOST_DIFF = 512 * 1024
"""Bytes of a diff that are kept."""
GIT_TIMEOUT = 10.0
"""Seconds that git may take."""
SAMPLE_PERIOD = 15.0
"""Seconds between two looks at the machine; TRACKER_SYSTEM_PERIOD says otherwise."""


def git(*args: str) -> str:
    """What git prints; nothing when it fails, is not there or takes too long."""
    import subprocess

    try:
        done = subprocess.run(["git", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=GIT_TIMEOUT, check=True, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def without_password(remote: str) -> str:
    """The address of a remote without the name and password that may be in it."""
    scheme, separator, rest = remote.partition("://")
    if not separator:
        return remote
    place, slash, path = rest.partition("/")
    return scheme + separator + place.rpartition("@")[2] + slash + path


def code() -> Dict[str, Any]:
    """Commit, remote, dirty flag and diff of the working folder; nothing outside of a repository."""
    sha = git("rev-parse", "HEAD").strip()
    if not sha:
        return {}
    dirty = bool(git("status", "--porcelain", "--untracked-files=normal").strip())
    found: Dict[str, Any] = {"git_sha": sha, "git_dirty": dirty}
    remote = git("remote", "get-url", "origin").strip()
    if remote:
        found["git_remote"] = without_password(remote)
    if dirty:
        diff = git("diff", "HEAD", "--no-ext-diff").encode()
        if len(diff) > MOST_DIFF:
            diff = diff[:MOST_DIFF] + b"\n[the rest of the diff was left out]\n"
        found["git_diff"] = diff.decode("utf-8", "replace")
    return found


def packages() -> str:
    """The installed packages, one NAME==VERSION a line."""
    from importlib.metadata import distributions

    names = set()
    for found in distributions():
        name = found.metadata["Name"]
        if name:
            names.add(f"{name}=={found.version}")
    return "\n".join(sorted(names, key=str.lower))


def snapshot(wanted: Callable[[str], bool]) -> Dict[str, Any]:
    """The code and environment of this process, as the service takes it. wanted says which parts."""
    found: Dict[str, Any] = {}
    if wanted("git"):
        found.update(code())
    if wanted("command"):
        import shlex

        arguments = getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv]
        found["command"] = " ".join(shlex.quote(a) for a in arguments)[:100_000]
        found["entrypoint"] = (sys.argv or [""])[0]
    if wanted("host"):
        import platform

        found["hostname"] = platform.node()
        found["runtime"] = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    if wanted("packages"):
        found["dependencies"] = packages()
    return found


class System:
    """Looks at the machine now and then. Call it often; it answers with values only when they are due."""

    def __init__(self) -> None:
        try:
            self._period = float(os.environ.get("TRACKER_SYSTEM_PERIOD") or SAMPLE_PERIOD)
        except ValueError:
            self._period = SAMPLE_PERIOD
        self._next = time.monotonic() + min(1.0, self._period)
        self._before: Dict[str, Tuple[float, float]] = {}

    def __call__(self) -> Dict[str, float]:
        now = time.monotonic()
        if now < self._next:
            return {}
        self._next = now + self._period
        values: Dict[str, float] = {}
        for source in (self._processor, self._memory, self._network, self._disk):
            try:
                source(now, values)
            except (OSError, ValueError, IndexError, KeyError):
                pass  # this system does not tell
        return {"system/" + name: value for name, value in values.items()}

    def _rate(self, name: str, total: float, now: float) -> Optional[float]:
        before = self._before.get(name)
        self._before[name] = (total, now)
        if before is None or now <= before[1]:
            return None
        return (total - before[0]) / (now - before[1])

    def _processor(self, now: float, values: Dict[str, float]) -> None:
        used = time.process_time()
        mine = self._rate("process", used, now)
        if mine is not None:
            values["process.cpu_percent"] = 100 * mine
        fields = [int(f) for f in _lines("/proc/stat")[0].split()[1:9]]
        busy = self._rate("busy", sum(fields) - fields[3] - fields[4], now)
        whole = self._rate("whole", sum(fields), now)
        if busy is not None and whole:
            values["cpu_percent"] = 100 * busy / whole

    def _memory(self, now: float, values: Dict[str, float]) -> None:
        resident = int(_lines("/proc/self/statm")[0].split()[1]) * os.sysconf("SC_PAGE_SIZE")
        values["process.memory_bytes"] = float(resident)
        info = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in _lines("/proc/meminfo"))}
        values["memory_percent"] = 100 * (1 - info["MemAvailable"] / info["MemTotal"])

    def _network(self, now: float, values: Dict[str, float]) -> None:
        received = sent = 0
        for line in _lines("/proc/net/dev")[2:]:
            name, _, rest = line.partition(":")
            fields = rest.split()
            if name.strip() != "lo":
                received, sent = received + int(fields[0]), sent + int(fields[8])
        for what, total in (("received", received), ("sent", sent)):
            rate = self._rate(what, total, now)
            if rate is not None:
                values[f"network.{what}_bytes_per_second"] = rate

    def _disk(self, now: float, values: Dict[str, float]) -> None:
        import shutil

        usage = shutil.disk_usage(os.getcwd())
        values["disk_percent"] = 100 * usage.used / usage.total


def _lines(path: str) -> List[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()
