"""``sweep.md``: the outcome of a sweep in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.analysis.sweep.configurations import value_text
from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report import sweep as words
from pytest_rageval.report.faces.markdown import escape
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.support.text import format_value


def render_sweep_markdown(outcome: SweepOutcome) -> str:
    """Render a sweep: verdict, ranking, effects, then the winner as settings."""
    return "\n".join(_lines(outcome)) + "\n"


def _lines(outcome: SweepOutcome) -> Iterator[str]:
    yield f"## rageval sweep: {words.VERDICT_WORDS[outcome.verdict]}"
    yield from ("", escape(outcome.sentence), "")
    yield f"- objective: {escape(words.weights_text(outcome.objectives))}"
    if outcome.constraints:
        yield f"- limits: {escape(', '.join(outcome.constraints))}"
    yield f"- asked: {escape(words.spent_text(outcome))}"
    yield f"- {escape(words.sensitivity_text(outcome))}"
    yield from (f"- {escape(note)}" for note in outcome.notes)
    yield from _ranking(outcome)
    yield from _effects(outcome)
    yield from ("", "### Settings", "")
    # Indented, since a fence of backticks could be closed by a parameter.
    yield from (f"    {line}" for line in words.best_toml(outcome).splitlines())


def _ranking(outcome: SweepOutcome) -> Iterator[str]:
    names = words.other_figures(outcome)
    key = outcome.objectives[0].key
    percent = f"{outcome.confidence * 100:g} % interval"
    heads = ["", "configuration", key, percent, *names, "n", "requests", "run", ""]
    front = len(outcome.objectives) > 1
    yield from ("", f"| {' | '.join(map(escape, heads))} |", "|---" * len(heads) + "|")
    for number, row in enumerate(outcome.ranking, start=1):
        notes = words.row_notes(outcome, row)
        if front and row.on_front:
            notes.append("on the Pareto front")
        cells = [
            str(number),
            escape(row.name),
            *words.main_text(outcome, row),
            *(words.figure_text(row, name) for name in names),
            str(row.n),
            str(row.requests),
            escape(row.run),
            escape("; ".join(notes)),
        ]
        yield f"| {' | '.join(cells)} |"


def _effects(outcome: SweepOutcome) -> Iterator[str]:
    if not outcome.effects:
        return
    key = outcome.objectives[0].key
    unit = unit_of(key)
    yield from ("", f"### Effect of each parameter on {escape(key)}", "")
    yield f"Over the {outcome.rungs[0].cases} cases that every configuration was asked."
    yield from ("", "| parameter | value | configurations | mean | difference |")
    yield "|---|---|---:|---:|---:|"
    for one in outcome.effects:
        yield (
            f"| {escape(one.parameter)} | {escape(value_text(one.value))} | {one.n} "
            f"| {format_value(one.mean, unit)} | {change_text(key, one.difference)} |"
        )
