"""Checks against a baseline: one paired difference against one limit.

Defined in docs/statistics.md#what-a-gate-decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_rageval.analysis.gate.limits import LimitDecision, LimitOutcome, decide_limit
from pytest_rageval.analysis.stats.intervals import NO_INTERVAL, Interval
from pytest_rageval.analysis.stats.multiplicity import holm
from pytest_rageval.analysis.stats.power import minimum_detectable_effect
from pytest_rageval.support.numbers import TOLERANCE, format_limit_pair, format_value, unit_of
from pytest_rageval.values.gate import _WORDS, Check, CheckResult, CheckStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What a check against a baseline holds: candidate - baseline over pairs of cases."""

    estimate: float | None
    """A mean difference, or the count ``newly_missed``; None: no pair."""
    n: int = 0
    """Pairs scored on both sides."""
    one_sided: Interval = NO_INTERVAL
    """For proofs, at the confidence of the gate."""
    two_sided: Interval = NO_INTERVAL
    """For show."""
    p: float | None = None
    """Of a regression beyond the limit (``stats.paired.regression_p``)."""
    n_lost: int = 0
    """Cases that the baseline scored, or passed, and that are an error now: not in ``estimate``."""
    missed_cases: tuple[str, ...] = ()


def decide_differences(
    differences: Mapping[Check, Difference], *, confidence: float = 0.95
) -> dict[Check, CheckResult]:
    """Decide all baseline checks of a run, those with ``prove_fail`` as one Holm family.

    Several true nulls would otherwise add up their false alarms.
    """
    family = [
        (check, difference.p)
        for check, difference in differences.items()
        if check.decide == "prove_fail" and difference.p is not None
    ]
    adjusted = dict(zip((check for check, _ in family), holm([p for _, p in family]), strict=True))
    return {
        check: decide_difference_check(
            check, difference, confidence=confidence, p_adjusted=adjusted.get(check)
        )
        for check, difference in differences.items()
    }


def decide_difference_check(
    check: Check,
    difference: Difference,
    *,
    confidence: float = 0.95,
    p_adjusted: float | None = None,
) -> CheckResult:
    """Decide one ``max_drop``, ``max_rise`` or ``newly_missed`` check.

    Args:
        check: the limit; a drop and a rise are at least 0.
        difference: candidate - baseline.
        confidence: one-sided, of the proofs.
        p_adjusted: Holm-adjusted p of a regression beyond the limit; a ``prove_fail`` check
            with one fails exactly if it is at most 1 - ``confidence``.
    """
    decision = decide_limit(
        check.kind,
        check.limit,
        decide=check.decide,
        estimate=difference.estimate,
        low=difference.one_sided.low,
        high=difference.one_sided.high,
    )
    outcome = decision.outcome
    if check.decide == "prove_fail" and p_adjusted is not None and outcome != "no_data":
        outcome = "fail" if p_adjusted <= 1 - confidence + TOLERANCE else "pass"
    bad: CheckStatus = "warn" if check.severity == "warn" else "fail"
    is_mean = check.kind in _WORDS
    small = is_mean and difference.n < check.min_n
    status: CheckStatus = "pass" if outcome == "pass" else bad
    message = _message(check, difference, decision, outcome, p_adjusted)
    few = f"only {difference.n} paired cases, fewer than min_n {check.min_n}"
    if small and outcome != "no_data" and check.on_small_n != "warn":
        status = "skip" if check.on_small_n == "skip" else bad
        message = few
    elif small and status == "fail" and check.table != "overall":
        # One case that flips is a drop of 20 points in a tag of five.
        status, message = "warn", f"{message}; {few}"
    if difference.n_lost:
        cases = "1 case is" if difference.n_lost == 1 else f"{difference.n_lost} cases are"
        message = f"{message}; {cases} an error now and not counted here"
        status = "warn" if status == "pass" else status
    return CheckResult(
        check=check,
        status=status,
        message=message,
        estimate=difference.estimate,
        low=difference.two_sided.low,
        high=difference.two_sided.high,
        n=difference.n,
        proof=decision.proof,
        mde=minimum_detectable_effect(difference.one_sided.detectable_se, confidence=confidence),
        small_n=small,
        missed_cases=difference.missed_cases,
    )


def _message(
    check: Check,
    difference: Difference,
    decision: LimitDecision,
    outcome: LimitOutcome,
    p_adjusted: float | None,
) -> str:
    unit, estimate = unit_of(check.metric), difference.estimate
    if estimate is None:
        return "no data: no case was scored on both sides"
    if outcome == "no_data":
        return f"no data: the difference {format_value(estimate, unit)} has no interval"
    word = _WORDS.get(check.kind)
    change = -estimate if check.kind == "max_drop" else estimate
    beyond = decide_limit(check.kind, check.limit, estimate=estimate).outcome == "fail"
    value, limit = format_limit_pair(change, check.limit, unit)
    relation = "is above" if beyond else "is at most"
    sentence = f"{f'{word} ' if word else ''}{value} {relation} {check.kind} {limit}"
    if check.decide == "estimate":
        return sentence
    if check.decide == "prove_fail" and p_adjusted is not None:
        state = "proven" if outcome == "fail" else "not proven"
        return f"{sentence}, {state}: Holm-adjusted p {format_value(p_adjusted)}"
    state = "proven" if (decision.proof or "unproven") != "unproven" else "not proven"
    return f"{sentence}, {state}"
