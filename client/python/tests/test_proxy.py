"""The client behind nginx with TLS and a path, with nginx's other settings at their defaults."""

from __future__ import annotations

import os
import pathlib
import ssl
import subprocess
import urllib.request
from typing import Iterator

import pytest

import tracker
from tracker import _http, _show

from .conftest import Server, free_ports
from .line import Nginx

HEADERS = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;"


class Public:
    """A server behind nginx at the address url."""

    def __init__(self, binary: str, folder: pathlib.Path) -> None:
        self.certificate = str(folder / "certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", self.certificate,
                        "-out", str(folder / "public.pem")], check=True, capture_output=True)
        with open(self.certificate, "a") as file:
            file.write((folder / "public.pem").read_text())
        port, _ = free_ports()
        self.url = f"https://localhost:{port}/tracker"
        (folder / "public").mkdir()
        self.server = Server(binary, folder / "public", SERVICE_PUBLIC_URL=self.url)
        self.nginx = Nginx(folder / "nginx", self.server.ui_port, path="/tracker", certificate=self.certificate, headers=HEADERS,
                           port=port)

    def close(self) -> None:
        self.nginx.close()
        self.server.kill()

    def read(self, path: str) -> "tuple[str, str]":
        """Return the body and the content type of the response for path."""
        trusted = ssl.create_default_context(cafile=self.certificate)
        with urllib.request.urlopen(self.url + path, context=trusted) as answer:
            return answer.read().decode(), answer.headers["Content-Type"]


@pytest.fixture
def public(binary: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Public]:
    made = Public(binary, tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", made.certificate)
    monkeypatch.setattr(_http, "_paths", {})
    monkeypatch.setattr(_show, "_dashboards", {})
    yield made
    made.close()


@pytest.mark.parametrize("path", ["/api", "", "/"])
def test_a_run_through_a_proxy(public: Public, path: str, tmp_path: pathlib.Path) -> None:
    """The address of the dashboard and the address of the API both work, and links lead to the dashboard."""
    data = os.urandom(2_500_000)
    (tmp_path / "model.bin").write_bytes(data)
    with tracker.init(url=public.url + path, capture=False) as run:
        run.log({"loss": 0.5}, step=1)
        run.log_artifact(str(tmp_path / "model.bin"))
    assert run.url == f"{public.url}/iteration/{run.id}"
    assert [row["value"] for row in public.server.get(f"/metric/iteration/{run.id}")["data"]] == [0.5]
    page, kind = public.read(f"/iteration/{run.id}")
    assert kind.startswith("text/html") and 'href="/tracker/' in page
    experiment = public.server.get(f"/iteration/{run.id}")["experiment_id"]
    [artifact] = public.server.get(f"/resource/experiment/{experiment}")["data"]
    with urllib.request.urlopen(f"{public.server.url}/resource/{artifact['id']}/data") as answer:
        assert answer.read() == data


def test_the_api_names_the_dashboard(public: Public, server: Server) -> None:
    assert _show.dashboard(public.url) == _show.dashboard(public.url + "/api") == _show.dashboard(public.server.url) == public.url
    assert _show.dashboard(server.url) == f"http://127.0.0.1:{server.ui_port}"
    unused, _ = free_ports()
    assert _show.dashboard(f"http://127.0.0.1:{unused}") == f"http://127.0.0.1:{unused + 1}"


def test_the_program_through_a_proxy(public: Public, binary: str) -> None:
    """The command line uses the same addresses."""
    with tracker.init(url=public.url, capture=False):
        pass
    for path in ("", "/api"):
        done = subprocess.run([binary, "runs", "--url", public.url + path], capture_output=True, text=True,
                              env={**os.environ, "SSL_CERT_FILE": public.certificate})
        assert done.returncode == 0 and "SUCCEEDED" in done.stdout, done.stdout + done.stderr
