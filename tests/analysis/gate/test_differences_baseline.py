"""Checks against a baseline over two whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.gate.decide import decide_gate
from pytest_rageval.analysis.gate.differences import check_differences, margins
from pytest_rageval.analysis.two_runs import Baseline, as_baseline, compare_runs, with_numbers
from pytest_rageval.values.gate import Check, CheckResult, GateResult, Thresholds
from pytest_rageval.values.numbers import OwnFigure
from pytest_rageval.values.own_code import Level, MetricDefinition
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.records import changed, record, selection_of
from tests.build.runs import SETTINGS, run_of, scored, side


def drop(limit: float = 0.03, **fields: Any) -> Check:
    return Check(**{"metric": "recall_at_k", "kind": "max_drop", "limit": limit, **fields})


def rise(metric: str, limit: float, **fields: Any) -> Check:
    return Check(metric=metric, kind="max_rise", limit=limit, **fields)


NEWLY = Check(metric="newly_missed", kind="max", limit=2)


def gate(
    base: StoredRun, new: StoredRun, *checks: Check, **thresholds: Any
) -> tuple[GateResult, Baseline]:
    given = Thresholds(checks=checks, **thresholds)
    new = with_numbers(new, confidence=0.95)
    compared = compare_runs(base, new, thresholds=given)
    against = as_baseline(compared, given, name="main")
    found = decide_gate(
        given,
        new,
        selection_of(new.records),
        n_expected=new.n_cases,
        n_reported=new.n_cases,
        baseline=against,
    )
    return found, against


def decided(
    base: Sequence[CaseRecord], new: Sequence[CaseRecord], check: Check, **thresholds: Any
) -> CheckResult:
    found, _ = gate(side(base, run_id="b"), side(new, run_id="n"), check, **thresholds)
    (result,) = found.checks
    return result


def test_a_drop_beyond_its_limit_fails_and_names_the_cases() -> None:
    found = decided(run_of(200), run_of(200, missed=(11, 12, 13, 14, 16, 17, 18, 19)), drop())
    assert (found.status, found.message, found.n) == (
        "fail",
        "drop 0.040 is above max_drop 0.030",
        200,
    )
    assert found.missed_cases[:2] == ("c-011", "c-012")


def test_every_check_says_what_drop_it_could_have_seen() -> None:
    found = decided(run_of(200), run_of(200, missed=(11,)), drop())
    assert found.status == "pass"
    assert found.mde is not None
    assert 0.01 < found.mde < 0.05


def test_a_rise_of_what_should_stay_low_fails() -> None:
    base = [record(f"c{i}", {"scope_miss_rate": 0.0}) for i in range(40)]
    new = [record(f"c{i}", {"scope_miss_rate": float(i < 8)}) for i in range(40)]
    found = decided(base, new, rise("scope_miss_rate", 0.1))
    assert (found.status, found.message) == ("fail", "rise 0.200 is above max_rise 0.100")


@pytest.mark.parametrize(
    ("value", "status", "message"),
    [
        (0.85, "pass", "drop 0.150 is at most max_drop 0.150"),
        (0.8496, "fail", "drop 0.1504 is above max_drop 0.1500"),
        (0.849999, "fail", "drop 0.150001 is above max_drop 0.150000"),
    ],
)
def test_rounding_never_turns_a_fail_into_a_pass(value: float, status: str, message: str) -> None:
    base = [scored(f"c{i}", 1.0) for i in range(30)]
    new = [scored(f"c{i}", value) for i in range(30)]
    found = decided(base, new, drop(0.15))
    assert (found.status, found.message) == (status, message)


def test_newly_missed_counts_cases_that_passed_before() -> None:
    base, new = run_of(40), run_of(40, missed=(1, 2, 3), churn=(5,))
    found = decided(base, new, NEWLY)
    assert (found.status, found.message) == ("fail", "3 is above max 2")
    assert found.missed_cases == ("c-001", "c-002", "c-003")
    assert decided(base, run_of(40, missed=(1, 2)), NEWLY).status == "pass"


def test_without_a_pair_the_count_of_newly_missed_cases_is_unknown() -> None:
    found = check_differences([NEWLY], [], lambda: (side([]), side([])))
    assert (found[NEWLY].estimate, found[NEWLY].n) == (None, 0)


@pytest.mark.parametrize(
    ("check", "estimate", "n_lost", "missed"),
    [
        (drop(0, metric="pass_rate"), -1 / 3, 3, ("c4", "c5")),
        (rise("pass_rate", 0), -1 / 3, 3, ("c7",)),
        (replace(NEWLY, limit=9), 2, 3, ("c4", "c5")),
        (drop(0, metric="pass_rate", table="tag", group="t"), -1, 2, ("c4",)),
    ],
)
def test_cases_that_passed_and_err_now_are_lost_and_in_no_difference(
    check: Check, estimate: float, n_lost: int, missed: tuple[str, ...]
) -> None:
    outcomes: dict[str, Any] = {"P": "passed", "M": "missed", "E": "error"}

    def asked(each: str) -> list[CaseRecord]:
        return [
            scored(f"c{i}", 1.0, outcome=outcomes[of], tags=("t",) if i in {1, 2, 4} else ())
            for i, of in enumerate(each)
        ]

    found = decided(asked("PPPMPPEM"), asked("EEEEMMPP"), check)
    assert found.estimate == pytest.approx(estimate)
    assert found.missed_cases == missed
    assert f"; {n_lost} case" in found.message


def test_a_case_whose_content_changed_is_not_newly_missed() -> None:
    base, new = run_of(40), run_of(40, missed=(1, 2, 3))
    new[1] = replace(new[1], case_hash="changed")
    assert decided(base, new, NEWLY).estimate == 2


def test_figures_of_a_run_are_compared_without_pairs() -> None:
    base = [scored("a", 1.0, latency={"total_ms": 100.0})]
    new = [scored("a", 1.0, latency={"total_ms": 350.0})]
    found = decided(base, new, rise("latency_ms.p95", 200))
    assert (found.status, found.estimate, found.low) == ("fail", 250.0, None)
    assert decided(base, new, rise("latency_ms.p95", 250)).status == "pass"


@pytest.mark.parametrize("on_small_n", ["warn", "skip", "fail"])
@pytest.mark.parametrize("table", [{}, {"table": "tag", "group": "t"}])
def test_the_least_number_of_cases_does_not_apply_to_a_figure_of_a_run(
    table: dict[str, Any], on_small_n: Any
) -> None:
    base = [scored("a", 1.0, tags=("t",))]
    new = [replace(base[0], scores=replace(base[0].scores, failure_stage="not_retrieved"))]
    check = rise("stage.not_retrieved", 0, on_small_n=on_small_n, **table)
    same, found = decided(base, base, check), decided(base, new, check)
    assert (same.status, same.small_n) == ("pass", False)
    assert (found.status, found.message) == ("fail", "rise 1 is above max_rise 0")


def test_times_at_another_concurrency_are_not_compared() -> None:
    base, new = (side([scored("a", 1.0)], run_id=name) for name in "bn")
    alone = replace(new, config=replace(new.config, concurrency=1))
    for other, status in ((new, "pass"), (alone, "skip")):
        found, _ = gate(base, other, rise("latency_ms.p95", 0))
        assert [one.status for one in found.checks] == [status]


@pytest.mark.parametrize(("last", "n_documents"), [("b.md", 2), ("c.md", 3), (None, None)])
def test_a_result_counts_documents_and_names_the_largest_drop_first(
    last: str | None, n_documents: int | None
) -> None:
    documents = dict(zip(["a", "b", "c", "d"], ["a.md", "a.md", "b.md", last], strict=True))
    values = {"a": 0.8, "b": 0.5, "c": 1.0, "d": 0.9}
    base, new = (
        [scored(one, of[one], cluster=document) for one, document in documents.items()]
        for of in (dict.fromkeys(values, 0.9), values)
    )
    found = decided(base, new, drop())
    assert (found.missed_cases, found.n_documents) == (("b", "a"), n_documents)


def test_a_figure_that_one_run_lacks_is_no_data_and_fails() -> None:
    base = [scored("a", 1.0, latency={})]
    found = decided(base, [scored("a", 1.0)], rise("latency_ms.p95", 200))
    assert found.status == "fail"
    assert found.message == "no data: no call was timed in the baseline"
    assert (found.n, found.small_n) == (None, False)


def test_cases_that_are_new_count_in_no_figure_of_outcomes() -> None:
    base = [scored(f"c{i}", 1.0, tags=("t",)) for i in range(4)]
    lost = scored("c3", 0.0, failure_stage="not_retrieved")
    added = [scored(f"n{i}", 0.0, failure_stage="not_retrieved", tags=("t",)) for i in range(6)]
    for new, n_lost in (([*base, *added], 0), ([*base[:3], lost, *added], 1)):
        found = decided(base, new, drop(metric="pass_rate"))
        assert (found.estimate, found.n) == (-n_lost / 4, 4)
        assert decided(base, new, rise("stage.not_retrieved", 0)).estimate == n_lost
    tag = rise("stage.not_retrieved", 0, table="tag", group="t")
    assert decided(base, [*base, *added], tag).estimate == 0


def test_a_flaky_rate_is_compared_over_as_many_repeats_as_both_runs_have() -> None:
    def asked(*cases: str) -> list[CaseRecord]:
        return [
            scored(f"c{n}", float(value), repeat=at)
            for n, values in enumerate(cases)
            for at, value in enumerate(values)
        ]

    check = rise("flaky_rate", 0.25)
    twice, often = asked("11", "10", "11", "11"), asked("110110", "101111", "111101", "011111")
    found = decided(twice, often, check)
    assert (found.status, found.estimate, found.n) == ("pass", 0.25, 4)
    assert decided(often, twice, check).estimate == -0.25
    for base, new in ((asked("1", "1"), twice), (twice, asked("1", "1"))):
        found = decided(base, new, check)
        assert found.status == "fail"
        assert found.message == "no data: no case was asked several times in both runs"
    every, _ = gate(side(twice), side(often), Check(metric="flaky_rate", kind="max", limit=0.5))
    (found,) = every.checks
    assert (found.estimate, found.n, found.missed_cases) == (1.0, 4, ("c0", "c1", "c2", "c3"))


def with_own_metric(run: StoredRun, level: Level, **figure: Any) -> StoredRun:
    own = MetricDefinition(title="Own", population="", level=level, version="1", source="acme:own")
    numbers = replace(aggregate(run.records), run_metrics={"acme.own": OwnFigure(**figure)})
    config = replace(run.config, metric_definitions={"acme.own": own})
    return replace(run, config=config, aggregate=numbers)


def test_a_figure_that_is_not_of_cases_has_no_number_of_them() -> None:
    base, new = (with_own_metric(side(run_of(3), run_id=n), "run", value=0.5) for n in "bn")
    found, _ = gate(base, new, drop(metric="acme.own"))
    assert [(one.status, one.estimate, one.n) for one in found.checks] == [("pass", 0.0, None)]


def test_a_figure_that_both_runs_lack_names_the_reason_of_each() -> None:
    def lacking(name: str, **reason: Any) -> StoredRun:
        return with_own_metric(side(run_of(3), run_id=name), "run", **reason)

    crashed, unpriced = lacking("b", error="KeyError: 'eur'"), lacking("n", not_applicable="No fee")
    for new, expected in (
        (unpriced, "KeyError: 'eur' in the baseline; No fee in this run"),
        (replace(crashed, folder=unpriced.folder), "KeyError: 'eur' in both runs"),
    ):
        found, _ = gate(crashed, new, drop(metric="acme.own"))
        assert [one.message for one in found.checks] == [f"no data: {expected}"]


def test_no_effect_beyond_the_scale_of_an_own_metric_is_called_detectable() -> None:
    records = [record(f"c{i}", {"acme.own": 0.5}) for i in range(2)]
    base, new = (with_own_metric(side(records, run_id=name), "own") for name in "bn")
    found, _ = gate(base, new, drop(metric="acme.own"))
    (result,) = found.checks
    assert (result.n, result.mde) == (2, None)


def test_a_metric_that_no_pair_was_scored_on_is_no_data_and_fails() -> None:
    base = [record("a", {"mrr": None}, not_applicable={"mrr": "why"}, outcome="passed")]
    found = decided(base, base, drop(metric="mrr"))
    assert (found.status, found.message) == ("fail", "no data: no case was scored on both sides")


def test_only_the_cases_of_a_tag_count_for_its_check() -> None:
    def tagged(missed: bool) -> list[CaseRecord]:
        return [
            scored(f"c{i}", float(not (missed and i < 5)), tags=("work",) if i < 25 else ())
            for i in range(50)
        ]

    found = decided(tagged(False), tagged(True), drop(0.1, table="tag", group="work"))
    assert (found.n, found.status, found.estimate) == (25, "fail", -0.2)


def test_a_small_tag_cannot_fail_the_build() -> None:
    def tagged(missed: bool) -> list[CaseRecord]:
        return [scored(f"c{i}", float(not (missed and i == 0)), tags=("t",)) for i in range(5)]

    check = drop(0.05, table="tag", group="t")
    found = decided(tagged(False), tagged(True), check)
    assert (found.status, found.small_n) == ("warn", True)
    assert found.message == (
        "drop 0.200 is above max_drop 0.050, not proven: the interval includes no drop; "
        "only 5 paired cases, fewer than min_n 20"
    )
    strict = replace(check, on_small_n="fail")
    assert decided(tagged(False), tagged(True), strict).status == "fail"
    assert decided(tagged(False), tagged(False), check).status == "pass"


def test_a_group_without_a_pair_is_no_data_and_fails_as_the_whole_set_does() -> None:
    base = [scored(f"c{i}", 1.0, tags=("old",)) for i in range(30)]
    none = [changed(one, metrics={"recall_at_k": None}) for one in base]
    new = scored("n", 1.0, tags=("new",))
    for now, group, message in (
        ([*base, new], "new", "no data: no case of tag new is in both runs"),
        (
            none,
            "old",
            "no data: no case was scored on both sides; 30 cases are an error now and not counted "
            "here",
        ),
    ):
        found = decided(base, now, drop(table="tag", group=group))
        assert (found.status, found.message, found.small_n) == ("fail", message, False)


def test_one_case_of_thirteen_warns_and_a_proven_drop_of_few_cases_fails() -> None:
    base = [scored(f"c{i}", 1.0) for i in range(13)]
    one = [scored(f"c{i}", float(i > 0)) for i in range(13)]
    found = decided(base, one, drop(0.05))
    assert (found.status, found.small_n) == ("warn", True)
    assert "not proven: the interval includes no drop" in found.message
    most = [scored(f"c{i}", float(i > 8)) for i in range(13)]
    found = decided(base, most, drop(0.05))
    assert (found.status, found.message) == ("fail", "drop 0.692 is above max_drop 0.050")


def test_a_drop_that_is_not_proven_fails_by_its_estimate_and_says_so() -> None:
    base = [scored(f"c{i}", float(i != 9)) for i in range(30)]
    new = [scored(f"c{i}", float(i not in {1, 2})) for i in range(30)]
    found = decided(base, new, drop(0.01))
    assert found.status == "fail"
    assert found.message == (
        "drop 0.033 is above max_drop 0.010, not proven: the interval includes no drop"
    )


def test_prove_fail_needs_evidence() -> None:
    check = drop(0.0, decide="prove_fail")
    assert decided(run_of(50), run_of(50, missed=(1,)), check).status == "pass"
    assert decided(run_of(200), run_of(200, missed=range(100, 130)), check).status == "fail"


def test_prove_fail_asks_for_evidence_beyond_the_limit() -> None:
    base, new = run_of(200), run_of(200, missed=range(100, 120))
    assert decided(base, new, drop(0.0, decide="prove_fail")).status == "fail"
    found = decided(base, new, drop(0.05, decide="prove_fail"))
    assert found.status == "pass"
    assert found.estimate == pytest.approx(-0.08)


def test_prove_fail_finds_a_rise() -> None:
    base = [record(f"c{i}", {"scope_miss_rate": 0.0}) for i in range(100)]
    new = [record(f"c{i}", {"scope_miss_rate": float(i < 30)}) for i in range(100)]
    check = rise("scope_miss_rate", 0.1, decide="prove_fail")
    assert decided(base, new, check).status == "fail"
    assert decided(new, base, check).status == "pass"


def test_the_number_of_cases_compared_is_told() -> None:
    base, new = run_of(200), run_of(200)
    new[7] = replace(new[7], case_hash="changed")
    found, _ = gate(side(base, run_id="b"), side(new, run_id="n"), drop())
    assert found.baseline is not None
    assert found.baseline.sentence == "main (b): 199 paired cases; left out: 1 changed"
    assert found.checks[0].n == 199


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (replace(SETTINGS, k=9), "k"),
        (replace(SETTINGS, judge="offline"), "judge"),
        (replace(SETTINGS, params={"a": 1}), "payload.a"),
    ],
)
def test_a_baseline_made_otherwise_is_refused_by_name(other: Settings, name: str) -> None:
    base = side(run_of(40), other, run_id="b")
    new = side(run_of(40, missed=range(40)), run_id="n")
    found, against = gate(base, new, drop())
    (result,) = found.checks
    assert result.status == "skip"
    assert result.message.startswith(f"not comparable with the baseline: {name}: ")
    assert not against.info.comparable
    required, _ = gate(base, new, drop(), require_baseline=True)
    assert required.checks[0].status == "fail"


def test_another_budget_of_tokens_leaves_the_checks_of_all_other_metrics() -> None:
    larger = replace(SETTINGS, token_budget=400)
    base = side(run_of(40), larger, run_id="b")
    new = side(run_of(40, missed=range(40)), replace(SETTINGS, token_budget=100), run_id="n")
    found, against = gate(base, new, drop(), drop(metric="recall_at_tokens"))
    other, own = found.checks
    assert (other.status, own.status, found.verdict) == ("fail", "skip", "fail")
    said = "not comparable with the baseline: token_budget: 400 in base, 100 in new"
    assert own.message == said
    assert against.info.comparable
    refused, against = gate(side(run_of(40), replace(larger, k=9), run_id="b"), new, drop())
    assert (refused.checks[0].status, against.info.comparable) == ("skip", False)


def test_another_version_of_an_own_metric_leaves_the_checks_of_all_other_metrics() -> None:
    own = MetricDefinition(
        title="Words", direction="lower", scale=(0, 9), population="", level="own", source="a:b"
    )

    def versioned(version: str, value: float) -> StoredRun:
        records = [
            changed(one, metrics={"recall_at_k": value, "acme.words": value}) for one in run_of(40)
        ]
        stored = side(records, run_id=version)
        defined = {"acme.words": replace(own, version=version)}
        return replace(stored, config=replace(stored.config, metric_definitions=defined))

    found, _ = gate(versioned("1", 1.0), versioned("2", 0.0), drop(), drop(metric="acme.words"))
    assert [one.status for one in found.checks] == ["fail", "skip"]
    assert "metric acme.words: version 1" in found.checks[1].message


def test_a_baseline_over_other_cases_is_refused() -> None:
    base = side([scored("x", 1.0)], run_id="b")
    found, against = gate(base, side(run_of(40), run_id="n"), drop())
    assert found.checks[0].status == "skip"
    assert "dataset: " in found.checks[0].message
    assert not against.info.comparable


def test_a_changed_version_of_the_system_is_what_a_comparison_is_for() -> None:
    base = side(run_of(40), replace(SETTINGS, retriever_version="1"), run_id="b")
    new = side(run_of(40), replace(SETTINGS, retriever_version="2"), run_id="n")
    assert gate(base, new, drop())[0].checks[0].status == "pass"


def test_differing_invariants_can_be_ignored_in_a_comparison_alone() -> None:
    base = side(run_of(40), replace(SETTINGS, vector_weight=1.0))
    refused = compare_runs(base, side(run_of(40)))
    assert (refused.comparable, dict(refused.comparison.metrics)) == (False, {})
    ignored = compare_runs(base, side(run_of(40)), ignore_invariants=True)
    assert (ignored.comparable, ignored.ignored) == (False, True)
    assert ignored.comparison.metrics["mrr"].n == 40


def test_the_tightest_limit_over_the_set_is_the_margin() -> None:
    checks = [drop(0.03), rise("recall_at_k", 0.02), drop(0.01, table="tag", group="t")]
    assert margins(checks) == {"recall_at_k": 0.02}


def test_without_thresholds_the_margins_are_those_of_the_later_run_s_gate() -> None:
    base, new = side(run_of(40), run_id="b"), side(run_of(40), run_id="n")

    def found(check: Check | None, thresholds: Thresholds | None = None) -> tuple[float, str]:
        checks = [CheckResult(check=check, status="skip", message="")] if check else []
        decided = GateResult(verdict="pass", sentence="", checks=tuple(checks))
        pair = compare_runs(base, replace(new, gate=decided), thresholds=thresholds)
        change = pair.comparison.metrics["recall_at_k"]
        return change.margin, change.verdict

    accepted = drop(0.3)
    assert found(accepted) == found(None, Thresholds(checks=(accepted,))) == (0.3, "same")
    assert found(None) == found(accepted, Thresholds()) == (0.05, "equal")


def test_without_thresholds_the_confidence_is_that_of_the_later_run_s_gate() -> None:
    base = side(run_of(40), run_id="b")

    def width(stored: float | None, thresholds: Thresholds | None = None) -> float:
        new = side(run_of(40, missed=(1, 2)), run_id="n")
        if stored is not None:
            decided = GateResult(verdict="pass", sentence="", confidence=stored)
            new = replace(new, gate=decided)
        pair = compare_runs(base, new, thresholds=thresholds).comparison
        change = pair.metrics["recall_at_k"]
        assert change.low is not None
        assert change.high is not None
        return change.high - change.low

    assert width(0.8) == width(None, Thresholds(confidence=0.8)) < width(None)
    assert gate(base, base, drop(), confidence=0.8)[0].confidence == 0.8


def test_a_case_that_is_an_error_now_is_no_silent_pass() -> None:
    base = run_of(200)
    new = [
        changed(one, status="error", outcome="error", metrics=dict.fromkeys(one.scores.metrics))
        if i < 24
        else one
        for i, one in enumerate(base)
    ]
    n_passed = sum(one.scores.outcome == "passed" for one in base[:24])
    missed = decided(base, new, NEWLY)
    assert (missed.status, missed.estimate) == ("warn", 0)
    assert f"{n_passed} cases are an error now and not counted here" in missed.message
    dropped = decided(base, new, drop())
    assert dropped.status == "warn"
    assert "24 cases are an error now" in dropped.message


def test_a_score_of_a_case_that_failed_later_is_not_called_an_error() -> None:
    """An empty answer is an error whose retrieval is scored, and paired."""
    base = run_of(40)
    new = [changed(base[0], status="error", outcome="error"), *base[1:]]
    found = decided(base, new, drop())
    assert (found.status, found.n) == ("pass", 40)
    assert found.message == "drop 0.000 is at most max_drop 0.030"


def test_an_error_of_the_metric_alone_is_no_silent_pass() -> None:
    base = run_of(40)
    new = [changed(base[0], metrics={**base[0].scores.metrics, "recall_at_k": None}), *base[1:]]
    found = decided(base, new, drop())
    assert (found.status, found.n) == ("warn", 39)
    assert found.message.endswith("; 1 case is an error now and not counted here")
    without = changed(new[0], not_applicable={"recall_at_k": "why"})
    assert decided(base, [without, *new[1:]], drop()).status == "pass"
