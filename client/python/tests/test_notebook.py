"""Tests of the card of a run, and of the dashboard in a frame, in a notebook's kernel."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List

import nbclient
import nbformat
import pytest

from tracker._show import framed, probe, view

from .conftest import Server, eventually

Cell = Callable[[str], List[Dict[str, Any]]]


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    """Run a cell in a kernel, and return its output."""
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    notebook = nbformat.v4.new_notebook()
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", allow_errors=True)
    with client.setup_kernel():
        def run(text: str) -> List[Dict[str, Any]]:
            notebook.cells.append(nbformat.v4.new_code_cell(text))
            number = len(notebook.cells) - 1
            client.execute_cell(notebook.cells[number], number)
            return list(notebook.cells[number].outputs)

        yield run


WAIT = """
import time
end = time.monotonic() + 180
while time.monotonic() < end:
    with run._cards._busy:
        if "2.125" in run._cards._shown:
            break
    time.sleep(0.05)
"""


def html(outputs: List[Dict[str, Any]]) -> str:
    return "".join(str(output["data"].get("text/html", "")) for output in outputs if "data" in output)


def test_a_card_lives_with_its_run(server: Server, cell: Cell) -> None:
    cell("import tracker\nrun = tracker.init('p', 'e<b>', name='first', capture=False)")
    shown = cell("run")
    assert "first" in html(shown) and "running" in html(shown) and "e&lt;b&gt;" in html(shown)
    assert f"http://127.0.0.1:{server.ui_port}/iteration/" in html(shown)
    [text] = [output["data"]["text/plain"] for output in shown]
    assert "first" in text and "p/e<b>" in text
    cell("for step in range(3): run.log({'loss': 0.125 + step})")
    cell(WAIT)  # notebook clients process updates only while a cell runs
    assert "loss" in html(shown) and "2.125" in html(shown) and "running" in html(shown)
    cell("run.finish('FAILED')")
    assert "failed" in html(shown) and "2.125" in html(shown)


def test_a_cell_that_is_run_again_ends_the_run_before(server: Server, cell: Cell) -> None:
    start = "import tracker\nrun = tracker.init('p', capture=False)\nrun.log({'loss': 1})"
    cell(start)
    [failed] = cell("1 / 0")
    assert failed["output_type"] == "error"
    cell(start)
    cell("raise KeyboardInterrupt")
    cell(start)
    cell("1 / 0")
    cell("run.log({'loss': 2})")  # the run continued
    cell(start)
    cell("1 / 0")
    cell("run = tracker.init('p', capture=False, resume='auto')\nrun.log({'loss': 3})")
    cell("run.finish()")
    found = server.iterations()
    assert [it["status"] for it in found] == ["FAILED", "KILLED", "SUCCEEDED", "SUCCEEDED"]
    assert "ZeroDivisionError" in found[0]["error_message"] and not found[2]["error_message"]
    assert server.points(found[3]["id"], "loss") == [(0, 1), (1, 3)], "the run was continued"


def test_a_cell_is_interrupted(server: Server, cell: Cell) -> None:
    cell("import time, tracker\nfrom tracker import _sender\nfrom tracker._http import Client\n_sender.CHECK = 0.1\n"
         "def ask(): Client(run.server).call('POST', f'/iteration/{run.id}/stop')\n"
         "run = tracker.init('p', capture=False)\nwhile not run.name: time.sleep(0.01)")
    [failed] = cell("ask()\ntime.sleep(600)")
    assert failed["output_type"] == "error" and failed["ename"] == "KeyboardInterrupt"
    cell("run.finish()")
    cell("run = tracker.init('p', capture=False)\nwhile not run.name: time.sleep(0.01)")
    cell("import threading\nthreading.Timer(1, ask).start()")  # no cell is running then
    eventually(lambda: [it["error_message"] for it in server.iterations()] == ["Stopped on request."] * 2)
    assert [it["status"] for it in server.iterations()] == ["KILLED", "KILLED"]
    [output] = cell("print(run.status)")
    assert output["text"].strip() == "KILLED"


def test_the_dashboard_is_shown(server: Server, cell: Cell) -> None:
    [output] = cell("import tracker\ntracker.show()")
    assert f"http://127.0.0.1:{server.ui_port}/" in html([output])
    [output] = cell("tracker.show(url='/proxy/9001', height=300)")
    assert '<iframe src="/proxy/9001/"' in html([output]) and 'height="300"' in html([output])
    cell("run = tracker.init(capture=False)")
    [output] = cell("run.show()")
    assert "/iteration/" in html([output])


def test_a_frame_is_where_the_browser_finds_it(binary: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server").mkdir()
    plain = Server(binary, tmp_path / "server")
    address = f"http://127.0.0.1:{plain.ui_port}"
    try:
        assert probe(address) == ("", True)
        assert view(address, "/") == (f"{address}/", True, "")
        assert not view(plain.url, "/").framed, "that is the API"
    finally:
        plain.kill()
    plain.env.update(SERVICE_ENABLE_AUTH="true", SERVICE_JWT_SECRET="a secret with the minimum length")
    plain.start()
    try:
        assert probe(address) == ("", False)
        found = view(address, "/")
        assert not found.framed and f"SERVICE_BASE_PATH=/proxy/{plain.ui_port}" in framed(found, 600)
        monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
        assert f"SERVICE_BASE_PATH=/user/ada/proxy/{plain.ui_port}" in view(address, "/").advice
    finally:
        plain.kill()
    assert "does not answer" in view(address, "/").advice
    plain.env["SERVICE_BASE_PATH"] = f"/user/ada/proxy/{plain.ui_port}"
    plain.start()
    try:
        assert view(address, "/iteration/1") == (f"/user/ada/proxy/{plain.ui_port}/iteration/1", True, "")
    finally:
        plain.kill()
