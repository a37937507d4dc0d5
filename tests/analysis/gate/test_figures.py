from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_rageval.analysis.compare.pairs import verdict
from pytest_rageval.analysis.gate.figures import (
    CheckFigure,
    decide_limit,
    find_figure,
    is_past_limit,
)
from pytest_rageval.analysis.two_runs import with_numbers
from pytest_rageval.values.case import Case
from pytest_rageval.values.gate import Check, CheckKind, Decide
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import failed, record
from tests.build.runs import side

KINDS: tuple[CheckKind, ...] = ("min", "max", "max_drop", "max_rise")
bound = st.floats(-1, 1)
FILE = "evals/set.jsonl"


def figure(records: Sequence[CaseRecord], metric: str, limit: float = 0, **of: Any) -> CheckFigure:
    """The figure of a maximum over some records."""
    check = replace(Check(metric=metric, kind="max", limit=limit), **of)
    return find_figure(check, with_numbers(side(records), confidence=0.95))


@pytest.mark.parametrize(
    ("metric", "is_mean", "of"),
    [
        ("latency_ms.p50", False, {}),
        ("latency_ms.retrieval.p99", False, {}),
        ("judge_error_rate", False, {}),
        ("acme.new", True, {}),
        ("mrr", True, {"table": "tag", "group": "gone"}),
        ("groundedness", True, {"use": "corrected"}),
    ],
)
def test_a_figure_of_nothing_counts_nothing(metric: str, is_mean: bool, of: Any) -> None:
    found = figure([record("a", latency={"retrieval_ms": 1})], metric, **of)
    assert (found.estimate, found.n, found.is_mean) == (None, 0, is_mean)


def test_a_percentile_has_the_bounds_of_scipy_over_calls_that_answered_or_timed_out() -> None:
    times = [float(n * n) for n in range(90)]
    calls = [record(f"c{n}", latency={"total_ms": time}) for n, time in enumerate(times)]
    failure = failed("error", latency={"total_ms": 1e6})
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        found = figure([*calls, failure, record("untimed")], f"latency_ms.{name}", 7800)
        two, low, high = (
            stats.quantile_test(times, p=share, alternative=side).confidence_interval()
            for side in ("two-sided", "greater", "less")
        )
        assert (found.low, found.high) == (two.low, two.high)
        assert (found.low_one_sided, found.high_one_sided) == (low.low, high.high)
        assert (found.n, found.missed_cases, found.censored) == (90, (f"{FILE}::c89",), False)


def test_the_sum_of_times_is_a_lower_bound_only_where_a_call_timed_out() -> None:
    calls = [record("a", latency={"total_ms": 5}), failed("b", "timeout", latency={"total_ms": 9})]
    for n, total in ((1, 5), (2, 14)):
        found = figure(calls[:n], "latency_ms.sum")
        assert (found.estimate, found.n, found.censored) == (total, n, n == 2)


def test_the_case_that_passed_least_often_is_the_worst() -> None:
    passes = [("a", 1), ("a", 0), ("b", 0), ("c", 1)]
    outcomes = ["missed", "passed"]
    records = [record(name, outcome=outcomes[n], repeat=1 - n) for name, n in passes]
    found = figure(records, "pass_rate")
    assert (found.estimate, found.missed_cases) == (0.5, (f"{FILE}::b", f"{FILE}::a"))


def test_cases_that_nobody_reviewed_count_only_where_no_other_was_asked() -> None:
    draft = failed("draft", case=Case(id="draft", question="?", review="generated"))
    for error, alone in (("error_rate", 1), ("pass_rate", None)):
        assert figure([draft], error).estimate == alone
        both = figure([draft, record("a")], error)
        assert (both.estimate, both.n) == (float(error == "pass_rate"), 1)


def test_translations_are_counted_in_pairs() -> None:
    cases = Case(id="en", question="?"), Case(id="de", question="?", translation_of="en")
    chunks = (RetrievedChunk(rel_path="a.md"),)
    pair = [record(case.id, case=case, retrieved_chunks=chunks) for case in cases]
    for n, estimate in ((1, None), (2, 1.0)):
        found = figure(pair[:n], "cross_lingual_consistency")
        assert (found.estimate, found.n) == (estimate, n - 1)


@pytest.mark.parametrize(
    ("kind", "limit", "estimate", "outcome"),
    [
        ("min", 0.75, 0.75, "pass"),
        ("min", 0.75, 0.75 - 5e-10, "pass"),
        ("min", 0.75, 0.75 - 2e-9, "fail"),
        ("min", 0.75, 0.8, "pass"),
        ("max", 0.05, 0.05, "pass"),
        ("max", 0.05, 0.05 + 5e-10, "pass"),
        ("max", 0.05, 0.05 + 2e-9, "fail"),
        ("max", 0.0, 0.0, "pass"),
        ("max_drop", 0.05, 0.85 - 0.90, "pass"),
        ("max_drop", 0.05, -0.0501, "fail"),
        ("max_drop", 0.05, 0.3, "pass"),
        ("max_rise", 0.1, 0.1, "pass"),
        ("max_rise", 0.1, 0.1001, "fail"),
        ("max_rise", 0.1, -0.5, "pass"),
    ],
)
def test_boundaries(kind: CheckKind, limit: float, estimate: float, outcome: str) -> None:
    assert decide_limit(kind, limit, estimate=estimate).outcome == outcome


