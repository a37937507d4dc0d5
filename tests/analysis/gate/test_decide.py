from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.gate.differences import Difference
from pytest_rageval.analysis.stats.difference_test import difference_test
from pytest_rageval.analysis.stats.intervals import MetricScale
from pytest_rageval.project.thresholds import with_implicit_checks
from pytest_rageval.values.gate import Check, Selection, Thresholds
from tests.analysis.gate.builders import DROP, HIT, PART, SYSTEM, check, gate, limit
from tests.build.records import failed, hits, record, selection_of
from tests.build.verdicts import called, judged_by

# --- a metric mean -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "status", "message"),
    [
        ([1, 1, 1, 0], "pass", "0.750 is at least min 0.750"),
        ([1, 1, 0, 0], "fail", "0.500 is below min 0.750"),
        ([1] * 2999 + [0] * 1001, "fail", "0.7498 is below min 0.7500"),
    ],
)
def test_a_mean_against_a_minimum(values: list[int], status: str, message: str) -> None:
    found = check(hits(*values), HIT)
    assert (found.status, found.message, found.n) == (status, message, len(values))


def test_a_check_carries_estimate_interval_proof_and_detectable_effect() -> None:
    found = check(hits(*[1] * 42, *[0] * 8), Check(metric="hit_at_k", kind="min", limit=0.9))
    assert found.estimate == pytest.approx(0.84)
    assert found.low == pytest.approx(0.7149, abs=1e-4)
    assert found.high == pytest.approx(0.9166, abs=1e-4)
    assert found.proof == "unproven"
    assert found.mde is not None
    assert 0.1 < found.mde < 0.16


@pytest.mark.parametrize(
    ("metric", "value", "is_known"),
    [
        ("recall_at_k", 1.0, False),
        ("groundedness", 4.0, False),
        ("context_tokens", 40.0, True),
        ("error_rate", 0.0, True),
    ],
)
def test_no_detectable_effect_is_larger_than_the_scale(
    metric: str, value: float, is_known: bool
) -> None:
    records = [record("a", {metric: value}), record("b", {metric: value - 1})]
    found = check(records, limit(metric, 90), judge_configured=True)
    assert (found.mde is not None) == is_known


def test_a_metric_with_an_upper_limit() -> None:
    records = [record(f"c{i}", {"scope_miss_rate": v}) for i, v in enumerate([0, 0, 1, 0])]
    found = check(records, limit("scope_miss_rate", 0.05))
    assert (found.status, found.message) == ("fail", "0.250 is above max 0.050")
    assert found.missed_cases == ("c2",)


def test_no_data_fails_and_says_why() -> None:
    found = check([record("a"), failed("b", metrics={"hit_at_k": None})], HIT)
    assert found.status == "fail"
    assert found.message == "no data: no case was scored (1 not applicable, 1 error)"


def test_a_metric_that_is_newer_than_the_run_was_not_measured() -> None:
    found = check(hits(1), Check(metric="acme.new", kind="min", limit=0.5))
    assert found.status == "fail"
    assert found.message.endswith(" acme.new")
    found = check(hits(1), replace(HIT, table="tag", group="t"))
    assert found.status == "fail"
    assert " tag t " in found.message


def test_no_case_at_all_fails() -> None:
    assert gate([], HIT).verdict == "fail"


def test_a_failing_check_of_severity_warn_warns_and_passes_the_gate() -> None:
    warns = replace(HIT, severity="warn")
    for records in (hits(0, 1), [record("no data")]):
        found = gate(records, warns)
        assert (found.verdict, found.checks[0].status) == ("pass", "warn")
        assert found.sentence == "PASS 1 check, 1 warning"


def test_the_missed_cases_are_the_worst_first_and_at_most_ten() -> None:
    records = [record(f"c{i:02}", {"mrr": 1 / (1 + i)}) for i in range(15)]
    found = check(records, Check(metric="mrr", kind="min", limit=0.9))
    assert found.missed_cases == tuple(f"c{i:02}" for i in range(14, 4, -1))


