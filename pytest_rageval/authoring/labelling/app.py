"""Labelling in a full-screen terminal app; imported only on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from pytest_rageval.authoring.keyed.app import KeyApp, Pane
from pytest_rageval.authoring.labelling import view as screen
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.view import (
    PassageView,
    RowView,
    SessionView,
    view_of,
)
from pytest_rageval.support.text import clean, part, shortened
from pytest_rageval.values.words import CURRENT, MARKED

_TYPED: Final = 200
"""Characters of a long input that are shown: its end."""
_HEADING: Final = 32
_TAGS: Final = 30
"""Columns of a row."""


class LabelApp(KeyApp):
    """Shows a labelling session."""

    CSS = """
    Screen { overflow: hidden; }
    #head, #rows, #table, #said, #keys { height: auto; }
    #head { text-style: bold; max-height: 25%; }
    #rows { border-top: solid gray; max-height: 35%; scrollbar-size: 0 0; }
    #said { max-height: 3; min-height: 1; }
    #detail { height: 1fr; border-top: solid gray; }
    """
    WAITING = "asking the target ..."

    def __init__(self, session: LabelSession) -> None:
        super().__init__(session, lambda: view_of(session))

    def compose(self) -> ComposeResult:
        """Lay out the screen: the case, its rows, the current row, the last effect."""
        yield Static(id="head")
        with Pane(id="rows"):
            yield Static(id="table")
        with Pane(id="detail"):
            yield Static(id="body")
        yield Static(id="said")
        yield Static(id="keys")

    def show_view(self, view: SessionView) -> None:
        """Lay out what the session shows."""
        self.update("head", _head(view))
        self.update("table", "" if view.help else _rows(view))  # the help needs the space
        self.update("said", _said(view))
        self.update("keys", Text(screen.key_line(view), no_wrap=True, overflow="ellipsis"))
        body = [*_body(view)]
        self.update("body", Group(*body))
        # One column is for the scroll bar.
        before, options = 0, self.console.options.update(width=max(self.size.width - 2, 10))
        for passage, shown in zip(view.passages, body, strict=False):
            if passage.current:
                break
            before += len(self.console.render_lines(shown, options))
        place = next((i for i, row in enumerate(view.rows) if row.current), 0)
        for name, line in (("rows", place), ("detail", before)):
            part = self.query_one(f"#{name}", Pane)
            part.scroll_to(y=max(line - part.size.height // 2, 0), animate=False)


# Marked rows show [x] and the cursor is >, so that colour is never needed. All texts are cleaned,
# as they may hold control characters.


def _head(view: SessionView) -> Text:
    state = ["answerable" if view.draft.answerable else "UNANSWERABLE"]
    state += ["NOT REVIEWED"] if view.draft.review == "generated" else []
    state += ["not saved"] if view.unsaved else []
    title = f"{view.position}/{view.total} {clean(view.case.id)}  [{', '.join(state)}]"
    facts = (f"{label}: {text}" if label else text for label, text in screen.facts_of(view))
    return Text("\n".join([title, *map(clean, facts)]))


def _said(view: SessionView) -> Text:
    if view.prompt:
        return Text(clean(f"{view.prompt}: {view.typed}_")[-_TYPED:])
    return Text(clean(view.notice or view.part or part("filter: {}", view.filter)))


def _marked(row: RowView | PassageView) -> str:
    return f"{CURRENT[row.current]} [{MARKED[row.marked]}] {row.number:>2}"


def _grid(*rows: tuple[str, str]) -> Table:
    """Return rows of a short text, and a long one that is wrapped beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for short, text in rows:
        grid.add_row(Text(short), Text(clean(text)))
    return grid


def _rows(view: SessionView) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    # Heading paths of one document begin alike: the last heading distinguishes them.
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_HEADING)
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_TAGS)
    grid.add_column(no_wrap=True, justify="right")
    for row in view.rows:
        golds = [f"gold {', '.join(map(str, row.golds))}"] if row.golds else []
        tags = "; ".join([*golds, *(clean(tag, 30) for tag in row.tags)])
        path, over, last = clean(row.place, 400).rpartition(" > ")
        score = part("{:.3f}", row.scores and row.scores[0][1])
        cells = (
            _marked(row),
            path or last,
            part("> {}", over and last),
            tags and f"({tags})",
            score,
        )
        style = " ".join(["reverse"] * row.current + ["bold"] * row.marked)
        grid.add_row(*map(Text, cells), style=style)
    return grid if view.rows else Text("-")


def _body(view: SessionView) -> Iterator[RenderableType]:
    """Yield what the lower half shows; sentences to quote first, one by one."""
    if view.conflict:
        yield Text("CONFLICT: another program changed the line of this case. It is now:")
        yield Text(clean(view.conflict))
    elif view.help:
        yield _grid(*screen.help_of(view))
    elif view.passages:
        yield from (_grid((_marked(one), one.text)) for one in view.passages)
    else:
        if (row := view.current) is not None:
            yield Text(clean(row.place))
            if row.scores:
                yield Text(clean(", ".join(f"{name} {value:.4f}" for name, value in row.scores)))
            yield Text("\n".join(map(clean, shortened(row.text, screen.WHOLE).splitlines())))
        yield Text("\ngolds:" if view.golds else "\ngolds: none")
        yield _grid(*((f"  {number}", gold) for number, gold in enumerate(view.golds, 1)))
