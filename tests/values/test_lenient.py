from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.values.lenient import number_or_none, read_latency


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
