"""A headless Chromium that tests control over a debugger pipe."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Dict

from .conftest import eventually

CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Browser:
    """A page of the browser. The caller must close it."""

    def __init__(self, folder: pathlib.Path) -> None:
        assert CHROMIUM is not None
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        # The debugger reads from descriptor 3 and writes to 4.
        command = 'r=$1; w=$2; shift 2; eval "exec \\"\\$@\\" 3<&$r 4>&$w"'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", str(read), str(write), CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--window-size=1200,1400", f"--user-data-dir={folder}", "--remote-debugging-pipe"],
            pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self._number, self._rest, self._session = 0, b"", ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = str(self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def call(self, method: str, **parameters: Any) -> Dict[str, Any]:
        """Return the result of a debugger command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                piece = os.read(self._from, 1 << 16)
                assert piece, "the browser has ended"
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def open(self, address: str) -> None:
        """Go to a page."""
        self.call("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page, or None while the page is loading."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Wait until an expression has a true value, and return it."""
        return eventually(lambda: self.value(expression))

    def close(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        self._process.wait()
