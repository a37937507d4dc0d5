from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.aggregate.case_groups import ERROR, group_repeats
from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.aggregate.summaries import summarise_metric
from pytest_rageval.analysis.aggregate.table import ScoreTable
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.scoring import reported_by
from pytest_rageval.values.case import Case, Turn
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import failed, hits, record
from tests.build.verdicts import called, judged_by


def mean(records: list[CaseRecord], key: str) -> float | None:
    return aggregate(records).metrics[key].mean


# --- one case ----------------------------------------------------------------------------------


def test_the_three_statuses_are_told_apart() -> None:
    records = [
        record("a", {"recall_at_k": 1.0}),
        record("b", {"recall_at_k": 0.5}),
        record("c", {"recall_at_k": None}),
        record("d", {"recall_at_k": None}, not_applicable={"recall_at_k": "no gold"}),
    ]
    found = aggregate(records).metrics["recall_at_k"]
    assert (found.n, found.n_error, found.n_not_applicable) == (2, 1, 1)
    assert (found.mean, found.median, found.mean_errors_as_worst) == (0.75, 0.75, 0.5)


def mrr_of(records: list[CaseRecord]) -> float:
    """The value of the only case."""
    [value] = ScoreTable.of(group_repeats(records), ["mrr"]).metric("mrr").tolist()
    return float(value)


def test_a_case_weighs_one_whatever_its_repeats() -> None:
    records = [record("a", {"mrr": v}, repeat=i) for i, v in enumerate([1.0, 0.0, 0.5])]
    records.append(record("b", {"mrr": 1.0}))
    found = aggregate(records).metrics["mrr"]
    assert (found.n, found.mean) == (2, 0.75)


def test_a_case_is_an_error_only_if_no_repeat_was_scored() -> None:
    records = [record("a", {"mrr": None}, repeat=i) for i in range(2)]
    assert mrr_of(records) == ERROR


def test_cases_of_the_same_id_in_two_files_are_two_cases() -> None:
    records = [record("a", {"mrr": 1.0}), record("a", {"mrr": 0.0}, file="evals/other.jsonl")]
    assert aggregate(records).total == 2


# --- means and intervals -----------------------------------------------------------------------


def test_errors_are_worst_on_the_side_that_is_bad() -> None:
    values = [record("a", {"scope_miss_rate": 0.0}), record("b", {"scope_miss_rate": None})]
    assert aggregate(values).metrics["scope_miss_rate"].mean_errors_as_worst == 0.5


def test_binary_metrics_of_one_repeat_have_a_wilson_interval() -> None:
    found = aggregate(hits(*[1] * 42, *[0] * 8)).metrics["hit_at_k"]
    assert (found.method, found.clusters) == ("wilson", None)
    assert (found.low, found.high) == pytest.approx((0.7148578, 0.9166258), abs=1e-6)


def test_repeats_of_equal_answers_change_no_interval() -> None:
    once = hits(1, 1, 1, 0)
    thrice = [replace(one, repeat=n) for one in once for n in range(3)]
    assert aggregate(thrice).metrics["hit_at_k"] == aggregate(once).metrics["hit_at_k"]


def test_what_was_asked_again_for_its_answer_enters_no_figure() -> None:
    once = [record("a", {"hit_at_k": 1.0}), record("b", {"hit_at_k": 0.0}, outcome="missed")]
    more = [
        record("b", {"hit_at_k": 1.0}, repeat=n, again="failed", latency={"total_ms": 1.0})
        for n in (1, 2)
    ]
    plain, found = aggregate(once), aggregate([once[0], replace(once[1], again="failed"), *more])
    assert found.metrics == plain.metrics
    assert (found.rates, found.latency) == (plain.rates, plain.latency)
    assert (found.flaky, found.missed, found.passed) == (1, 0, 1)
    assert found.repeats is not None
    assert (found.repeats.again, found.repeats.flaky_rate) == ({"failed": 1}, None)


def test_cases_about_one_document_are_clustered() -> None:
    records = [
        record(f"c{i}", {"hit_at_k": v}, cluster=c)
        for i, (v, c) in enumerate([(1, "a"), (1, "a"), (0, "b"), (0, "b"), (1, "c"), (1, "c")])
    ]
    found = aggregate(records).metrics["hit_at_k"]
    assert (found.method, found.clusters) == ("plus_two", 3)
    assert found.se == pytest.approx(1 / 3)


