"""``sweep.html``: the outcome of a sweep as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.charts import ScatterPoint, scatter
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.parts import NO_LINKS, parts
from pytest_rageval.report.html.run.panels import OverviewSection
from pytest_rageval.report.view.blocks import Row, Table
from pytest_rageval.report.view.sweep import VERDICTS, view_of_sweep
from pytest_rageval.support.text import format_value
from pytest_rageval.values.words import YES

_CLASSES: Final = {"better": "pass", "no_clear_winner": "not_evaluated", "worse": "fail"}


def render_sweep(
    outcome: SweepOutcome, *, name: str = "sweep", reports: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the page in pieces; every text is escaped and its hidden characters made visible.

    Args:
        outcome: of the sweep.
        name: of its folder.
        reports: address of the report of each run that has one, by run.
    """
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import render_page

    return render_page(
        "sweep/page.html.j2",
        name=name,
        verdict=VERDICTS[outcome.verdict][0],
        verdict_class=_CLASSES[outcome.verdict],
        sentence=outcome.sentence,
        blocks_of_view=[*parts(view_of_sweep(outcome).blocks, reports or NO_LINKS, "Sweep")],
        sections=[*_sections(outcome)],
    )


def _sections(outcome: SweepOutcome) -> Iterator[OverviewSection]:
    if charts := pareto_charts(outcome):
        yield OverviewSection(
            id="pareto",
            title="Pareto front",
            legend="Filled points are on the front: no other finalist is better in one objective "
            "without being worse in another. Numbers are ranks, left out where points are too "
            "close.",
            charts=charts,
        )
    rows: list[Row] = [
        (str(number), rung.configurations, rung.cases, YES[rung.judged])
        for number, rung in enumerate(outcome.rungs, start=1)
    ]
    yield OverviewSection(
        id="rungs",
        title="Rungs",
        legend="Each rung asks more cases of fewer configurations; the baseline is in all of them.",
        parts=[*parts([Table(("rung", ">configurations", ">cases", "judged"), rows)])],
    )


def pareto_charts(outcome: SweepOutcome) -> list[Element]:
    """Draw the main objective against each other one; numbers are ranks, front points filled."""
    main, *others = (one.key for one in outcome.objectives)
    found = []
    for number, other in enumerate(others, start=1):
        points = [
            ScatterPoint(
                name=str(rank),
                x=x,
                y=y,
                text=f"{rank}{' (front)' if row.on_front else ''}: {main} {format_value(y)}, "
                f"{other} {format_value(x, unit_of(other))}",
                filled=row.on_front,
            )
            for rank, row in enumerate(outcome.ranking, start=1)
            if (x := row.figures.get(other)) is not None
            and (y := row.figures.get(main)) is not None
        ]
        if points:
            title = f"{main} against {other}; filled: on the Pareto front"
            show = (lambda v, k=other: _tick(v, k)), (lambda v, k=main: _tick(v, k))
            found.append(scatter(f"pareto-{number}", title, points, (other, main), show))
    return found


def _tick(value: float, key: str) -> str:
    return f"{value:.0f}" if unit_of(key) in {"ms", "count"} else f"{value:.3f}"
