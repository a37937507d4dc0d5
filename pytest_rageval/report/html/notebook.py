"""Runs and comparisons as a notebook shows them: a few lines of markup without style or script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names, worst_misses
from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.run.figures import known_metrics, numbers_of
from pytest_rageval.report.view.summary import interval_text, is_headline
from pytest_rageval.support.text import counted, format_value, shortened
from pytest_rageval.values.numbers import MetricSummary
from pytest_rageval.values.run import StoredRun

_CASES_SHOWN: Final = 5
_ID_CHARS: Final = 60
_NOTES_SHOWN: Final = 3
_NOTE_CHARS: Final = 300


def run_cell(run: StoredRun) -> str:
    """Return the counts, the gate, the main metrics and the worst cases of a run."""
    numbers = numbers_of(run)
    n = {name: getattr(numbers, name) for name in ("missed", "flawed", "errored")}
    counts = [counted(run.n_cases, "case"), *(f"{found} {name}" for name, found in n.items())]
    if run.judge:
        counts.append(f"judge {'off' if run.judge == 'none' else run.judge}")
    parts = [element("p", element("b", f"run {run.run_id}"), f": {', '.join(counts)}")]
    if run.sentence:
        parts.append(element("p", f"gate: {run.sentence}"))
    parts += _list(
        (shortened(note, _NOTE_CHARS) for note in run.notes[:_NOTES_SHOWN]), len(run.notes)
    )
    head = ("metric", "n", "mean", "interval")
    parts.append(_table(head, (_metric(k, v) for k, v in known_metrics(numbers).items())))
    worst = [
        one for one in worst_misses(run.records) if one.counted and one.scores.outcome != "passed"
    ]
    names = case_names(run.records)
    lines = (
        f"{shortened(names[one.nodeid], _ID_CHARS)}: {one.scores.outcome}"
        + (f", {one.scores.failure_stage}" if one.scores.failure_stage else "")
        for one in worst[:_CASES_SHOWN]
    )
    parts += _list(lines, len(worst))
    return element("div", *parts)


def _metric(key: str, found: MetricSummary) -> tuple[str, ...]:
    if not is_headline(key) or found.mean is None:
        return ()
    interval = interval_text(found.low, found.high)
    return key, str(found.n), format_value(found.mean), interval


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Element:
    """Return a table; empty rows are left out, and a table without rows is empty."""
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows if row]
    if not body:
        return Element("")
    names = element("tr", *(element("th", name) for name in head))
    return element("table", element("thead", names), element("tbody", *body))


def _list(lines: Iterable[str], n: int) -> Iterator[Element]:
    shown = [element("li", line) for line in lines]
    if n > len(shown):
        shown.append(element("li", f"and {n - len(shown)} more"))
    if shown:
        yield element("ul", *shown)
