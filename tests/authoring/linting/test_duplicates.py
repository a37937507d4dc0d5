from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.authoring.linting.duplicates import find_duplicates
from pytest_rageval.authoring.linting.findings import PlacedCase
from pytest_rageval.values.case import Anchor, Case, Turn
from tests.authoring.linting.builders import anchor, numbered, placed, told

Q = "How long may a member keep the cargo bike on a weekend?"
NEARLY = "How long may a member keep the cargo bike on weekends?"


def test_different_questions_are_no_finding() -> None:
    cases = numbered(["Who opens the gate?", "What does a household membership cost per year?"])
    assert list(find_duplicates(cases)) == []


@pytest.mark.parametrize("again", [Q, Q.upper(), f"  {Q[:-1]} ? "])
def test_the_same_question_twice_in_a_file_is_an_error_on_the_later_line(again: str) -> None:
    [found] = find_duplicates(numbered([Q, "Why?", again]))
    assert told([found]) == [("error", "duplicate", 3)]
    assert "a.jsonl:1 (c1)" in found.message


def test_nearly_the_same_question_is_a_warning() -> None:
    [found] = find_duplicates(numbered([Q, NEARLY]))
    assert told([found]) == [("warning", "near-duplicate", 2)]
    assert "nearly the same question as a.jsonl:1 (c1)" in found.message


@pytest.mark.parametrize("question", [Q, NEARLY])
def test_a_question_of_another_set_leaks(question: str) -> None:
    [found] = find_duplicates([placed(Q), placed(question, 4, "test.jsonl")])
    assert told([found]) == [("warning", "leakage", 4)]
    assert found.file == "test.jsonl"


@pytest.mark.parametrize(
    "other",
    [{"answerable": False}, {"gold_supports": (anchor("b.md"),)}],
    ids=["answerable", "evidence"],
)
def test_the_same_question_with_another_expectation_contradicts(other: dict[str, Any]) -> None:
    cases = [placed(Q, 1, gold_supports=(anchor("a.md"),)), placed(Q, 2, **other)]
    assert told(find_duplicates(cases)) == [("error", "contradiction", 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"vaults": ("work",)}, {"vaults": ("home",)}),
        ({"folders": ("a",)}, {}),
        ({"k": 3}, {"k": 20}),
        ({"metadata": {"user": "ana"}, "answerable": False}, {"metadata": {"user": "hr"}}),
        ({"metadata": {"user": ["ana"]}}, {"metadata": {"user": {"name": "ana"}}}),
    ],
)
@pytest.mark.parametrize("question", [Q, NEARLY])
def test_a_question_of_another_scope_is_another(
    one: dict[str, Any], other: dict[str, Any], question: str
) -> None:
    assert list(find_duplicates([placed(Q, 1, **one), placed(question, 2, **other)])) == []


def test_alike_questions_about_other_evidence_or_another_number_are_others() -> None:
    evidence = [
        placed(Q, 1, gold_supports=(anchor("a.md"),)),
        placed(NEARLY, 2, gold_supports=(anchor("b.md"),)),
    ]
    assert list(find_duplicates(evidence)) == []
    forms = [f"What does form {n} of the northern land office ask the owner for?" for n in (1, 2)]
    assert list(find_duplicates(numbered(forms))) == []


def test_a_translation_is_no_duplicate() -> None:
    cases = [placed(Q, 1), placed(NEARLY, 2, translation_of="c1", language="en-GB")]
    assert list(find_duplicates(cases)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("बेटे का नाम क्या है?", "बेटी का नाम क्या है?"),  # of the son, of the daughter
        ("ป้าอยู่ที่ไหน", "ป่าอยู่ที่ไหน"),  # the aunt, the forest
    ],
)
def test_questions_that_differ_in_a_vowel_or_a_tone_are_not_the_same(one: str, other: str) -> None:
    findings = find_duplicates(numbered([one, other]))
    assert [found for found in findings if found.severity == "error"] == []


def test_a_follow_up_is_compared_by_what_it_means() -> None:
    golds = (Anchor(rel_path="a.md"),)

    def talk(name: str, first: str, full: str | None = None) -> list[PlacedCase]:
        question = "And how long does that take?"
        follow_up = Turn(question=question, standalone=full, gold_supports=golds)
        case = Case(id=name, turns=(Turn(question=first, gold_supports=golds), follow_up))
        return [PlacedCase(case=one, file="a.jsonl", lineno=1) for one in case.expanded()]

    talks = [*talk("a", "Do you ship to Norway?"), *talk("b", "Do you repair old chairs?")]
    assert list(find_duplicates(talks)) == []
    same = [talk(name, first, Q) for name, first in (("c", "Hello?"), ("d", "Why?"))]
    [found] = find_duplicates([one for turns in same for one in turns])
    assert (found.rule, found.case_id) == ("duplicate", "d#2")
