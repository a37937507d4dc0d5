from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_rageval.analysis.compare.metrics import compare_records
from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.report.html.run.cases import paired_records
from pytest_rageval.report.html.run.figures import numbers_of
from pytest_rageval.report.html.run.page import render_report
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.report.html.run.view import (
    view_changes,
    view_comparison,
    view_report,
)
from pytest_rageval.values.gate import BaselineInfo, Check
from pytest_rageval.values.numbers import OwnFigure
from pytest_rageval.values.own_metric import MetricDefinition
from pytest_rageval.values.record import CaseRecord
from tests.build.records import changed
from tests.build.verdicts import judged_by
from tests.report.html.builders import against, check, config, gated, missed, page, passed, run

SCORES = (("a", 1.0), ("b", 0.5), ("c", 0.25))


def test_flips_come_worse_first_with_their_place() -> None:
    old = run([passed("a"), missed("b"), passed("c")], "old")
    new = run([missed("a"), passed("b"), passed("c")], "new")
    anchors = {("evals/set.jsonl", name, 0): f"case-{name}" for name in "abc"}

    found = view_comparison(against(old, new), anchors, redact=False)

    assert [(f.case_id, f.direction, f.anchor, f.change) for f in found.flips] == [
        ("a", "worse", "case-a", "passed \u2192 missed"),
        ("b", "better", "case-b", "missed \u2192 passed"),
    ]
    assert found.flips[0].reason
    assert found.flipped == "2 flipped: 1 passed \u2192 missed, 1 missed \u2192 passed"
    assert found.n_paired == 3


def test_the_largest_fall_of_an_outcome_comes_first() -> None:
    before = {"a": "flawed", "b": "passed", "c": "missed"}
    old = [changed(passed(name), outcome=outcome) for name, outcome in before.items()]
    new = [missed("a"), missed("b"), passed("c")]

    found = view_comparison(against(run(old, "old"), run(new, "new")), {}, redact=False)

    assert [flip.case_id for flip in found.flips] == ["b", "a", "c"]


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


def test_a_redacted_flip_keeps_its_reason_to_itself() -> None:
    found = view_comparison(against(run([passed("a")]), run([missed("a")])), {}, redact=True)

    assert found.flips[0].reason == ""


def test_cases_that_cannot_be_compared_are_counted_by_reason() -> None:
    old = run([passed("a"), passed("gone"), passed("edited", case_hash="1" * 16)])
    new = run([passed("a"), passed("added"), passed("edited")])

    found = view_comparison(against(old, new), {}, redact=False)

    assert found.n_paired == 1
    assert found.left_out == (
        "1 only in the baseline",
        "1 only in this run",
        "1 of changed content",
    )
    assert set(paired_records(against(old, new), new.records)) == {("evals/set.jsonl", "a", 0)}


def test_changes_are_those_of_the_paired_cases() -> None:
    old = run([passed(f"c{n}") for n in range(4)])
    new = run([*(passed(f"c{n}") for n in range(3)), missed("c3"), missed("new")])

    change = view_changes(against(old, new))["recall_at_k"]

    assert (change.base, change.delta, change.n) == ("1.000", "-0.250", 4)
    assert change.place == 1.0


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
    rows = [line for line in html.splitlines() if 'data-name="change"' in line]
    [row] = [line for line in rows if "sort=recall_at_k" in line]
    assert re.search(
        rf'<span class="tag t-{word}"><span aria-hidden="true">.</span> {word}</span>', row
    )


def test_what_differs_is_listed_with_both_values() -> None:
    old = run([passed("a")], config=config(index_build_version="1"))
    new = run([passed("a")], config=config(index_build_version="2"))

    found = view_comparison(against(old, new), {}, redact=False)

    assert ("index_build_version", "1", "2") in found.facts
    assert found.invariants == ()


def test_the_page_shows_both_answers_side_by_side() -> None:
    old = run([passed("a", answer="The old answer.")], "old")
    new = run([changed(missed("a"), answer="The new answer.")], "new")

    html = page(new, baseline=old)

    before, now = "The <del>old</del> answer.", "The <ins>new</ins> answer."
    assert html.index(before) < html.index(now)
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

    assert html.index("Five days.") < html.rindex("I do not know that")
    assert "<ins>" not in html


def test_a_change_shows_its_p_and_n() -> None:
    old = run([passed(f"c{n}") for n in range(4)], "old")
    new = run([*(passed(f"c{n}") for n in range(3)), missed("c3")], "new")
    compared = compare_records(old.records, new.records)
    baseline = replace(against(old, new), comparison=compared)

    html = "".join(render_report(view_report(new, baseline=baseline)))

    [row] = [line for line in html.splitlines() if "sort=mrr" in line and "baseline" in line]
    [facts] = re.findall(r"to [+-][\d.]+, ([^<]*)</small>", row)
    assert re.fullmatch(r"p 0\.[0-9]+, n 4", facts)


def test_one_case_and_one_further_metric_are_counted_in_the_singular() -> None:
    new = run([passed(name, metrics={"mrr": place, "map": place}) for name, place in SCORES])
    html = page(new, baseline=run([passed("a")], "old"))

    assert "<p>1 case was asked in the same way in both runs" in html
    assert "<summary>1 more metric</summary>" in html
    assert "<summary>1 more distribution</summary>" in html


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

    (row,) = re.findall(r"<tr><th[^>]*><a[^>]*>acme.*?</tr>", html)
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td.*?</td>", row)]
    assert cells == ["5.000", "", "-", "", "7.000", "-2.000", "1", "0", "0"]
