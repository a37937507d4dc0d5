from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.run.highlight import (
    Mark,
    marked_text,
    phrase_marks,
)


def parts(text: str, *phrases: str) -> list[str]:
    marks = phrase_marks(text, [(phrase, "A") for phrase in phrases], "fact")
    return [text[start:end] for start, end, *_ in marks]


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("It takes five days.", "five days", ["five days"]),
        ("It takes FIVE\n  days!", "five days", ["FIVE\n  days"]),
        ("**Five** *days*", "five days", ["Five** *days"]),
        ("Fivefold days, five daysails", "five days", []),
        ("Zurückgabe: Größe XL", "größe xl", ["Größe XL"]),
        ("a.b (c) costs $5", "A.B (C)", ["a.b (c"]),
        ("on and on and on", "on", ["on", "on", "on"]),
        ("红茶每斤一百二十元。", "一百二十元", ["一百二十元"]),
        ("年假每年15天，病假30天", "每年 15 天", ["每年15天"]),
        ("绿茶每斤180元", "80元", []),
        ("ข้าวราคา 50 บาท", "ราคา 50", ["ราคา 50"]),
        ("बेटी का नाम, बेटे का नाम", "बेटे का नाम", ["बेटे का नाम"]),
        ("पुत्री, पुत्र", "पुत्र", ["पुत्र"]),
        ("zwei Cafe\u0301s, ein Cafe ❤️ dort", "cafe dort", ["Cafe ❤️ dort"]),
        ("ein Cafe\u0301 dort", "cafe dort", []),
        ("Überfahrt an homeowner", "home owner", []),
        ("on and on on on on", "on on", ["on on", "on on"]),
        ("“L’Île–Verte” coûte 5 €", "l'île verte", ["L’Île–Verte"]),
        ("STRASSE und Straße", "straße", ["STRASSE", "Straße"]),
        ("anything", "", []),
        ("anything", "...", []),
    ],
)
def test_a_phrase_is_found_by_its_words(text: str, phrase: str, found: list[str]) -> None:
    assert parts(text, phrase) == found


@given(st.text(), st.text(max_size=80), st.text())
def test_a_phrase_between_blanks_is_found_in_any_script(
    before: str, phrase: str, after: str
) -> None:
    found = parts(f"{before} {phrase} {after}", phrase)
    has_words = any(c == "_" or category(c)[0] in "LMN" for c in phrase if c != "\ufe0f")
    assert bool(found) == has_words
    assert {letters(part) for part in found} <= {letters(phrase)}


def letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def test_a_text_is_marked_with_its_labels_and_links() -> None:
    text = "It takes <5> days [1]."
    marks: list[Mark] = [
        (9, 17, "fact", "A", ""),
        (18, 21, "cite", "", "#x.chunk1"),
    ]
    assert marked_text(text, marks) == (
        'It takes <mark class="m-fact">&lt;5&gt; days</mark><sup class="m-fact">A</sup> '
        '<a href="#x.chunk1">[1]</a>.'
    )


def test_marks_that_overlap_are_both_shown() -> None:
    marks: list[Mark] = [
        (0, 6, "gold", "gold [0]", ""),
        (2, 4, "fact", "A", ""),
    ]
    assert marked_text("abcdef", marks) == (
        '<mark class="m-gold">ab</mark><mark class="m-fact m-gold">cd</mark>'
        '<sup class="m-fact">A</sup><mark class="m-gold">ef</mark>'
        '<sup class="m-gold">gold [0]</sup>'
    )
