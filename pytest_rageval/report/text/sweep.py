"""The outcome of a sweep in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.sweep.configurations import value_text
from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.analysis.sweep.verdict import SweepVerdict
from pytest_rageval.report import sweep as words
from pytest_rageval.report.text.lines import Line, Style, wrapped
from pytest_rageval.report.text.summary import change_text
from pytest_rageval.support.text import clean, cut_columns, wrapped_text

_SHOWN: Final = 20
_INDENT: Final = 6
_STYLES: Final[Mapping[SweepVerdict, Style]] = {
    "better": "green",
    "no_clear_winner": "yellow",
    "worse": "red",
}


def sweep_lines(outcome: SweepOutcome, width: int = 80) -> Iterator[Line]:
    """Yield the outcome as lines for a terminal."""
    yield from wrapped("goal", words.weights_text(outcome.objectives), width)
    if outcome.constraints:
        yield from wrapped("limits", ", ".join(outcome.constraints), width)
    yield from wrapped("asked", words.spent_text(outcome), width)
    yield ()
    yield from _ranking(outcome, width)
    yield ()
    yield from _effects(outcome, width)
    style = _STYLES[outcome.verdict]
    yield from wrapped("verdict", words.VERDICT_WORDS[outcome.verdict], width, style, style)
    yield from wrapped("", outcome.sentence, width)
    yield from wrapped("", words.sensitivity_text(outcome), width, "", "dim")
    for note in outcome.notes:
        yield from wrapped("note", note, width, "yellow", "yellow")


def _ranking(outcome: SweepOutcome, width: int) -> Iterator[Line]:
    key = cut_columns(outcome.objectives[0].key, 13)
    percent = f"{outcome.confidence * 100:g} % interval"
    yield ((f"{'':>3}{key:>14}{percent:>17}{'asked':>6}  configuration", "dim"),)
    for number, row in enumerate(outcome.ranking[:_SHOWN], start=1):
        value, interval = words.main_text(outcome, row)
        style: Style = "green" if row.key == outcome.winner_key else ""
        style = "dim" if row.cut or row.broken else style
        figures = f"{number:>3}{value:>14}{interval:>17}{row.requests:>6}  "
        for part in wrapped_text(clean(row.name), max(width - len(figures), 12)):
            yield ((figures, style), (part, style))
            figures = " " * len(figures)
        notes = words.row_notes(outcome, row)
        for name in words.other_figures(outcome):
            key, *limit = name.split(" ", 1)
            figure = f"{key} {words.figure_text(row, name)}"
            notes.append(f"{figure} ({limit[0]})" if limit else figure)
        for part in wrapped_text(clean("; ".join(notes)), width - _INDENT):
            yield ((f"{'':>{_INDENT}}{part}", "dim"),)
    if len(outcome.ranking) > _SHOWN:
        yield ((f"   and {len(outcome.ranking) - _SHOWN} more, in sweep.md", "dim"),)


def _effects(outcome: SweepOutcome, width: int) -> Iterator[Line]:
    """Yield a line for each parameter: its values with the difference from the mean of all."""
    found: dict[str, list[str]] = {}
    key = outcome.objectives[0].key
    for one in outcome.effects:
        text = f"{value_text(one.value)} {change_text(key, one.difference)}"
        found.setdefault(one.parameter, []).append(text)
    head = "effects"
    for name, values in found.items():
        yield from wrapped(head, f"{name}: {', '.join(values)}", width)
        head = ""
