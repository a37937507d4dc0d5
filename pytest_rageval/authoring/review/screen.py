"""Reading of answers in the terminal app; imported only on request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group
from rich.text import Text

from pytest_rageval.analysis.review import ReviewFigures
from pytest_rageval.authoring.keyed.app import Part, Screen, grid, lines
from pytest_rageval.authoring.keyed.session import EXCERPT, WHOLE
from pytest_rageval.authoring.review.session import ReviewSession
from pytest_rageval.authoring.review.view import ReviewView, key_line, verdict_text, view_of
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.judging import figures_blocks
from pytest_rageval.support.text import clean, part, shortened
from pytest_rageval.values.words import CURRENT, MARKED


@dataclass(frozen=True, slots=True)
class _Figures:
    """Figures, drawn as wide as the screen is."""

    figures: ReviewFigures

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = options.max_width
        yield Text("\n".join(["", *draw(figures_blocks(self.figures), width=width)]))


def screen_of(session: ReviewSession) -> Screen:
    """Return what a terminal shows of a session."""
    view = view_of(session)
    body = _groups(view) if view.mode == "group" else _answer(view)
    return Screen(
        head=tuple(_head(view)),
        body=((False, grid(*view.help)),) if view.help else tuple(body),
        prompt=view.prompt,
        typed=view.typed,
        notice=view.notice,
        keys=key_line(view),
    )


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


def _answer(view: ReviewView) -> Iterator[Part]:
    yield False, lines(shortened(view.answer.answer, WHOLE) or "(empty answer)")
    for row in view.passages:
        tags = part("  [{}]", ", ".join(filter(None, (row.gold, *row.tags))))
        head = f"{CURRENT[row.current]} {row.number} {row.place}{tags}"
        text = shortened(row.text, WHOLE if row.current else EXCERPT)
        style = "reverse" if row.current else ""
        yield False, ""
        yield row.current, Group(Text(clean(head), style=style), lines(text))


def _groups(view: ReviewView) -> Iterator[Part]:
    for row in view.rows:
        mark = Text(f"{CURRENT[row.current]} [{MARKED[row.marked]}]")
        cells: tuple[str | Text, ...] = (mark, *row.tags, row.text)
        yield row.current, grid(cells, style="reverse" if row.current else "")
    yield False, _Figures(view.figures)
