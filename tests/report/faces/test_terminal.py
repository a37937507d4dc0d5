"""Drawing of blocks: whole texts within the width, and nothing of others read as markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pytest_rageval.report.faces.terminal import cut_columns, draw
from pytest_rageval.report.view.blocks import Block, Command, Fact, Note, Table

HOSTILE = "a\x1b[31mb\x1b]0;t\x07\u202e\u200b [red]c[/red] [link=x]:smile: \r\nd ::error::"
ROWS = Table(
    ("metric", ">n", ">value", "limit", ""),
    [
        ("recall", "1000", "0.5", ">= 0.9", (("FAIL", "bad"),)),
        Note((), (("below it", ""),)),
        ("mrr", "2", "0.25", "", ""),
    ],
    optional=("n", "limit"),
)


def test_numbers_end_in_one_column_and_notes_stand_between_rows() -> None:
    head, recall, below, mrr = draw([ROWS])
    assert recall.split() == ["recall", "1000", "0.5", ">=", "0.9", "FAIL"]
    assert head.index("value") + 5 == recall.index("0.5") + 3 == mrr.index("0.25") + 4
    assert below == "below it"


def test_a_narrow_terminal_leaves_out_the_least_important_columns_first() -> None:
    assert [next(draw([ROWS], width=width)).split() for width in (40, 30, 20)] == [
        ["metric", "n", "value", "limit"],
        ["metric", "n", "value", "limit"],
        ["metric", "value"],
    ]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_wide_characters_and_options_are_whole_and_fit(width: int) -> None:
    question = "\u55b6\u696d\u6642\u9593" * 20
    lines = [*draw([Fact("question", question)], width=width)]
    assert max(map(cell_len, lines)) <= width
    assert "".join(line[9:] for line in lines) == question
    assert cell_len(cut_columns(question, width)) <= width
    said = "every metric depends on it; --ignore-invariants compares the runs anyway"
    assert any("--ignore-" in line for line in draw([Fact("", said)], width=width))


@pytest.mark.parametrize("colour", [False, True])
def test_no_text_is_read_as_markup_or_reaches_the_terminal_raw(colour: bool) -> None:
    blocks: list[Block] = [
        HOSTILE,
        ((HOSTILE, ""),),
        Fact("head", HOSTILE, "", ""),
        Table(("",), [(HOSTILE,)]),
        Command("next", HOSTILE),
    ]
    text = "\n".join(draw(blocks, width=200, colour=colour))
    assert text.count("ab]0;t [red]c[/red] [link=x]:smile: ") == len(blocks)
    assert not set(text) & set("\x07\r\u202e\u200b")
    assert "\x1b[31m" not in text
    assert "::error::" not in text


@given(
    text=st.text("ab- \u65e5\u0301\u0915", max_size=60).map(str.strip),
    width=st.integers(6, 20),
    first=st.sampled_from(["", "> ", "    "]),
)
def test_a_note_fits_and_holds_every_character(text: str, width: int, first: str) -> None:
    lines = [*draw([Note(((first, ""),), ((text, ""),))], width=width)]
    assert all(cell_len(line) <= width for line in lines)
    texts = [line[len(first) :] for line in lines]
    assert "".join("".join(texts).split()) == "".join(text.split())
    whole = [word for word in text.split() if cell_len(word) <= width - 4]
    assert set(whole) <= {word for line in texts for word in line.split()}
