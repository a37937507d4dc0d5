from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_rageval.report.faces.markdown import escape
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.markdown.summary import render_markdown
from pytest_rageval.report.view.summary import render_summary
from pytest_rageval.support.text import clean
from pytest_rageval.values.gate import BaselineInfo
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import ErrorInfo
from tests.build.records import failed, hits, record
from tests.report.view.test_summary import mixed_references, reliability, result, view


def test_the_verdict_stands_first() -> None:
    assert render_markdown(view(hits(1))).splitlines()[0] == "## rageval: pass, says the gate"


def test_failing_checks_come_before_the_rest() -> None:
    checks = [result("pass", metric="mrr"), result("skip"), result("fail", metric="map_at_k")]
    lines = render_markdown(view(hits(1, 0), *checks)).splitlines()
    at = lines.index("| check | value | limit | n | can detect | result |") + 2
    assert [line.split(" | ")[0] for line in lines[at : at + 3]] == [
        "| map\\_at\\_k",
        "| hit\\_at\\_k",
        "| mrr",
    ]
    assert lines[at].endswith("| **FAIL** |")
    assert lines[at + 1].endswith("| skip: because |")


@pytest.mark.parametrize(
    ("run_id", "said"), [(None, "no baseline"), ("old", "not comparable with the baseline")]
)
def test_what_is_wrong_with_the_baseline_is_said_once(run_id: str | None, said: str) -> None:
    problem = "the baseline is no good for a long reason"
    drops = [
        replace(result("skip", metric=metric, kind="max_drop"), message=problem)
        for metric in ("mrr", "hit_at_k")
    ]
    shown = view(hits(1, 0), *drops, result("skip", metric="map_at_k"))
    baseline = BaselineInfo(name="main", run_id=run_id, problem=problem)
    decided = replace(shown.run, gate=replace(shown.gate, baseline=baseline))
    lines = render_markdown(replace(shown, run=decided)).splitlines()
    assert [line for line in lines if "long reason" in line] == [f"T{problem[1:]}."]
    assert [line.split(" | ")[-1] for line in lines if "skip" in line] == [
        f"skip: {said} |",
        f"skip: {said} |",
        "skip: because |",
    ]


def test_a_metric_travels_with_its_counts() -> None:
    records = [*hits(1, 0), failed("bad", metrics={"hit_at_k": None})]
    (row,) = [
        line for line in render_markdown(view(records)).splitlines() if line.startswith("| hit")
    ]
    assert row == "| hit_at_k | 2 | 0.500 | 0.09-0.91 | 0 | 1 |"


def test_a_mean_of_tokens_is_the_number_that_the_terminal_shows() -> None:
    records = [record(f"c{n}", {"context_tokens": 168.0 + n % 2}) for n in range(30)]
    shown = view(records, changes={"context_tokens": 0.25})
    [row] = [line for line in render_markdown(shown).splitlines() if "context_tokens" in line]
    lines = draw(render_summary(shown, verbosity=1))
    [line] = [line for line in lines if line.startswith("context_tokens")]
    assert row.startswith("| context_tokens | 30 | 168.500 |")
    assert row.endswith("| +0.250 |")
    assert (line.split()[2], line.split()[-1]) == ("168.500", "+0.250")


def test_errors_that_differ_in_their_messages_alone_are_one_cause() -> None:
    def broken(case_id: str, message: str) -> CaseRecord:
        place = "conftest.py:25: in ask"
        error = ErrorInfo(kind="raised", message=f"RuntimeError: {message}", traceback=place)
        return failed(case_id, error=error)

    records = [broken("a", "no such tenant"), broken("b", "quota"), failed("c"), failed("d")]
    text = render_markdown(view([*records, broken("e", "a third one")]))
    assert [line for line in text.splitlines() if line.startswith("- ")] == [
        "- raised in 3 cases: RuntimeError at conftest.py:25",
        "- http in 2 cases",
    ]


def test_correctness_stands_apart_by_reference() -> None:
    lines = render_markdown(view(mixed_references())).splitlines()
    assert [line.split(" | ")[:3] for line in lines if line.startswith("| correctness")] == [
        ["| correctness", "2", "3.000"],
        ["| correctness with a reference", "1", "2.000"],
        ["| correctness without a reference", "1", "4.000"],
    ]


