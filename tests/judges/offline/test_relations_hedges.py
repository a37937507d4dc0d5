from __future__ import annotations

import pytest

from pytest_rageval.judges.offline.lexicon import read_words
from pytest_rageval.judges.offline.relations import is_object, longer_name, unsettled


@pytest.mark.parametrize(
    ("text", "language", "is_open"),
    [
        ("Paris or Rome", "en", True),
        ("Rome, or maybe Paris", "en", True),
        ("Paris, or at the latest on Monday", "en", False),
        ("Früher Paris, heute Rome", "de", True),
        ("Peut-être Paris, peut-être Rome", "fr", True),
        ("Paris and Rome", "en", False),
    ],
)
def test_an_alternative_leaves_open_what_is_meant(text: str, language: str, is_open: bool) -> None:
    rome = frozenset(word.key for word in read_words("Rome"))
    paris = frozenset(word.key for word in read_words("Paris"))
    assert bool(unsettled(read_words(text, language), paris, rome, language)) is is_open


@pytest.mark.parametrize(
    ("question", "answer", "acted_upon"),
    [
        ("Who won?", "Blue beat Red.", True),
        ("Who won?", "Red beat Blue.", False),
        ("Who won?", "It was Red.", False),
        ("Who wrote it?", "It was written for Ben by Red.", False),
        ("What colour is it?", "Blue beat Red.", False),
    ],
)
def test_who_is_acted_upon_did_not_act(question: str, answer: str, acted_upon: bool) -> None:
    assert is_object(read_words(answer), {"red"}, read_words(question)) is acted_upon


@pytest.mark.parametrize(
    ("name", "text", "longer"),
    [
        ("Charles", "Charles II was king.", "II"),
        ("Pro", "The Pro Plus plan has it.", "Plus"),
        ("Pro", "The Pro plan has it.", ""),
        ("Paris", "In Paris, North of the river.", ""),
    ],
)
def test_a_longer_name_is_that_of_something_else(name: str, text: str, longer: str) -> None:
    assert longer_name(name, text, frozenset()) == longer
