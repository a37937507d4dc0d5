"""Two and three runs side by side."""

from __future__ import annotations

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.report.html.runs.links import Links
from pytest_rageval.report.html.runs.page import render_side_by_side
from pytest_rageval.report.html.runs.side_by_side import SideBySide, view_side_by_side
from pytest_rageval.values.case import Case
from tests.report.html.builders import config, hostile_run, missed, passed, run


def three(*, redact: bool = False) -> SideBySide:
    base = run([passed("a"), passed("b"), missed("c")], "base")
    worse = run([passed("a"), missed("b"), missed("c")], "worse")
    better = run([passed("a"), passed("b"), passed("c")], "better")
    return view_side_by_side([compare_runs(base, worse), compare_runs(base, better)], redact=redact)


def test_the_others_are_compared_with_the_first() -> None:
    view = three()
    assert (view.base.run_id, [one.side.run_id for one in view.others]) == (
        "base", ["worse", "better"],
    )  # fmt: skip
    recall = next(row for row in view.metrics if row.key == "recall_at_k")
    assert recall.base is not None
    assert recall.base.value == "0.667"
    deltas = [change.delta if change else None for _, change in recall.others]
    assert deltas == ["-0.333", "+0.333"]
    assert [one.flips for one in view.others] == [
        "1 worse, 0 better, 2 unchanged",
        "0 worse, 1 better, 2 unchanged",
    ]


def test_cases_that_flipped_link_to_the_page_of_their_run() -> None:
    html = "".join(render_side_by_side(three(), Links()))
    assert 'href="run-worse?base=base#case-b"' in html
    assert 'href="run-better?base=base#case-c"' in html
    assert 'href="compare?base=worse&amp;run=base&amp;run=better"' in html
    static = "".join(render_side_by_side(three(redact=True), Links(static=True)))
    assert 'href="run-worse.html#case-b"' in static
    assert "run-worse?" not in static
    assert "docs/file1.md" not in static


def test_cases_that_are_not_reviewed_are_counted_beside_the_compared_ones() -> None:
    made = Case(id="made", question="?", review="generated")
    old = run([passed("a"), passed("b", case=made)], "old")
    view = view_side_by_side([compare_runs(old, run([missed("a"), passed("b", case=made)]))])
    html = "".join(render_side_by_side(view, Links()))
    assert "1 paired case; left out: 1 not reviewed; stages: not_retrieved 0 \u2192 1" in html


def test_no_case_is_called_unchanged_where_nothing_can_be_compared() -> None:
    other = run([missed("a")], "other", config=config(settings={"folder_mode": "on"}))
    view = view_side_by_side([compare_runs(run([passed("a")], "base"), other)])
    html = "".join(render_side_by_side(view, Links()))
    assert "Not comparable: different payload.folder_mode" in html
    assert "unchanged" not in html
    assert "1 paired case" in html
    assert "No case is compared." in html
    assert "asked alike" not in html


def test_hostile_runs_are_only_text() -> None:
    found = compare_runs(hostile_run("one"), hostile_run("two"))
    html = "".join(render_side_by_side(view_side_by_side([found]), Links()))
    for harm in ("<script>w", "<img", "<svg o", "<iframe", "<base", "\u202e", "\x1b"):
        assert harm not in html
