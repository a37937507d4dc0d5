from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.report.html.markup import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text\n\twith a tab", "plain text\n\twith a tab"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("\x00\x1b\x7f\x9b", "[U+0000][U+001B][U+007F][U+009B]"),
        (
            "\u202d\u202e\u2066\u2069\u200e\u061c",
            "[U+202D][U+202E][U+2066][U+2069][U+200E][U+061C]",
        ),
        ("\u200b\ufeff\u2028\U000e0020", "[U+200B][U+FEFF][U+2028][U+E0020]"),
        ("\ud800", "[U+D800]"),
        ("na\u00efve \u65e5\u672c \u0627\u0644 \U0001f469\u200d\U0001f680", None),
    ],
)
def test_what_is_hidden_is_named_and_the_rest_stays(text: str, shown: str | None) -> None:
    assert visible(text) == (text if shown is None else shown)


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_shown_acts_on_what_is_around_it(text: str) -> None:
    shown = visible(text)

    assert not {unicodedata.category(c) for c in shown if c not in "\n\t"} & {"Cc", "Cs"}
    assert not {unicodedata.bidirectional(c) for c in shown} & {
        "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
    }  # fmt: skip
    shown.encode("utf-8")
    assert visible(shown) == shown
