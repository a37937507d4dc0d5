"""A sweep: verdict, ranking, effect of each parameter, and the winner as settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.analysis.sweep.outcome import ObjectiveRow, Ranked, SweepOutcome
from pytest_rageval.analysis.sweep.plan import value_text
from pytest_rageval.analysis.sweep.verdict import SweepVerdict
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.view.blocks import (
    Block,
    Cell,
    Code,
    Fact,
    Line,
    Row,
    Scale,
    Status,
    Table,
    View,
    paragraph,
)
from pytest_rageval.report.view.gate import smallest_seen
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.support.text import clean, counted, cut, format_value, part
from pytest_rageval.values.sweep import Value

VERDICTS: Final[Mapping[SweepVerdict, tuple[str, Status]]] = {
    "better": ("BETTER", "good"),
    "no_clear_winner": ("NO CLEAR WINNER", "warn"),
    "worse": ("WORSE", "bad"),
}
_SETTINGS: Final = ("k", "folder_mode", "vector_weight", "lexical_weight")
"""Parameters of questions that are settings of their own."""
GROUP_WORDS: Final = "those of one conversation or about one document count as one"
_REASON_CHARS: Final = 160
_SHOWN: Final = 20


def view_of_sweep(outcome: SweepOutcome) -> View:
    """Return everything that is shown of a sweep, its verdict first."""
    word, status = VERDICTS[outcome.verdict]
    title: Line = ((f"{word}:", status), (f" {clean(outcome.sentence)}", ""))
    return View(title, tuple(_blocks(outcome)))


def _blocks(outcome: SweepOutcome) -> Iterator[Block]:
    yield from (Fact(name.lower(), text) for name, text in sweep_facts(outcome))
    for note in outcome.notes:
        yield Fact("note", note, "warn", "warn")
    rows = [_ranked(outcome, number, one) for number, one in enumerate(outcome.ranking, start=1)]
    key = outcome.objectives[0].key
    percent = f"{outcome.confidence * 100:g} % interval"
    yield Table(
        ("", f">{key}", f">{percent}", ">n", ">asked", "configuration", "run", "scale"),
        rows[:_SHOWN],
        more=rows[_SHOWN:],
        wide=("n", "run", "scale"),
    )
    if outcome.effects:
        cases = counted(outcome.rungs[0].cases, "case")
        longest = max(abs(one.difference) for one in outcome.effects)
        yield Fact("effects", f"on {key}, over the {cases} that every configuration was asked")
        values: list[Row] = [
            (
                one.parameter,
                value_text(one.value),
                one.n,
                Cell(one.mean, unit_of(key)),
                change_text(key, one.difference),
                Scale(start=0.5, value=0.5 + 0.5 * one.difference / (longest or 1.0)),
            )
            for one in outcome.effects
        ]
        names = ("parameter", "value", ">configurations", ">mean", ">difference", "scale")
        yield Table(names, values, wide=("scale",))
    yield Fact("settings", "for pyproject.toml, as in best.toml")
    yield Code(best_toml(outcome))


def sweep_facts(outcome: SweepOutcome) -> Iterator[tuple[str, str]]:
    """Yield what a sweep was for, what it cost and what it can show, by name."""
    yield "Goal", weights_text(outcome.objectives)
    yield "Limits", ", ".join(outcome.constraints) or "none"
    yield "Asked", _spent_text(outcome)
    yield "Can show", _sensitivity_text(outcome)


def _ranked(outcome: SweepOutcome, number: int, row: Ranked) -> Row:
    """Return the row of a configuration; its name is followed by its other figures."""
    status: Status = "good" if row.key == outcome.winner_key else ""
    status = "weak" if row.cut or row.broken else status
    notes = row_notes(outcome, row)
    for name in other_figures(outcome):
        key, *limit = name.split(" ", 1)
        figure = f"{key} {figure_text(row, name)}"
        notes.append(f"{figure} ({limit[0]})" if limit else figure)
    if len(outcome.objectives) > 1 and row.on_front:
        notes.append("on the Pareto front")
    figures = (str(number), *main_text(outcome, row), str(row.n), str(row.requests))
    noted: Line = (("\n", ""), ("; ".join(notes), "weak")) if notes else ()
    return (*(((figure, status),) for figure in figures), ((row.name, status), *noted), row.run,
            _scale_of(outcome, row))  # fmt: skip


def _scale_of(outcome: SweepOutcome, row: Ranked) -> Scale | str:
    """Return the main objective between the ends of all intervals; empty: it has none."""
    found = [v for one in outcome.ranking for v in (one.objective, *one.interval) if v is not None]
    if row.objective is None:
        return ""
    low, wide = min(found), (max(found) - min(found)) or 1.0
    left, right = row.interval
    ends = None if left is None or right is None else ((left - low) / wide, (right - low) / wide)
    return Scale(value=(row.objective - low) / wide, interval=ends)


def other_figures(outcome: SweepOutcome) -> list[str]:
    """Return the names of the figures besides the main objective, each figure once."""
    keys = [one.key for one in outcome.objectives]
    limits = [name for name in outcome.constraints if name.rsplit(" ", 2)[0] not in keys]
    return [*keys[1:], *limits]


def figure_text(row: Ranked, name: str) -> str:
    """Return a figure for display; ``-`` where it was not measured."""
    return format_value(row.figures.get(name), unit_of(name))


def main_text(outcome: SweepOutcome, row: Ranked) -> tuple[str, str]:
    """Return the main objective and its interval for display; the interval may be empty."""
    unit = unit_of(outcome.objectives[0].key)
    low, high = row.interval
    ends = ""
    if low is not None and high is not None:
        ends = f"{format_value(low, unit)} to {format_value(high, unit)}"
    return format_value(row.objective, unit), ends


def row_notes(outcome: SweepOutcome, row: Ranked) -> list[str]:
    """Return remarks on a configuration besides its figures."""
    notes = []
    if row.key == outcome.winner_key:
        notes.append("winner")
    if row.baseline:
        notes.append("baseline")
    if row.held is not None:
        held = format_value(row.held, unit_of(outcome.objectives[0].key))
        notes.append(f"{held} over the held-out cases")
    if row.cut:
        why = "a tie with one that went on" if row.tie else row.cut
        notes.append(f"cut after {outcome.rungs[row.rung - 1].cases} cases: {why}")
    if row.broken and row.objective is not None:
        notes.append(f"cannot win: {'; '.join(row.broken)}")
    if row.n_error:
        why = part(": {}", cut(row.error or "", _REASON_CHARS))
        notes.append(f"no answer in {counted(row.n_error, 'case')}{why}")
    return notes


def _spent_text(outcome: SweepOutcome) -> str:
    """Return the number of requests, and their share of those of the grid."""
    share = outcome.requests_spent / outcome.requests_grid if outcome.requests_grid else 1.0
    rungs = ", ".join(f"{one.configurations} on {one.cases} cases" for one in outcome.rungs)
    built = part(", {:index build}", outcome.builder and outcome.index_builds)
    held = part(", then the best on {} held-out cases", outcome.holdout)
    return (
        f"{outcome.requests_spent:,} of the grid's {outcome.requests_grid:,} requests "
        f"({share * 100:.0f} %){built}; {outcome.method}: {rungs}{held}"
    )


def _sensitivity_text(outcome: SweepOutcome) -> str:
    """Return the smallest differences that the verdict could show."""
    found = outcome.sensitivity
    cases, unit = counted(found.n_cases, "case"), "case"
    if found.n < found.n_cases:
        cases, unit = f"{cases} in {counted(found.n, 'group')} ({GROUP_WORDS})", "group"
    least = (
        "no difference of a 0/1 metric"
        if found.least is None
        else f"a 0/1 metric has to get better in at least {counted(found.least_cases, unit)}"
    )
    return f"{smallest_seen(cases, 'difference', found.typical)}; {least}"


def weights_text(objectives: Sequence[ObjectiveRow]) -> str:
    """Return the objectives, the main one first with its weights."""
    parts = []
    for one in objectives:
        weights = one.weights or {}
        sums = " + ".join(f"{weight:g} {key}" for key, weight in weights.items())
        better = "" if one.direction == "higher" else ", lower is better"
        parts.append(f"{one.key}{part(' = {}', sums)}{better}")
    return "; ".join(parts)


# --- settings to paste -----------------------------------------------------------------------


def best_toml(outcome: SweepOutcome) -> str:
    """Return the winner as lines of pyproject.toml; comments where nothing won.

    Among them are the settings of a configuration that is better than the baseline, though not
    than the runner-up.
    """
    merge = "# Lines for pyproject.toml; merge them into its tables of the same names."
    rows = {one.key: one for one in outcome.ranking}
    if outcome.winner_key in rows:
        lines = [f"# {clean(outcome.sentence)}", merge]
        return "\n".join([*lines, *_settings(outcome, rows[outcome.winner_key])]) + "\n"
    lines = [f"# {VERDICTS[outcome.verdict][0].capitalize()}: {clean(outcome.sentence)}"]
    for test in outcome.tests:
        if test.role == "baseline" and test.proven:
            lines += ["# To use the first one all the same, uncomment what follows.", merge]
            lines += [f"# {line}".rstrip() for line in _settings(outcome, rows[test.candidate])]
    return "\n".join(lines) + "\n"


def _settings(outcome: SweepOutcome, row: Ranked) -> Iterator[str]:
    params = {name: value for name, value in row.query.items() if name not in _SETTINGS}
    if row.query:
        yield "[tool.rageval]"
    yield from (f"{name} = {_toml(row.query[name])}" for name in _SETTINGS if name in row.query)
    if params:
        yield f"params = {_table(params)}"
    if row.index and outcome.builder == "embedded":
        yield from ("", "[tool.rageval.target]", f"embedded = {_table(row.index)}")
    elif row.index:
        yield from ("", "# The index is built with:")
        yield from (f"#   {clean(name)} = {_toml(value)}" for name, value in row.index.items())


def _table(values: Mapping[str, Value]) -> str:
    return f"{{ {', '.join(f'{_key(name)} = {_toml(value)}' for name, value in values.items())} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else _toml(name)


def _toml(value: Value) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return '"' + "".join(_escaped(character) for character in value) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


# --- the forecast ------------------------------------------------------------------------------


def plan_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Lay out the forecast of a sweep, the document of ``engine.sweep.runner``."""
    yield Table(("", ""), [*_forecast(document)])
    yield from map(paragraph, (*document["notes"], "nothing was asked"))