def test_every_registered_metric_has_a_summary_that_of_conversations_where_there_is_one() -> None:
    every = BUILT_IN.cases.keys()
    assert aggregate([]).metrics.keys() == every - {"context_carry"}
    turns = Case(
        id="a", turns=(Turn(question="?"), Turn(question="!"), Turn(question="."))
    ).expanded()
    found = aggregate([replace(record("a"), case=one) for one in turns])
    assert found.metrics.keys() == every
    assert [*found.by_turn] == ["1", "2", "3+"]


def test_a_metric_that_no_registry_knows_is_summarised_all_the_same() -> None:
    records = [record("a", {"house.tone": 3.0}), record("b", {"house.tone": 1.0})]
    found = aggregate(records).metrics["house.tone"]
    assert (found.mean, found.method) == (2.0, "bootstrap")


def test_summary_of_no_case_is_no_data() -> None:
    assert summarise_metric([]).mean is None


fractions = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=12)


@given(fractions, st.integers(0, 1000))
def test_the_order_of_records_changes_no_digit(rows: list[tuple[float, int]], seed: int) -> None:
    records = [
        record(
            f"c{i % 7}",
            {"recall_at_k": v},
            repeat=i // 7,
            cluster=f"d{c}",
            latency={"total_ms": 100 * v},
            category=f"cat{i % 7 % 2}",
        )
        for i, (v, c) in enumerate(rows)
    ]
    mixed = random.Random(seed).sample(records, len(records))
    few = replace(BUILT_IN, cases={"recall_at_k": BUILT_IN.cases["recall_at_k"]})
    assert aggregate(mixed, registry=few) == aggregate(records, registry=few)


# --- groups ------------------------------------------------------------------------------------


def test_a_case_counts_under_each_of_its_tags_once() -> None:
    records = [
        record("a", {"mrr": 1.0}, tags=("x", "y", "x"), vaults=("v",), difficulty="hard"),
        record("b", {"mrr": 0.0}, tags=("y",), answerable=False),
    ]
    found = aggregate(records)
    assert {tag: s["mrr"].mean for tag, s in found.by_tag.items()} == {"x": 1.0, "y": 0.5}
    assert {d: s["mrr"].n for d, s in found.by_difficulty.items()} == {"hard": 1}
    assert {a: s["mrr"].mean for a, s in found.by_answerable.items()} == {"true": 1, "false": 0}
    assert list(found.by_vault) == ["v"]
    assert list(found.by_category) == ["general"]


# --- counts and rates --------------------------------------------------------------------------


def test_outcomes_are_counted_by_case() -> None:
    records = [
        record("a"),
        record("b", outcome="missed"),
        failed("c"),
        record("d", unchecked=True, answerable=False),
    ]
    found = aggregate(records)
    assert (found.total, found.answerable, found.unanswerable) == (4, 3, 1)
    assert (found.passed, found.missed, found.errored, found.unchecked) == (1, 1, 1, 1)
    assert found.rates["pass_rate"] == pytest.approx(1 / 3)
    assert found.warnings == ("1 of 4 cases could not be checked",)


@pytest.mark.parametrize(
    ("repeats", "outcome"),
    [
        (["passed", "passed"], "passed"),
        (["passed", "missed"], "flaky"),
        (["passed", "error"], "flaky"),
        (["missed", "error"], "missed"),
        (["error", "error"], "error"),
    ],
)
def test_outcome_of_repeats(repeats: list[Any], outcome: str) -> None:
    records = [record("a", repeat=i, outcome=o) for i, o in enumerate(repeats)]
    assert group_repeats(records)[0].outcome == outcome


def test_verdicts_that_failed_make_the_judge_error_rate() -> None:
    given = judged_by(scores={"groundedness": 4.0})
    lost = judged_by("correctness", error=("unreachable", "gone"))
    records = [
        record("a", judgements=given | lost),
        record("b", {"groundedness": None}, not_applicable={"groundedness": "no context"}),
        replace(failed("d"), verdicts=record("d", judgements=lost).verdicts),
    ]
    assert aggregate(records).rates["judge_error_rate"] == 0.5


def referenced(case_id: str, score: float | None, **reference: Any) -> CaseRecord:
    of = Case(id=case_id, question="?", **reference)
    return record(case_id, {"correctness": score}, case=of)


def test_correctness_is_averaged_apart_by_whether_there_is_a_reference() -> None:
    records = [
        referenced("facts", 2.0, expected_key_facts=("a",)),
        referenced("answer", 3.0, expected_answer="a"),
        referenced("failed", None, expected_answer="a"),
        referenced("neither", 5.0),
        referenced("blank", 4.0, expected_answer=" \n"),
        record("unanswerable", {"correctness": None}, not_applicable={"correctness": "no answer"},
               case=Case(id="unanswerable", question="?", answerable=False)),
    ]  # fmt: skip
    found = aggregate(records)
    parts = found.correctness_by_reference
    assert [(name, p.mean, p.n, p.n_error, p.n_not_applicable) for name, p in parts.items()] == [
        ("reference", 2.5, 2, 1, 0),
        ("no_reference", 4.5, 2, 0, 0),
    ]
    assert found.metrics["correctness"].mean == 3.5


