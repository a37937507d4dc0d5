from __future__ import annotations

import time

import pytest

from pytest_rageval.judges.offline.claims import (
    LIMIT,
    answer_text,
    is_aside,
    plain_text,
    split_claims,
)


def texts(answer: str) -> list[str]:
    return [claim.text for claim in split_claims(answer)]


@pytest.mark.parametrize(
    "citation",
    [
        "[1]",
        "[1, 3]",
        "[1-3]",
        "[1 – 3; 5]",
        "[File: a.md, Section: B]",
        "(File: a.md)",
        "[a.md, Section: B (old)]",
        "File: docs/a b.md, Section: B c",
    ],
)
def test_a_citation_leaves_the_claim_and_stays_its_source(citation: str) -> None:
    (claim,) = split_claims(f"Backups are kept for 30 days {citation}.")
    assert claim.text == "Backups are kept for 30 days."
    assert claim.cited


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    first, second = split_claims("Backups stay. [2]\nKeys rotate.")
    assert (first.cited, first.numbers, second.cited) == (True, (2,), False)


@pytest.mark.parametrize(
    "pointer",
    [
        "See [1].",
        "(see [1] and [2])",
        "Source: [1]",
        "For more information, refer to [1-2].",
        "Siehe auch [1].",
    ],
)
def test_a_sentence_that_only_says_where_to_read_is_no_claim(pointer: str) -> None:
    (claim,) = split_claims(f"Backups stay. {pointer}")
    assert (claim.text, claim.cited) == ("Backups stay.", True)
    assert texts("See the manual [1].") == ["See the manual."]
    assert texts("See page 4.") == ["See page 4."]


@pytest.mark.parametrize("question", ["Which clinic do you mean?", "هل تريد المزيد؟"])
def test_a_question_states_nothing(question: str) -> None:
    assert is_aside(question)
    assert not is_aside("It is the one in Bern.")


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("Yes. Backups stay.", ["Backups stay."]),
        ("Certainly! Backups stay. Let me know if you need more.", ["Backups stay."]),
        ("Hello Ann, backups stay.", ["backups stay."]),
        ("Hallo! Backups bleiben.\nViele Grüße", ["Backups bleiben."]),
        ("<think>Perhaps ten?</think>Backups stay.", ["Backups stay."]),
        ("Perhaps ten?</think>\nBackups stay.", ["Backups stay."]),
        ("Backups stay.\n\nSources:\n- backup.md\n- Key Guide", ["Backups stay."]),
        ("Of course!", ["Of course!"]),
    ],
)
def test_parts_that_state_nothing_are_no_claims(answer: str, stated: list[str]) -> None:
    assert texts(answer) == stated


def test_key_facts_are_looked_up_in_what_an_answer_says() -> None:
    answer = "<think>Ten?</think>Hello! Yes, they stay.\n\nSources:\n- thirty-days.md"
    assert answer_text(answer).split() == ["Yes,", "they", "stay."]


@pytest.mark.parametrize(
    "run", [" ", "\t", "|", "| ", "-", "- |", ":", "#", "*", "`", "[", "[1", "("]
)
def test_the_time_of_a_long_line_does_not_grow_with_its_square(run: str) -> None:
    answer = f"It is.\n{run * 20_000}"[: LIMIT - 1] + "0"
    started = time.process_time()
    split_claims(answer)
    plain_text(answer)
    assert time.process_time() - started < 5
