from __future__ import annotations

from typing import Any

from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.view.summary import FinishedRun, view_of_run
from pytest_rageval.values.errors import target_error
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import error_info
from pytest_rageval.values.verdict import Claim
from tests.build.records import failed, hits, record
from tests.build.verdicts import judged_by
from tests.report.view.test_summary import mixed_references, result, view


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
        "- **missed** 1 not retrieved: m-1",
        "- **FAIL** map\\_at\\_k: because (n 2)",
        "",
    ]
    for name in ("metrics", "checks", "run"):
        assert f"<summary>{name}</summary>" in folded


def test_a_metric_travels_with_its_counts() -> None:
    records = [*hits(1, 0), failed("bad", metrics={"hit_at_k": None})]
    (row,) = [line for line in written(view(records)).splitlines() if line.startswith("| hit")]
    assert row == "| hit\\_at\\_k | 2 | 0.500 | 0.09-0.91 | - |  | 0 | 1 |"


def test_errors_that_differ_in_their_messages_alone_are_one_cause() -> None:
    def broken(case_id: str, message: str) -> CaseRecord:
        place = "conftest.py:25: in ask"
        raised = target_error("raised", exception="RuntimeError", said=message)
        error = error_info(raised, traceback=place)
        return failed(case_id, error=error)

    records = [broken("a", "no such tenant"), broken("b", "quota"), failed("c"), failed("d")]
    text = written(view([*records, broken("e", "a third one")]))
    assert [line for line in text.splitlines() if line.startswith("- **error")] == [
        "- **error** 3 raised: RuntimeError at conftest.py:25: a, b, e",
        "- **error** 2 http: c, d",
    ]


def test_correctness_stands_apart_by_reference() -> None:
    lines = written(view(mixed_references())).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("| correctness"))
    assert [line.split(" | ")[:3] for line in lines[at : at + 3]] == [
        ["| correctness of 5", "2", "3.000"],
        ["| with a reference", "1", "2.000"],
        ["| without a reference", "1", "4.000"],
    ]


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


def test_hostile_categories_stay_in_their_cell() -> None:
    document = written(view(hits(1, category="a|b<script>`x`\x1b[31m\u202e")))
    (row,) = [line for line in document.splitlines() if "script" in line]
    assert row.startswith("| a\\|b\\<script\\>\\`x\\` |")
