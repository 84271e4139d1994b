"""Tests of values that can't be stored unchanged. Each such value is reported once, and all other values are stored."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Dict

import pytest

import tracker

from .conftest import Server

LARGE = 10 ** 400


@pytest.mark.parametrize("value, said", [
    (None, "v is not logged: None is not a number"),
    ({}, "v is not logged: an empty dict has no numbers"),
    ({"inner": {}}, "v/inner is not logged: an empty dict has no numbers"),
    ({"inner": None}, "v/inner is not logged: None is not a number"),
    ([None], "v is not logged: a list is not a number"),
    (1 + 2j, "v is not logged: a complex is not a number"),
    (Decimal("sNaN"), "v is not logged: a Decimal is not a number"),
])
def test_what_is_not_logged(server: Server, capfd: pytest.CaptureFixture[str], value: Any, said: str) -> None:
    with tracker.init(capture=False) as run:
        for step in range(3):
            run.log({"v": value, "beside": 1.0}, step=step)
    told = capfd.readouterr().err
    assert told.count(said) == 1 and told.count("is not logged") == 1, told
    assert server.points(run.id, "beside") == [(0, 1), (1, 1), (2, 1)] and server.points(run.id, "v") == []


@pytest.mark.parametrize("beside", [{}, {"text": True}], ids=["numbers", "mixed"])
@pytest.mark.parametrize("value, stored, said", [
    (LARGE, "Infinity", "v is logged as inf: a 64-bit float cannot represent the given number"),
    (-LARGE, "-Infinity", "v is logged as -inf: "),
    (2 ** 53 + 1, 2 ** 53, "v is logged as 9007199254740992.0: "),
    (Decimal("1e400"), "Infinity", "v is logged as inf: "),
    (Fraction(LARGE, 3), "Infinity", "v is logged as inf: "),
])
def test_what_is_logged_as_another_number(server: Server, capfd: pytest.CaptureFixture[str], beside: Dict[str, Any], value: Any,
                                          stored: Any, said: str) -> None:
    with tracker.init(capture=False) as run:
        for step in range(3):
            run.log({"v": value, **beside}, step=step)
    told = capfd.readouterr().err
    assert told.count(said) == 1 and told.count("is logged as") == 1, told
    assert server.points(run.id, "v") == [(step, stored) for step in range(3)]


def test_what_is_logged_without_a_word(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(capture=False, quiet=True) as run:
        run.log({"nan": math.nan, "inf": math.inf, "dec": Decimal("-Infinity"), "yes": True, "whole": 2 ** 53})
        run.log({"whole": 2 ** 53, "nan": math.nan, "inf": -math.inf})
        run.log({})
        run.config.update({"nothing": None, "empty": {}, "large": LARGE, "larger": 10 ** 5000, "inner": {"empty": {}}})
        run.summary["nothing"] = None
    assert capfd.readouterr().err == ""
    assert server.points(run.id, "inf") == [(0, "Infinity"), (1, "-Infinity")]
    assert server.points(run.id, "dec") == [(0, "-Infinity")]
    assert server.points(run.id, "yes") == [(0, 1)] and server.points(run.id, "whole") == [(0, 2 ** 53), (1, 2 ** 53)]
    kept = server.parameters(run.id)
    assert kept == {"nothing": "null", "empty": "{}", "large": str(LARGE), "larger": hex(10 ** 5000), "inner/empty": "{}"}
    summary = tracker.Api().run(run.id).summary
    assert summary["nothing"] is None and "nothing" in summary


def test_a_summary_that_is_too_large(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(capture=False) as run:
        run.summary["v"] = LARGE
    assert capfd.readouterr().err.count("summary/v is logged as inf: ") == 1
    assert server.points(run.id, "summary/v") == [(0, "Infinity")]


@pytest.mark.parametrize("beside", [1.0, True], ids=["numbers", "mixed"])
def test_names_that_are_not_text(server: Server, capfd: pytest.CaptureFixture[str], beside: Any) -> None:
    with tracker.init(capture=False) as run:
        for step in range(3):
            run.log({1: 2.0, None: 3.0, b"b": 4.0, (1, 2): 5.0, "text": beside, "in": {0: 6.0}}, step=step)  # type: ignore[dict-item]
            run.log({1: 2.0, None: 3.0, b"b": 4.0, (1, 2): 5.0, "text": 1.0}, step=step + 10)  # type: ignore[dict-item]
    told = capfd.readouterr().err
    for name, kind in (("1", "an int"), ("None", "None"), ("b'b'", "a bytes"), ("(1, 2)", "a tuple")):
        assert told.count(f"the name of a metric is {kind}, not text; it is logged as {name!r}") == 1, told
    assert told.count("not text") == 4 and len(server.points(run.id, "(1, 2)")) == 6 and len(server.points(run.id, "in/0")) == 3


def test_rows_of_another_length(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with tracker.init(capture=False) as run:
        for _ in range(2):
            run.log({"t": tracker.Table(["a", "b"], data=[[1, 2], [3], [4, 5, 6]])})
        run.log({"none": tracker.Table(data=[[1, 2]]), "whole": tracker.Table(["a"], data=[[None]])})
    told = capfd.readouterr().err
    assert told.count("t has rows with 1 to 3 cells for 2 columns; missing cells are stored empty, and extra values in "
                      "additional columns") == 1 and told.count("cells") == 2, told
    found = server.artifacts(run.id)
    text = {name.partition("_")[0]: server_text(server, row["id"]) for name, row in found.items()}
    assert text["t"] == "a,b,column 3\r\n1,2,\r\n3,,\r\n4,5,6\r\n"
    assert text["none"] == "column 1,column 2\r\n1,2\r\n" and text["whole"] == 'a\r\n""\r\n'


def server_text(server: Server, id: str) -> str:
    """The text of an artifact."""
    import urllib.request

    with urllib.request.urlopen(f"{server.url}/resource/{id}/data") as answer:
        return bytes(answer.read()).decode()
