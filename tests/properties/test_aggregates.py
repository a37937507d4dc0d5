"""Means, counts and groups of any run fit together, and no case vanishes from any of them.

The runs are drawn once, from fixed seeds, and aggregated once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from math import fsum
from random import Random

import msgspec
import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import CONTEXT_CARRY
from pytest_rageval.values.numbers import Aggregate, MetricSummary
from pytest_rageval.values.record import CaseRecord
from tests.build.records import changed
from tests.properties.scenes import make_run

Summaries = Mapping[str, MetricSummary]
Run = tuple[list[CaseRecord], Aggregate]
TOLERANCE = 1e-12


def of(records: list[CaseRecord]) -> Aggregate:
    return aggregate(records, timeout_ms=1000)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    drawn = [make_run(Random(seed), most=8) for seed in range(20)]
    return [(records, of(records)) for records in drawn]


def written(found: Aggregate) -> str:
    """The metrics.json of a run, to the last digit."""
    return json.dumps(msgspec.to_builtins(found, str_keys=True), allow_nan=False)


def counts(summary: MetricSummary) -> tuple[int, int, int]:
    return summary.n, summary.n_error, summary.n_not_applicable


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


def test_the_runs_hold_repeats_errors_and_groups(runs: list[Run]) -> None:
    found = [one for _, one in runs]
    assert any(len(records) > one.total for records, one in runs)
    assert any(summary.n_error and summary.n for one in found for summary in one.metrics.values())
    assert any(len(one.by_category) > 2 for one in found)
    assert sum(0 < (one.metrics["doc_recall_at_k"].mean or 0) < 1 for one in found) > 5


def test_the_mean_is_the_mean_of_its_cases(runs: list[Run]) -> None:
    for records, found in runs:
        for key, summary in found.metrics.items():
            assert summary.mean == pytest.approx(own_mean(records, key), abs=TOLERANCE), key


def test_no_case_vanishes_from_any_metric_or_group(runs: list[Run]) -> None:
    for records, found in runs:
        cases = by_case(records)
        first = [repeats[0] for repeats in cases.values()]
        answered = found.passed + found.flaky + found.flawed + found.missed
        assert answered + found.errored + found.unchecked == found.total
        assert sum(found.stages.values()) <= answered
        assert found.total == len(cases) == found.answerable + found.unanswerable
        assert found.by_category.keys() == {r.case.category for r in first}
        assert found.by_tag.keys() == {tag for r in first for tag in r.case.tags}
        groups: list[tuple[Summaries, int]] = [(found.metrics, len(cases))]
        for name, summaries in found.by_category.items():
            groups.append((summaries, sum(r.case.category == name for r in first)))
        for name, summaries in found.by_tag.items():
            groups.append((summaries, sum(name in r.case.tags for r in first)))
        for name, summaries in found.by_answerable.items():
            groups.append((summaries, sum(str(r.case.answerable).lower() == name for r in first)))
        for summaries, size in groups:
            assert {sum(counts(summary)) for summary in summaries.values()} <= {size}
            assert summaries.keys() == BUILT_IN.cases.keys() - {CONTEXT_CARRY}  # of conversations


def test_a_partition_adds_up_to_the_whole(runs: list[Run]) -> None:
    for _, found in runs:
        for partition in (found.by_category, found.by_answerable):
            for key, whole in found.metrics.items():
                parts = [summaries[key] for summaries in partition.values()]
                sums = tuple(map(sum, zip(*map(counts, parts), strict=True))) or (0, 0, 0)
                assert sums == counts(whole), key
                if whole.mean is not None:
                    total = fsum(part.n * part.mean for part in parts if part.mean is not None)
                    assert abs(total / whole.n - whole.mean) < TOLERANCE, key


def test_the_order_of_records_changes_no_digit_of_the_file(runs: list[Run]) -> None:
    for seed, (records, found) in enumerate(runs[:10]):
        mixed = Random(seed).sample(records, len(records))
        assert written(of(mixed)) == written(found)


@pytest.mark.parametrize("times", [2, 3])
def test_a_case_weighs_one_however_often_it_is_asked(runs: list[Run], times: int) -> None:
    for records, once in runs[times % 2 :: 2]:
        again = [
            replace(record, repeat=record.repeat + 2 * turn)
            for turn in range(times)
            for record in records
        ]
        often = of(again)
        assert often.total == once.total
        for key, summary in once.metrics.items():
            more = often.metrics[key]
            assert counts(more) == counts(summary), key
            for name in ("mean", "median", "mean_errors_as_worst"):
                before = getattr(summary, name)
                assert getattr(more, name) == pytest.approx(before, abs=TOLERANCE), (key, name)


def test_an_error_in_place_of_a_score_moves_the_counts_and_not_the_others(runs: list[Run]) -> None:
    seen = 0
    for records, found in runs[10:]:
        cases = [repeats for repeats in by_case(records).values() if len(repeats) == 1]
        scored = [one for (one,) in cases if one.scores.metrics["doc_mrr"] is not None]
        if not scored:
            continue
        seen += 1
        lost = scored[0]
        broken = changed(lost, metrics={**lost.scores.metrics, "doc_mrr": None}, status="error")
        after = [broken if record is lost else record for record in records]
        old, new = found.metrics["doc_mrr"], of(after).metrics["doc_mrr"]
        assert counts(new) == (old.n - 1, old.n_error + 1, old.n_not_applicable)
        assert new.mean_errors_as_worst is not None
        as_worst = old.mean if old.mean_errors_as_worst is None else old.mean_errors_as_worst
        assert as_worst is not None
        assert new.mean_errors_as_worst <= as_worst + TOLERANCE
    assert seen > 3


def test_no_file_of_a_run_ever_holds_nan(runs: list[Run]) -> None:
    # In JSON msgspec writes null for NaN, so that the values are looked at before.
    for records, found in runs:
        for held in (*records, found):
            text = json.dumps(msgspec.to_builtins(held, str_keys=True), allow_nan=False)
            assert json.loads(text) == json.loads(msgspec.json.encode(held))


def bounds(summary: MetricSummary) -> list[float]:
    found = [
        *(summary.low, summary.low_one_sided, summary.mean, summary.median),
        *(summary.high_one_sided, summary.high, summary.mean_errors_as_worst),
    ]
    return [value for value in found if value is not None]


def test_every_mean_and_bound_is_on_the_scale_of_its_metric(runs: list[Run]) -> None:
    for _, found in runs:
        for key, summary in found.metrics.items():
            low, high = BUILT_IN.cases[key].scale
            top = math.inf if high is None else high
            assert all(low <= value <= top for value in bounds(summary)), key
            assert (summary.mean is None) == (summary.n == 0), key
            no_worst = summary.n_error == 0 or BUILT_IN.cases[key].worst is None
            assert (summary.mean_errors_as_worst is None) == no_worst, key