@pytest.mark.parametrize(
    ("kind", "limit", "change", "past"),
    [
        ("max_drop", 0.05, -0.06, True),
        ("max_drop", 0.05, -0.05 - 5e-10, False),
        ("max_drop", 0.05, 0.06, False),
        ("max_rise", 0.05, 0.06, True),
        ("max_rise", 0.05, -0.06, False),
        ("max_rise", 0.05, None, False),
        ("max_rise", None, 0.06, False),
        ("max", 0.05, 0.06, False),
    ],
)
def test_only_a_change_for_the_worse_can_be_past_its_limit(
    kind: str, limit: float | None, change: float | None, past: bool
) -> None:
    assert is_past_limit(kind, limit, change) is past


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decide", ["estimate", "prove_pass", "prove_fail"])
def test_no_estimate_is_no_data(kind: CheckKind, decide: Decide) -> None:
    found = decide_limit(kind, 0.5, decide=decide, estimate=None, low=0.1, high=0.9)
    assert (found.outcome, found.proof) == ("no_data", None)


@pytest.mark.parametrize("decide", ["prove_pass", "prove_fail"])
def test_a_proof_without_an_interval_is_no_data(decide: Decide) -> None:
    assert decide_limit("min", 0.5, decide=decide, estimate=0.9).outcome == "no_data"


def test_an_estimate_without_an_interval_proves_nothing() -> None:
    assert decide_limit("min", 0.5, estimate=0.9).proof is None


@pytest.mark.parametrize(
    ("low", "high", "proof", "prove_pass", "prove_fail"),
    [
        (0.85, 0.95, "proven_pass", "pass", "pass"),
        (0.84, 0.95, "unproven", "fail", "pass"),
        (0.70, 0.85, "unproven", "fail", "pass"),
        (0.70, 0.84, "proven_fail", "fail", "fail"),
        (None, 0.84, "proven_fail", "no_data", "fail"),
        (None, 0.95, "unproven", "no_data", "pass"),
        (0.90, None, "proven_pass", "pass", "no_data"),
    ],
)
def test_proofs_against_a_minimum_of_085(
    low: float | None, high: float | None, proof: str, prove_pass: str, prove_fail: str
) -> None:
    def outcome(decide: Decide) -> str:
        return decide_limit("min", 0.85, decide=decide, estimate=0.8, low=low, high=high).outcome

    assert decide_limit("min", 0.85, estimate=0.8, low=low, high=high).proof == proof
    assert (outcome("prove_pass"), outcome("prove_fail")) == (prove_pass, prove_fail)


@given(st.lists(bound, min_size=3, max_size=3), bound)
def test_an_upper_limit_is_a_lower_limit_mirrored(numbers: list[float], limit: float) -> None:
    low, estimate, high = sorted(numbers)
    for decide in ("estimate", "prove_pass", "prove_fail"):
        up = decide_limit("max", limit, decide=decide, estimate=estimate, low=low, high=high)
        down = decide_limit("min", -limit, decide=decide, estimate=-estimate, low=-high, high=-low)
        assert up == down


@given(st.lists(bound, min_size=3, max_size=3), st.sampled_from(KINDS), st.floats(0, 1))
def test_proving_a_pass_is_stricter_than_the_estimate_and_that_than_proving_a_fail(
    numbers: list[float], kind: CheckKind, limit: float
) -> None:
    low, estimate, high = sorted(numbers)
    strictness = [
        decide_limit(kind, limit, decide=decide, estimate=estimate, low=low, high=high).outcome
        for decide in ("prove_pass", "estimate", "prove_fail")
    ]
    assert strictness == sorted(strictness, reverse=False, key=["fail", "pass"].index)


@pytest.mark.parametrize(
    ("low", "high", "margin", "expected"),
    [
        (0.01, 0.2, 0.0, "better"),
        (-0.2, -0.01, 0.0, "worse"),
        (-0.02, 0.03, 0.05, "same"),
        (-0.1, 0.03, 0.05, "unclear"),
        (-0.05, 0.05, 0.05, "unclear"),
        (0.0, 0.0, 0.0, "unclear"),
        (0.0, 0.0, 0.05, "same"),
        (0.01, 0.02, 0.05, "better"),
        (None, None, 0.05, "unclear"),
    ],
)
def test_verdict(low: float | None, high: float | None, margin: float, expected: str) -> None:
    assert verdict(low, high, margin=margin) == expected


@given(bound, bound, st.floats(0, 0.5))
def test_where_lower_is_better_the_verdict_turns_round(a: float, b: float, margin: float) -> None:
    low, high = sorted([a, b])
    mirrored = verdict(-high, -low, margin=margin)
    assert verdict(low, high, margin=margin, direction="lower") == mirrored


def test_of_a_neutral_metric_nothing_is_better() -> None:
    assert verdict(0.2, 0.3, direction="neutral") == "unclear"
    assert verdict(0.01, 0.02, margin=0.05, direction="neutral") == "same"
