"""Collects information on the code, command, machine and packages of a run."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict

MOST_DIFF = 512 * 1024
"""Maximum bytes of a diff. A longer diff is truncated."""
GIT_TIMEOUT = 10.0
"""Maximum seconds that one git command can take."""


def git(*args: str) -> str:
    """Return the output of git, or "" if it fails, is not installed or takes too long."""
    import subprocess

    try:
        done = subprocess.run(["git", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=GIT_TIMEOUT, check=True, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def without_password(remote: str) -> str:
    """Return the URL of a Git remote without user name and password."""
    scheme, separator, rest = remote.partition("://")
    if not separator:
        return remote
    place, slash, path = rest.partition("/")
    return scheme + separator + place.rpartition("@")[2] + slash + path


def code() -> Dict[str, Any]:
    """Return commit, remote, dirty flag and diff of the working folder. Return {} outside a repository."""
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
            diff = diff[:MOST_DIFF] + b"\n[the diff was truncated]\n"
        found["git_diff"] = diff.decode("utf-8", "replace")
    return found


def packages() -> str:
    """Return the installed packages, one NAME==VERSION per line."""
    from importlib.metadata import distributions

    names = set()
    for found in distributions():
        name = found.metadata["Name"]
        if name:
            names.add(f"{name}=={found.version}")
    return "\n".join(sorted(names, key=str.lower))


def snapshot(wanted: Callable[[str], bool]) -> Dict[str, Any]:
    """Return the code and environment of this process in the API's format. wanted(part) reports whether to include a
    part."""
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
