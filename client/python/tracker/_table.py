"""Reads logged tables."""

from __future__ import annotations

from typing import Any, Dict, List, Optional
from urllib.parse import quote, urlencode

from ._http import Client

PAGE = 1000
"""Maximum number of rows in one request."""


class Table:
    """A logged table: the names of its columns, and its rows as lists of cells.

    A cell is a number, a string, a boolean, a list, a dictionary, or None if it is missing. Media are dictionaries with
    path and caption. omitted is a sentence about data that the server left out of a large table, or "".
    """

    def __init__(self, columns: List[str], rows: List[List[Any]], omitted: str = "") -> None:
        self.columns, self.rows, self.omitted = columns, rows, omitted

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Table {len(self.rows)} rows, {len(self.columns)} columns>"

    def column(self, name: str) -> List[Any]:
        """Return the cells of a column. Raises KeyError if the table has no such column."""
        if name not in self.columns:
            raise KeyError(name)
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)


def read_table(client: Client, iteration: str, key: str, step: Optional[int]) -> Table:
    """Return a table that an iteration has logged, read page by page."""
    query: Dict[str, Any] = {"key": key, "limit": PAGE}
    if step is not None:
        query["step"] = step
    found = Table([], [])
    while True:
        page = client.call("GET", f"/iteration/{quote(iteration, safe='')}/table?{urlencode({**query, 'offset': len(found)})}")
        found.columns, found.omitted = page["columns"], page["omitted"]
        found.rows.extend([_cell(cell) for cell in row] for row in page["data"])
        if not page["data"] or len(found) >= page["total"]:
            return found


def _cell(cell: Any) -> Any:
    return float(cell["number"]) if isinstance(cell, dict) and list(cell) == ["number"] else cell
