"""``rageval score``: recorded responses, scored without any network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_rageval.commands.output import json_option, print_json
from pytest_rageval.report.terminal_text import clean

if TYPE_CHECKING:
    from pytest_rageval.models import Aggregate, CaseRecord

_FILE = click.Path(path_type=Path)
_LISTED = 20
"""Cases named in the text for people; ``--json`` has them all."""


@click.command("score")
@click.argument("cases", type=_FILE)
@click.argument("responses", type=_FILE)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Cutoff of the retrieval metrics; a case's own k wins.",
)
@json_option
def command(cases: Path, responses: Path, k: int, as_json: bool) -> None:
    """Score recorded RESPONSES against CASES.

    Each line of RESPONSES is {"id": case id, "response": what the ask API replied}. The exit
    code is 0 whenever the files could be read, whatever the scores.
    """
    from pytest_rageval.aggregate import aggregate
    from pytest_rageval.dataset import load_cases
    from pytest_rageval.metrics_document import aggregate_document, statistics_document
    from pytest_rageval.models import Settings
    from pytest_rageval.recorded import load_responses, score_recorded

    loaded = load_cases(cases)
    recorded = load_responses(responses, {located.case.id for located in loaded.cases})
    records = score_recorded(loaded, recorded.payloads, Settings(rootdir=".", k=k))
    totals = aggregate(records)
    for case_id in recorded.unknown:
        click.echo(clean(f"warning: no case has the id {case_id!r} of a response"), err=True)
    if as_json:
        print_json(
            {
                "cases": [
                    {
                        "id": record.case_id,
                        "outcome": record.outcome,
                        "failure_stage": record.failure_stage,
                        "metrics": dict(record.metrics),
                        "not_applicable": dict(record.not_applicable),
                    }
                    for record in records
                ],
                "aggregate_metrics": aggregate_document(totals),
                "statistics": statistics_document(totals.metrics),
            }
        )
    else:
        for line in _lines(totals, records):
            click.echo(line)


def _lines(totals: Aggregate, records: Sequence[CaseRecord]) -> Iterator[str]:
    from pytest_rageval.report.numbers import format_value
    from pytest_rageval.report.summary import interval_text

    yield (
        f"{totals.total} cases: {totals.passed} passed, {totals.missed} missed, "
        f"{totals.errored} errors, {totals.unchecked} with nothing checked"
    )
    yield f"{'metric':<32}{'n':>5}{'value':>9}{'95% CI':>12}"
    for key, summary in totals.metrics.items():
        if summary.n:
            interval = interval_text(summary.low, summary.high)
            yield f"{key:<32}{summary.n:>5}{format_value(summary.mean):>9}{interval:>12}"
    yield from _failed_lines([r for r in records if r.outcome != "passed"])


def _failed_lines(failed: Sequence[CaseRecord]) -> Iterator[str]:
    for record in failed[:_LISTED]:
        reason: str = record.failure_stage or "expectation not met"
        if record.error is not None:
            reason = f"{record.error.kind}: {record.error.message}"
        yield f"{record.outcome:<7} {record.case_id}  {clean(reason, 120)}"
    if len(failed) > _LISTED:
        yield f"... and {len(failed) - _LISTED} more"
