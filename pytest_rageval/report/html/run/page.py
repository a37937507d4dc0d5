"""The page as text, piece by piece: no request, no style or handler of its own in any attribute.

Chunks and answers are made into markup here, as a page holds thousands; the rest is a template.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_rageval.report.html.charts import Ranked, phase_bar, rank_moves
from pytest_rageval.report.html.markup import Element, harmless, script_json
from pytest_rageval.report.html.parts import Part, parts
from pytest_rageval.report.html.run.frame import PageFrame
from pytest_rageval.report.html.run.highlight import chunk_link, chunk_place, marked_text
from pytest_rageval.report.html.run.values import CaseDetail, ChunkView
from pytest_rageval.report.html.run.view import ReportView
from pytest_rageval.report.view.blocks import Block
from pytest_rageval.report.view.word_diff import Piece
from pytest_rageval.support.text import part

_BEFORE: Final = (
    "search.js",
    "keys.js",
    "run/data.js",
    "run/state.js",
    "run/list.js",
    "run/case.js",
)
"""Scripts in the order in which they need each other."""
_KEYS: Final = (
    ("/", "search the cases"),
    ("j k", "next and previous case"),
    ("Enter", "open the case; in the search, go to what was found"),
    ("Esc", "back to the list, or out of the search"),
    ("o c", "overview, cases"),
    ("?", "this list"),
)
_LAST: Final = "run/run.js"
"""The script that opens the view that the address names."""


def render_report(view: ReportView, frame: PageFrame | None = None) -> Iterator[str]:
    """Yield the page in pieces, so that neither it nor the details of all cases are in memory.

    Every text is escaped and its hidden characters are made visible, in all fields.
    """
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import page_environment, render_page

    frame = frame or PageFrame()
    with_notes = frame.served or bool(frame.notes)
    # As filters: a call of a global costs several times what it does itself.
    page_environment().filters.update(
        chunk_list=render_chunks,
        word_pieces=render_pieces,
        marked=marked_text,
        phase_bar=phase_bar,
        rank_moves=_moves,
        parts_of_case=parts_of_case,
        rank_links=rank_links,
    )
    anchors = view.cases.anchors
    return render_page(
        "run/page.html.j2",
        # Before the last one, which opens the case that the address names.
        scripts=(*_BEFORE, *(["run/notes.js"] if with_notes else []), _LAST),
        served=frame.served,
        view=view,
        frame=frame,
        keys=_KEYS,
        data=script_json(view.data),
        notes=frame.notes_by_anchor(anchors),
        notes_data=script_json(frame.data(view.run_id, anchors)) if with_notes else "",
    )


# --- chunks and answers: every text goes through ``harmless`` --------------------------------


def render_chunks(chunks: Sequence[ChunkView], case: int | None = None) -> Element:
    """Return an ordered list of chunks, best first.

    Args:
        chunks: to show.
        case: number of the case whose chunks links can lead to; None: none can.
    """
    if not chunks:
        return Element("<p>None.</p>")
    items = "".join(_item(chunk, case) for chunk in chunks)
    return Element(f'<ol class="chunks">{items}</ol>')


def rank_links(ranks: Sequence[int], case: int, between: str = " ") -> Element:
    """Return the ranks of chunks of the case with a number, each as a link to its chunk."""
    start = chunk_link("", case)
    links = [f'<a href="{start}{rank}">rank {rank}</a>' for rank in map(str, ranks)]
    return Element(between.join(links))


def parts_of_case(blocks: Sequence[Block], detail: CaseDetail, number: int) -> list[Part]:
    """Return blocks of a case with a number, in which ranks lead to its chunks."""
    ranks = [one.rank for one in detail.chunks or ()]
    return [*parts(blocks, {f"rank {rank}": chunk_link(rank, number) for rank in ranks})]


def _moves(old: Sequence[ChunkView], new: Sequence[ChunkView]) -> Element:
    first, second = (
        [Ranked(rank=one.rank, elsewhere=one.elsewhere, gold=bool(one.golds)) for one in chunks]
        for chunks in (old, new)
    )
    return rank_moves(first, second)


def render_pieces(pieces: Sequence[Piece], tag: str) -> Element:
    """Return a text with its changed parts in separate elements."""
    parts = (
        f"<{tag}>{harmless(text)}</{tag}>" if changed else harmless(text)
        for changed, text in pieces
    )
    return Element("".join(parts))


def _item(chunk: ChunkView, case: int | None) -> str:
    """Return a chunk with rank, marks and place; the marks are words, which borders only repeat."""
    classes = "gold" if chunk.golds else "wrong" if chunk.irrelevant else ""
    head = f"<b>rank {chunk.rank}</b>"
    if chunk.golds:
        head += f' <span class="tag t-gold">{harmless(chunk.golds)}</span>'
    if chunk.irrelevant:
        head += ' <span class="tag t-fail">irrelevant</span>'
    if not chunk.in_cut:
        classes += " beyond" if classes else "beyond"
        head += ' <span class="tag">below the cut</span>'
    if chunk.moved:
        head += f' <span class="tag">{harmless(chunk.moved)}</span>'
    if chunk.path:
        head += f" <code>{harmless(chunk.path)}</code>"
    if chunk.heading:
        head += f" <i>{harmless(chunk.heading)}</i>"
    if chunk.facts:
        head += f" <small>{harmless(chunk.facts)}</small>"
    text = ""
    if chunk.text:
        cut = " <small>(stored cut)</small>" if chunk.truncated else ""
        text = f'<p class="fold">{marked_text(chunk.text, chunk.marks)}{cut}</p>'
    marks = part(' class="{}"', classes)
    place = "" if case is None else f' id="{chunk_place(case, chunk.rank)}"'
    return f"<li{marks}{place}><p>{head}</p>{text}</li>\n"
