from __future__ import annotations

from typing import Any

from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.view.summary import FinishedRun, view_of_run
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
