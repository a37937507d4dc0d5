"""Every checked example of the metric specification."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.oracles.adapter import checked_examples, evaluate


def _differences(expected: Any, got: Any, tol: float, where: str = "") -> list[str]:
    """List where an output departs from what is expected; extra keys are fine."""
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{where}: expected an object, got {got!r}"]
        found = []
        for key, value in expected.items():
            if key in got:
                found += _differences(value, got[key], tol, f"{where}.{key}")
            else:
                found.append(f"{where}.{key}: missing")
        return found
    if isinstance(expected, list) and isinstance(got, list | tuple) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got, strict=True))
        return [d for i, (e, g) in pairs for d in _differences(e, g, tol, f"{where}[{i}]")]
    return [] if _equal(expected, got, tol) else [f"{where}: expected {expected!r}, got {got!r}"]


def _equal(expected: Any, got: Any, tol: float) -> bool:
    numbers = isinstance(expected, int | float) and isinstance(got, int | float)
    if numbers and not isinstance(expected, bool) and not isinstance(got, bool):
        return math.isclose(expected, got, rel_tol=0, abs_tol=tol)
    return type(expected) is type(got) and bool(expected == got)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['id']}-{row['op']}") for row in checked_examples()]
)
def test_the_package_reproduces_the_example(row: dict[str, Any]) -> None:
    got = evaluate(row["op"], row["input"])
    assert _differences(row["expected"], got, row["tol"]) == []


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ({"a": 1.0}, {}),
        ({"a": None}, {"a": 0.0}),
        ({"a": 0.0}, {"a": None}),
        ({"a": True}, {"a": 1}),
        ({"a": 0.5}, {"a": 0.5 + 2e-9}),
        ({"a": [1, 2]}, {"a": [1]}),
    ],
)
def test_the_comparison_itself_can_fail(expected: object, got: object) -> None:
    assert _differences(expected, got, 1e-9)
