"""Shows a run as a card in a notebook: a link to its page, its status and its last values. It is updated until the run ends."""

from __future__ import annotations

import threading
import time
from html import escape
from typing import Any, Callable, Dict, List, NamedTuple, Optional

PERIOD = 1.0
"""Seconds between two checks for changes."""
MOST = 12
"""Maximum number of values on a card."""
COLOURS = {"RUNNING": "#2f7de1", "SUCCEEDED": "#2a9d5c", "FAILED": "#d64545", "KILLED": "#8a8a8a"}


class State(NamedTuple):
    """The state of a run that a card shows."""

    label: str  # the run's name, or its id if it has no name
    place: str  # project and experiment
    status: str
    finished: bool  # whether this process has ended the run
    values: Dict[str, float]
    trouble: Optional[str]  # the reason why no data can be sent; None if it can
    text: str  # for frontends that cannot show HTML


def card(state: State, address: str) -> str:
    """Return the card as HTML. address is the URL of the run's page."""
    values = {name: value for name, value in state.values.items() if not name.startswith("system/")}
    rows = "".join(f'<tr><td style="text-align:left;padding:1px 16px 1px 0">{escape(name)}</td>'
                   f'<td style="text-align:right;font-variant-numeric:tabular-nums">{value:.6g}</td></tr>'
                   for name, value in list(values.items())[:MOST])
    more = f'<div style="opacity:.7">and {len(values) - MOST} more</div>' if len(values) > MOST else ""
    trouble = f'<div style="color:#d64545">{escape(state.trouble)}; logged data is stored and sent later</div>' \
        if state.trouble else ""
    return ('<div style="border:1px solid #8886;border-radius:6px;padding:8px 12px;max-width:40em;line-height:1.5">'
            f'<div><a href="{escape(address)}" target="_blank" rel="noopener"><b>{escape(state.label)}</b></a>'
            f' <span style="opacity:.7">{escape(state.place)}</span> '
            f'<b style="color:{COLOURS.get(state.status, "#8a8a8a")}">{state.status.lower()}</b></div>'
            f'<table style="border-collapse:collapse;margin:4px 0">{rows}</table>{more}{trouble}</div>')


class Cards:
    """The cards of one run in a notebook. They are updated until the run ends."""

    def __init__(self, state: Callable[[], State], address: str) -> None:
        self._state, self._address, self._shown = state, address, ""
        self._handles: List[Any] = []
        self._busy = threading.Lock()

    def show(self) -> None:
        """Show a new card."""
        from IPython.display import display

        with self._busy:
            state = self._state()
            handle = display(_bundle(state, card(state, self._address)), raw=True, display_id=True)
            self._handles.append(handle)
            if len(self._handles) == 1 and not state.finished:
                threading.Thread(target=self._keep, name="tracker-card", daemon=True).start()

    def _keep(self) -> None:
        while not self._state().finished:
            time.sleep(PERIOD)
            self.update()

    def update(self) -> None:
        """Update all cards if the run has changed."""
        state = self._state()
        text = card(state, self._address)
        with self._busy:
            if text != self._shown:
                self._shown = text
                for handle in self._handles:
                    handle.update(_bundle(state, text), raw=True)


def _bundle(state: State, text: str) -> Any:
    return {"text/html": text, "text/plain": state.text}
