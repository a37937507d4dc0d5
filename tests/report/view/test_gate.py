"""The smallest change that a check could have shown, in words."""

from __future__ import annotations

from typing import Any

from pytest_rageval.report.view.gate import detectable_size, detectable_text
from pytest_rageval.values.gate import Check, CheckResult


def result(mde: float | None, kind: Any = "max_drop", **fields: Any) -> CheckResult:
    check = Check(metric="mrr", kind=kind, limit=0.1)
    given = {"low": -0.1, "n": 3, **fields}
    return CheckResult(check=check, status="pass", message="", mde=mde, **given)


def test_the_size_of_a_change_is_shown_where_one_can_be_detected() -> None:
    sizes = [detectable_size(result(mde)) for mde in (0.25, 3.1, None, 0.0)]
    assert sizes == ["0.250", "3.100", None, None]


def test_too_few_cases_are_said_to_show_nothing() -> None:
    assert (
        detectable_text(result(None)) == "with 3 paired cases, no drop would be reliably detected"
    )
    assert detectable_text(result(0.2)) == (
        "with 3 paired cases, only a drop of 0.200 or more would be reliably detected"
    )
    assert detectable_text(result(0.2, kind="min")) is None


def test_nothing_is_said_where_no_interval_or_no_difference_tells_the_size() -> None:
    assert detectable_text(result(None, low=None)) is None
    assert detectable_text(result(0.0)) is None
