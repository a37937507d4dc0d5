""""""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_rageval.values.lenient import (
    count,
    items,
    number,
    number_or_none,
    part,
    read_latency,
    text,
    value,
    word,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0),
        (" -2.5e1 ", -25.0),
        (True, None),
        ("1,5", None),
        (float("nan"), None),
        (10**400, None),
    ],
)
def test_a_number_is_finite_and_may_be_a_text(value: Any, number: float | None) -> None:
    assert number_or_none(value) == number


def test_more_phases_than_a_target_can_have_are_none() -> None:
    phases = {f"k{n}_ms": float(n) for n in range(100)}
    assert read_latency(phases) == phases
    assert read_latency({**phases, "total_ms": 1}) == {}


# --- reading of JSON documents that may lack a part or hold another type there

DOCUMENT: dict[str, Any] = {
    "a": {"b": {"c": 3}},
    "list": [1, 2],
    "word": "x",
    "real": 2.5,
    "yes": True,
    "null": None,
}


@pytest.mark.parametrize(
    "path", [("x",), ("a", "x"), ("word", "x"), ("list", "0"), ("null", "x"), ("a", "b", "c", "d")]
)
def test_a_path_that_leads_nowhere_gives_the_empty_value_of_each_type(
    path: tuple[str, ...],
) -> None:
    assert value(DOCUMENT, *path) is None
    assert part(DOCUMENT, *path) == {}
    assert items(DOCUMENT, *path) == ()
    assert number(DOCUMENT, *path) is None
    assert word(DOCUMENT, *path) is None
    assert count(DOCUMENT, *path) == 0
    assert text(DOCUMENT, *path) == ""


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (3, 3.0),
        (-0.5, -0.5),
        (True, None),
        ("3", None),
        (math.nan, None),
        (-math.inf, None),
        (2**63, float(2**63)),
        (10**400, None),
    ],
)
def test_only_a_finite_number_is_a_number(found: object, expected: float | None) -> None:
    assert number({"x": found}, "x") == expected


@pytest.mark.parametrize(
    ("found", "shown"), [("a", "a"), (3, "3"), (2.5, "2.5"), (True, ""), (None, ""), ([], "")]
)
def test_a_number_is_shown_as_text_and_a_truth_value_is_not(found: object, shown: str) -> None:
    assert text({"x": found}, "x") == shown
