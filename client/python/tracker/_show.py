"""Finds the dashboard and shows it in a notebook."""

from __future__ import annotations

import os
import re
from html import escape
from typing import Dict, NamedTuple, Optional
from urllib.parse import urlsplit, urlunsplit

from ._embed import remembered
from ._http import Client, Refused, TrackerError, service_url

PROBE_TIMEOUT = 5.0
"""Maximum seconds to wait for the dashboard. If it does not respond, a link is shown."""
ASK_TIMEOUT = 2.0
"""Maximum seconds to wait for the address of the dashboard."""
HERE = frozenset(("127.0.0.1", "localhost", "::1", "0.0.0.0"))
"""Host names of the machine on which Python runs."""


class View(NamedTuple):
    """How a browser can show a page of the dashboard."""

    address: str  # the page's URL; a path on the notebook's host if it begins with a slash
    framed: bool  # whether the notebook can embed the page
    advice: str  # advice on how to make the page visible; "" if it is visible


_dashboards: Dict[str, str] = {}
"""The addresses of dashboards by the address of the API."""


def dashboard(server: Optional[str] = None) -> str:
    """Return the address of the dashboard: TRACKER_UI_URL, or the address that the API returns. If the API does not respond,
    it is assumed to be the API's address with the next port."""
    given = os.environ.get("TRACKER_UI_URL")
    if given:
        return given.rstrip("/")
    url = service_url(server)
    if url not in _dashboards:
        client = Client(url, "none")
        client.timeout = ASK_TIMEOUT
        try:
            found = client.call("GET", "/connection").get("dashboard_url")
        except (Refused, AttributeError):
            found = None  # an older server, or a server without a dashboard
        except TrackerError:
            return beside(url)
        finally:
            client.close()
        _dashboards[url] = str(found or beside(url))
    return _dashboards[url]


def beside(url: str) -> str:
    """Return the address of the API with the next port, which is the dashboard's default."""
    split = urlsplit(url)
    host = f"[{split.hostname}]" if ":" in (split.hostname or "") else split.hostname
    place = f"{host}:{split.port + 1}" if split.port else str(host)
    return urlunsplit((split.scheme, place, split.path, "", ""))


def show(address: str, path: str, height: int) -> None:
    """Show a page of the dashboard at address in a notebook. Outside a notebook, print the page's URL."""
    address = address.rstrip("/")
    if not in_notebook():
        print(address + path)
        return
    from IPython.display import display

    found = view(address, path)
    display({"text/html": framed(found, height), "text/plain": found.address}, raw=True)


def view(address: str, path: str) -> View:
    """Return how a notebook's browser can show a page. path is the path of the page, address the URL of the dashboard."""
    if address.startswith("/"):
        return View(address + path, True, "")
    split = urlsplit(address)
    local = split.hostname in HERE
    try:
        base, others = probe(address)
    except TrackerError as error:
        return View(address + path, False, f"The dashboard does not respond: {error}")
    own = remembered()
    if local and (re.search(rf"/proxy/(absolute/)?{split.port}$", base) or own is not None and base and base == own.base):
        return View(base + path, True, "")
    hub = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "").rstrip("/")
    proxied = f"{hub}/proxy/{split.port}"
    advice = f"start the server with SERVICE_BASE_PATH={proxied} and install jupyter-server-proxy"
    if local and hub:
        return View(address + path, False, f"To open the page in your browser, {advice}.")
    if not others:
        return View(address + path, False, f"To show the page in the notebook, {advice}." if local else "")
    return View(address + path, True, "")


def probe(address: str) -> "tuple[str, bool]":
    """Return the base path of the dashboard at address, and whether pages of other hosts can embed it.

    Raises TrackerError if the dashboard does not respond.
    """
    client = Client(address, "none")
    client.timeout, client.follow = PROBE_TIMEOUT, False
    try:
        response = client.open("/client/python/")
        page = response.read(10_000).decode("utf-8", "replace")
    except OSError as error:
        raise TrackerError(str(error)) from error
    finally:
        client.close()
    found = re.search(r'href="([^"]*)/client/python/(?:runtracker|tracker-client)/"', page)
    if found is None:
        raise TrackerError(f"the program at {address} is not the dashboard")
    policy = re.search(r"frame-ancestors ([^;]*)", response.headers.get("Content-Security-Policy") or "")
    return found.group(1), policy is None or bool(set(policy.group(1).split()) - {"'self'", "'none'"})


def framed(found: View, height: int) -> str:
    """Return the HTML for a frame with the page, or for a link if the page can't be embedded."""
    link = f'<a href="{escape(found.address)}" target="_blank" rel="noopener">{escape(found.address)}</a>'
    if not found.framed:
        return f"<p>{link}</p>" + (f"<p>{escape(found.advice)}</p>" if found.advice else "")
    return (f'<iframe src="{escape(found.address)}" width="100%" height="{int(height)}" title="tracker" '
            f'style="border:1px solid #8886;border-radius:6px"></iframe>')


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel. Notebooks can show HTML."""
    import sys

    core = sys.modules.get("IPython")
    shell = core.get_ipython() if core is not None else None
    return shell is not None and hasattr(shell, "kernel")
