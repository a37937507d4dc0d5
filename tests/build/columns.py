"""Records with every kind of number, and the rows of records."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_rageval.analysis.aggregate.table import RecordRows
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import failed, record
from tests.build.verdicts import called, judged_by


def full_records() -> list[CaseRecord]:
    """Answered, repeated, failed and unreviewed records."""
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
            indexing_coverage={"files_total": 7, "files_indexed": 7 - i % 2},
            judgements=called(100 + i, 10, price={"input_per_mtok": 1.0, "output_per_mtok": 2.0})
            | judged_by(
                "correctness",
                error=None if i % 4 else ("unparseable", "no reply"),
                unsure=("correctness",) if i % 5 == 0 else (),
            ),
        )
        for i in range(12)
        for repeat in range(1 + i % 2)
    ]
    unreviewed = record("g", case=Case(id="g", question="?", review="generated"))
    return [*answered, failed("z"), unreviewed]


def columns_of(records: Iterable[CaseRecord]) -> RecordRows:
    """Rows of records in their order."""
    columns = RecordRows()
    for one in records:
        columns.add(one)
    return columns
