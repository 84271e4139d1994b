"""Realistic connections to a server: slow connections, connections that break, and a reverse proxy."""

from __future__ import annotations

import pathlib
import shutil
import socket
import struct
import subprocess
import threading
import time
from typing import Optional

from .conftest import eventually, free_ports

PIECE = 16 << 10
"""Number of bytes that are forwarded at a time."""


class Line:
    """Forwards bytes to a port. speed is in bytes per second. A connection breaks after cut bytes to the server, or at once
    while the line is down."""

    def __init__(self, target: int, speed: float = 0, cut: int = 0) -> None:
        self.target, self.speed, self.cut, self.down = target, speed, cut, False
        self.passed = 0  # bytes to the server
        self.breaks = 0
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * PIECE)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(64)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listening.accept()[0]
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._back, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        passed = 0
        try:
            while True:
                data = client.recv(PIECE)
                if not data:
                    server.shutdown(socket.SHUT_WR)
                    return
                if self.down or self.cut and passed + len(data) > self.cut:
                    self.breaks += 1
                    for end in (client, server):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        end.close()
                    return
                server.sendall(data)
                passed += len(data)
                self.passed += len(data)
                if self.speed:
                    time.sleep(len(data) / self.speed)
        except OSError:
            client.close()
            server.close()

    def _back(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while True:
                data = server.recv(1 << 16)
                if not data:
                    client.shutdown(socket.SHUT_WR)
                    return
                client.sendall(data)
        except OSError:
            pass  # the thread for the other direction closes both


CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} {tls};
        {settings}
        location {path} {{ proxy_pass http://127.0.0.1:{target}; {headers} }}
    }}
}}
"""


class Nginx:
    """nginx in front of a port, with default settings except for the given settings.

    With a certificate, a file with a certificate and its key, nginx uses TLS. headers are settings of the location.
    """

    def __init__(self, folder: pathlib.Path, target: int, settings: str = "", path: str = "/", certificate: str = "",
                 headers: str = "", port: int = 0) -> None:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        assert program, "nginx is missing; install nginx-light"
        folder.mkdir()
        self.port = port or free_ports()[0]
        self.url = f"http://127.0.0.1:{self.port}"
        if certificate:
            self.url = f"https://localhost:{self.port}"
            settings += f" ssl_certificate {certificate}; ssl_certificate_key {certificate};"
        (folder / "nginx.conf").write_text(CONFIGURATION.format(
            folder=folder, port=self.port, target=target, settings=settings, path=path, headers=headers,
            tls="ssl" if certificate else ""))
        self._log = folder / "error.log"
        self._process: Optional[subprocess.Popen[bytes]] = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(self._log)])
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, self._log.read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    @property
    def refusals(self) -> int:
        """Return the number of bodies that were too large."""
        return self._log.read_text().count("too large body")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
