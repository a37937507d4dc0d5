"""Forecast of a sweep in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_rageval.analysis.sweep.outcome import ObjectiveRow
from pytest_rageval.report.sweep import GROUP_WORDS, weights_text
from pytest_rageval.support.text import clean, counted


def plan_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Lay out the forecast of a sweep, the document of ``engine.sweep.forecast``."""
    grid, asked = document["requests_grid"], document["requests"]
    held = f", {document['holdout']} of them held out" if document["holdout"] else ""
    baseline = ", ".join(f"{clean(k)}={clean(str(v))}" for k, v in document["baseline"].items())
    n = document["rungs"][0]["configurations"]
    up_to = "up to " if n > len(document["configurations"]) else ""
    goal = weights_text([ObjectiveRow(**one) for one in document["objectives"]])
    yield f"goal            {clean(goal)}"
    yield f"configurations  {up_to}{n}, baseline {baseline}"
    yield f"cases           {document['cases']}{held}"
    for number, rung in enumerate(document["rungs"], start=1):
        yield (
            f"rung {number:<10} {counted(rung['configurations'], 'configuration')} over "
            f"{counted(rung['cases'], 'case')}"
        )
    yield f"requests        {asked:,} of {grid:,} of the whole grid ({asked / grid:.0%})"
    yield f"index builds    {document['index_builds']}"
    cost = document["judge_cost_usd"]
    price = "costs nothing"
    if cost is None:
        price = "what that costs is not known, as no stored run has this judge"
    elif cost:
        price = f"about ${cost:,.2f}, as the last run of this judge"
    yield (
        f"judge           {clean(document['judge'])}, "
        f"{counted(document['judged_answers'], 'answer')}, {price}"
    )
    found = document["sensitivity"]
    yield f"visible         differences of {found['typical']:.1%}, with 80 % power as usual"
    if found["least"] is not None:
        grouped = found["n"] < found["n_cases"]
        yield (
            f"                {found['least_cases']} of {found['n']} "
            f"{'groups of cases' if grouped else 'cases'} ({found['least']:.1%}) at the least, "
            "all changed for the better"
        )
        if grouped:
            yield f"                groups of cases: {GROUP_WORDS}"
    yield from (clean(note) for note in document["notes"])
    yield "nothing was asked"
