"""python -m tracker: run, sync, login, status."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from ._folder import spool_folders
from ._http import Client, TrackerError, claims, credentials_path, service_url, write_credentials
from ._output import beside
from ._show import dashboard
from ._spool import Busy, Spool
from ._sync import spool_files, sync_file
from ._unsent import REJECTED, describe, rejected, sentence, try_again
from ._value import tell


def sync(arguments: argparse.Namespace) -> int:
    """Send all spools, and retry rejected requests. Return 1 if a request could not be sent."""
    paths: List[str] = []
    given = arguments.path or spool_folders()
    for path in given:
        paths += _spools(path) if os.path.isdir(path) or not arguments.path else [path.partition(REJECTED)[0]]
    if not paths:
        print(f"no unsent data in {', '.join(given)}")
    left = 0
    for path in paths:
        try:
            try_again(path)
            failure = sync_file(path, arguments.url)
            refused = rejected(path)
        except Busy:
            print(f"{path}: skipped, because another process uses it")
            continue
        except (OSError, ValueError, TypeError) as error:
            if isinstance(error, FileNotFoundError) and not arguments.path:
                print(f"{path}: sent by another process")
                continue
            tell(f"{path}: {getattr(error, 'strerror', None) or error}")
            left += 1
            continue
        if failure is None and refused:
            tell(f"{path}: {sentence(os.path.dirname(path), refused)} The data is in {path}{REJECTED}; delete that file to "
                 "discard it")
            left += 1
        elif failure is None:
            print(f"{path}: sent")
        else:
            tell(f"{path}: {failure}")
            left += 1
    return 1 if left else 0


def _spools(folder: str) -> List[str]:
    """Return the spool files in folder, including the paths of removed spools that still have rejected requests."""
    found = spool_files(folder)
    found += [path for path in (name[:-len(REJECTED)] for name in spool_files(folder, REJECTED)) if path not in found]
    return found


def login(arguments: argparse.Namespace) -> int:
    """Sign in and store the token. Return 1 if no password is given or the server rejects it."""
    url = service_url(arguments.url)
    Client(url, token="none").call("GET", "/health")  # check the address before asking for a password
    try:
        username = arguments.username or input("User name: ")
        password = getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    except (EOFError, KeyboardInterrupt):
        print()
        tell("not signed in")
        return 1
    answer = Client(url, token="none").call("POST", "/auth", {"username": username, "password": password})
    write_credentials(url, answer["access_token"])
    print(f"signed in at {url} as {username}; the token is stored in {credentials_path()}")
    if os.environ.get("TRACKER_TOKEN"):
        tell("TRACKER_TOKEN is set and is used instead of the stored token")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print the server's address, the signed-in user and the spools. Return 1 if the token is rejected or the server fails."""
    client = Client(arguments.url)
    failed = 0
    print(f"server     {client.url}")
    try:
        health = client.call("GET", "/health")
        print(f"           {health['app_name']} {health['version']}")
        end = claims(client.token).get("exp")
        user = client.call("GET", "/auth/me")["username"]
        until = time.strftime(", until %Y-%m-%d %H:%M", time.localtime(end)) if isinstance(end, (int, float)) else ""
        print(f"user       {user}{until}")
    except TrackerError as error:
        failed = 1
        print(f"           {error}")
    print(f"dashboard  {dashboard(client.url)}")
    for n, folder in enumerate(spool_folders()):
        files = _spools(folder)
        files += [path for path in spool_files(folder, ".out") if os.path.splitext(path)[0] + ".spool" not in files]
        if n > 0 and not files:
            continue
        print(f"spool      {folder}" + ("" if files else ", empty"))
        for path in files:
            what, size, left = _spooled(path)
            print(f"           {os.path.basename(path)}: {what}, {size / 1e6:.1f} MB")
            if left:
                print(f"             not sent yet: {describe(folder, left)}")
            for one in _refused(path):
                print(f"             {one}")
    return failed


def _refused(path: str) -> List[str]:
    """Return a line with the reason for each of the first 20 rejected requests."""
    try:
        found = rejected(path)
    except OSError as error:
        return [f"{os.path.basename(path)}{REJECTED}: {error.strerror or error}"]
    lines = [f"rejected: {describe(os.path.dirname(path), [one]).partition(': ')[2]}: {one.get('error')}" for one in found[:20]]
    return lines + ([f"and {len(found) - 20} more"] if len(found) > 20 else [])


def _spooled(path: str) -> Tuple[str, int, List[Dict[str, Any]]]:
    try:
        if not os.path.exists(path):
            return "rejected requests; sync retries them", os.path.getsize(path + REJECTED), []
        size = os.path.getsize(path)
        if path.endswith(".out"):
            return "output of a run, without a spool", size, []
        printed = os.path.getsize(beside(path)) if os.path.exists(beside(path)) else 0
        size += printed
        spool = Spool(path)
    except Busy:
        return "in use by a running process", size, []
    except (OSError, ValueError) as error:
        return str(error), 0, []
    left = spool.heads()
    spool.close()
    head = spool.head
    what = f"unsent data of a run of {head.get('project')}/{head.get('experiment')} for {head.get('url')}"
    return what + (" and its output" if printed else ""), size, left


def run(arguments: argparse.Namespace) -> int:
    """Run a program and record it as a run. Return its exit status."""
    from ._command import run_command

    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        tell("the program is missing: run [--project NAME] -- PROGRAM ARGUMENTS")
        return 2
    return run_command(command, arguments.tensorboard, project=arguments.project, experiment=arguments.experiment,
                       name=arguments.name, tags=arguments.tag, url=arguments.url)


def main(argv: Optional[List[str]] = None, prog: str = "python -m tracker") -> int:
    """Run the command line in argv. Return the exit status."""
    parser = argparse.ArgumentParser(prog=prog, description="Record programs as runs, send spooled data, sign in.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("run", help="record a program as a run, with its output, exit status and parameters")
    one.add_argument("--project", help="default: TRACKER_PROJECT, or the name of the working folder")
    one.add_argument("--experiment", help='default: TRACKER_EXPERIMENT, or "default"')
    one.add_argument("--name", help="name of the run")
    one.add_argument("--tag", action="append", default=[], help="tag of the run; can be repeated")
    one.add_argument("--url", help="server to log to (default: TRACKER_URL)")
    one.add_argument("--tensorboard", action="append", default=[], metavar="FOLDER",
                     help="log new TensorBoard event files in and below this folder; can be repeated "
                     "(default: the working folder, and folders in options of the program)")
    one.add_argument("command", nargs=argparse.REMAINDER, metavar="-- PROGRAM ...", help="the program and its arguments")
    one.set_defaults(run=run)
    one = commands.add_parser("sync", help="send unsent data")
    one.add_argument("path", nargs="*", help="spool files or folders (default: TRACKER_SPOOL)")
    one.add_argument("--url", help="server to send to (default: the server of the run)")
    one.set_defaults(run=sync)
    one = commands.add_parser("login", help="sign in; asks for the password, or reads it from standard input")
    one.add_argument("--url", help="server to sign in at (default: TRACKER_URL)")
    one.add_argument("--username", help="user name (default: ask for it)")
    one.set_defaults(run=login)
    one = commands.add_parser("status", help="show the server, the signed-in user and the spool")
    one.add_argument("--url", help="server to ask (default: TRACKER_URL)")
    one.set_defaults(run=status)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (TrackerError, ValueError) as error:  # ValueError means that an address or a token is invalid
        tell(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
