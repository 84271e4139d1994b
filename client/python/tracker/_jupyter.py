"""Shows the dashboard in JupyterLab, through jupyter-server-proxy.

jupyter-server-proxy starts this module with a port, and forwards requests below /tracker/ to that port. The module relays
them to the user's own server, which tracker.init also uses. Because that server outlives the proxy, it can't be the process
that the proxy starts. If the server has ended, the module starts it again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, Dict, Optional
from urllib.parse import urlsplit

from ._embed import DEFAULT_URL, at_default, enabled, ensure
from ._http import TrackerError
from ._show import beside, probe
from ._value import tell

PIECE = 1 << 16
"""Maximum number of bytes that are copied at once."""


def server() -> Dict[str, Any]:
    """Return the settings for jupyter-server-proxy. The package declares this function as an entry point."""
    return {
        "command": [sys.executable, "-m", "tracker._jupyter", "{port}", "{base_url}"],
        "timeout": 60,
        # Jupyter has authenticated the user. Without sign-in, the server accepts only host names of this machine.
        "request_headers_override": {"Host": "127.0.0.1:{port}"},
        "launcher_entry": {"title": "tracker", "enabled": enabled() and not os.environ.get("TRACKER_URL")},
    }


class Relay:
    """Relays connections to the dashboard."""

    def __init__(self, base: str) -> None:
        """base is the path of the dashboard in the browser."""
        self.base = base
        self._port = 0  # the dashboard's port; 0 until it is known

    def find(self) -> int:
        """Return the dashboard's port. If the server is not running, start it. Raises TrackerError if that fails."""
        try:
            there = at_default(False)
        except OSError as error:
            raise TrackerError(str(error)) from None
        if there:
            address = beside(DEFAULT_URL)
            base, _ = probe(address)
            if base != self.base:
                raise TrackerError(f"the server at {DEFAULT_URL} can't be shown in Jupyter; start it with "
                                   f"SERVICE_BASE_PATH={self.base}")
            return urlsplit(address).port or 0
        found = ensure(base=self.base)
        if found is None:
            raise TrackerError("no server is running, and none could be started")
        return found.port + 1

    async def serve(self, port: int) -> None:
        """Listen on a port of this machine until the task is cancelled."""
        self._port = await asyncio.to_thread(self.find)
        listener = await asyncio.start_server(self.relay, "127.0.0.1", port)
        async with listener:
            await listener.serve_forever()

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy one connection in both directions until both directions end."""
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
    """Copy one stream to the other, and then close the other for writing."""
    while True:
        piece = await reader.read(PIECE)
        if not piece:
            break
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def main() -> int:
    """Relay connections. The first argument is the port to listen on, the second is Jupyter's base path."""
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
