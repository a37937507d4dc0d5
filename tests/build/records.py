"""Short ways to say the records of a run in tests of aggregation and the gate."""

from __future__ import annotations

from typing import Any

from pytest_rageval.values.errors import TargetErrorKind
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import ErrorInfo


def record(
    case_id: str, metrics: dict[str, float | None] | None = None, **fields: Any
) -> CaseRecord:
    """Record of an answered case; a metric that is None and has no reason is an error."""
    given = {
        "case_id": case_id,
        "file": "evals/set.jsonl",
        "lineno": 1,
        "case_hash": "0" * 16,
        "status": "ok",
        "outcome": "passed",
        "k": 5,
        "question": "?",
        "metrics": metrics or {},
        "not_applicable": {},
        "latency": {},
        **fields,
    }
    return CaseRecord(**given)


def failed(case_id: str, kind: TargetErrorKind = "http", **fields: Any) -> CaseRecord:
    """Record of a case that the target failed."""
    error = ErrorInfo(kind=kind, message="no answer")
    return record(case_id, **{"status": "error", "outcome": "error", "error": error, **fields})


def hits(*values: float, **fields: Any) -> list[CaseRecord]:
    """One record per value of ``hit_at_k``, missed where it is 0, named c0, c1, ..."""
    return [
        record(f"c{i}", {"hit_at_k": v}, outcome="passed" if v else "missed", **fields)
        for i, v in enumerate(values)
    ]
