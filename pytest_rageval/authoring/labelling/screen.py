"""Labelling in the terminal app; imported only on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pytest_rageval.authoring.keyed.app import Part, Screen, grid, lines
from pytest_rageval.authoring.keyed.session import WHOLE, ListRow
from pytest_rageval.authoring.labelling import view as screen
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.view import (
    SessionView,
    view_of,
)
from pytest_rageval.support.text import clean, part, shortened
from pytest_rageval.values.words import CURRENT, MARKED

_HEADING: Final = 32
_TAGS: Final = 30
"""Columns of a row."""


def screen_of(session: LabelSession) -> Screen:
    """Return what a terminal shows of a session."""
    view = view_of(session)
    return Screen(
        head=tuple(_head(view)),
        table="" if view.help else _rows(view),  # the help needs the space
        row=next((i for i, row in enumerate(view.rows) if row.current), 0),
        body=tuple(_body(view)),
        prompt=view.prompt,
        typed=view.typed,
        notice=view.notice or view.part or part("filter: {}", view.filter),
        keys=screen.key_line(view),
    )


# Marked rows show [x] and the cursor is >, so that colour is never needed. All texts are cleaned,
# as they may hold control characters.


def _head(view: SessionView) -> Iterator[str]:
    state = ["answerable" if view.draft.answerable else "UNANSWERABLE"]
    state += ["NOT REVIEWED"] if view.draft.review == "generated" else []
    state += ["not saved"] if view.unsaved else []
    yield f"{view.position}/{view.total} {view.case.id}  [{', '.join(state)}]"
    for label, text in screen.facts_of(view):
        yield f"{label}: {text}" if label else text


def _marked(row: ListRow) -> str:
    return f"{CURRENT[row.current]} [{MARKED[row.marked]}] {row.number:>2}"


def _rows(view: SessionView) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    # Heading paths of one document begin alike: the last heading distinguishes them.
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_HEADING)
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_TAGS)
    grid.add_column(no_wrap=True, justify="right")
    for row in view.rows:
        tags = "; ".join(filter(None, (row.gold, *(clean(tag, 30) for tag in row.tags))))
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


def _body(view: SessionView) -> Iterator[Part]:
    """Yield what the lower half shows; sentences to quote first, one by one."""
    if view.conflict:
        yield False, Text("CONFLICT: another program changed the line of this case. It is now:")
        yield False, Text(clean(view.conflict))
    elif view.help:
        yield False, grid(*screen.help_of(view))
    elif view.passages:
        for one in view.passages:
            yield one.current, grid((Text(_marked(one)), one.text))
    else:
        if (row := view.current) is not None:
            yield False, Text(clean(row.place))
            if row.scores:
                scores = ", ".join(f"{name} {value:.4f}" for name, value in row.scores)
                yield False, Text(clean(scores))
            yield False, lines(shortened(row.text, WHOLE))
        yield False, Text("\ngolds:" if view.golds else "\ngolds: none")
        golds = [(f"  {number}", gold) for number, gold in enumerate(view.golds, 1)]
        yield False, grid(*golds)
