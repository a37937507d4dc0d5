"""The page as text, piece by piece: no request, no style or handler of its own in any attribute.

Chunks and answers are made into markup here, as a page holds thousands; the rest is a template.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from pytest_rageval.report.html.markup import Element, harmless
from pytest_rageval.report.html.values import ChunkView, ReportView
from pytest_rageval.report.text.word_diff import Piece

_TEMPLATES: Final = Path(__file__).parent / "templates"


def render_report(view: ReportView) -> Iterator[str]:
    """Yield the page in pieces, so that neither it nor the details of all cases are in memory.

    Every text is escaped and its hidden characters are made visible, in all fields.
    """
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import page_environment

    style, script = page_asset(_TEMPLATES, "style.css"), page_asset(_TEMPLATES, "script.js")
    environment = page_environment(_TEMPLATES)
    environment.globals.update(chunk_list=render_chunks, word_pieces=render_pieces)
    template = environment.get_template("page.html.j2")
    policy = content_policy(style=style, script=script)
    return template.generate(view=view, style=style, script=script, policy=policy)


def content_policy(*, style: str, script: str) -> str:
    """Return the content security policy: only the page's script and style."""
    return (
        "default-src 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


@cache
def page_asset(folder: Path, name: str) -> str:
    """Return a style or script of a page."""
    # Browsers hash the text with normalised line ends.
    return (folder / name).read_text(encoding="utf-8").replace("\r\n", "\n")


# --- chunks and answers: every text goes through ``harmless`` --------------------------------


def render_chunks(chunks: Sequence[ChunkView]) -> Element:
    """Return an ordered list of chunks, best first."""
    if not chunks:
        return Element("<p>None.</p>")
    return Element(f'<ol class="chunks">{"".join(map(_item, chunks))}</ol>')


def render_pieces(pieces: Sequence[Piece], tag: str) -> Element:
    """Return a text with its changed parts in separate elements."""
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
    """Yield rank, marks and place; the marks are words, which borders only repeat."""
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
