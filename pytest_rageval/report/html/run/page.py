"""The page of a run as text, piece by piece, and as ``report.html`` beside its other files.

Chunks and answers are made into markup here, as a page holds thousands; the rest is a template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.two_runs import RunComparison, compare_runs
from pytest_rageval.report.html.charts import RankedChunk, phase_bar, rank_moves
from pytest_rageval.report.html.markup import Element, harmless, script_json, visible
from pytest_rageval.report.html.parts import Part, parts
from pytest_rageval.report.html.run.figures import numbers_of
from pytest_rageval.report.html.run.highlight import chunk_link, chunk_place, marked_text
from pytest_rageval.report.html.run.values import CaseDetail, ChunkView, ReportOptions
from pytest_rageval.report.html.run.view import ReportView, view_report
from pytest_rageval.report.view.asked import Piece
from pytest_rageval.report.view.blocks import Block
from pytest_rageval.runs.list import is_partial
from pytest_rageval.runs.read import CaseKey, read_documents
from pytest_rageval.runs.reviews import findings_of_run, readable_notes
from pytest_rageval.runs.store import REPORT, stored_time, write_text_document
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.support.text import part
from pytest_rageval.values.run import CaseNote, StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """Surroundings of the content of a run's page."""

    notes: tuple[CaseNote, ...] = ()
    home: str = ""
    """Address of the list of all runs; empty: the page stands alone."""
    compare: str = ""
    """Address of the comparison with the baseline; empty if absent."""
    choices: tuple[str, ...] = ()
    """Ids of the runs that can be the baseline, newest first."""
    baseline: str = ""
    """Id of the chosen one."""
    served: bool = False
    """Whether a server takes notes and another choice of the baseline."""

    def notes_by_anchor(self, anchors: Mapping[CaseKey, str]) -> dict[str, tuple[CaseNote, ...]]:
        """Return the notes on the cases of the page, by the anchor of the case."""
        found: dict[str, tuple[CaseNote, ...]] = {}
        for note in self.notes:
            anchor = anchors.get((note.file, note.case_id, note.repeat))
            if anchor is not None:
                found[anchor] = (*found.get(anchor, ()), note)
        return found

    def data(self, run_id: str, anchors: Mapping[CaseKey, str]) -> dict[str, Any]:
        """Return the values of the script that shows notes and takes them."""
        notes = {
            anchor: [shown_note(one) for one in of_case]
            for anchor, of_case in self.notes_by_anchor(anchors).items()
        }
        keys = {anchor: key for key, anchor in anchors.items()} if self.served else {}
        return {"run": run_id, "editable": self.served, "keys": keys, "notes": notes}


def shown_note(note: CaseNote) -> dict[str, str]:
    """Return a note as a page shows it."""
    when = note.time[:16].replace("T", " ")
    return {"text": visible(note.text), "author": visible(note.author), "time": visible(when)}


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
        [
            RankedChunk(rank=one.rank, elsewhere=one.elsewhere, gold=bool(one.golds))
            for one in chunks
        ]
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


_HISTORY: Final = 12
"""Maximum runs of the trend: more are hard to read and slow to load."""


def with_metrics(run: StoredRun) -> StoredRun:
    """Return a stored run with metrics, computed anew where they were never written."""
    return replace(run, aggregate=numbers_of(run))


def read_history(folder: Path) -> tuple[StoredRun, ...]:
    """Return the documents of a run and of those before it in its results folder, oldest first.

    Runs over a part of their set are left out, as by `rageval runs trend`.
    """
    # The small config.json has the time, so that a folder of many runs is not read completely.
    begun = {path.parent: stored_time(path) for path in folder.parent.glob("*/config.json")}
    own = begun.get(folder)
    if own is None:
        return ()
    order = {other: (time, other.name) for other, time in begun.items() if time is not None}
    until = [other for other, place in order.items() if place <= (own, folder.name)]
    latest_first = sorted(until, key=order.__getitem__, reverse=True)
    tags = tags_by_run(folder.parent)
    runs = (
        read_documents(other, tags=tags.get(other.name, ()), groups=False) for other in latest_first
    )
    whole = (run for run in runs if run.aggregate and not is_partial(run))
    return tuple(islice(whole, _HISTORY))[::-1]


def report_page(
    run: StoredRun,
    *,
    baseline: StoredRun | None = None,
    options: ReportOptions | None = None,
    frame: PageFrame | None = None,
) -> Iterator[str]:
    """Yield the page of a run in pieces, with the trend of its results folder and its notes."""
    compared = None if baseline is None else compare_runs(baseline, run)
    history = read_history(run.folder)
    view = view_report(
        with_metrics(run),
        baseline=compared,
        history=history,
        options=options,
        reviews=findings_of_run(run),
    )
    redact = options is not None and options.redact
    frame = replace(frame or PageFrame(), notes=() if redact else readable_notes(run.folder))
    return render_report(view, frame)


def write_report(run: StoredRun, baseline: RunComparison | None = None) -> Path:
    """Write ``report.html`` of a run that has just ended, and return its path.

    Raises:
        StorageError: it cannot be written.
    """
    view = view_report(
        with_metrics(run),
        baseline=baseline,
        history=read_history(run.folder),
        reviews=findings_of_run(run),
    )
    page = render_report(view, PageFrame(notes=readable_notes(run.folder)))
    return write_text_document(run.folder, REPORT, page)
