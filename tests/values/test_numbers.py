"""The reason for a missing mean."""

from __future__ import annotations

import pytest

from pytest_rageval.values.numbers import MetricSummary, no_data_reason


@pytest.mark.parametrize(
    ("n_not_applicable", "n_error", "counts"),
    [
        (0, 0, "0 not applicable, 0 errors"),
        (10, 1, "10 not applicable, 1 error"),
        (1, 2, "1 not applicable, 2 errors"),
    ],
)
def test_a_missing_mean_is_explained_by_its_counts(
    n_not_applicable: int, n_error: int, counts: str
) -> None:
    summary = MetricSummary(n=0, n_not_applicable=n_not_applicable, n_error=n_error)
    assert no_data_reason(summary) == f"no case was scored ({counts})"
