from __future__ import annotations

import time

import pytest

from pytest_rageval.server.terms import read_question


@pytest.mark.parametrize(
    ("question", "holds", "lacks"),
    [
        ("How long can I keep a drill?", "It may be kept for 14 days.", "A drill weighs 2 kg."),
        ("How long is it open?", "It is open until noon.", "It is open to all."),
        ("How long did the reign last?", "He reigned from 1561 to 1583.", "He reigned in 3 towns."),
        ("How many copies are stored?", "Three copies are stored.", "Copies are stored."),
        ("how much does a bit cost", "A bit costs 2 euros.", "A bit costs little."),
        ("How often is it cleaned?", "It is cleaned every week.", "It is cleaned."),
        ("How far does a charge last?", "It lasts for 45 kilometres.", "It lasts well."),
    ],
)
def test_a_value_of_the_kind_that_is_asked_for_counts_as_its_word(
    question: str, holds: str, lacks: str
) -> None:
    asked = read_question(question)
    assert asked.measure in asked.wanted
    assert asked.measure in asked.found_in(holds)
    assert asked.measure not in asked.found_in(lacks)


@pytest.mark.parametrize("question", ["Which bits fit?", "How is it cleaned?", "Many hands?"])
def test_other_questions_ask_for_no_measure(question: str) -> None:
    asked = read_question(question)
    assert asked.measure is None
    assert asked.found_in("Two bits a week.") == {"two", "bit", "week"}


@pytest.mark.parametrize("piece", ["1 ", "how long "])
def test_a_long_text_is_read_in_linear_time(piece: str) -> None:
    begin = time.process_time()
    read_question(f"How long? {piece * 20_000}").found_in(piece * 50_000)
    assert time.process_time() - begin < 5