@pytest.mark.parametrize(("past", "missed"), [(0.0, ()), (6e-10, ()), (2e-9, ("a",))])
def test_a_case_within_the_tolerance_of_the_limit_is_not_missed(
    past: float, missed: tuple[str, ...]
) -> None:
    for of, sign in ((Check(metric="mrr", kind="min", limit=0.9), -1), (limit("mrr", 0.9), 1)):
        assert check([record("a", {"mrr": 0.9 + sign * past})], of).missed_cases == missed


@pytest.mark.parametrize(
    ("metric", "kind", "estimate", "missed"),
    [("pass_hat_k", "min", 1 / 3, ("b", "c")), ("flaky_rate", "max", 1 / 3, ("b",))],
)
def test_repeats_pass_that_all_pass_and_are_flaky_where_only_some_do(
    metric: str, kind: Any, estimate: float, missed: tuple[str, ...]
) -> None:
    repeats = {"a": (1, 1), "b": (1, 0), "c": (0, 0), "once": (1,)}
    records = [
        record(name, outcome="passed" if value else "missed", repeat=n)
        for name, values in repeats.items()
        for n, value in enumerate(values)
    ]
    found = check(records, Check(metric=metric, kind=kind, limit=0.5))
    assert found.estimate == pytest.approx(estimate)
    assert (found.n, found.missed_cases) == (3, missed)


def test_of_two_files_with_one_id_both_cases_are_named_with_their_file() -> None:
    records = [
        record("a", {"mrr": value}, file=f"evals/{file}.jsonl", required=True, outcome="missed")
        for file, value in (("de", 0.5), ("en", 0.1))
    ]
    mrr = Check(metric="mrr", kind="min", limit=0.9)
    found = gate([*records, record("b", {"mrr": 0.2})], mrr)
    assert found.checks[0].missed_cases == ("evals/en.jsonl::a", "b", "evals/de.jsonl::a")
    assert "2 required cases missed: evals/de.jsonl::a, evals/en.jsonl::a" in found.sentence


def test_an_alias_is_held_against_the_metric_it_stands_for() -> None:
    found = check(hits(1, 0), Check(metric="recall_any_at_k", kind="min", limit=0.4))
    assert (found.status, found.estimate) == ("pass", 0.5)


# --- small n --------------------------------------------------------------------------------------


def test_few_cases_are_marked_and_still_decided() -> None:
    assert [check(hits(*v), HIT).status for v in ([1, 1], [0, 1])] == ["pass", "fail"]
    assert check(hits(0, 1), HIT).small_n
    assert not check(hits(*[1] * 20), HIT).small_n


@pytest.mark.parametrize("on_small_n", ["skip", "fail"])
def test_few_cases_can_skip_or_fail_a_check(on_small_n: Any) -> None:
    hit, mrr = replace(HIT, on_small_n=on_small_n), replace(HIT, metric="mrr", limit=0.5)
    # One case has no interval to prove anything by.
    proofs: list[Any] = ["prove_pass", "prove_fail"]
    alone = [replace(mrr, decide=one, on_small_n=on_small_n) for one in proofs]
    for of, records, few in (
        (hit, hits(*[1] * 19), "19 scored cases"),
        (hit, hits(*[0] * 19), "19 scored cases"),
        *((one, [record("a", {"mrr": 1.0})], "1 scored case") for one in alone),
    ):
        found = check(records, of)
        said = f"only {few}, fewer than min_n 20"
        assert (found.status, found.message) == (on_small_n, said)


def test_no_data_is_not_excused_as_few_cases() -> None:
    of = Check(metric="mrr", kind="min", limit=0.75, on_small_n="skip")
    assert check([record("a")], of).status == "fail"


def test_min_n_does_not_apply_to_rates_and_percentiles() -> None:
    records = hits(1, 1, latency={"total_ms": 5})
    for metric in ("error_rate", "latency_ms.p95", "cost_usd.total"):
        found = check(records, limit(metric, 9, on_small_n="fail"))
        assert (found.status, found.small_n) == ("pass", False)


