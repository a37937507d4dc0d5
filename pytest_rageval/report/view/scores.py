"""Tables for a terminal of commands that score or judge answers again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.report.view.blocks import Block, CellValue, Fact, Row, Table, paragraph
from pytest_rageval.report.view.summary import (
    PARTS,
    context_facts,
    interval_text,
    parts_of,
    stage_counts,
)
from pytest_rageval.support.text import clean, counted, part
from pytest_rageval.values.numbers import Aggregate, MetricSummary, counted_total
from pytest_rageval.values.record import CaseRecord

SHOWN_FAILURES: Final = 20


@dataclass(slots=True)
class Failures:
    """Records that did not pass: the first of them, and the number of the others."""

    shown: list[CaseRecord] = field(default_factory=list)
    more: int = 0
    """Number of those that are not shown."""

    def add(self, record: CaseRecord) -> None:
        """Take a record, if it did not pass."""
        if record.scores.outcome != "passed":
            if len(self.shown) < SHOWN_FAILURES:
                self.shown.append(record)
            else:
                self.more += 1

    def extend(self, other: Failures) -> None:
        """Take those of another part of the same cases, in the order of a whole run."""
        found = sorted(
            [*self.shown, *other.shown], key=lambda one: (one.repeat > 0, one.lineno, one.repeat)
        )
        self.shown = found[:SHOWN_FAILURES]
        self.more += other.more + len(found) - len(self.shown)


def score_lines(totals: Aggregate, failures: Failures, notes: Sequence[str]) -> Iterator[Block]:
    """Yield the tables of scored answers, notes and the cases that did not pass."""
    yield paragraph(
        f"{counted_total(totals)}: {totals.passed} passed, {part('{} flaky, ', totals.flaky)}"
        f"{totals.missed} missed, "
        f"{totals.flawed} flawed, {counted(totals.errored, 'error')}, {totals.unchecked} with "
        "nothing checked"
    )
    if totals.stages:
        yield Fact("stages", ", ".join(stage_counts(totals)))
    rows: list[Row] = []
    for key, summary in totals.metrics.items():
        if summary.n or summary.n_error:
            parts = {f"  {name}": part for name, part in parts_of(totals, key).items()}
            rows += [_metric_row(name, one) for name, one in {key: summary, **parts}.items()]
    yield Table(("metric", ">n", ">n/a", ">errors", ">value", ">95% CI"), rows)
    yield _abstentions(totals)
    yield from context_facts(totals)
    yield _reranking(totals)
    if totals.judge_tokens:
        yield Fact("cost", _spent(totals.cost_usd, totals.judge_tokens))
    for warning in (*notes, *totals.warnings, *totals.target_warnings):
        yield Fact("note", warning)
    for record in failures.shown:
        reason: str = record.scores.failure_stage or "expectation not met"
        if record.error is not None:
            reason = f"{record.error.kind}: {record.error.message}"
        which = part(" (repeat {})", record.repeat)
        yield Fact(record.scores.outcome, f"{record.name}{which}  {clean(reason, 120)}")
    if failures.more:
        yield f"... and {failures.more} more"


def _metric_row(name: str, summary: MetricSummary) -> Row:
    value = "no data" if summary.mean is None else summary.mean
    counts = (summary.n, summary.n_not_applicable, summary.n_error)
    return (name, *counts, value, interval_text(summary.low, summary.high))


def _abstentions(totals: Aggregate) -> Table:
    names = ("abstained", "answered", "error", "unknown")
    counts = totals.abstention.items()
    rows: list[Row] = [(name, *(cells[key] for key in names)) for name, cells in counts]
    if not any(cells["abstained"] + cells["answered"] for cells in totals.abstention.values()):
        rows = []
    return Table(("cases", ">abstained", ">answered", ">errors", ">unknown"), rows)


def _reranking(totals: Aggregate) -> Table:
    rows: list[Row] = []
    for key, found in totals.rerank.items():
        interval = interval_text(found.low, found.high)
        delta, moved = f"{found.delta:+.3f}", f"{found.improved}/{found.worsened}"
        rows.append((key, found.n, found.before, found.after, delta, interval, moved))
    return Table(("reranking", ">n", ">before", ">after", ">delta", ">95% CI", ">+/-"), rows)


def verdict_lines(document: Mapping[str, Any], reliability: Sequence[str]) -> Iterator[Block]:
    """Yield the table of answers that were judged again."""
    yield paragraph(
        f"run {document['run_id']}   judge {document['judge']}   "
        f"{document['verdicts']} verdicts, {document['failures']} failed"
    )
    apart = document["correctness_by_reference"] or {}
    rows: list[Row] = []
    for key, found in document["statistics"].items():
        before = document["before"].get(key, {}).get("mean")
        rows.append((*_judged_row(key, found), before))
        if key == "correctness":
            rows += [(*_judged_row(f"  {PARTS[name]}", one), "") for name, one in apart.items()]
    yield Table(("metric", ">n", ">errors", ">value", ">95% CI", ">before"), rows)
    found = document["outcomes"]
    counts = (f"{found[name]} {name}" for name in CASE_OUTCOMES.values() if found[name])
    yield Fact("cases", ", ".join(counts))
    for line in reliability:
        yield Fact("judge", line)
    if usage := document["usage"]:
        tokens = usage["prompt_tokens"] + usage["completion_tokens"]
        yield Fact("cost", _spent(usage["cost_usd"], tokens))
    yield Fact("saved", document["saved"])


def _judged_row(name: str, found: Mapping[str, Any]) -> tuple[CellValue, ...]:
    interval = interval_text(found["low"], found["high"])
    return name, found["n"], found["n_error"], found["mean"], interval


def _spent(usd: float | None, tokens: int) -> str:
    return f"{'price unknown' if usd is None else f'${usd:.4f}'}, {tokens} tokens"
