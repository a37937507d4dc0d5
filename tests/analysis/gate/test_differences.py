from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.analysis.gate.differences import Difference, decide_differences
from pytest_rageval.analysis.stats.difference_test import difference_test
from pytest_rageval.analysis.stats.intervals import MetricScale
from pytest_rageval.values.gate import Check, CheckResult, Decide, needs_baseline


def drop(limit: float = 0.05, metric: str = "recall_at_k", **fields: Any) -> Check:
    return Check(metric=metric, kind="max_drop", limit=limit, **fields)


def rise(limit: float = 0.1, **fields: Any) -> Check:
    return Check(metric="scope_miss_rate", kind="max_rise", limit=limit, **fields)


def difference(estimate: float | None, **fields: Any) -> Difference:
    return Difference(estimate=estimate, **{"n": 50, **fields})


def decided(check: Check, held: Difference) -> CheckResult:
    return decide_differences({check: held})[check]


def lost(n_lost: int, n: int = 50) -> Difference:
    """Difference of a 0/1 metric that some of the cases lost."""
    test = difference_test([1] * n, [0] * n_lost + [1] * (n - n_lost), MetricScale(binary=True))
    return Difference(estimate=-n_lost / n, n=n, test=test)


@pytest.mark.parametrize(
    ("check", "held", "status", "message"),
    [
        (drop(), difference(-0.06), "fail", "drop 0.060 is above max_drop 0.050"),
        (drop(), difference(0.85 - 0.9), "pass", "drop 0.050 is at most max_drop 0.050"),
        (drop(), difference(0.02), "pass", "no drop (+0.020), max_drop 0.050"),
        (drop(), difference(-0.0504), "fail", "drop 0.0504 is above max_drop 0.0500"),
        (rise(), difference(0.11), "fail", "rise 0.110 is above max_rise 0.100"),
        (rise(), difference(-0.3), "pass", "no rise (-0.300), max_rise 0.100"),
        (drop(), difference(None, n=0), "fail", "no data: no case was scored on both sides"),
        (drop(severity="warn"), difference(-0.06), "warn", "drop 0.060 is above max_drop 0.050"),
    ],
)
def test_an_estimate_against_its_limit(
    check: Check, held: Difference, status: str, message: str
) -> None:
    found = decided(check, held)
    assert (found.status, found.message) == (status, message)


def test_the_count_of_newly_missed_cases_is_a_number_like_others() -> None:
    check = Check(metric="newly_missed", kind="max", limit=2)
    held = Difference(estimate=3, n=5, missed_cases=("a", "b", "c"))
    found = decided(check, held)
    assert (found.status, found.message) == ("fail", "3 is above max 2")
    assert (found.small_n, found.missed_cases) == (False, ("a", "b", "c"))


def test_a_drop_that_is_not_proven_passes_prove_fail() -> None:
    found = decided(drop(decide="prove_fail"), lost(3))
    assert (found.status, found.proof) == ("pass", "unproven")
    assert found.message.startswith("drop 0.060 is above max_drop 0.050, not proven: p 0.")


def test_a_run_that_is_not_proven_as_good_fails_prove_pass() -> None:
    found = decided(drop(decide="prove_pass"), lost(1))
    assert (found.status, found.proof) == ("fail", "unproven")
    assert found.message.startswith("drop ")
    assert found.message.endswith(", not proven")
    found = decided(drop(decide="prove_pass"), lost(0, 99))
    assert (found.status, found.proof) == ("pass", "proven_pass")
    assert found.message.endswith("0.050, proven")


def test_a_proof_without_an_interval_is_no_data() -> None:
    found = decided(drop(decide="prove_pass"), difference(-0.01))
    assert (found.status, found.message) == (
        "fail",
        'no data: the difference -0.010 has no interval, which decide = "prove_pass" needs and '
        'decide = "estimate" does not',
    )


def test_the_detectable_effect_comes_from_the_interval() -> None:
    held = lost(3)
    assert held.test is not None
    assert decided(drop(), held).mde == held.test.detectable(0.05)


