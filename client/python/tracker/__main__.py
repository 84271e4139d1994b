"""python -m tracker: sync, login, status."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from typing import List, Optional

from ._http import Client, TrackerError, credentials_path, service_url, write_credentials
from ._init import spool_folder
from ._sender import spool_files, sync_file
from ._spool import Busy
from ._value import tell


def sync(arguments: argparse.Namespace) -> int:
    """Send what runs have left in the spool. 1 when something is left after that."""
    paths: List[str] = []
    for path in arguments.path or [spool_folder()]:
        paths += spool_files(path) if os.path.isdir(path) else [path]
    left = 0
    for path in paths:
        try:
            failure = sync_file(path, arguments.url)
        except Busy:
            print(f"{path}: left to the process that has it")
            continue
        except (OSError, ValueError) as error:
            tell(f"{path}: {error}")
            left += 1
            continue
        if failure is None:
            print(f"{path}: sent")
        else:
            tell(f"{path}: {failure}")
            left += 1
    return 1 if left else 0


def login(arguments: argparse.Namespace) -> int:
    """Sign in and keep the token."""
    url = service_url(arguments.url)
    username = arguments.username or input("User name: ")
    password = getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    answer = Client(url, token="none").call("POST", "/auth", {"username": username, "password": password})
    write_credentials(url, answer["access_token"])
    print(f"signed in at {url} as {username}; the token is kept in {credentials_path()}")
    return 0


def main(argv: Optional[List[str]] = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tracker", description="Send what was spooled, and sign in.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("sync", help="send what runs have left in the spool")
    one.add_argument("path", nargs="*", help="spool files or folders of them (default: that of TRACKER_SPOOL)")
    one.add_argument("--url", help="server to send to, in place of the one that the run was for")
    one.set_defaults(run=sync)
    one = commands.add_parser("login", help="sign in; the password is asked for, or read from the standard input")
    one.add_argument("--url", help="server to sign in at (default: TRACKER_URL)")
    one.add_argument("--username")
    one.set_defaults(run=login)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except TrackerError as error:
        tell(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
