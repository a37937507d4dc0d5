from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.report.html.run.cases import paired_records
from pytest_rageval.report.html.run.figures import numbers_of
from pytest_rageval.report.html.run.page import render_report
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.report.html.run.view import own_blocks, view_report
from pytest_rageval.report.view.blocks import Scale, Table
from pytest_rageval.values.gate import BaselineInfo, Check
from pytest_rageval.values.numbers import OwnFigure
from pytest_rageval.values.own_metric import MetricDefinition
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.section import ShownSection
from tests.build.records import changed
from tests.build.verdicts import judged_by
from tests.report.html.builders import against, check, config, gated, missed, page, passed, run


def compared(old: StoredRun, new: StoredRun, **fields: Any) -> str:
    """Text of the comparison on the page."""
    html = page(new, baseline=old, **fields)
    part = html[html.index('id="compare"') :]
    text = part[: part.index("</section>")].replace("<wbr>", "")
    return " ".join(re.sub("<[^>]*>", " ", text).split())


def test_flips_are_shown_with_their_reasons_and_lead_to_their_cases() -> None:
    old = run([passed("a"), missed("b"), passed("c")], "old")
    new = run([missed("a"), passed("b"), passed("c")], "new")

    text = compared(old, new)

    assert text.index("worse a") < text.index("better b")
    assert "1 worse, 1 better, 1 unchanged" in text
    assert 'href="#case-a"' in page(new, baseline=old)


def test_the_page_says_how_often_a_second_judge_disagrees() -> None:
    twice = judged_by("correctness", {"correctness": 1.0})
    first = judged_by("correctness", {"correctness": 5.0})
    split = passed("split", judgements=first, spot_check=twice)
    (note,) = view_report(run([split, passed("b")]), options=ReportOptions(redact=True)).notes
    assert re.fullmatch(r"second judge disagrees: correctness 1\.00 \[.+\] \(n 1\)", note)


def test_a_page_with_another_baseline_than_its_gate_says_what_the_checks_were_decided_against() -> (
    None
):
    old, other = run([passed("a")], "old"), run([missed("a")], "other")
    info = BaselineInfo(run_id="old")
    new = run([passed("a")], "new", gate=gated(baseline=info))
    assert view_report(new, baseline=against(old, new)).notes == ()
    (note,) = view_report(new, baseline=against(other, new)).notes
    assert "decided against old, another run" in note
    assert view_report(new).notes == ()
    info = replace(info, problem="not comparable with the baseline: k: 5 in base, 9 in new")
    new = replace(new, gate=gated(baseline=info))
    assert view_report(new, baseline=against(other, new)).notes == ()


def test_cases_that_cannot_be_compared_are_counted_by_reason() -> None:
    old = run([passed("a"), passed("gone"), passed("edited", case_hash="1" * 16)])
    new = run([passed("a"), passed("added"), passed("edited")])

    text = compared(old, new)

    assert "1 paired case" in text
    assert "1 changed content, 1 only in base, 1 only in new" in text
    assert set(paired_records(against(old, new), new.records)) == {("evals/set.jsonl", "a", 0)}


@pytest.mark.parametrize(
    ("base", "limit", "word"),
    [("old", 0.1, "beyond"), ("other", 0.1, "unclear"), ("old", 0.3, "unclear")],
)
def test_a_drop_past_a_limit_has_the_word_that_compare_has(
    base: str, limit: float, word: str
) -> None:
    old = run([passed(f"c{n}") for n in range(4)], "old")
    new = run([*(passed(f"c{n}") for n in range(3)), missed("c3")], "new")
    drop = Check(metric="recall_at_k", kind="max_drop", limit=limit)
    dropped = check("recall_at_k", "warn", check=drop, estimate=-0.25)
    gate = gated(dropped, baseline=BaselineInfo(run_id=base))
    html = page(replace(new, gate=gate), baseline=old)
    rows = re.findall("<tr>.*?</tr>", html, flags=re.DOTALL)
    [row, *_] = [one for one in rows if 'href="#sort=recall_at_k"' in one]
    assert f"{word} -0.250" in re.sub("<[^>]*>", "", row)


