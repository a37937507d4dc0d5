"""Forecast of a sweep in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_rageval.analysis.sweep.outcome import ObjectiveRow
from pytest_rageval.report.view.blocks import Block, Table, paragraph
from pytest_rageval.report.view.gate import smallest_seen
from pytest_rageval.report.view.sweep import GROUP_WORDS, weights_text
from pytest_rageval.support.text import counted


def plan_lines(document: Mapping[str, Any]) -> Iterator[Block]:
    """Lay out the forecast of a sweep, the document of ``engine.sweep.forecast``."""
    yield Table(("", ""), [*_rows(document)])
    yield from map(paragraph, (*document["notes"], "nothing was asked"))


def _rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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