# --- system ------------------------------------------------------------------------------------


def test_latency_takes_every_call_and_timeouts_at_the_limit() -> None:
    records = [
        record("a", latency={"total_ms": 100, "retrieval_ms": 60}),
        record("b", latency={"total_ms": 300, "judge_ms": 900}),
        failed("c", "timeout"),
        failed("d", latency={"total_ms": 3}),
    ]
    found = aggregate(records, timeout_ms=1000)
    assert found.latency.p50_ms == 300
    assert found.latency.p95_ms == pytest.approx(930)
    assert (found.latency.p50_censored, found.latency.p95_censored) == (False, True)
    assert (found.latency.n, found.latency.n_excluded, found.latency.sum_ms) == (3, 1, 1400)
    assert {k: v.p50_ms for k, v in found.latency_by_phase.items()} == {
        "judge": 900,
        "retrieval": 60,
    }


def test_cost_is_summed_over_verdicts_that_were_paid_for() -> None:
    paid, cached = called(100, 20, usd=0.5), called(100, 20, usd=0.5, cached=True)
    found = aggregate([record("a", judgements=paid), record("b", judgements=cached), record("c")])
    assert (found.cost_usd, found.judge_tokens) == (0.5, 120)
    assert found.cost_usd_uncached == 1.0


def test_indexing_coverage_that_does_not_add_up_warns() -> None:
    coverage = {"chunks_attempted": 10, "chunks_embedded": 8, "chunks_skipped": 1}
    found = aggregate([record("a", indexing_coverage=coverage), record("b")])
    assert found.indexing is not None
    assert found.indexing.chunks_skipped_rate == 0.1
    assert found.warnings == (
        "indexing coverage: chunks_attempted 10 is not chunks_embedded 8 + chunks_skipped 1",
    )


def test_an_index_that_changes_during_the_run_warns() -> None:
    records = [record(c, indexing_coverage={"docs_processed": n}) for c, n in [("a", 1), ("b", 2)]]
    found = aggregate(records)
    assert found.indexing is not None
    assert found.indexing.reported == {"docs_processed": 2}
    assert "changed during the run" in found.warnings[0]


# --- rules of the whole run --------------------------------------------------------------------

BARE = RetrievedChunk(rel_path="a.md")
HEADED = RetrievedChunk(rel_path="a.md", heading_path="# A")


def test_headings_are_reported_if_any_chunk_has_one() -> None:
    assert reported_by([record("a", retrieved_chunks=(BARE, HEADED))]).headings
    assert not reported_by([record("a", retrieved_chunks=(BARE,))]).headings


def test_every_number_of_a_run_is_finite() -> None:
    found = aggregate([*hits(1, 0, 1), failed("z", "empty", metrics={"hit_at_k": None})])
    numbers = [v for s in found.metrics.values() for v in (s.mean, s.low, s.high, s.se)]
    assert all(math.isfinite(v) for v in numbers if v is not None)


def test_flawed_cases_and_stages_are_counted_once_each_by_the_repeat_that_decides() -> None:
    def repeats(case_id: str, *found: tuple[str, str | None]) -> list[CaseRecord]:
        return [
            record(case_id, repeat=n, outcome=outcome, failure_stage=stage)
            for n, (outcome, stage) in enumerate(found)
        ]

    found = aggregate(
        [
            *repeats("a", ("passed", None), ("flawed", "incorrect"), ("flawed", "not_cited")),
            *repeats("b", ("flawed", "incorrect"), ("missed", "not_retrieved")),
            *repeats("c", ("error", None), ("missed", "not_retrieved")),
            *repeats("d", ("error", None), ("error", None)),
            *repeats("e", ("passed", "incorrect")),
            record("made", outcome="missed", failure_stage="out_of_scope",
                   case=Case(id="made", question="?", review="generated")),
        ]
    )  # fmt: skip
    counts = found.passed, found.flawed, found.missed, found.errored
    assert (*counts, found.flaky) == (1, 0, 2, 1, 1)
    assert found.stages == {"incorrect": 2, "not_retrieved": 2}
    assert found.rates["pass_rate"] == pytest.approx((1 / 3 + 1) / 5)
    failed = {"error": ("d",), "missed": ("b", "c"), "flawed": (), "flaky": ("a",)}
    assert found.failed_cases == failed
