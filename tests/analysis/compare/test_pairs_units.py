"""The unit that the cases of a comparison are grouped by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_rageval.analysis.compare.pairs import choose_clustering
from pytest_rageval.metrics.scoring import case_cluster
from pytest_rageval.values.case import Anchor, Case, Turn
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import ClusterSetting
from tests.build.records import record


def about(document: str | None, heading: str = "One") -> CaseRecord:
    golds = () if document is None else (Anchor(rel_path=document, heading_path=heading),)
    one = record("a", cluster=document)
    return replace(one, case=replace(one.case, gold_supports=golds))


TWO = [about("a.md"), about("a.md", "Two"), about("b.md")]
ONE = [about("a.md"), about("a.md", "Two")]


@pytest.mark.parametrize(
    ("cases", "setting", "by", "whole"),
    [
        (TWO, "auto", "document", False),
        (TWO, "document", "document", True),
        (TWO, "section", "section", True),
        (TWO, "case", "case", False),
        (ONE, "auto", "section", False),
        (ONE, "document", "section", True),
        ([about("a.md")] * 3, "auto", "case", False),
        ([about(None)] * 3, "auto", "document", False),
    ],
)
def test_one_document_decides_by_section_and_one_section_by_case(
    cases: list[CaseRecord], setting: ClusterSetting, by: str, whole: bool
) -> None:
    found = choose_clustering(cases, setting)
    assert (found.by, found.whole) == (by, whole)


def test_a_note_says_why_another_unit_decides() -> None:
    assert choose_clustering(TWO, "auto").note == ""
    assert (
        choose_clustering(ONE, "auto").note
        == "all cases are about one document: its sections decide"
    )
    one = choose_clustering([about("a.md")] * 3, "auto")
    assert one.note == "all cases are about one section: its cases decide"


def test_documents_are_counted_where_every_case_is_about_one() -> None:
    assert choose_clustering(TWO, "case").n_documents == 2
    assert choose_clustering([*TWO, about(None)], "auto").n_documents is None


@pytest.mark.parametrize("setting", ["auto", "document", "section", "case"])
def test_the_turns_of_a_conversation_are_one_unit_by_every_setting(setting: ClusterSetting) -> None:
    talk = Case(id="talk", turns=(Turn(question="?"), Turn(question="!")))
    turns = [
        replace(about("a.md"), case=case, cluster=case_cluster(case)) for case in talk.expanded()
    ]
    found = choose_clustering([*turns, *TWO], setting)
    first, second, *others = found.ids([*turns, *TWO])
    assert first == second == "conversation:talk"
    assert first not in others
    assert found.n_documents is None