# --- proofs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decide", "values", "status", "message"),
    [
        ("prove_pass", [1] * 18 + [0] * 2, "fail", "not proven: lower bound 0.738"),
        ("prove_pass", [1] * 60, "pass", "proven: lower bound 0.957"),
        ("prove_pass", [0] * 20, "fail", "0.000 is below min 0.800"),
        ("prove_fail", [1] * 15 + [0] * 5, "pass", "not proven: upper bound 0.873"),
        ("prove_fail", [0] * 20, "fail", "proven: upper bound 0.119"),
        ("prove_fail", [1] * 20, "pass", "1.000 is at least min 0.800"),
    ],
)
def test_proofs(decide: Any, values: list[int], status: str, message: str) -> None:
    of = Check(metric="hit_at_k", kind="min", limit=0.8, decide=decide)
    found = check(hits(*values), of)
    assert found.status == status
    assert found.message.endswith(message)


def test_a_proof_without_an_interval_is_no_data() -> None:
    of = limit("cost_usd.total", 1, decide="prove_pass")
    found = check(hits(1), of)
    assert (found.status, found.message) == (
        "fail",
        'no data: 0.00 has no interval, which decide = "prove_pass" needs and '
        'decide = "estimate" does not',
    )


# --- groups ---------------------------------------------------------------------------------------


def test_a_category_is_decided_by_its_own_cases() -> None:
    records = [*hits(1, 1, 1), record("x", {"hit_at_k": 0.0}, category="multi_hop", tags=("w",))]
    by_category = Check(
        metric="hit_at_k", kind="min", limit=0.5, table="category", group="multi_hop"
    )
    by_tag = Check(metric="hit_at_k", kind="min", limit=0.5, table="tag", group="w")
    for of in (by_category, by_tag):
        found = check(records, of)
        assert (found.status, found.n, found.missed_cases) == ("fail", 1, ("x",))
    assert check(records, HIT).status == "pass"


def test_run_figures_of_a_category_are_those_of_its_cases() -> None:
    records = [*hits(1, 1, latency={"total_ms": 9}), failed("x", category="flaky")]
    found = check(records, limit("error_rate", 0.5, table="category", group="flaky"))
    assert (found.status, found.estimate) == ("fail", 1.0)
    latency = limit("latency_ms.p50", 10, table="category", group="general")
    assert check(records, latency).estimate == 9


# --- run figures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "estimate", "missed"),
    [
        ("error_rate", 0.5, ("c", "d")),
        ("timeout_rate", 0.25, ("c",)),
        ("empty_response_rate", 0.25, ("d",)),
        ("pass_rate", 0.25, ("b", "c", "d")),
        ("latency_ms.p50", 300, ("c", "b", "a")),
        ("latency_ms.p95", 930, ("c", "b", "a")),
        ("latency_ms.sum", 1400, ()),
        ("latency_ms.retrieval.p95", 10, ("a",)),
        ("latency_ms.retrieval_ms.p50", 10, ("a",)),
        ("cost_usd.total", 0.3, ()),
        ("cost_usd.uncached", 0.3, ()),
        ("judge_tokens", 0, ()),
        ("suite_wall_s", 12.5, ()),
    ],
)
def test_figures_of_the_run(metric: str, estimate: float, missed: tuple[str, ...]) -> None:
    found = check(SYSTEM, limit(metric, 0), timeout_s=1.0, wall_s=12.5)
    assert found.estimate == pytest.approx(estimate)
    assert found.missed_cases == missed


def test_a_censored_percentile_says_that_it_is_a_lower_bound() -> None:
    found = check(SYSTEM, limit("latency_ms.p95", 500), timeout_s=1.0)
    assert found.message == "930 (a lower bound: calls timed out) is above max 500"


