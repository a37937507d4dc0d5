"""Headings as a reader sees them, written in Markdown or printed as text."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_rageval.metrics.matching import heading_text, matches_anchor, norm_heading
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("", ""),
        ("Opening hours", "Opening hours"),
        ("The **north** gate", "The north gate"),
        ("The *north* _gate_ and __yard__", "The north gate and yard"),
        ("The `opening_hours` key", "The opening_hours key"),
        ("`` a ` b ``", "a ` b"),
        ("Before [Ticket prices](prices.md 'all')", "Before Ticket prices"),
        ("Before [Ticket prices][prices] and [tours][]", "Before Ticket prices and tours"),
        ("Gates ![open](badge.svg)", "Gates open"),
        ("Gates [![Open *now*](badge.svg)](https://gates.example)", "Gates Open now"),
        ("<https://gates.example/a_b>", "https://gates.example/a_b"),
        (r"2\. Gates \& tolls\*", "2. Gates & tolls*"),
        ("Gates &amp; tolls&#33;", "Gates & tolls!"),
        ("North gate {#north .gate}", "North gate"),
        ("North gate {: .gate}", "North gate"),
        ("North gate {-}", "North gate"),
        ("North gate[^1] in winter[^cold] [^3]", "North gate in winter"),
        ("What’s “new” – or old", 'What\'s "new" - or old'),
        ('<a name="north"></a>North gate <!-- old -->', "North gate"),
        ("H<sub>2</sub>O and <kbd>Esc</kbd>", "H2O and Esc"),
        # What looks like markup and is none.
        ("open_gate and __all", "open_gate and __all"),
        ("C#", "C#"),
        ("Vec<T> and Map<K, V>", "Vec<T> and Map<K, V>"),
        ("The <br> tag, <Gate/> too", "The <br> tag, <Gate/> too"),
        ("2.1 Gates", "2.1 Gates"),
        ("1. Gates", "1. Gates"),
        ("5 * 3 * 2", "5 * 3 * 2"),
        ("gate(*args, **kwargs)", "gate(*args, **kwargs)"),
        ("rows[i][j]", "rows[i][j]"),
        ("[1.2.0] - 2030-01-02", "[1.2.0] - 2030-01-02"),
        ("GET /gates/{id}", "GET /gates/{id}"),
        ("The class [^0-9]", "The class [^0-9]"),
        ("Gates & tolls", "Gates & tolls"),
        ("AT&T; a*", "AT&T; a*"),
        ("![](gate.png)", "![](gate.png)"),
        ("*", "*"),
    ],
)
def test_a_heading_is_what_a_reader_sees(written: str, seen: str) -> None:
    assert heading_text(written) == seen


PARTS = ["a", "B", "_", "*", "**", "`", "[", "](x)", "\\", "&amp;", "&lt;", "<b>", "</b>", " ", "!"]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map("".join))
@example(r"The \_open\_ gate")
@example("The `**open**` gate")
@example("`__init__`")
def test_a_heading_and_its_printed_text_are_one(written: str) -> None:
    [paragraph] = MarkdownIt("commonmark").parseInline(written.strip())
    tokens = paragraph.children or []
    if any(token.type in {"image", "html_inline"} for token in tokens):
        return
    printed = "".join(token.content for token in tokens)
    if printed.strip():
        assert norm_heading(heading_text(printed)) == norm_heading(heading_text(written.strip()))


@pytest.mark.parametrize(
    ("gold", "chunk"),
    [
        ("# Gates > ## The north gate", "# Gates > ## The **north** gate"),
        ("# Gates > ## The `north` gate", "Gates > The north gate"),
        ("# Gates > ## See Ticket prices", "# Gates > ## See [Ticket prices](prices.md) ##"),
        ("Gates > Today's hours", "# Gates {#g} > ## Today’s hours ## {#hours} > ### Noon"),
        ("# Gates > ## [Winter](w.md)&nbsp;hours", "# Gates ## > ## Winter hours[^1]"),
    ],
)
def test_an_anchor_and_a_chunk_name_one_heading_in_either_spelling(gold: str, chunk: str) -> None:
    settings = ScoreSettings()
    for one, other in ((gold, chunk), (chunk.split(" > ### ")[0], gold)):
        found = RetrievedChunk(rel_path="a.md", heading_path=other)
        assert matches_anchor(Anchor(rel_path="a.md", heading_path=one), found, settings)


@pytest.mark.parametrize("part", ["[", "*a", "_*", "[a](", "`", "&", "\\", "<a ", "[a][b]", " {#a"])
def test_a_heading_without_end_costs_no_time(part: str) -> None:
    started = time.process_time()
    for n in (1_000, 1_000_000):
        heading_text(part * (n // len(part)))
    assert time.process_time() - started < 2


def test_headings_without_markup_do_not_load_a_parser() -> None:
    script = (
        "import sys; from pytest_rageval.metrics.matching import norm_heading;"
        "norm_heading('# Gates > ## 2.1 The open_gate key, isn’t it? (A & B) ##');"
        "print('markdown_it' in sys.modules); norm_heading('*a*');"
        "print('markdown_it' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
