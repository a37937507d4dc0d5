"""The smallest change that a check could have shown, in words."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.report.text.lines import detectable_size, detectable_text
from pytest_rageval.values.gate import Check, CheckResult


def result(metric: str, mde: float | None, kind: Any = "max_drop") -> CheckResult:
    check = Check(metric=metric, kind=kind, limit=0.1)
    return CheckResult(check=check, status="pass", message="", n=3, mde=mde)


@pytest.mark.parametrize(
    ("metric", "mde", "shown"),
    [
        ("recall_at_k", 0.25, "0.250"),
        ("recall_at_k", 1.4, None),
        ("error_rate", 3.1, None),
        ("groundedness", 3.1, "3.100"),
        ("groundedness", 5.2, None),
        ("cost_usd.total", 12.0, "12.000"),
        ("recall_at_k", None, None),
    ],
)
def test_no_change_is_larger_than_the_metric_can_make(
    metric: str, mde: float | None, shown: str | None
) -> None:
    assert detectable_size(result(metric, mde)) == shown


def test_too_few_cases_are_said_to_show_nothing() -> None:
    assert detectable_text(result("mrr", 1.2)) == "with 3 cases, no drop would be reliably detected"
    assert detectable_text(result("mrr", 0.2)) == (
        "with 3 cases, only a drop of 0.200 or more would be reliably detected"
    )
    assert detectable_text(result("mrr", 0.2, kind="min")) is None
