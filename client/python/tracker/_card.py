"""The card of a run in a notebook: a link to its page, how it is doing, and its last values, kept up to date."""

from __future__ import annotations

import threading
import time
from html import escape
from typing import TYPE_CHECKING, Any, List

from ._show import dashboard, in_notebook, view

if TYPE_CHECKING:
    from ._run import Run

PERIOD = 1.0
"""Seconds between two looks at what has changed."""
MOST = 12
"""Values on a card."""
COLOURS = {"RUNNING": "#2f7de1", "SUCCEEDED": "#2a9d5c", "FAILED": "#d64545", "KILLED": "#8a8a8a"}


def card(run: Run, address: str = "") -> str:
    """The card as HTML. address is where the page of the run is."""
    values = {name: value for name, value in run.last().items() if not name.startswith("system/")}
    rows = "".join(f'<tr><td style="text-align:left;padding:1px 16px 1px 0">{escape(name)}</td>'
                   f'<td style="text-align:right;font-variant-numeric:tabular-nums">{value:.6g}</td></tr>'
                   for name, value in list(values.items())[:MOST])
    more = f'<div style="opacity:.7">and {len(values) - MOST} more</div>' if len(values) > MOST else ""
    sender = run._sender if not run.finished else None
    ended = sender.ended if sender is not None else None
    failure = "It was ended elsewhere" if ended else sender.failure if sender is not None else None
    trouble = f'<div style="color:#d64545">{escape(str(failure))}; what is logged is kept and sent later</div>' if failure else ""
    status = "disabled" if run.mode == "disabled" else str(ended["status"]) if ended else run.status
    where = f"{escape(run.project)} / {escape(run.experiment)}"
    return ('<div style="border:1px solid #8886;border-radius:6px;padding:8px 12px;max-width:40em;line-height:1.5">'
            f'<div><a href="{escape(address or run.url)}" target="_blank" rel="noopener"><b>{escape(run.name or run.id)}</b></a>'
            f' <span style="opacity:.7">{where}</span> '
            f'<b style="color:{COLOURS.get(status, "#8a8a8a")}">{status.lower()}</b></div>'
            f'<table style="border-collapse:collapse;margin:4px 0">{rows}</table>{more}{trouble}</div>')


class Cards:
    """The cards of one run that are shown."""

    def __init__(self, run: Run) -> None:
        self._run, self._shown = run, ""
        self._handles: List[Any] = []
        self._busy = threading.Lock()
        self._address = view(dashboard(run.server), f"/iteration/{run.id}").address

    def show(self) -> None:
        """Show one more."""
        from IPython.display import display

        with self._busy:
            handle = display(self._bundle(card(self._run, self._address)), raw=True, display_id=True)
            self._handles.append(handle)
            if len(self._handles) == 1 and not self._run.finished:
                self._run._background("tracker-card", self._keep)

    def _keep(self) -> None:
        while not self._run.finished:
            time.sleep(PERIOD)
            self.update()

    def update(self) -> None:
        """Bring them up to date, if there is anything new."""
        text = card(self._run, self._address)
        with self._busy:
            if text != self._shown:
                self._shown = text
                for handle in self._handles:
                    handle.update(self._bundle(text), raw=True)

    def _bundle(self, text: str) -> Any:
        return {"text/html": text, "text/plain": repr(self._run)}


def display(run: Run) -> None:
    """Show a card of run, or what it is as text where there is no HTML."""
    if not in_notebook():
        print(repr(run))
        return
    if run._cards is None:
        run._cards = Cards(run)
    run._cards.show()
