from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.faces.terminal import draw, show
from pytest_rageval.report.view.summary import FinishedRun, session_view, view_of_run
from pytest_rageval.values.errors import target_error
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import error_info
from pytest_rageval.values.verdict import Claim
from tests.build.records import failed, hits, record
from tests.build.verdicts import judged_by
from tests.report.view.test_summary import mixed_references, reliability, result, view


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


def test_a_run_of_one_set_takes_less_than_sixty_lines() -> None:
    scores: dict[str, float | None] = dict.fromkeys(BUILT_IN.cases, 0.5)
    records = [record(f"c{i}", scores, outcome="missed", category=f"c{i % 5}") for i in range(40)]
    assert len(written(view(records, result("fail"))).splitlines()) < 60


def test_a_metric_travels_with_its_counts() -> None:
    records = [*hits(1, 0), failed("bad", metrics={"hit_at_k": None})]
    (row,) = [line for line in written(view(records)).splitlines() if line.startswith("| hit")]
    assert row == "| hit\\_at\\_k | 2 | 0.500 | 0.09-0.91 | - |  | 0 | 1 |"


def test_a_mean_of_tokens_is_the_number_that_the_terminal_shows() -> None:
    records = [record(f"c{n}", {"context_tokens": 168.0 + n % 2}) for n in range(30)]
    shown = view(records, changes={"context_tokens": 0.25})
    found = result("pass", metric="context_tokens")
    gated = replace(shown.gate, checks=(found,))
    shown = replace(shown, run=replace(shown.run, gate=gated))
    [row] = [line for line in written(shown).splitlines() if line.startswith("| context")]
    lines = draw(show(session_view(shown, verbosity=1), verbose=True))
    [line] = [line for line in lines if line.startswith("context_tokens")]
    assert row.startswith("| context\\_tokens | 30 | 168.500 |")
    assert "| +0.250 |" in row
    assert (line.split()[2], line.split()[-2]) == ("168.500", "+0.250")


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


def test_what_is_known_of_the_judge_is_ids_and_numbers() -> None:
    document = written(view(hits(1), reliability=reliability()))
    assert "- **judge** second judge disagrees: groundedness 0.50 " in document
    assert "- **judge** first and second judge: groundedness c1 5 and 1" in document
    assert "SECRET" not in document
    assert "second judge" not in written(view(hits(1)))


def test_a_category_has_its_number_of_cases_and_those_of_means_over_fewer() -> None:
    records = [*hits(1, 0, category="b"), record("z", {"abstention_accuracy": 0.0}, category="b")]
    rows = written(view(records)).splitlines()
    assert "| category | n | hit | abstain |" in rows
    assert "| b | 3 | 0.500 n2 | 0.000 n1 |" in rows


def test_latency_stands_with_its_concurrency() -> None:
    shown = view(hits(1, latency={"total_ms": 12.0}), config={"concurrency": 8})
    assert "\n| latency\\_ms.p95 at concurrency 8 | 1 | 12 |" in written(shown)


def test_usage_that_the_target_reports_stands_behind_the_latency() -> None:
    usage = {"input_tokens": 1812.0, "output_tokens": 95.0, "cost_usd": 0.5}
    shown = view(hits(1, 1, latency={"total_ms": 12.0}, usage=usage))
    said = (
        "- **usage** the target reports 1,812 input and 95 output tokens an answer, \\$1.00 in all"
    )
    assert said in written(shown)
