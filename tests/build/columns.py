"""Records that fill every column of numbers, and columns as values that can be compared."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from pytest_rageval.analysis.aggregate.columns import RecordColumns
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import call_cost, failed, record


def full_records() -> list[CaseRecord]:
    """Answered, repeated, failed and unreviewed records; `assert_full` holds them to their name."""
    answered = [
        record(
            f"f{i:02}",
            {**dict.fromkeys(BUILT_IN.cases, (i + repeat) % 3 / 2), "house.own": i / 4},
            repeat=repeat,
            case=Case(
                id=f"f{i:02}",
                question="?",
                category=f"c{i % 2}",
                tags=("x",) if i % 3 else ("x", "y"),
                expected_answer="yes" if i % 2 else None,
                translation_of=f"f{i - 1:02}" if i % 3 == 1 else None,
            ),
            cluster=f"d{i % 5}" if i % 4 else None,
            retrieved_chunks=(RetrievedChunk(rel_path=f"d{i % 4}.md", matched_by=("heading",)),),
            metrics_before_rerank={"mrr": i % 2 / 2},
            outcome="missed" if i % 3 else "passed",
            failure_stage="not_indexed" if i % 3 else None,
            latency={"total_ms": 5.0 + i, "retrieval_ms": 1.0 + repeat},
            usage={"input_tokens": 3.0 + i, "cost_usd": 0.25},
            cost=call_cost(100 + i, 10, price={"input_per_mtok": 1.0, "output_per_mtok": 2.0}),
            indexing_coverage={"files_total": 7, "files_indexed": 7 - i % 2},
            judgements={"correctness": {"scores": {}, "error": None if i % 4 else "no reply"}},
            correctness={"score": None, "unsure": i % 5 == 0},
        )
        for i in range(12)
        for repeat in range(1 + i % 2)
    ]
    unreviewed = record("g", case=Case(id="g", question="?", review="generated"))
    return [*answered, failed("z"), unreviewed]


def columns_of(records: Iterable[CaseRecord]) -> RecordColumns:
    """Columns of records in their order."""
    columns = RecordColumns()
    for one in records:
        columns.add(one)
    return columns


def plain(value: Any) -> Any:
    """Columns, or a value in them, as values that are equal if the columns are."""
    if isinstance(value, array):
        return repr(list(value))  # NaN is not equal to itself
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if not hasattr(value, "__dict__"):
        return value
    public = {name: one for name, one in vars(value).items() if name[0] != "_"}
    return {name: plain(one) for name, one in public.items() if name != "registry"}


def assert_full(columns: RecordColumns) -> None:
    """Fail if a column of some columns is empty."""
    found = plain(columns)
    flat = {**found, **found["documents"]}
    assert [name for name, one in flat.items() if one in (False, 0, [], {}, set(), "[]")] == []
    for codes in (found["profiles"], found["clusters"], found["documents"]["keys"]):
        assert codes
