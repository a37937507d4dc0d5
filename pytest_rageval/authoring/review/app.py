"""Reading of answers in a full-screen terminal app; imported only on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from pytest_rageval.authoring.keyed.app import KeyApp, Pane
from pytest_rageval.authoring.review.session import ReviewSession
from pytest_rageval.authoring.review.view import (
    FailedRow,
    PassageRow,
    ReviewView,
    key_line,
    verdict_text,
    view_of,
)
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.review import figures_blocks
from pytest_rageval.support.text import clean, part, shortened
from pytest_rageval.values.words import CURRENT, MARKED

_WHOLE: Final = 50_000
_EXCERPT: Final = 280
_TYPED: Final = 200
"""Characters of a long input that are shown: its end."""


class ReviewApp(KeyApp):
    """Shows a reader's session."""

    CSS = """
    Screen { overflow: hidden; }
    #head, #said, #keys { height: auto; }
    #head { text-style: bold; max-height: 30%; }
    #said { max-height: 3; min-height: 1; }
    #detail { height: 1fr; border-top: solid gray; }
    """

    def __init__(self, session: ReviewSession) -> None:
        super().__init__(session, lambda: view_of(session))
        self._scrolled_to: tuple[str, int] = ("", 0)

    def compose(self) -> ComposeResult:
        """Lay out the screen: the question, the answer and its passages, the last effect."""
        yield Static(id="head")
        with Pane(id="detail"):
            yield Static(id="body")
        yield Static(id="said")
        yield Static(id="keys")

    def show_view(self, view: ReviewView) -> None:
        """Lay out what the session shows."""
        self.update("head", Text("\n".join(map(clean, _head(view)))))
        said = f"{view.prompt}: {view.typed}_"[-_TYPED:] if view.prompt else view.notice
        self.update("said", Text(clean(said)))
        self.update("keys", Text(key_line(view), no_wrap=True, overflow="ellipsis"))
        width = max(self.size.width - 2, 10)  # one column is for the scroll bar
        shown: list[_Shown] = [(False, _grid(*view.help))] if view.help else []
        shown = shown or [*(_groups(view, width) if view.mode == "group" else _answer(view))]
        self.update("body", Group(*(drawn for _, drawn in shown)))
        self._scroll(view, shown, width)

    def _scroll(self, view: ReviewView, shown: Sequence[_Shown], width: int) -> None:
        """Scroll to what keys act on, after it has changed."""
        rows: Sequence[FailedRow | PassageRow] = (*view.rows, *view.passages)
        current = next((row.number for row in rows if row.current), 0)
        place = (f"{view.mode} {view.position}", current)
        if place == self._scrolled_to or view.help:
            return
        same, self._scrolled_to = place[0] == self._scrolled_to[0], place
        before, options = 0, self.console.options.update(width=width)
        for is_current, drawn in shown:
            if is_current:
                break
            before += len(self.console.render_lines(drawn, options))
        self.query_one("#detail", Pane).scroll_to(y=before if same else 0, animate=False)


# All texts are cleaned, as they may hold control characters. Colour is never needed.

_Shown = tuple[bool, RenderableType]
"""Whether keys act on it, and what is drawn."""


def _head(view: ReviewView) -> Iterator[str]:
    if view.mode == "group":
        yield f"categories  [{len(view.rows)} failed of {view.n_read} read]"
        yield "  ".join(f"{i} {name} ({n})" for i, (name, n) in enumerate(view.categories, 1))
        return
    verdict = verdict_text(view.review) or "not read"
    yield f"{view.position}/{view.total} {view.answer.case.id}  [{verdict}]"
    yield view.answer.case.question
    for label, text in view.facts:
        yield f"{label}: {text}"
    if view.prompt:
        yield "  ".join(f"{i} {name}" for i, (name, _) in enumerate(view.categories, 1))


def _lines(text: str) -> Text:
    return Text("\n".join(map(clean, text.splitlines())))


def _answer(view: ReviewView) -> Iterator[_Shown]:
    yield False, _lines(shortened(view.answer.answer, _WHOLE) or "(empty answer)")
    for row in view.passages:
        tags = part("  [{}]", ", ".join(row.passage.tags))
        head = f"{CURRENT[row.current]} {row.number} {row.passage.place}{tags}"
        yield row.current, Text(f"\n{clean(head)}", style="reverse" if row.current else "")
        most = _WHOLE if row.current else _EXCERPT
        yield False, _lines(shortened(row.passage.text, most))


def _groups(view: ReviewView, width: int) -> Iterator[_Shown]:
    for row in view.rows:
        mark = f"{CURRENT[row.current]} [{MARKED[row.marked]}]"
        cells = (mark, row.review.category or "-", row.text)
        yield row.current, _grid(cells, style="reverse" if row.current else "")
    blocks = figures_blocks(view.figures)
    yield False, Text("\n".join(["", *draw(blocks, width=width)]))


def _grid(*rows: tuple[str, ...], style: str = "") -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for i in range(len(rows[0])):
        last = i == len(rows[0]) - 1
        grid.add_column(no_wrap=not last, overflow="fold" if last else "ellipsis")
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row), style=style)
    return grid
