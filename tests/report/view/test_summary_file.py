""""""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.view.summary import FinishedRun, value_text, view_of_run
from pytest_rageval.values.gate import Check, CheckKind
from pytest_rageval.values.verdict import Claim
from tests.build.records import failed, hits, record
from tests.build.verdicts import judged_by
from tests.report.view.test_summary import result, view


def written(one: FinishedRun) -> str:
    return render(view_of_run(one))


def test_the_verdict_stands_first_then_what_failed_and_the_rest_is_folded() -> None:
    checks = [result("pass", metric="mrr"), result("skip"), result("fail", metric="map_at_k")]
    missed = record("m-1", outcome="missed", failure_stage="not_retrieved")
    document = written(view([*hits(1), missed], *checks))
    seen, _, folded = document.partition("<details>")
    assert seen.splitlines() == [
        "## rageval: FAIL 1 of 2 checks; 2 cases: 1 passed, 1 missed; judge off; 1.2 s",
        "",
        "- **FAIL** map\\_at\\_k: because (n 2)",
        "- **missed** 1 not retrieved: m-1",
        "",
    ]
    for name in ("| metric |", "ok mrr", "**run**"):
        assert name in folded


def test_cases_to_look_at_are_named_by_id_alone() -> None:
    claims = (Claim(text="SECRET", supported=False),)
    said = judged_by(claims=claims, reasoning="SECRET")
    fields: dict[str, Any] = {"question": "SECRET?", "answer": "SECRET", "judgements": said}
    scores: dict[str, float | None] = {"groundedness": 1.0}
    records = [record("m-1", scores, outcome="missed", **fields), failed("bad")]
    document = written(view(records))
    assert "- **error** 1 http: bad\n" in document
    assert "- **missed** 1: m-1\n" in document
    assert "SECRET" not in document


# --- A value short of its limit never looks as if it reached it, in the terminal or in Markdown


@pytest.mark.parametrize(
    ("metric", "value", "kind", "limit", "shown"),
    [
        ("mrr", 0.84996, "min", 0.85, "0.84996"),
        ("mrr", 0.5, "min", 0.85, "0.500"),
        ("latency_ms.p95", 2500.4, "max", 2500, "2500.4"),
        ("latency_ms.p95", 54.618, "max", 2500, "55"),
        ("cost_usd.total", 0.5, "max", 0.5, "0.5000"),
        ("newly_missed", 2, "max", 2, "2"),
        ("mrr", 0.7, "max_drop", 0.03, "0.700"),
    ],
)
def test_a_value_is_shown_in_its_unit_and_apart_from_its_limit(
    metric: str, value: float, kind: CheckKind, limit: float, shown: str
) -> None:
    assert value_text(metric, value, Check(metric=metric, kind=kind, limit=limit)) == shown
