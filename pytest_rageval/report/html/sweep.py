"""``sweep.html``: the outcome of a sweep as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.sweep.configurations import value_text
from pytest_rageval.analysis.sweep.outcome import SweepOutcome
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html import sweep_charts as charts
from pytest_rageval.report.html.svg import for_both_widths
from pytest_rageval.report.view import sweep as words
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.support.text import format_value

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

    key = outcome.objectives[0].key
    return render_page(
        "sweep/page.html.j2",
        styles=("design.css",),
        outcome=outcome,
        name=name,
        verdict=words.VERDICTS[outcome.verdict][0],
        verdict_class=_CLASSES[outcome.verdict],
        facts=[*words.sweep_facts(outcome), ("Seed", str(outcome.seed))],
        other_names=words.other_figures(outcome),
        rows=[
            (
                row,
                *words.main_text(outcome, row),
                [words.figure_text(row, other) for other in words.other_figures(outcome)],
                words.row_notes(outcome, row),
            )
            for row in outcome.ranking
        ],
        effects=[
            (
                one,
                value_text(one.value),
                format_value(one.mean, unit_of(key)),
                change_text(key, one.difference),
            )
            for one in outcome.effects
        ],
        reports=reports or {},
        ranking=for_both_widths(charts.ranking_chart(outcome)),
        pareto=charts.pareto_charts(outcome),
        effect_chart=for_both_widths(charts.effect_charts(outcome)),
        settings=words.best_toml(outcome),
    )
