"""Giving up on a target that is gone."""

from __future__ import annotations

import pytest

from pytest_rageval.engine.run_state import Breaker
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from tests.build.records import failed, record


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["connection"], "1 connection error (--rageval-max-errors 1)"),
        (["timeout"], "1 timeout (--rageval-max-errors 1)"),
        (["connection"] * 2, "2 connection errors in a row (--rageval-max-errors 2)"),
        (["timeout"] * 3, "3 timeouts in a row (--rageval-max-errors 3)"),
        (
            ["timeout", "connection"],
            "2 connection errors and timeouts in a row (--rageval-max-errors 2)",
        ),
    ],
)
def test_the_reason_counts_the_errors(kinds: list[TargetErrorKind], said: str) -> None:
    breaker = Breaker(len(kinds))
    for kind in kinds:
        assert not breaker.open
        breaker.count(failed("a", kind))
    assert breaker.open
    assert breaker.reason.startswith(f"gave up after {said}; the last one: ")


def test_an_answer_ends_the_row() -> None:
    breaker = Breaker(2)
    for one in (failed("a", "timeout"), record("b"), failed("c", "timeout")):
        breaker.count(one)
    assert not breaker.open
