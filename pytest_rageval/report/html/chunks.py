"""Chunks and answers as markup; every text in it goes through ``harmless``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_rageval.report.html.markup import Element, harmless
from pytest_rageval.report.html.values import ChunkView
from pytest_rageval.report.html.word_diff import Piece


def render_chunks(chunks: Sequence[ChunkView]) -> Element:
    """Return an ordered list of chunks, best first."""
    if not chunks:
        return Element("<p>None.</p>")
    return Element(f'<ol class="chunks">{"".join(map(_item, chunks))}</ol>')


def render_pieces(pieces: Sequence[Piece], tag: str) -> Element:
    """Return a text whose changed parts stand in elements of their own.

    Args:
        pieces: of the text.
        tag: ``del`` or ``ins``.
    """
    parts = (
        f"<{tag}>{harmless(text)}</{tag}>" if changed else harmless(text)
        for changed, text in pieces
    )
    return Element("".join(parts))


def _item(chunk: ChunkView) -> str:
    text = ""
    if chunk.text:
        cut = " <small>(stored cut)</small>" if chunk.truncated else ""
        text = f'<p class="text" dir="auto">{harmless(chunk.text)}{cut}</p>'
    head = " ".join(_head(chunk))
    return f'<li class="{" ".join(_classes(chunk))}"><p class="head">{head}</p>{text}</li>\n'


def _classes(chunk: ChunkView) -> Iterator[str]:
    yield "chunk"
    if chunk.golds:
        yield "gold"
    elif chunk.irrelevant:
        yield "wrong"
    if not chunk.in_cut:
        yield "beyond"


def _head(chunk: ChunkView) -> Iterator[str]:
    """Yield rank, marks and place; the marks stand in words, which borders only repeat."""
    yield f"<b>rank {chunk.rank}</b>"
    if chunk.golds:
        yield f'<span class="tag t-gold">{harmless(chunk.golds)}</span>'
    if chunk.irrelevant:
        yield '<span class="tag t-fail">irrelevant</span>'
    if not chunk.in_cut:
        yield '<span class="tag">below the cut</span>'
    if chunk.moved:
        yield f'<span class="tag">{harmless(chunk.moved)}</span>'
    if chunk.path:
        yield f'<span class="path">{harmless(chunk.path)}</span>'
    if chunk.heading:
        yield f'<span class="heading">{harmless(chunk.heading)}</span>'
    if chunk.facts:
        yield f"<small>{harmless(chunk.facts)}</small>"
