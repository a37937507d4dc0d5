from __future__ import annotations

import pytest

from pytest_rageval.analysis.aggregate.operational import (
    AttemptStatus,
    LatencyObservation,
    attempt_status,
    operational_rates,
    summarise_latency,
)
from pytest_rageval.values.verdict import sum_usage
from tests.build.records import failed, record
from tests.build.verdicts import usage_of_call

PRICE = {"input_per_mtok": 1.0, "output_per_mtok": 5.0}


def took(ms: float | None, **fields: bool) -> LatencyObservation:
    return LatencyObservation(status="ok", ms=ms, **fields)


TIMEOUT = LatencyObservation(status="timeout", ms=None)
ERROR = LatencyObservation(status="error", ms=3)


def test_error_timeout_and_empty_are_disjoint_and_add_up() -> None:
    good: list[AttemptStatus] = ["ok"]
    bad: list[AttemptStatus] = ["error", "timeout", "timeout", "empty"]
    found = operational_rates([status] for status in [*good * 196, *bad])
    assert found == {"error_rate": 0.02, "timeout_rate": 0.01, "empty_response_rate": 0.005}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("timeout", "timeout"),
        ("empty", "empty"),
        ("not_attempted", "not_attempted"),
        ("http", "error"),
        ("connection", "error"),
        ("protocol", "error"),
    ],
)
def test_kinds_of_failure(kind: str, status: str) -> None:
    assert attempt_status(failed("a", kind)) == status  # type: ignore[arg-type]
    assert attempt_status(record("a")) == "ok"


def test_a_percentile_below_every_timeout_is_exact() -> None:
    found = summarise_latency([took(100), took(300), TIMEOUT], timeout_ms=1000)
    assert (found.p50_ms, found.p50_censored) == (300, False)
    assert found.p95_ms == pytest.approx(930)
    assert found.p95_censored


def test_a_percentile_above_a_timeout_is_a_lower_bound() -> None:
    found = summarise_latency([took(100), TIMEOUT, took(5000)], timeout_ms=1000)
    assert (found.p50_censored, found.p95_censored) == (True, True)


def test_errors_and_cached_replies_are_left_out_and_counted() -> None:
    found = summarise_latency([took(8), took(1, cached=True), ERROR, took(None)])
    assert (found.n, found.n_cached, found.n_excluded, found.p50_ms) == (1, 1, 2, 8)


def test_cached_calls_cost_only_in_the_uncached_total() -> None:
    hit = usage_of_call(800, 100, cached=True, price=PRICE)
    found = sum_usage([usage_of_call(1000, 200, price=PRICE), hit])
    assert found.cost_usd == pytest.approx(0.002)
    assert found.cost_usd_uncached == pytest.approx(0.0033)
    assert (found.tokens, found.cached, sum_usage([hit]).cached) == (1200, False, True)


def test_the_uncached_cost_of_a_run_needs_what_its_cached_verdicts_once_cost() -> None:
    assert sum_usage([usage_of_call(9, cached=True)]).cost_usd_uncached is None
    found = sum_usage([usage_of_call(9, cached=True, usd=0.25)])
    assert (found.cost_usd, found.cost_usd_uncached, found.tokens) == (0.0, 0.25, 0)
