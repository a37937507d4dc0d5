"""Two and three runs side by side."""

from __future__ import annotations

from typing import Any

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.runs.side_by_side import SideBySide, view_side_by_side
from pytest_rageval.report.html.runs.site import render_side_by_side
from pytest_rageval.values.record import Outcome
from tests.build.records import talk
from tests.report.html.builders import hostile_run, missed, passed, run


def three(*, redact: bool = False, static: bool = False) -> SideBySide:
    base = run([passed("a"), passed("b"), missed("c")], "base")
    worse = run([passed("a"), missed("b"), missed("c")], "worse")
    better = run([passed("a"), passed("b", answer="Another answer to b."), passed("c")], "better")
    found = [compare_runs(base, worse), compare_runs(base, better)]
    return view_side_by_side(found, Links(static=static), redact=redact)


def names(rows: Any) -> list[str]:
    return [row[0][0].text for row in rows]


def test_the_others_are_compared_with_the_first() -> None:
    view = three()
    assert [one.run_id for one in view.sides] == ["base", "worse", "better"]
    assert [bool(one.news) for one in view.sides] == [False, True, True]
    assert [one.title for one in view.sections] == [
        "worse compared with base", "better compared with base",
    ]  # fmt: skip
    html = "".join(render_side_by_side(view, Links()))
    assert "1 newly failing" in html


def test_answers_stand_beside_each_other_and_cases_that_differ_come_first() -> None:
    view = three()
    assert names(view.cases.rows) == ["b", "c"]
    assert names(view.cases.more) == ["a"]
    assert (view.n_differing, view.n_cases) == (2, 3)
    cells = [cell[0] for cell in view.cases.rows[0][1:]]
    assert [cell.text for cell in cells] == ["passed", "missed", "passed"]
    assert ["".join(text for text, _, _ in cell.notes[-1]) for cell in cells] == [
        "Answer to b.", "Answer to b.", "Another answer to b.",
    ]  # fmt: skip
    assert [text for text, _, _ in cells[1].notes[0]] == ["not retrieved"]
    assert ("Another answer", "", "strong") in cells[2].notes[-1]


def test_the_turns_of_a_conversation_stay_together() -> None:
    turns: list[Outcome] = ["passed"] * 10
    base = run([passed("a"), *talk("t", *turns)], "base")
    later = run([passed("a"), *talk("t", *turns[:9], "missed")], "later")
    view = view_side_by_side([compare_runs(base, later)], Links())
    assert names(view.cases.rows) == [f"t#{n}" for n in range(1, 11)]
    assert (names(view.cases.more), view.n_differing) == (["a"], 1)


def test_hostile_runs_are_only_text() -> None:
    found = compare_runs(hostile_run("one"), hostile_run("two"))
    html = "".join(render_side_by_side(view_side_by_side([found], Links()), Links()))
    for harm in ("<script>w", "<img", "<svg o", "<iframe", "<base", "\u202e", "\x1b"):
        assert harm not in html
