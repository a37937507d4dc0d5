""""""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.authoring.linting.duplicates import (
    NEAR,
    find_duplicates,
    find_resemblances,
    jaccard,
    shingles,
)
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


# ---

TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9).map(" ".join), max_size=8)


def by_comparing_each_with_each(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    sets = [shingles(text) for text in texts]
    return {
        (later, earlier)
        for later in range(len(sets))
        for earlier in range(later)
        if jaccard(sets[later], sets[earlier]) >= threshold
    }


def found(texts: list[str], threshold: float = NEAR) -> set[tuple[int, int]]:
    return {(one.index, one.earlier) for one in find_resemblances(texts, threshold=threshold)}


@given(TEXTS, st.sampled_from([0.25, 0.5, NEAR, 0.9, 1.0]))
def test_the_pairs_are_those_of_comparing_each_with_each(
    texts: list[str], threshold: float
) -> None:
    assert found(texts, threshold) == by_comparing_each_with_each(texts, threshold)


def test_all_pairs_over_the_threshold_are_found() -> None:
    rng = random.Random(5)
    vocabulary = [f"w{n}" for n in range(400)]
    texts = []
    for _ in range(150):
        text = [rng.choice(vocabulary) for _ in range(14)]
        changed = [*text]
        changed[rng.randrange(14)] = "other"
        texts += [" ".join(text), " ".join(changed)]
    wanted = by_comparing_each_with_each(texts, NEAR)
    assert len(wanted) > 50
    assert found(texts) == wanted


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("a b", "a b", 1.0), ("a b", "c d", 0.0), ("", "", 0.0), ("a b c", "a b d", 3 / 7)],
)
def test_similarity_is_that_of_words_and_pairs(one: str, other: str, expected: float) -> None:
    assert jaccard(shingles(one), shingles(other)) == pytest.approx(expected)
