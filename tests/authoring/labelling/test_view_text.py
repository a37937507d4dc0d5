from __future__ import annotations

import unicodedata
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pytest_rageval.authoring.labelling.snippets import split_passages
from pytest_rageval.authoring.labelling.view import (
    RowView,
    SessionView,
    gold_lines,
    row_line,
    row_text,
    window,
    wrap_text,
)
from pytest_rageval.metrics.matching import norm_text


def row(number: int = 1, **fields: object) -> RowView:
    known = {"number": number, "marked": False, "current": False, "place": "a.md  # A",
             "golds": (), "tags": (), "scores": (), "text": ""}  # fmt: skip
    return RowView(**{**known, **fields})  # type: ignore[arg-type]


SEQUENCE_STARTS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
"""Of commands to a terminal, whose letters and digits go with them."""
PLAIN = st.text(st.characters(exclude_characters=SEQUENCE_STARTS), max_size=200)


@given(PLAIN, st.integers(10, 40))
def test_wrapped_lines_fit_and_hold_every_word(text: str, width: int) -> None:
    lines = wrap_text(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert all(unicodedata.category(c) not in {"Cc", "Cf", "Cs"} for c in "".join(lines))
    shown = {c for c in text if c.isalnum()}
    assert shown <= set("".join(lines))


WORDS = st.sampled_from(["who", "may", "use", "borrowed", "日本語"])


@given(st.lists(WORDS, min_size=1, max_size=60), st.integers(20, 100))
def test_the_lines_of_a_gold_fit_and_hold_every_word(words: list[str], width: int) -> None:
    gold = " ".join(words)
    lines = gold_lines(cast(SessionView, SimpleNamespace(golds=(gold,))), width)
    assert all(cell_len(line) <= width for line in lines)
    assert " ".join(lines).split() == ["golds:", "1", *words]


def test_wide_characters_fill_their_lines() -> None:
    assert wrap_text("日本語" * 10, 20) == [
        "日本語" * 3 + "日",
        "本語日" * 3 + "本",
        "語日本語日本語日本語",
    ]


@given(
    st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3), st.integers(40, 120),
    st.booleans(),
)  # fmt: skip
def test_a_row_is_one_line_that_fits_and_says_whether_it_is_marked(
    place: str, tags: list[str], width: int, marked: bool
) -> None:
    line = row_line(
        row(marked=marked, place=place, tags=tuple(tags), golds=(1, 2), scores=(("final", 0.5),)),
        width,
    )
    assert cell_len(line) <= width
    assert len(line.splitlines()) == 1
    assert ("[x]" if marked else "[ ]") in line[:6]


def test_the_last_heading_is_what_is_left_of_a_long_path() -> None:
    place = (
        "guides/a.md  # The same long title > ## The same long section > ### The one that counts"
    )
    assert row_line(row(place=place), 60).endswith("> ### The one that counts")


def test_the_text_of_a_row_is_whole_or_its_beginning() -> None:
    one = row(text="One two.\n\nThree four.\n", scores=(("final", 0.5),))
    head = ["a.md # A", "final 0.5000"]
    assert row_text(one, 40, most=100) == [*head, "One two.", "", "Three four."]
    assert row_text(one, 40, most=13) == [*head, "One two.", "", "Thr [9 more characters]"]


@given(st.integers(0, 30), st.integers(1, 10), st.integers(0, 29))
def test_a_window_holds_the_current_row(n: int, height: int, current: int) -> None:
    rows = [row(i, current=i == current) for i in range(n)]
    shown = window(rows, height)
    assert len(shown) == min(n, height)
    assert current >= n or any(one.current for one in shown)


def test_sentences_of_markdown_are_quoted_without_its_markers() -> None:
    text = """# Title

A first sentence that
goes on. A second, e.g. this one?

```shell
kpctl move --now
```

> quoted words

1. one item
2. another
   of two lines

| a cell | b |
|---|---|
| 60 s | 5 |
"""
    assert split_passages(text) == (
        "A first sentence that goes on.",
        "A second, e.g. this one?",
        "kpctl move --now",
        "quoted words",
        "one item",
        "another of two lines",
        "| a cell | b |",
        "| 60 s | 5 |",
    )


def test_the_lines_of_a_log_are_quoted_one_by_one_and_those_of_prose_by_sentences() -> None:
    log = [f"12:{minute:02} the pump of hall {minute} was started" for minute in range(60)]
    assert split_passages("\n".join(log)) == tuple(log)
    prose = "A sentence that is broken\nfor its width. Another\none."
    assert split_passages(prose) == ("A sentence that is broken for its width.", "Another one.")


@pytest.mark.parametrize("line", ["=======", "---", "-"])
def test_an_underlined_heading_is_no_sentence(line: str) -> None:
    text = f"Lending\ntools\n{line}\nFor two weeks.\n\n- one item\n---\n\nEnd.\n"
    assert split_passages(text) == ("For two weeks.", "one item", "End.")


@given(st.text(alphabet="ab .!\n-#>|`1*é", max_size=80))
def test_every_sentence_is_found_word_for_word(text: str) -> None:
    """Except across a marked line, whose mark a snippet would have to hold as well."""
    for passage in split_passages(text):
        if "\n" not in text:
            assert norm_text(passage) in norm_text(text)
        assert "\n" not in passage
