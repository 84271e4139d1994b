"""Shows the dashboard in JupyterLab, through jupyter-server-proxy.

The proxy starts this module with a port, and hands on what comes under /tracker/. The server is that of the person, which
tracker.init uses too, so it can't be the proxy's own process: this relays to it, and starts it when it has ended.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, Dict, Optional
from urllib.parse import urlsplit

from ._embed import DEFAULT_URL, at_default, enabled, ensure
from ._http import TrackerError
from ._show import dashboard, probe
from ._value import tell

PIECE = 1 << 16
"""Bytes that are relayed at once."""


def server() -> Dict[str, Any]:
    """Return the settings for jupyter-server-proxy. This is the entry point of the package."""
    return {
        "command": [sys.executable, "-m", "tracker._jupyter", "{port}", "{base_url}"],
        "timeout": 60,
        # Jupyter has checked who asks; the server takes only names of this machine while sign-in is off.
        "request_headers_override": {"Host": "127.0.0.1:{port}"},
        "launcher_entry": {"title": "tracker", "enabled": enabled() and not os.environ.get("TRACKER_URL")},
    }


class Relay:
    """Relays connections to the dashboard."""

    def __init__(self, base: str) -> None:
        """base is the path of the dashboard in the browser."""
        self.base = base
        self._port = 0  # of the dashboard; 0 until it is known

    def find(self) -> int:
        """Return the port of the dashboard. Starts the server if it is not running. Raises TrackerError if that fails."""
        try:
            there = at_default(False)
        except OSError as error:
            raise TrackerError(str(error)) from None
        if there:
            address = dashboard(DEFAULT_URL)
            base, _ = probe(address)
            if base != self.base:
                raise TrackerError(f"the server at {DEFAULT_URL} can't be shown here without SERVICE_BASE_PATH={self.base}")
            return urlsplit(address).port or 0
        found = ensure(base=self.base)
        if found is None:
            raise TrackerError("there is no server to show")
        return found.port + 1

    async def serve(self, port: int) -> None:
        """Listen on port of this machine until cancelled."""
        self._port = await asyncio.to_thread(self.find)
        listener = await asyncio.start_server(self.relay, "127.0.0.1", port)
        async with listener:
            await listener.serve_forever()

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy one connection in both directions until it ends."""
        upstream: Optional[asyncio.StreamWriter] = None
        try:
            try:
                answers, upstream = await asyncio.open_connection("127.0.0.1", self._port)
            except ConnectionError:
                self._port = await asyncio.to_thread(self.find)
                answers, upstream = await asyncio.open_connection("127.0.0.1", self._port)
            await asyncio.gather(copy(reader, upstream), copy(answers, writer))
        except (OSError, TrackerError) as error:
            tell(str(error))
        finally:
            for one in (writer, upstream):
                if one is not None:
                    one.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy from one stream to the other, including its end."""
    while True:
        piece = await reader.read(PIECE)
        if not piece:
            break
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def main() -> int:
    """Relay from the port in the first argument, for the base path of Jupyter in the second."""
    try:
        asyncio.run(Relay(sys.argv[2].rstrip("/") + "/tracker").serve(int(sys.argv[1])))
    except (OSError, TrackerError) as error:
        tell(str(error))
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
