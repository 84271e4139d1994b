"""The result of log_artifact, which can wait for uploads."""

from __future__ import annotations

import time
from typing import List, Optional

from ._http import TrackerError
from ._recorder import Recorder


class Upload:
    """The files of one call to log_artifact. The files are already stored in the spool. wait waits for their uploads."""

    def __init__(self, recorder: Recorder, name: str, numbers: List[int]) -> None:
        self._recorder, self.name, self._numbers = recorder, name, numbers

    def wait(self, timeout: Optional[float] = None) -> Upload:
        """Wait at most timeout seconds until the server has the files, and return self.

        Raises TrackerError if the server rejects a file, if the run is not online, or on timeout.
        """
        recorder = self._recorder
        sender, spool = recorder.sender, recorder.spool
        if recorder.mode == "disabled":
            return self
        if sender is None or spool is None:
            raise TrackerError(f"{self.name} is not sent: the run is {recorder.mode}")
        recorder.flush()
        limit = None if timeout is None else time.monotonic() + timeout
        with spool.changed:
            while True:
                missing = [number for number in self._numbers if number not in sender.answers]
                refused = [sender.answers[number] for number in self._numbers if sender.answers.get(number)]
                if refused:
                    raise refused[0]  # type: ignore[misc]
                if not missing:
                    return self
                if sender.stop.is_set():
                    raise TrackerError(f"{self.name} is not sent yet, and the run has ended; it is stored in {spool.path}")
                if limit is not None and time.monotonic() >= limit:
                    raise TrackerError(f"{self.name} is not sent yet{f': {sender.failure}' if sender.failure else ''}")
                spool.changed.wait(0.1)