def test_a_bound_of_a_percentile_among_calls_that_timed_out_is_unknown() -> None:
    answered = [record(f"c{n}", latency={"total_ms": float(n)}) for n in range(1, 13)]
    median = limit("latency_ms.p50", 20)
    late = [failed(f"t{n}", "timeout") for n in range(8)]
    found = check([*answered, *late], median)
    assert (found.low, found.high, found.proof) == (6.0, None, "unproven")
    found = check(answered, median)
    assert (found.low, found.high, found.proof) == (3.0, 10.0, "proven_pass")


def test_an_unknown_price_is_no_data() -> None:
    found = check([record("a", judgements=called(5))], limit("cost_usd.total", 1))
    assert found.message == "no data: the price of the judge's tokens is unknown"


TIMES = ["latency_ms.p50", "latency_ms.rerank.p95"]


@pytest.mark.parametrize("metric", [*TIMES, "flaky_rate"])
def test_what_was_not_measured_fails(metric: str) -> None:
    assert check([record("a")], limit(metric, 9)).status == "fail"


@pytest.mark.parametrize("metric", [*TIMES, "suite_wall_s"])
def test_a_time_decides_unless_a_recording_lacks_it(metric: str) -> None:
    found = check([record("a")], limit(metric, 9), concurrency=0)
    assert (found.status, found.message) == ("skip", "replies were recorded without this time")
    recorded = [record("a", latency={"rerank_ms": 10.0})]
    assert check(recorded, limit(TIMES[1], 9), concurrency=0).status == "fail"


def test_an_unmeasured_percentile_is_no_data() -> None:
    found = check(SYSTEM, limit("latency_ms.p99", 9))
    assert found.message == "no data: latency has no p99"


def test_indexing_rates_can_be_limited() -> None:
    coverage = {"chunks_attempted": 10, "chunks_skipped": 3}
    found = check([record("a", indexing_coverage=coverage)], limit("chunks_skipped_rate", 0.1))
    assert found.message == "0.300 is above max 0.100"


def test_the_error_rate_of_a_run_that_gave_up_counts_what_was_asked() -> None:
    records = [record("a"), failed("b", "connection"), failed("c", "not_attempted")]
    assert check(records, limit("error_rate", 0)).estimate == 0.5


# --- what is skipped ------------------------------------------------------------------------------


def test_judged_metrics_are_skipped_without_a_judge_and_need_data_with_one() -> None:
    of = Check(metric="groundedness", kind="min", limit=4)
    found, said = check(hits(1), of), "the run has no judge, and this metric is judged"
    assert (found.status, found.message) == ("skip", said)
    assert check(hits(1), of, judge_configured=True).status == "fail"


@pytest.mark.parametrize("metric", ["abstention_accuracy", "correctness", "attribution_recall"])
def test_only_metrics_of_retrieval_are_gated_under_retrieval_only(metric: str) -> None:
    found = check(hits(1), Check(metric=metric, kind="min", limit=1), retrieval_only=True)
    assert found.status == "skip"
    assert "--retrieval-only" in found.message
    assert check(hits(0), HIT, retrieval_only=True).status == "fail"


def test_judge_errors_are_gated_only_where_a_verdict_was_needed() -> None:
    of = limit("judge_error_rate", 0.05)
    lost = judged_by(error=("refused", "no"))
    judged = [record("a", judgements=lost), record("b", judgements=judged_by())]
    assert check(hits(1), of).message == "the run has no judge"
    assert check(hits(1), of, judge_configured=True).message == "no verdict was needed"
    found = check(judged, of, judge_configured=True)
    assert (found.status, found.message) == ("fail", "0.500 is above max 0.050")


def test_a_check_over_part_of_the_set_is_skipped() -> None:
    found = check(hits(1, 1, 0), HIT, selection=PART)
    assert (found.status, found.message) == (
        "skip",
        "needs the whole set (3 of 60 cases selected)",
    )