@pytest.mark.parametrize("decide", ["estimate", "prove_pass", "prove_fail"])
@pytest.mark.parametrize(("n", "pairs"), [(19, "19 paired cases"), (1, "1 paired case")])
def test_few_pairs_can_skip_the_check_with_an_interval_and_without(
    n: int, pairs: str, decide: Decide
) -> None:
    check = drop(on_small_n="skip", decide=decide)
    found = decided(check, difference(-0.5, n=n))
    assert (found.status, found.small_n) == ("skip", True)
    assert found.message == f"only {pairs}, fewer than min_n 20"


TAG: dict[str, Any] = {"table": "tag", "group": "t"}


@pytest.mark.parametrize(
    ("check", "held", "status", "small"),
    [
        (drop(), difference(-0.5, n=20), "fail", False),
        (drop(), difference(-0.5, n=19), "fail", True),
        (drop(), difference(-0.5, n=3, paired=False), "fail", False),
        (drop(), difference(None, n=3), "fail", False),
        (drop(on_small_n="fail"), difference(0.0, n=19), "fail", True),
        (drop(on_small_n="fail", severity="warn"), difference(0.0, n=19), "warn", True),
        (drop(**TAG), difference(-0.5, n=20), "fail", False),
        (drop(**TAG), difference(-0.5, n=19), "warn", True),
        (drop(**TAG), difference(0.0, n=19), "pass", True),
        (drop(), lost(2, 19), "warn", True),
        (drop(), lost(2, 20), "fail", False),
        (drop(), lost(9, 19), "fail", True),
        (drop(**TAG), lost(9, 19), "warn", True),
        (drop(decide="prove_fail"), difference(-0.5, n=1), "pass", True),
        (drop(decide="prove_fail"), difference(-0.5, paired=False), "fail", False),
        (drop(decide="prove_fail"), difference(None), "fail", False),
        (drop(decide="prove_pass"), difference(-0.5, n=1), "fail", True),
        (drop(), difference(0.0, n_lost=1), "warn", False),
        (drop(), difference(-0.5, n_lost=1), "fail", False),
        (drop(on_small_n="skip"), difference(0.0, n=19, n_lost=1), "skip", True),
        (drop(), difference(0.0, problem="other k", n_lost=1), "skip", False),
    ],
)
def test_few_pairs_and_lost_cases_turn_a_decision(
    check: Check, held: Difference, status: str, small: bool
) -> None:
    found = decided(check, held)
    assert (found.status, found.small_n) == (status, small)


def test_a_result_counts_pairs_or_what_both_runs_counted() -> None:
    assert [decided(drop(), difference(0.0, n=n)).n for n in (0, 7)] == [0, 7]
    assert [decided(drop(), difference(0.0, n=n, paired=False)).n for n in (0, 7)] == [None, 7]


def test_an_adjusted_p_is_at_most_1() -> None:
    checks = {drop(limit, decide="prove_fail"): lost(4) for limit in (0.3, 0.4)}
    assert [one.p for one in decide_differences(checks).values()] == [1.0, 1.0]


def test_proofs_of_failure_are_one_family() -> None:
    first, second = drop(0.0, decide="prove_fail"), drop(0.0, metric="mrr", decide="prove_fail")
    held = lost(4)
    alone = decide_differences({first: held})[first]
    family = decide_differences({first: held, second: held})
    assert (alone.status, alone.proof) == ("fail", "proven_fail")
    assert [(r.status, r.proof) for r in family.values()] == [("pass", "unproven")] * 2
    assert alone.p is not None
    assert family[first].p == pytest.approx(2 * alone.p)
    assert "Holm over 2 checks" in family[first].message
    assert "Holm" not in alone.message
    assert held.test is not None
    assert family[first].mde == pytest.approx(held.test.detectable(0.05 / 2))
    # The bounds are those of the adjusted level.
    adjusted = family[first].high
    assert adjusted is not None
    assert alone.high is not None
    assert alone.high < 0 <= adjusted


def test_checks_by_estimate_are_not_adjusted() -> None:
    held = lost(4)
    checks = {drop(): held, drop(0.0, decide="prove_fail"): held}
    assert [r.status for r in decide_differences(checks).values()] == ["fail", "fail"]


@pytest.mark.parametrize(
    ("check", "needed"),
    [
        (drop(), True),
        (rise(), True),
        (Check(metric="newly_missed", kind="max", limit=0), True),
        (Check(metric="mrr", kind="min", limit=0), False),
    ],
)
def test_which_checks_need_a_baseline(check: Check, needed: bool) -> None:
    assert needs_baseline(check) is needed
