from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.case_groups import worst_misses
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.html.run.cases import case_anchors, view_cases
from pytest_rageval.report.html.run.values import CaseDetail, CaseRow, ReportOptions
from pytest_rageval.report.view.blocks import Group
from pytest_rageval.report.view.explanation import view_of_case
from pytest_rageval.values.record import CaseRecord
from tests.build.records import changed, talk
from tests.report.html.builders import against, chunk, errored, missed, passed, run


def rows(*records: CaseRecord) -> tuple[CaseRow, ...]:
    return view_cases(run([*records]), ReportOptions()).rows


def detail(record: CaseRecord) -> CaseDetail:
    return rows(record)[0].detail


def compared(now: CaseRecord, before: CaseRecord, *, redact: bool = False) -> CaseDetail:
    """Detail of a case beside its baseline."""
    new = run([now])
    found = view_cases(new, ReportOptions(redact=redact), against(run([before]), new))
    return found.rows[0].detail


def test_the_worst_cases_come_first_in_the_order_of_the_summary() -> None:
    records = [passed("ok"), missed("z"), missed("b"), errored("err")]
    order = [row.case_id for row in rows(*records)]
    assert order == ["err", *(record.name for record in worst_misses(records)), "ok"]
    assert order[1] == "b"


def test_a_conversation_reads_as_one_with_what_was_said_before_each_turn() -> None:
    records = [*talk("ada", "passed", "error"), passed("ok"), missed("z")]

    found = rows(*records)

    assert [row.case_id for row in found] == ["ada#1", "ada#2", "z", "ok"]
    assert [row.marks for row in found] == ["turn 1 of 2", "turn 2 of 2", "", ""]
    turns = [(one.anchor, one.outcome) for one in found[1].turns]
    assert turns == [("case-ada%231", "passed"), ("case-ada%232", "error")]
    assert found[0].turns == found[1].turns
    assert [len(row.turns) for row in found[2:]] == [1, 1]
    said = [[fact.text for fact in row.detail.history] for row in found]
    assert said == [[], ["user: ada asks 1?", "assistant: ada#1 answers."], [], []]


def test_up_to_the_limit_or_when_asked_all_cases_are_shown_whole() -> None:
    records = [passed("a"), passed("b")]

    for options in (
        ReportOptions(full_up_to=2, full_of_more=1),
        ReportOptions(full_up_to=1, full_of_more=1, full=True),
    ):
        assert view_cases(run(records), options).n_brief == 0


def test_each_record_has_a_place_of_its_own() -> None:
    records = [
        passed("a"),
        passed("a", repeat=1),
        passed("a", file="other.jsonl"),
        passed("a/b c%"),
        passed("\ud800"),
    ]

    names = list(case_anchors(records).values())

    assert names[:4] == ["case-a", "case-a~2", "case-a~3", "case-a/b%20c%25"]
    assert len(set(names)) == 5


def test_chunks_stand_in_rank_order_with_golds_and_cut_marked() -> None:
    record = passed(
        "a",
        k=1,
        retrieved_chunks=(
            chunk(1, matched_golds=(0, 2), start_line=3, end_line=9, score_vector=0.5),
            chunk(2, irrelevant=True, rank_before_rerank=7, text=None),
        ),
    )

    first, second = detail(record).chunks or ()

    assert (first.golds, first.in_cut, first.irrelevant) == ("gold [0], [2]", True, False)
    assert first.facts == "lines 3-9, score 1, vector 0.5"
    assert (second.golds, second.in_cut, second.irrelevant) == ("", False, True)
    assert second.facts == "score 0.5, rank 7 before reranking"


@pytest.mark.parametrize(
    "record", [missed("a"), errored("a"), passed("a", failure_stage="not_cited")]
)
def test_the_page_says_of_a_case_what_explain_says(record: CaseRecord) -> None:
    explained = explain_record(record, run([record]).scoring)
    whole = view_of_case(explained, run_id="run-1")

    found = detail(record)

    assert found.why
    assert [fact for fact in whole.blocks if fact in found.why] == [*found.why]
    ours = {one.title: one.blocks for one in found.groups if one.title != "metrics"}
    theirs = {one.title: one.blocks for one in whole.blocks if isinstance(one, Group)}
    assert ours
    assert {title: theirs[title] for title in ours} == ours


@pytest.mark.parametrize("field", ["answer", "retrieved_chunks"])
def test_the_baseline_is_shown_as_far_as_it_differs(field: str) -> None:
    now = passed("a")
    other: dict[str, Any] = {"answer": "Another.", "retrieved_chunks": (chunk(2),)}
    before = changed(now, **{field: other[field]})

    found = compared(now, before)

    assert found.base is not None
    assert found.base.same == (("chunks",) if field == "answer" else ("answer",))
    assert (found.base.answer is None) == (field != "answer")
    assert (found.base.chunks is None) == (field == "answer")


@pytest.mark.parametrize("redact", [False, True])
def test_chunks_say_where_the_other_run_had_them(*, redact: bool) -> None:
    again = replace(chunk(3), rank=4)  # the same passage once more
    now = passed("a", retrieved_chunks=(chunk(1), replace(chunk(3), rank=2), chunk(5), again))
    before = changed(now, retrieved_chunks=(chunk(1), chunk(2), chunk(3)))

    found = compared(now, before, redact=redact)

    assert found.base is not None
    new, old = found.chunks or (), found.base.chunks or ()
    assert [one.moved for one in new] == ["", "was rank 3", "new", "was rank 3"]
    assert [one.moved for one in old] == ["", "gone", "now rank 2"]
    assert [one.elsewhere for one in new] == [1, 3, None, 3]
    assert [one.elsewhere for one in old] == [1, None, 2], "a redacted page has nothing but ranks"