def test_cases_to_look_at_are_named_by_id_alone() -> None:
    said = {"unsupported_claims": ["SECRET"], "reasoning": "SECRET"}
    fields = {"question": "SECRET?", "answer": "SECRET", "groundedness": said}
    scores: dict[str, float | None] = {"groundedness": 1.0}
    records = [record("m-1", scores, outcome="missed", **fields), failed("bad")]
    document = render_markdown(view(records))
    assert "<details><summary>1 error</summary>\n\n`bad`" in document
    assert "<details><summary>1 missed</summary>\n\n`m-1`" in document
    assert "SECRET" not in document


def test_hostile_categories_stay_in_their_cell() -> None:
    document = render_markdown(view(hits(1, category="a|b<script>`x`\x1b[31m\u202e")))
    (row,) = [line for line in document.splitlines() if "script" in line]
    assert row.startswith("| a\\|b\\<script\\>\\`x\\` |")


def test_escaped_text_holds_no_markup() -> None:
    assert escape("a*b_[c](d) # !\n& x") == "a\\*b\\_\\[c\\](d) \\# \\! \\& x"


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("ask @octo/team", "ask @&#8203;octo/team"),
        ("a@b.example", "a@&#8203;b.example"),
        ("fixes #12", "fixes \\#&#8203;12"),
        ("gh-7", "gh-&#8203;7"),
        ("https://evil.example", "https:&#8203;//evil.example"),
        ("www.evil.example", "www&#8203;.evil.example"),
        ("~~gone~~ $x$", "\\~\\~gone\\~\\~ \\$x\\$"),
    ],
)
def test_escaped_text_names_nobody_and_links_nowhere(text: str, inert: str) -> None:
    assert escape(text) == inert


MARKUP = st.text(alphabet="ab 1\\`*_{}[]()<>#|!&~$@:/.-+=\"'\n\u202e\u00e9", max_size=40)


@given(MARKUP)
@example("www.a@b.c/#1")
@example("\\|")
@example("<!-- ")
def test_escaped_text_is_one_cell_of_plain_text_to_a_markdown_reader(text: str) -> None:
    cell = f"x {escape(text)} y"
    tokens = (
        MarkdownIt("commonmark").enable("table").parse(f"| a | b |\n|---|---|\n| {cell} | z |\n")
    )
    (inner,) = [
        token
        for before, token in pairwise(tokens)
        if before.type == "td_open" and token.content.startswith("x ")
    ]
    assert {child.type for child in inner.children or ()} <= {"text", "text_special"}
    shown = "".join(child.content for child in inner.children or ()).replace("\u200b", "")
    assert shown.split() == f"x {clean(text)} y".split()
    assert [token.type for token in tokens].count("td_open") == 2


def test_what_is_known_of_the_judge_is_ids_and_numbers() -> None:
    document = render_markdown(view(hits(1), reliability=reliability()))
    assert "- second judge disagrees: groundedness 0.50 " in document
    assert "| groundedness | c1 | 5 | 1 |" in document
    assert "SECRET" not in document
    assert "second judge" not in render_markdown(view(hits(1)))


def test_a_category_has_its_number_of_cases_and_those_of_means_over_fewer() -> None:
    records = [*hits(1, 0, category="b"), record("z", {"abstention_accuracy": 0.0}, category="b")]
    rows = render_markdown(view(records)).splitlines()
    assert "| category | n | hit | recall | all | mrr | abstain |" in rows
    assert "| b | 3 | 0.500 n2 | - | - | - | 0.000 n1 |" in rows


def test_latency_stands_with_its_concurrency() -> None:
    shown = view(hits(1, latency={"total_ms": 12.0}), config={"concurrency": 8})
    assert "Latency of 1 call at concurrency 8: p50 12 ms, p95 12 ms." in render_markdown(shown)


def test_usage_that_the_target_reports_stands_behind_the_latency() -> None:
    usage = {"input_tokens": 1812.0, "output_tokens": 95.0, "cost_usd": 0.5}
    shown = view(hits(1, 1, latency={"total_ms": 12.0}, usage=usage))
    line = "p95 12 ms. The target reports 1,812 input and 95 output tokens an answer, $1.00 in all."
    assert line in render_markdown(shown)
