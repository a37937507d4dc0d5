"""Means, counts and groups of any run fit together, and no case vanishes from any of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import fsum
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.conversation import CONTEXT_CARRY
from pytest_rageval.values.numbers import Aggregate, MetricSummary
from pytest_rageval.values.record import CaseRecord
from tests.build.records import changed
from tests.properties.scenes import make_run, seeded

Summaries = Mapping[str, MetricSummary]
TOLERANCE = 1e-12

runs = seeded(lambda dice: make_run(dice, most=8))
several = settings(deadline=None, max_examples=12)


def written(found: Aggregate) -> str:
    """The metrics.json of a run, to the last digit."""
    return json.dumps(to_builtins(found, str_keys=True), allow_nan=False)


def counted(summary: MetricSummary) -> int:
    return summary.n + summary.n_not_applicable + summary.n_error


def by_case(records: list[CaseRecord]) -> dict[str, list[CaseRecord]]:
    cases: dict[str, list[CaseRecord]] = {}
    for record in records:
        cases.setdefault(record.case.id, []).append(record)
    return cases


def own_mean(records: list[CaseRecord], key: str) -> float | None:
    """The macro mean by hand: the mean over cases of the mean over scored repeats."""
    values = []
    for repeats in by_case(records).values():
        scored = [value for record in repeats if (value := record.scores.metrics[key]) is not None]
        if scored:
            values.append(sum(scored) / len(scored))
    return sum(values) / len(values) if values else None


def test_the_runs_hold_repeats_errors_and_groups() -> None:
    records = [make_run(Random(seed), most=8) for seed in range(20)]
    found = [aggregate(run) for run in records]
    assert any(len(run) > one.total for run, one in zip(records, found, strict=True))
    assert any(summary.n_error and summary.n for one in found for summary in one.metrics.values())
    assert any(len(one.by_category) > 2 for one in found)
    assert sum(0 < (one.metrics["doc_recall_at_k"].mean or 0) < 1 for one in found) > 5


@several
@given(runs)
def test_the_mean_is_the_mean_of_its_cases(records: list[CaseRecord]) -> None:
    for key, summary in aggregate(records).metrics.items():
        expected = own_mean(records, key)
        if expected is None or summary.mean is None:
            assert summary.mean == expected, key
        else:
            assert abs(summary.mean - expected) < TOLERANCE, key


@several
@given(runs)
def test_no_case_vanishes_from_any_metric_or_group(records: list[CaseRecord]) -> None:
    found, cases = aggregate(records), by_case(records)
    first = [repeats[0] for repeats in cases.values()]
    answered = found.passed + found.flaky + found.flawed + found.missed
    assert answered + found.errored + found.unchecked == found.total
    assert sum(found.stages.values()) <= answered
    assert found.total == len(cases) == found.answerable + found.unanswerable
    sizes = {
        "category": {r.case.category: [r.case.category] for r in first},
        "tag": {tag: [tag] for r in first for tag in r.case.tags},
    }
    assert found.by_category.keys() == sizes["category"].keys()
    assert found.by_tag.keys() == sizes["tag"].keys()
    groups: list[tuple[Summaries, int]] = [(found.metrics, len(cases))]
    for name, summaries in found.by_category.items():
        groups.append((summaries, sum(r.case.category == name for r in first)))
    for name, summaries in found.by_tag.items():
        groups.append((summaries, sum(name in r.case.tags for r in first)))
    for name, summaries in found.by_answerable.items():
        groups.append((summaries, sum(str(r.case.answerable).lower() == name for r in first)))
    for summaries, size in groups:
        assert {counted(summary) for summary in summaries.values()} <= {size}
        assert summaries.keys() == BUILT_IN.cases.keys() - {CONTEXT_CARRY}  # of conversations


@several
@given(runs)
def test_a_partition_adds_up_to_the_whole(records: list[CaseRecord]) -> None:
    found = aggregate(records)
    for partition in (found.by_category, found.by_answerable):
        for key, whole in found.metrics.items():
            parts = [summaries[key] for summaries in partition.values()]
            assert sum(part.n for part in parts) == whole.n, key
            assert sum(part.n_error for part in parts) == whole.n_error, key
            assert sum(part.n_not_applicable for part in parts) == whole.n_not_applicable, key
            if whole.mean is not None:
                total = fsum(part.n * part.mean for part in parts if part.mean is not None)
                assert abs(total / whole.n - whole.mean) < TOLERANCE, key


@several
@given(runs, st.randoms(use_true_random=False))
def test_the_order_of_records_changes_no_digit_of_the_file(
    records: list[CaseRecord], dice: Random
) -> None:
    mixed = dice.sample(records, len(records))
    assert written(aggregate(mixed)) == written(aggregate(records))


@several
@given(runs, st.integers(2, 3))
def test_a_case_weighs_one_however_often_it_is_asked(records: list[CaseRecord], times: int) -> None:
    again = [
        replace(record, repeat=record.repeat + 2 * turn)
        for turn in range(times)
        for record in records
    ]
    once, often = aggregate(records), aggregate(again)
    assert often.total == once.total
    for key, summary in once.metrics.items():
        more = often.metrics[key]
        assert (more.n, more.n_error, more.n_not_applicable) == (
            summary.n,
            summary.n_error,
            summary.n_not_applicable,
        ), key
        for name in ("mean", "median", "mean_errors_as_worst"):
            before, after = getattr(summary, name), getattr(more, name)
            assert (before is None) == (after is None), (key, name)
            assert abs((before or 0) - (after or 0)) < TOLERANCE, (key, name)


@several
@given(runs)
def test_an_error_in_place_of_a_score_moves_the_counts_and_not_the_others(
    records: list[CaseRecord],
) -> None:
    cases = [repeats for repeats in by_case(records).values() if len(repeats) == 1]
    scored = [one for (one,) in cases if one.scores.metrics["doc_mrr"] is not None]
    if not scored:
        return
    lost = scored[0]
    broken = changed(lost, metrics={**lost.scores.metrics, "doc_mrr": None}, status="error")
    after = [broken if record is lost else record for record in records]
    old, new = aggregate(records).metrics["doc_mrr"], aggregate(after).metrics["doc_mrr"]
    assert (new.n, new.n_error) == (old.n - 1, old.n_error + 1)
    assert new.n_not_applicable == old.n_not_applicable
    assert new.mean_errors_as_worst is not None
    as_worst = old.mean if old.mean_errors_as_worst is None else old.mean_errors_as_worst
    assert as_worst is not None
    assert new.mean_errors_as_worst <= as_worst + TOLERANCE
