"""A value short of its limit never looks as if it reached it, in the terminal or in Markdown."""

from __future__ import annotations

import pytest

from pytest_rageval.report.view.summary import value_text
from pytest_rageval.values.gate import Check, CheckKind


@pytest.mark.parametrize(
    ("metric", "value", "kind", "limit", "shown"),
    [
        ("mrr", 0.84996, "min", 0.85, "0.84996"),
        ("mrr", 0.5, "min", 0.85, "0.500"),
        ("latency_ms.p95", 2500.4, "max", 2500, "2500.4"),
        ("latency_ms.p95", 54.618, "max", 2500, "55"),
        ("cost_usd.total", 0.5, "max", 0.5, "0.5000"),
        ("newly_missed", 2, "max", 2, "2"),
        ("mrr", 0.7, "max_drop", 0.03, "0.700"),
    ],
)
def test_a_value_is_shown_in_its_unit_and_apart_from_its_limit(
    metric: str, value: float, kind: CheckKind, limit: float, shown: str
) -> None:
    assert value_text(metric, value, Check(metric=metric, kind=kind, limit=limit)) == shown
