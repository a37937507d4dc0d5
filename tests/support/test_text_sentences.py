from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.text import sentence_ranges, sentences


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith of the U.S. Army paid $3.5 million.",
        "See docs/a.md, e.g. the part by J. R. Tolkien.",
        "It opens at 9 a.m. on Mondays.",
        "Version 1.2.3 runs on example.com and 10.0.0.1.",
    ],
)
def test_full_stops_inside_a_sentence_do_not_end_it(text: str) -> None:
    assert list(sentences(text)) == [text]


def test_sentences_end_at_stops_and_lines() -> None:
    found = list(sentences('It rose! Did it? "Yes." Then\nit fell... 終わり。次'))
    assert found == ["It rose!", "Did it?", '"Yes."', "Then", "it fell...", "終わり。", "次"]


@given(st.text('a1.!?。 \n"e.g.', max_size=60))
def test_ranges_are_the_whole_text_in_order(text: str) -> None:
    ranges = list(sentence_ranges(text))
    assert "".join(text[start:end] for start, end in ranges) == text
    assert all(start < end for start, end in ranges)