@pytest.mark.parametrize(
    ("table", "group", "reason"),
    [
        ("category", "a", None),
        ("category", "b", "needs the whole set (1 of 9 cases of category b selected)"),
        ("tag", "t", None),
        ("tag", "gone", "needs the whole set (0 of 0 cases of tag gone selected)"),
    ],
)
def test_a_group_is_decided_if_all_of_it_was_selected(
    table: Any, group: str, reason: str | None
) -> None:
    of = Check(metric="hit_at_k", kind="min", limit=0, table=table, group=group)
    assert PART.missing_for(of) == reason


def test_a_selection_is_counted_from_cases() -> None:
    whole = [record("a", tags=("x", "x")), record("b", category="c", tags=("x", "y"))]
    assert selection_of(whole[:1], whole) == Selection(
        n_selected=1,
        n_total=2,
        by_category={"c": (0, 1), "general": (1, 1)},
        by_tag={"x": (1, 2), "y": (0, 1)},
    )


def test_whether_the_target_answered_is_decided_over_any_part_of_the_set() -> None:
    thresholds = with_implicit_checks(Thresholds(checks=(HIT,)), judge_configured=False)
    found = gate([failed("a")], thresholds=thresholds, selection=PART)
    assert [c.status for c in found.checks] == ["skip", "fail"]
    fails = "FAIL 1 check: error_rate 1.000 is above max 0.000"
    assert found.sentence == f"INCOMPLETE: 1 of 1 case got no answer; {fails}"
    written = Thresholds(checks=(limit("error_rate", 0),))
    found = gate([failed("a")], thresholds=written, selection=PART)
    assert [c.status for c in found.checks] == ["fail"]


# --- implicit checks ------------------------------------------------------------------------------


ERRORS, LOST = ("error_rate", 0.0, True), ("judge_error_rate", 0.05, True)


@pytest.mark.parametrize(
    ("written", "judge", "expected"),
    [
        (HIT, True, [("hit_at_k", 0.75, False), ERRORS, LOST]),
        (HIT, False, [("hit_at_k", 0.75, False), ERRORS]),
        # A written limit replaces the implicit one, that of one category does not.
        (limit("error_rate", 0.1), False, [("error_rate", 0.1, False)]),
        (
            limit("error_rate", 0.1, table="category", group="a"),
            False,
            [("error_rate", 0.1, False), ERRORS],
        ),
    ],
)
def test_checks_exist_without_being_written(written: Check, judge: bool, expected: object) -> None:
    once = with_implicit_checks(Thresholds(checks=(written,)), judge_configured=judge)
    assert [(c.metric, c.limit, c.implicit) for c in once.checks] == expected
    assert with_implicit_checks(once, judge_configured=judge) == once


# --- baseline -------------------------------------------------------------------------------------

NEWLY = limit("newly_missed", 2)


@pytest.mark.parametrize("of", [DROP, NEWLY])
def test_without_a_baseline_its_checks_are_skipped_with_the_way_to_make_one(of: Check) -> None:
    found = check(hits(1, 1), of)
    assert (found.status, found.message) == (
        "skip",
        'no baseline is named: `rageval runs tag RUN main`, and baseline = "main" above '
        "the first [table] of thresholds.toml",
    )


def test_a_required_baseline_that_is_missing_fails() -> None:
    thresholds = Thresholds(checks=(DROP,), require_baseline=True)
    assert gate(hits(1), thresholds=thresholds).verdict == "fail"


def test_differences_from_a_baseline_are_decided_with_the_rest() -> None:
    base, cand = [1.0] * 30, [1.0] * 20 + [0.0] * 10
    test = difference_test(base, cand, MetricScale(binary=True))
    assert test is not None
    difference = Difference(estimate=test.diff, n=30, test=test)
    found = gate(hits(*cand), DROP, NEWLY, baseline={DROP: difference})
    assert [c.status for c in found.checks] == ["fail", "skip"]
    assert found.sentence == ("FAIL 1 check: hit_at_k max_drop drop 0.333 is above max_drop 0.050")