def test_what_differs_is_listed_with_both_values() -> None:
    old = run([passed("a")], config=config(index_build_version="1"))
    new = run([passed("a")], config=config(index_build_version="2"))

    assert "index_build_version 1 2" in compared(old, new)


def test_the_page_shows_both_answers_side_by_side() -> None:
    old = run([passed("a", answer="The old answer.")], "old")
    new = run([changed(missed("a"), answer="The new answer.")], "new")

    html = page(new, baseline=old)

    before, now = "The <del>old</del> answer.", "The <ins>new</ins> answer."
    assert html.index(now) < html.index(before)
    assert "are <del>struck out</del> or <ins>underlined</ins>" in html
    assert html.index('id="compare"') < html.index('id="metrics"')
    assert "Hollow dot: baseline" in html


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (passed("a"), missed("a"), "Baseline: passed, now missed not_retrieved;"),
        (missed("a"), passed("a"), "Baseline: missed not_retrieved, now passed;"),
    ],
)
def test_the_outcomes_of_a_case_in_both_runs_are_one_sentence(
    old: CaseRecord, new: CaseRecord, sentence: str
) -> None:
    html = page(run([new]), baseline=run([old], "old"))
    [line] = [line for line in html.splitlines() if "Baseline:" in line]
    assert sentence in re.sub("<[^>]*>", "", line)


def test_answers_with_nothing_in_common_are_not_marked() -> None:
    old = run([passed("a", answer="Five days.")], "old")
    new = run([changed(missed("a"), answer="I do not know that")], "new")

    html = page(new, baseline=old)

    assert html.index("I do not know that") < html.index("Five days.")
    assert "<ins>" not in html


def test_a_redacted_answer_is_in_no_piece_either() -> None:
    old = run([passed("a", answer="The secret one.")], "old")
    new = run([changed(missed("a"), answer="The secret two.")], "new")

    html = page(new, baseline=old, options=ReportOptions(redact=True))

    assert "secret" not in html
    assert "<ins>" not in html


def test_an_own_metric_of_the_run_has_its_change_without_a_verdict() -> None:
    own = MetricDefinition(
        title="Documents", scale=(0.0, None), population="", level="run", source="acme:docs"
    )
    old, new = (
        replace(
            found,
            aggregate=replace(numbers_of(found), run_metrics={"acme.docs": OwnFigure(value=count)}),
            config=replace(found.config, metric_definitions={"acme.docs": own}),
        )
        for found, count in ((run([passed("a")], "old"), 7.0), (run([passed("a")], "new"), 5.0))
    )

    html = "".join(render_report(view_report(new, baseline=compare_runs(old, new))))

    row, *_ = (
        one for one in re.findall("<tr>.*?</tr>", html, flags=re.DOTALL) if "acme.docs<" in one
    )
    cells = [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall("<td.*?</td>", row)]
    assert cells[:6] == ["5.000", "", "-", "", "7.000", "-2.000"]


def test_sections_of_the_project_are_tables_with_bars_and_their_texts_are_escaped() -> None:
    shown = (
        ShownSection(title="<b>", columns=("<i>",), rows=(("<u>",), (None,), (0.5,))),
        ShownSection(title="bars", columns=("", "n"), rows=(("x", 0), ("y", 2)), bars=True),
        ShownSection(title="none", columns=("", "n"), bars=True),
        ShownSection(title="lost", error="docs.py:3: KeyError"),
    )
    html = page(run([passed("a")], sections=shown))
    assert "&lt;b&gt;</h2>" in html
    assert "&lt;u&gt;" in html
    assert "<u>" not in html
    assert "This section could not be made: docs.py:3: KeyError" in html
    (table,) = own_blocks(shown[1])
    assert isinstance(table, Table)
    assert table.rows == [("x", "0.000", Scale(value=0.0)), ("y", "2.000", Scale(value=1.0))]
