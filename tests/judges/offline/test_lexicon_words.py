from __future__ import annotations

import unicodedata

import pytest

from pytest_rageval.judges.offline.lexicon import (
    CORE,
    read_word,
    read_words,
    rivals,
)


def keys(text: str) -> list[str]:
    return [word.key for word in read_words(text) if word.tier != CORE]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000 files", "1000 files"),
        ("1’000", "1000"),
        ("two copies", "2 copies"),
        ("World War II", "World War 2"),
        ("3.5 million", "3,500,000"),
        ("two hundred", "200"),
        ("the third floor", "the 3rd floor"),
        ("007", "7"),
        ("2.50", "2.5"),
        ("2021-03-05", "5 March 2021"),
        ("5 Mar 2021", "5 March 2021"),
        ("March 5th, 2021", "March 5, 2021"),
        ("5th March 2021", "2021-03-05"),
        ("on the 1st of May", "on 1 May"),
        ("Sept. 22nd", "September 22"),
        ("the 1st", "the first"),
        ("at 8:00", "at 8 am"),
        ("an E-mail over Wi-Fi", "an email over WiFi"),
        ("12 km", "12 kilometres"),
        ("café", "cafe"),
        ("He won", "He wins"),
        ("colour", "color"),
        ("the user’s keys", "the user's key"),
        ("nations", "nation"),
        ("Größe, L’été", unicodedata.normalize("NFD", "Größe, L’été")),
        ("١٤ يومًا", "14 يوما"),
        ("die Ge\u00adschäfts\u00adführung", "die Geschäftsführung"),
    ],
)
def test_two_ways_of_writing_are_one(one: str, other: str) -> None:
    assert keys(one) == keys(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3", "3rd"),
        ("30", "3"),
        ("1.5", "15"),
        ("1970", "1971"),
        ("vi", "VI"),
        ("5 GB", "5 MB"),
        ("May 1st", "May 2nd"),
        ("the 5th Marathon", "5 Marathons"),
        ("at 8:00", "at 8:30"),
        ("a ratio of 1:00:30", "a ratio of 1:30"),
    ],
)
def test_different_numbers_stay_apart(one: str, other: str) -> None:
    assert keys(one) != keys(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("बेटे", "बेटी"),  # son, daughter
        ("চুল", "চাল"),  # hair, rice
    ],
)
def test_words_that_differ_in_a_vowel_sign_stay_apart(one: str, other: str) -> None:
    assert [len(keys(one)), len(keys(other))] == [1, 1]
    assert keys(one) != keys(other)


@pytest.mark.parametrize("word", ["not", "isn't", "don’t", "never", "without", "lacked"])
def test_negations_are_seen(word: str) -> None:
    assert read_word(word).negates


@pytest.mark.parametrize(
    ("word", "other"), [("won", "losing"), ("third", "fourth"), ("May", "June")]
)
def test_opposites_know_each_other(word: str, other: str) -> None:
    (key,), (rival,) = keys(word), keys(other)
    assert rival in rivals()[key]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", []),
        ("???", []),
        ("٣٤", ["34"]),
        ("１２３", ["123"]),
        ("½ ²", ["0.5", "2"]),
        ("\u0301\u0301", []),
        ("a" * 10_000, ["a" * 64]),
        ("9" * 400, ["9" * 64]),
    ],
)
def test_any_text_is_read(text: str, read: list[str]) -> None:
    assert keys(text) == read
