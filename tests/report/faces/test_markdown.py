"""Blocks as Markdown: lists of facts, tables with folded rows, and texts that stay texts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_rageval.report.faces.markdown import escape, render
from pytest_rageval.report.view.blocks import Cell, Code, Command, Fact, Table, View, paragraph
from pytest_rageval.support.text import clean

HOSTILE = "a|b <script>x</script> `c` @name #12 https://x.y\x1b[31m\u202e"


def shown(*blocks: object) -> str:
    return render(View((("title", ""),), blocks))  # type: ignore[arg-type]


def test_facts_are_one_list_and_other_blocks_stand_apart() -> None:
    text = shown(Fact("base", "one"), Fact("", "two"), paragraph("three"), Command("next", "a `b"))
    assert text == "## rageval: title\n\n- **base** one\n- two\n\nthree\n\n- next: `a 'b`\n"


def test_a_quote_of_a_case_stays_on_this_machine() -> None:
    text = shown(Table(("why",), [(Cell("lost guides/secret.md", public="lost a gold"),)]))
    assert "| lost a gold |" in text
    assert "secret" not in text


def test_texts_of_others_are_inert() -> None:
    table = Table((HOSTILE,), [(HOSTILE,)])
    text = shown(paragraph(HOSTILE), table, Fact(HOSTILE, HOSTILE), Code(HOSTILE))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script" not in html
    assert html.count("<td>") == 1
    assert not set(text) & {"\x1b", "\u202e"}
    assert "@name" not in text.rpartition("<!-- -->")[0]


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("ask @octo/team", "ask @&#8203;octo/team"),
        ("a@b.example", "a@&#8203;b.example"),
        ("fixes #12", "fixes \\#&#8203;12"),
        ("gh-7", "gh-&#8203;7"),
        ("https://evil.example", "https:&#8203;//evil.example"),
        ("www.evil.example", "www&#8203;.evil.example"),
        ("~~gone~~ $x$", "\\~\\~gone\\~\\~ \\$x\\$"),
    ],
)
def test_escaped_text_names_nobody_and_links_nowhere(text: str, inert: str) -> None:
    assert escape(text) == inert


MARKUP = st.text(alphabet="ab 1\\`*_{}[]()<>#|!&~$@:/.-+=\"'\n\u202e\u00e9", max_size=40)


@given(MARKUP)
@example("www.a@b.c/#1")
@example("\\|")
@example("<!-- ")
def test_escaped_text_is_one_cell_of_plain_text_to_a_markdown_reader(text: str) -> None:
    cell = f"x {escape(text)} y"
    tokens = (
        MarkdownIt("commonmark").enable("table").parse(f"| a | b |\n|---|---|\n| {cell} | z |\n")
    )
    (inner,) = [
        token
        for before, token in pairwise(tokens)
        if before.type == "td_open" and token.content.startswith("x ")
    ]
    assert {child.type for child in inner.children or ()} <= {"text", "text_special"}
    shown = "".join(child.content for child in inner.children or ()).replace("\u200b", "")
    assert shown.split() == f"x {clean(text)} y".split()
    assert [token.type for token in tokens].count("td_open") == 2
