"""Blocks as elements: what each becomes, and that every text in them is escaped."""

from __future__ import annotations

import re

import pytest

from pytest_rageval.report.html.parts import draw, render
from pytest_rageval.report.view.blocks import (
    Block,
    Cell,
    Cells,
    Code,
    Command,
    Fact,
    Group,
    Note,
    Scale,
    Status,
    Table,
    View,
)
from tests.report.html.builders import HOSTILE


def text_of(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def test_rows_have_names_numbers_at_the_right_and_links() -> None:
    table = Table(
        ("metric", ">mean", "scale"),
        [("mrr", Cell(0.5, link="#sort=mrr", note="of 1"), Scale(value=0.5))],
        more=[("map", 0.25, "")],
    )

    html = draw([table], {"map": "#sort=map"})

    assert re.search(r'<th scope="?row"?[^>]*>\s*mrr', html)
    assert '<td class="num" data-name="mean">' in html
    assert '<a href="#sort=mrr">0.500</a>' in html
    assert '<a href="#sort=map">map</a>' in html, "the name of a link"
    assert "1 more row" in html
    assert html.count("<svg") == 1


@pytest.mark.parametrize(("word", "status"), [("worse", "bad"), ("ok", "good"), ("warn", "warn")])
def test_a_status_has_a_sign_beside_its_word_and_colour(word: str, status: Status) -> None:
    html = draw([Table(("", "case"), [(Cell(word, status=status), "a")])])
    assert re.search(rf'class="tag t-{status}"><span aria-hidden="true">.</span> {word}', html)


def test_other_blocks_keep_their_texts() -> None:
    blocks: list[Block] = [
        Note((("head ", "bad"),), (("text", ""),)),
        Command("next", "rageval explain last a"),
        Code("a\n  b"),
        Group("Open", ["one"]),
        Group("Folded", ["two"], folded=True),
        Table(("a", "b"), [Note((), (("over all", ""),)), (Cells([Cell("x"), Cell("y")]), None)]),
    ]
    html = draw(blocks)
    for text in ("head text", "rageval explain last a", "Open one", "Folded two", "over all"):
        assert text in text_of(html)
    assert "<pre" in html
    assert html.count("<details>") == 1
    assert "x, y" in text_of(html)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_every_block(text: str) -> None:
    cell = Cell(text, status="bad", note=text, link=text, tone=text)
    blocks: list[Block] = [
        text,
        Fact(text, text),
        Note(((text, ""),), ((text, "warn"),)),
        Command(text, text),
        Code(text),
        Group(text, [text], folded=True),
        Table((text, f">{text}"), [(text, cell), (((text, ""), ("\n", ""), (text, "")), text)]),
    ]
    html = render(View(((text, ""),), blocks))
    ours = {"p", "b", "code", "pre", "div", "dl", "dt", "dd", "details", "summary", "table", "span"}
    rows = {"thead", "tbody", "tr", "th", "td", "small", "a", "wbr"}
    assert {*re.findall("<([a-z]+)", html)} <= ours | rows
    assert "\u202e" not in html
    assert "\x1b" not in html
