"""Runs as a notebook shows them: a few lines of markup without style or script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names, worst_misses
from pytest_rageval.report.html.parts import render
from pytest_rageval.report.html.run.figures import known_metrics, numbers_of
from pytest_rageval.report.view.blocks import Block, Line, Row, Table, View, paragraph
from pytest_rageval.report.view.summary import interval_text, is_headline
from pytest_rageval.support.text import counted, format_value, part, shortened
from pytest_rageval.values.run import StoredRun

_CASES_SHOWN: Final = 5
_ID_CHARS: Final = 60
_NOTES_SHOWN: Final = 3
_NOTE_CHARS: Final = 300


def run_cell(run: StoredRun) -> str:
    """Return the counts, the gate, the main metrics and the worst cases of a run."""
    numbers = numbers_of(run)
    names = ("missed", "flawed", *(["flaky"] if numbers.flaky else []), "errored")
    n = {name: getattr(numbers, name) for name in names}
    counts = [counted(run.n_cases, "case"), *(f"{found} {name}" for name, found in n.items())]
    if run.judge:
        counts.append(f"judge {'off' if run.judge == 'none' else run.judge}")
    title: Line = ((f"run {run.run_id}", "strong"), (f": {', '.join(counts)}", ""))
    return render(View(title, [*_blocks(run)]))


def _blocks(run: StoredRun) -> Iterator[Block]:
    if run.sentence:
        yield paragraph(f"gate: {run.sentence}")
    shown = [shortened(note, _NOTE_CHARS) for note in run.notes[:_NOTES_SHOWN]]
    yield from map(paragraph, _with_rest(shown, len(run.notes)))
    rows: list[Row] = [
        (key, found.n, format_value(found.mean), interval_text(found.low, found.high))
        for key, found in known_metrics(numbers_of(run)).items()
        if is_headline(key) and found.mean is not None
    ]
    yield Table(("metric", ">n", ">mean", "interval"), rows)
    worst = [
        one for one in worst_misses(run.records) if one.counted and one.scores.outcome != "passed"
    ]
    names = case_names(run.records)
    lines = [
        f"{shortened(names[one.nodeid], _ID_CHARS)}: {one.scores.outcome}"
        + part(", {}", one.scores.failure_stage)
        for one in worst[:_CASES_SHOWN]
    ]
    yield from map(paragraph, _with_rest(lines, len(worst)))


def _with_rest(lines: list[str], n: int) -> list[str]:
    return [*lines, f"and {n - len(lines)} more"] if n > len(lines) else lines