def _forecast(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    grid, asked = document["requests_grid"], document["requests"]
    held = f", {document['holdout']} of them held out" if document["holdout"] else ""
    baseline = ", ".join(f"{name}={value}" for name, value in document["baseline"].items())
    n = document["rungs"][0]["configurations"]
    up_to = "up to " if n > len(document["configurations"]) else ""
    yield "goal", weights_text([ObjectiveRow(**one) for one in document["objectives"]])
    yield "configurations", f"{up_to}{n}, baseline {baseline}"
    yield "cases", f"{document['cases']}{held}"
    for number, rung in enumerate(document["rungs"], start=1):
        configurations = counted(rung["configurations"], "configuration")
        yield f"rung {number}", f"{configurations} over {counted(rung['cases'], 'case')}"
    yield "requests", f"{asked:,} of {grid:,} of the whole grid ({asked / grid:.0%})"
    yield "index builds", str(document["index_builds"])
    cost, n_judged = document["judge_cost_usd"], document["judged_answers"]
    price = "costs nothing"
    if cost is None:
        price = "what that costs is not known, as no stored run has this judge"
    elif cost:
        price = f"about ${cost:,.2f}, as the last run of this judge"
    answers = f"{n_judged:,} answer{'' if n_judged == 1 else 's'}"
    yield "judge", f"{document['judge']}, {answers}, {price}"
    found = document["sensitivity"]
    yield "visible", smallest_seen("these cases", "difference", found["typical"])
    if found["least"] is not None:
        grouped = found["n"] < found["n_cases"]
        of = f"{found['n']} {'groups of cases' if grouped else 'cases'}"
        share = f"{found['least_cases']} of {of} ({found['least']:.1%})"
        yield "", f"a 0/1 metric has to get better in at least {share}"
        if grouped:
            yield "", f"groups of cases: {GROUP_WORDS}"
