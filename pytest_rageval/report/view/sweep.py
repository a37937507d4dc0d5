"""The outcome of a sweep in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.sweep.configurations import value_text
from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.analysis.sweep.verdict import SweepVerdict
from pytest_rageval.report import sweep as words
from pytest_rageval.report.view.blocks import Block, Fact, Row, Status, Table
from pytest_rageval.report.view.summary import change_text

_SHOWN: Final = 20
_STYLES: Final[Mapping[SweepVerdict, Status]] = {
    "better": "good",
    "no_clear_winner": "warn",
    "worse": "bad",
}


def sweep_lines(outcome: SweepOutcome) -> Iterator[Block]:
    """Yield the outcome as lines for a terminal."""
    yield Fact("goal", words.weights_text(outcome.objectives))
    if outcome.constraints:
        yield Fact("limits", ", ".join(outcome.constraints))
    yield Fact("asked", words.spent_text(outcome))
    yield ()
    yield from _ranking(outcome)
    yield ()
    yield from _effects(outcome)
    style = _STYLES[outcome.verdict]
    yield Fact("verdict", words.VERDICT_WORDS[outcome.verdict], style, style)
    yield Fact("", outcome.sentence)
    yield Fact("", words.sensitivity_text(outcome), "", "weak")
    for note in outcome.notes:
        yield Fact("note", note, "warn", "warn")


def _ranking(outcome: SweepOutcome) -> Iterator[Block]:
    rows: list[Row] = []
    for number, row in enumerate(outcome.ranking[:_SHOWN], start=1):
        style: Status = "good" if row.key == outcome.winner_key else ""
        style = "weak" if row.cut or row.broken else style
        notes = words.row_notes(outcome, row)
        for name in words.other_figures(outcome):
            key, *limit = name.split(" ", 1)
            figure = f"{key} {words.figure_text(row, name)}"
            notes.append(f"{figure} ({limit[0]})" if limit else figure)
        figures = (str(number), *words.main_text(outcome, row), str(row.requests))
        noted = (("\n", ""), ("; ".join(notes), "weak")) if notes else ()
        rows.append((*(((figure, style),) for figure in figures), ((row.name, style), *noted)))
    percent = f"{outcome.confidence * 100:g} % interval"
    key = outcome.objectives[0].key
    yield Table((">", f">{key}", f">{percent}", ">asked", "configuration"), rows)
    if len(outcome.ranking) > _SHOWN:
        yield ((f"   and {len(outcome.ranking) - _SHOWN} more, in sweep.md", "weak"),)


def _effects(outcome: SweepOutcome) -> Iterator[Block]:
    """Yield a line for each parameter: its values with the difference from the mean of all."""
    found: dict[str, list[str]] = {}
    key = outcome.objectives[0].key
    for one in outcome.effects:
        text = f"{value_text(one.value)} {change_text(key, one.difference)}"
        found.setdefault(one.parameter, []).append(text)
    head = "effects"
    for name, values in found.items():
        yield Fact(head, f"{name}: {', '.join(values)}")
        head = ""
