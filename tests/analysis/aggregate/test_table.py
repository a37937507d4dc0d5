from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, Literal

import pytest

from pytest_rageval.analysis.aggregate.case_groups import coded_scores, fold_repeats, group_repeats
from pytest_rageval.analysis.aggregate.run import aggregate, aggregate_rows
from pytest_rageval.analysis.aggregate.table import CaseTable, RecordRows, ScoreTable
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.columns import columns_of, full_records
from tests.build.records import failed, record


def scored(case_id: str, seed: int, **fields: Any) -> CaseRecord:
    """Record with every metric in one of its three states, in the order of the registry."""
    draw = random.Random(f"{case_id} {seed}")
    metrics: dict[str, float | None] = {}
    reasons = {}
    for key in BUILT_IN.cases:
        state = draw.choice(["scored", "scored", "error", "not_applicable"])
        metrics[key] = draw.choice([0.0, 0.5, 1.0]) if state == "scored" else None
        if state == "not_applicable":
            reasons[key] = "not here"
    return record(case_id, metrics, not_applicable=reasons, cluster=f"d{seed % 5}", **fields)


RECORDS = [
    *[scored(f"c{i:02}", i, tags=("x",) if i % 3 else ("x", "y")) for i in range(40)],
    *[scored(f"c{i:02}", 100 + i, repeat=1, tags=("x",)) for i in range(10)],
    failed("z", metrics=dict.fromkeys(BUILT_IN.cases)),
]


@pytest.mark.parametrize("key", [*BUILT_IN.cases])
def test_a_column_holds_what_the_records_hold(key: str) -> None:
    columns = RecordRows()
    for one in random.Random(7).sample(RECORDS, len(RECORDS)):
        columns.add(one)
    table = CaseTable(columns)
    cases = group_repeats(RECORDS)
    assert [row.case_id for row in table.firsts] == [case.first.case.id for case in cases]
    found = table.scores.metric(key).tolist()
    coded = ([coded_scores(r.scores, [key])[0] for r in case.records] for case in cases)
    assert list(map(str, found)) == [str(fold_repeats(repeats)) for repeats in coded]
    assert list(map(str, ScoreTable.of(cases, [key]).metric(key).tolist())) == list(map(str, found))


# --- what is counted beside the means -----------------------------------------------------------


def test_abstentions_are_counted_against_whether_the_case_is_answerable() -> None:
    records = [
        record("a", {"over_abstention_rate": 1.0}),
        record("b", {"over_abstention_rate": 0.0}),
        record("c", {"over_abstention_rate": None}),
        record("d", {"abstention_accuracy": 1.0}, answerable=False),
        record("e", {"abstention_accuracy": None}, answerable=False,
               not_applicable={"abstention_accuracy": "nothing says"}),
    ]  # fmt: skip
    assert aggregate(records).abstention == {
        "answerable": {"abstained": 1, "answered": 1, "error": 1, "unknown": 0},
        "unanswerable": {"abstained": 1, "answered": 0, "error": 0, "unknown": 1},
    }


def test_reranking_is_summed_up_over_the_cases_known_in_both_orders() -> None:
    pairs = [(0.5, 1.0), (1.0, 0.5), (0.25, 1.0), (1.0, 1.0)]
    records = [
        record(f"c{i}", {"mrr": after}, metrics_before_rerank={"mrr": before})
        for i, (before, after) in enumerate(pairs)
    ]
    records.append(record("not reported", {"mrr": 0.0}))
    records.append(record("erred", {"mrr": None}, metrics_before_rerank={"mrr": 1.0}))
    found = aggregate(records).rerank["mrr"]
    assert (found.n, found.before, found.after, found.delta) == (4, 0.6875, 0.875, 0.1875)
    assert (found.improved, found.worsened, found.stayed) == (2, 1, 1)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.delta < found.high


def repeated(case_id: str, outcomes: str) -> list[CaseRecord]:
    return [
        record(case_id, {"hit_at_k": float(o == "p")}, repeat=i,
               outcome={"p": "passed", "m": "missed", "e": "error"}[o])
        for i, o in enumerate(outcomes)
    ]  # fmt: skip


def test_repeats_tell_how_far_one_answer_can_be_trusted() -> None:
    records = [*repeated("a", "pppp"), *repeated("b", "ppmm"), *repeated("c", "pmmm")]
    found = aggregate(records).repeats
    assert found is not None
    assert (found.repeats, found.n) == (4, 3)
    assert found.flaky_rate == pytest.approx(2 / 3)
    flaky = [(one.file, one.case_id, one.passes, one.asked) for one in found.flaky_cases]
    assert flaky == [("evals/set.jsonl", "c", 1, 4), ("evals/set.jsonl", "b", 2, 4)]
    assert found.pass_at_k[1] == pytest.approx(7 / 12)
    assert found.pass_at_k[2] == pytest.approx((1 + 5 / 6 + 1 / 2) / 3)
    assert found.pass_hat_k[2] == pytest.approx((1 + 1 / 6 + 0) / 3)
    assert found.variance["hit_at_k"]["within"] == pytest.approx((4 / 4 + 3 / 4) / 9)


def test_an_error_among_repeats_is_no_pass_and_unequal_repeats_count_where_they_can() -> None:
    found = aggregate([*repeated("a", "pe"), *repeated("b", "pp"), *repeated("c", "p")]).repeats
    assert found is not None
    assert (found.n, found.flaky_rate, found.pass_hat_k[2]) == (2, 0.5, 0.5)


def test_each_case_counts_by_its_own_number_of_repeats() -> None:
    found = aggregate([*repeated("a", "pppm"), *repeated("b", "pm")]).repeats
    assert found is not None
    assert (found.repeats, found.n, found.flaky_rate) == (4, 2, 1.0)
    assert found.flip_probability == pytest.approx((0.5 + 1) / 2)
    assert found.pass_at_k[2] == 1.0
    assert found.pass_at_k[4] == 1.0
    assert found.pass_hat_k[2] == pytest.approx((0.5 + 0) / 2)


@pytest.mark.parametrize(("path_case", "mean"), [("sensitive", 0.0), ("insensitive", 1.0)])
def test_translations_are_compared_by_the_path_setting_of_the_run(
    path_case: Literal["sensitive", "insensitive"], mean: float
) -> None:
    records = [
        record(name, retrieved_chunks=(RetrievedChunk(rel_path=path),), case=case)
        for name, path, case in [
            ("en", "Docs/A.md", Case(id="en", question="?")),
            ("de", "docs/a.md", Case(id="de", question="?", translation_of="en")),
        ]
    ]
    found = aggregate(records, path_case=path_case).cross_lingual
    assert (found["mean"], found["n"]) == (mean, 1)


# --- size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_are_put_together_are_those_of_all_records(seed: int) -> None:
    draw = random.Random(seed)
    every = [*RECORDS, *full_records()]
    records = draw.sample(every, len(every))
    cuts = sorted(draw.choices(range(len(records) + 1), k=4))
    whole = RecordRows()
    for start, end in pairwise([0, *cuts, len(records)]):
        whole.extend(columns_of(records[start:end]))
    assert whole.rows == columns_of(records).rows
    assert aggregate_rows(whole) == aggregate(every)
