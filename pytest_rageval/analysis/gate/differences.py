"""Checks against a baseline: one paired difference against one limit.

Defined in docs/statistics.md#what-a-gate-decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import ERROR
from pytest_rageval.analysis.compare.pairs import (
    BY_DOCUMENT,
    MET,
    PASSED,
    CasePair,
    Clustering,
    PairedColumns,
    PairedValues,
    newly_missed,
    pass_values,
)
from pytest_rageval.analysis.gate.figures import (
    BY_OUTCOME,
    LimitDecision,
    decide_limit,
    find_figure,
    in_table,
    no_interval,
    worst_first,
)
from pytest_rageval.analysis.stats.difference_test import DifferenceTest
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.analysis.stats.paired import holm_factors
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry, unit_of
from pytest_rageval.support.text import TOLERANCE, counted, format_limit_pair, format_value, part
from pytest_rageval.values.gate import (
    CHANGE_WORDS,
    MOST_CASES,
    BaselineInfo,
    Check,
    CheckResult,
    CheckStatus,
    needs_baseline,
)
from pytest_rageval.values.run import TIMED, StoredRun, other_concurrency
from pytest_rageval.values.words import PROVEN, SIGN

_NO_SCORE: Final = "no case was scored on both sides"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Figure of a check against a baseline: candidate - baseline over pairs of cases."""

    estimate: float | None
    """A mean difference, or the count ``newly_missed``; None: no pair."""
    n: int = 0
    """Pairs scored on both sides."""
    paired: bool = True
    """False: a figure of each whole run, such as a percentile, to which no ``min_n`` applies."""
    test: DifferenceTest | None = None
    """Gives p, bounds and detectable effect; None: a count, a figure of a whole run, or too few
    pairs."""
    n_documents: int | None = None
    """Documents that the pairs are about; None: unknown."""
    n_lost: int = 0
    """Cases that the baseline scored or passed and that are errors now; not in ``estimate``."""
    missed_cases: tuple[str, ...] = ()
    no_data: str = _NO_SCORE
    """Reason why there is no ``estimate``."""
    problem: str = ""
    """Reason why the figures of the two runs are not comparable; empty: they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateBaseline:
    """The baseline that checks are decided against, or the reason why it is absent."""

    info: BaselineInfo
    differences: Mapping[Check, Difference] | None = None
    """Difference by check; None: there is no baseline to compare with."""


def p_beyond(check: Check, test: DifferenceTest) -> float:
    """Return the one-sided p of a drop or a rise beyond the limit of a check."""
    return test.p_below(-check.limit) if check.kind == "max_drop" else test.p_above(check.limit)


def decide_differences(
    differences: Mapping[Check, Difference], *, confidence: float = 0.95
) -> dict[Check, CheckResult]:
    """Decide all baseline checks of a run, those with ``prove_fail`` as one Holm family.

    Otherwise the false alarms of several checks would add up.
    """
    alpha = 1 - confidence
    family = {
        check: p_beyond(check, difference.test)
        for check, difference in differences.items()
        if check.decide == "prove_fail" and difference.test is not None
    }
    factors = dict(zip(family, holm_factors([*family.values()]), strict=True))
    return {
        check: _decide(
            check,
            difference,
            alpha,
            factor=factors.get(check, 1.0),
            tests=len(family),
        )
        for check, difference in differences.items()
    }


def _decide(
    check: Check, difference: Difference, alpha: float, *, factor: float, tests: int
) -> CheckResult:
    """Decide one check.

    Args:
        check: the limit.
        difference: what it limits.
        alpha: chance of a false alarm.
        factor: of its p, by Holm's method.
        tests: number of tests of the Holm family, which may be without it.
    """
    if difference.problem:
        return CheckResult(check=check, status="skip", message=difference.problem)
    low = high = p = mde = None
    if (test := difference.test) is not None:
        low, high = test.bounds(alpha / factor)
        p, mde = min(1.0, p_beyond(check, test) * factor), test.detectable(alpha / factor)
    decision = decide_limit(
        check.kind,
        check.limit,
        decide=check.decide,
        estimate=difference.estimate,
        low=low,
        high=high,
    )
    paired = check.kind in CHANGE_WORDS and difference.paired and difference.estimate is not None
    if decision.outcome == "no_data" and paired and check.decide == "prove_fail" and test is None:
        # Too few pairs for a test prove no drop.
        decision = LimitDecision(outcome="pass", proof="unproven")
    small = paired and difference.n < check.min_n
    # The estimate decides although its interval includes 0, so no change.
    unproven = False
    if low is not None and high is not None:
        unproven = check.decide == "estimate" and low <= TOLERANCE and high >= -TOLERANCE
    status: CheckStatus = "pass" if decision.outcome == "pass" else check.severity
    message = _message(check, difference, decision, p, tests, unproven=unproven)
    few = f"only {counted(difference.n, 'paired case')}, fewer than min_n {check.min_n}"
    if small and check.on_small_n != "warn":
        status = "skip" if check.on_small_n == "skip" else check.severity
        message = few
    elif small and status == "fail" and (check.table != "overall" or unproven):
        # One case that flips is a drop of 20 points in a tag of five.
        status, message = "warn", f"{message}; {few}"
    if n := difference.n_lost:
        lost = counted(n, "case", ("is", "are"))
        message = f"{message}; {lost} an error now and not counted here"
        status = "warn" if status == "pass" else status
    return CheckResult(
        check=check,
        status=status,
        message=message,
        estimate=difference.estimate,
        low=low,
        high=high,
        p=p,
        n=difference.n if difference.paired else difference.n or None,
        n_documents=difference.n_documents,
        proof=decision.proof,
        mde=mde,
        small_n=small,
        missed_cases=difference.missed_cases,
    )


def _message(
    check: Check,
    difference: Difference,
    decision: LimitDecision,
    p: float | None,
    tests: int,
    *,
    unproven: bool,
) -> str:
    unit, estimate = unit_of(check.metric), difference.estimate
    if estimate is None:
        return f"no data: {difference.no_data}"
    if decision.outcome == "no_data":
        return no_interval(check, f"the difference {format_value(estimate, unit)}")
    word = CHANGE_WORDS.get(check.kind)
    change = -estimate if check.kind == "max_drop" else estimate
    beyond = decide_limit(check.kind, check.limit, estimate=estimate).outcome == "fail"
    value, limit = format_limit_pair(change, check.limit, unit)
    relation = "is above" if beyond else "is at most"
    if word and value.startswith("-"):  # a change the other way is not a drop of -0.02
        sign = SIGN[check.kind == "max_drop"]
        sentence = f"no {word} ({sign}{value[1:]}), {check.kind} {limit}"
    else:
        sentence = f"{part('{} ', word)}{value} {relation} {check.kind} {limit}"
    if check.decide == "estimate":
        note = f", not proven: the interval includes no {word}" if beyond and unproven else ""
        return sentence + note
    proven = PROVEN[(decision.proof or "unproven") != "unproven"]
    if check.decide != "prove_fail" or p is None:
        return f"{sentence}, {proven}"
    of = part(", Holm over {} checks", tests > 1 and tests)
    state = PROVEN[decision.proof == "proven_fail"]
    return f"{sentence}, {state}: p {format_value(p)}{of}"


def check_differences(
    checks: Iterable[Check],
    pairs: Sequence[CasePair],
    runs: Callable[[], tuple[StoredRun, StoredRun]],
    *,
    clustering: Clustering = BY_DOCUMENT,
    registry: Registry = BUILT_IN,
) -> dict[Check, Difference]:
    """Compute the difference that decides each check against the baseline.

    Args:
        checks: of the gate; those without a baseline are ignored.
        pairs: cases of the same content in both runs.
        runs: returns baseline and candidate with their numbers, for figures of a whole run such as
            ``latency_ms.p95``; not paired, and without an interval.
        clustering: unit of the tests.
        registry: the metrics of both runs.
    """
    found = {}
    both = None
    for check in checks:
        if not needs_baseline(check):
            continue
        if check.metric == "newly_missed":
            found[check] = _newly_missed([pair.alike for pair in pairs])
        elif check.metric in registry.cases:
            info = registry.cases[check.metric]
            of_check = [pair for pair in pairs if in_table(pair.new.first, check)]
            columns = PairedColumns(of_check, (info.key,), clustering)
            # Scored in the baseline, and an error now.
            erred = sum(
                math.isfinite(was)
                and not math.isfinite(now)
                and (now == ERROR or pair.new.outcome == "error")
                for pair, was, now in zip(of_check, *columns.both(info.key), strict=True)
            )
            tested = _tested(check, info, of_check, columns.values(info.key))
            found[check] = replace(tested, n_lost=erred)
        elif check.metric == PASSED.key:
            of_check = [pair for pair in pairs if in_table(pair.new.first, check)]
            passed = _tested(check, PASSED, of_check, pass_values(of_check, clustering))
            erred = sum(
                p.base.outcome in {"passed", "flaky"} and p.new.outcome == "error" for p in of_check
            )
            found[check] = replace(passed, n_lost=erred)
        else:
            both = both or runs()
            found[check] = _of_figures(check, pairs, *both)
    return found


def _newly_missed(pairs: Sequence[CasePair]) -> Difference:
    if not pairs:
        return Difference(estimate=None)
    missed = tuple(record.nodeid for record in newly_missed(pairs))
    lost = sum(pair.base.worst in MET and pair.new.outcome == "error" for pair in pairs)
    return Difference(
        estimate=float(len(missed)), n=len(pairs), n_lost=lost, missed_cases=missed[:MOST_CASES]
    )


def _of_figures(
    check: Check, pairs: Iterable[CasePair], base_run: StoredRun, new_run: StoredRun
) -> Difference:
    if check.metric.startswith(TIMED) and (
        problem := other_concurrency(base_run.config.concurrency, new_run.config.concurrency)
    ):
        return Difference(estimate=None, problem=problem)
    if check.metric.startswith(BY_OUTCOME):
        alike = [pair.alike for pair in pairs if in_table(pair.new.first, check)]
        base_run = replace(base_run, records=tuple(r for p in alike for r in p.base.records))
        new_run = replace(new_run, records=tuple(r for p in alike for r in p.new.records))
        check = replace(check, table="overall", group=None)
    base, new = (find_figure(replace(check, kind="max"), run) for run in (base_run, new_run))
    if base.estimate is None or new.estimate is None:
        where: dict[str, str] = {}
        for figure, name in ((base, "the baseline"), (new, "this run")):
            if figure.estimate is None:
                where[figure.no_data] = "both runs" if figure.no_data in where else name
        no_data = "; ".join(f"{reason} in {name}" for reason, name in where.items())
        return Difference(estimate=None, paired=False, no_data=no_data)
    n = min((count for count in (base.n, new.n) if count is not None), default=0)
    return Difference(estimate=new.estimate - base.estimate, n=n, paired=False)


def _tested(
    check: Check, info: MetricInfo, pairs: Sequence[CasePair], values: PairedValues
) -> Difference:
    documents = {pair.new.first.cluster for pair in pairs}
    sign = -1.0 if check.kind == "max_drop" else 1.0
    moved = zip(values.base, values.new, values.nodeids, strict=True)
    return Difference(
        estimate=fmean([n - b for b, n in zip(values.base, values.new, strict=True)]),
        n=values.n,
        test=values.test(info),
        n_documents=None if None in documents else len(documents),
        no_data=_NO_SCORE if pairs else f"no case of {check.table} {check.group} is in both runs",
        missed_cases=worst_first(
            (sign * (n - b), nodeid) for b, n, nodeid in moved if sign * (n - b) > 0
        ),
    )


def margins(checks: Iterable[Check]) -> Mapping[str, float]:
    """Return the largest difference by metric that checks accept.

    Of several limits over the whole set, the tighter one.
    """
    found: dict[str, float] = {}
    for check in checks:
        if check.table == "overall" and check.kind in CHANGE_WORDS:
            found[check.metric] = min(check.limit, found.get(check.metric, check.limit))
    return found
