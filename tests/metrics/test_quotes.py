"""Quotations in texts: layout, markup and the edges of chunks (checked examples: m001 to m031)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.quotes import holds_quote, words_of

SENTENCE = "Refunds need the original receipt and arrive within thirty days."
WORDS = ("refund", "receipt", "thirty", "days", "well-known", "caf\u00e9", "\u7d22\u5f15", "5.00")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("*** --- |", ""),
        ("[![alt](img.png)](page.md)", "alt"),
        ("don\u2019t", "don t"),
        ("a_b __c__ ~~d~~ `e` \\*f", "a b c d e f"),
        ("R&amp;D&nbsp;&#8211; &lt;b&gt;5&lt;/b&gt;&nbsp;\u20ac, a&b", "r d 5 a b"),
        ("a well\u2011known limit", "a wellknown limit"),
        ("| a | b |\n|:--|--:|\n| c | d |", "a b c d"),
        ("2. two\n   10) ten\nin 2024. Then", "two ten in 2024 then"),
        ("\u0e01\u0e34\u0e19", "\u0e01 \u0e34 \u0e19"),
    ],
)
def test_words_are_what_markup_leaves(text: str, words: str) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("around", [("Before it. ", " After it."), ("", "")])
@pytest.mark.parametrize("at", range(1, len(SENTENCE)))
def test_of_two_chunks_one_holds_a_quotation_that_their_border_cuts(
    at: int, around: tuple[str, str]
) -> None:
    first, second = f"{around[0]}{SENTENCE[:at]}", f"{SENTENCE[at:]}{around[1]}"
    held = [holds_quote(SENTENCE, text) for text in (first, second)]
    assert sum(held) == 1
    letters = sum(character.isalnum() for character in SENTENCE[:at])
    total = sum(character.isalnum() for character in SENTENCE)
    assert held[0] == (2 * letters >= total)


def test_a_part_counts_only_at_the_edge_of_a_text() -> None:
    assert not holds_quote(SENTENCE, f"{SENTENCE[:50]} and more")
    assert not holds_quote(SENTENCE, f"and before {SENTENCE[14:]}".replace("original", "green"))


@pytest.mark.parametrize(
    ("quote", "text", "held"),
    [
        ("abcd efgh ijkl", "x abcd efgh", True),
        ("abc efgh ijkl", "x abc efgh", False),  # seven letters
        ("abcdefgh ij", "x abcdefgh", False),  # one word
        ("abcd efgh ijkl", "my abcd efgh", True),
        ("abcd efgh ijkl", "myabcd efgh", False),
        ("abcd efgh ijkl", "efgh ijkl my", True),
        ("abcd efgh ijkl", "efgh ijklmy", False),
        ("aaaa bbbb cccc dddd", "bbbb cccc", False),  # half
        ("aaaa bbbb cccc ddd", "bbbb cccc", True),
        ("use kubernetes", "kubernetes", False),
    ],
)
def test_a_part_has_two_words_eight_letters_and_the_most_of_the_quotation(
    quote: str, text: str, held: bool
) -> None:
    assert holds_quote(quote, text) is held


def test_short_quotations_have_no_parts() -> None:
    assert not holds_quote("use redis", "redis is fast")
    assert not holds_quote("Redis", "the light is red")


@given(st.integers(0, 2**32))
def test_markup_and_layout_make_no_difference(seed: int) -> None:
    dice = Random(seed)
    words = dice.choices(WORDS, k=dice.randint(1, 9))
    marks = ("{}", "**{}**", "_{}_", "`{}`", "[{}](a.md)", "{}[^1]", "<b>{}</b>")
    marked = [dice.choice(marks).format(word) for word in words]
    joints = (" ", "\n", " | ", "\n- ", "\n> ", "  \r\n", "\u00a0")
    text = "Before " + "".join(word + dice.choice(joints) for word in marked) + "after"
    assert holds_quote(" ".join(words), text)
    assert holds_quote(text, f"x {' '.join(['Before', *words, 'after'])} y")


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_a_text_holds_what_it_is_made_of(before: str, quote: str, after: str) -> None:
    assert holds_quote(quote, before + quote + after) or not quote.strip()
