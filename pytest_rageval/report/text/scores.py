"""Tables for a terminal of commands that score or judge answers again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import CASE_OUTCOMES
from pytest_rageval.report.text.summary import PARTS, interval_text, parts_of, stage_counts
from pytest_rageval.support.text import clean, counted, format_value
from pytest_rageval.values.numbers import Aggregate, MetricSummary
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


def score_lines(totals: Aggregate, failures: Failures, notes: Sequence[str]) -> Iterator[str]:
    """Yield the tables of scored answers, notes and the cases that did not pass."""
    yield (
        f"{counted(totals.total, 'case')}: {totals.passed} passed, {totals.missed} missed, "
        f"{totals.flawed} flawed, {counted(totals.errored, 'error')}, {totals.unchecked} with "
        "nothing checked"
    )
    if totals.stages:
        yield f"stages  {', '.join(stage_counts(totals))}"
    yield f"{'metric':<32}{'n':>7}{'n/a':>7}{'errors':>7}{'value':>9}{'95% CI':>13}"
    for key, summary in totals.metrics.items():
        if summary.n or summary.n_error:
            yield _metric_line(clean(key), summary)
            for name, part in parts_of(totals, key).items():
                yield _metric_line(f"  {name}", part)
    yield from _abstention_lines(totals)
    yield from _rerank_lines(totals)
    if totals.judge_tokens:
        yield f"cost    {_spent(totals.cost_usd, totals.judge_tokens)}"
    for warning in (*notes, *totals.warnings, *totals.target_warnings):
        yield f"note    {clean(warning)}"
    for record in failures.shown:
        reason: str = record.scores.failure_stage or "expectation not met"
        if record.error is not None:
            reason = f"{record.error.kind}: {record.error.message}"
        which = f" (repeat {record.repeat})" if record.repeat else ""
        yield f"{record.scores.outcome:<7} {clean(record.name)}{which}  {clean(reason, 120)}"
    if failures.more:
        yield f"... and {failures.more} more"


def _metric_line(name: str, summary: MetricSummary) -> str:
    value = "no data" if summary.mean is None else format_value(summary.mean)
    return (
        f"{name:<32}{summary.n:>7}{summary.n_not_applicable:>7}{summary.n_error:>7}"
        f"{value:>9} {interval_text(summary.low, summary.high):>12}"
    )


def _abstention_lines(totals: Aggregate) -> Iterator[str]:
    counts = totals.abstention
    if not any(cells["abstained"] + cells["answered"] for cells in counts.values()):
        return
    yield f"{'cases':<32}{'abstained':>10}{'answered':>10}{'errors':>8}{'unknown':>9}"
    for name, cells in counts.items():
        yield (
            f"{name:<32}{cells['abstained']:>10}{cells['answered']:>10}"
            f"{cells['error']:>8}{cells['unknown']:>9}"
        )


def _rerank_lines(totals: Aggregate) -> Iterator[str]:
    if not totals.rerank:
        return
    yield f"{'reranking':<28}{'n':>7}{'before':>8}{'after':>8}{'delta':>8}{'95% CI':>13}{'+/-':>8}"
    for key, found in totals.rerank.items():
        moved = f"{found.improved}/{found.worsened}"
        yield (
            f"{key:<28}{found.n:>7}{format_value(found.before):>8}{format_value(found.after):>8}"
            f"{found.delta:>+8.3f}{interval_text(found.low, found.high):>13}{moved:>8}"
        )


def verdict_lines(document: Mapping[str, Any], reliability: Sequence[str]) -> Iterator[str]:
    """Yield the table of answers that were judged again."""
    yield (
        f"run {clean(document['run_id'])}   judge {clean(document['judge'])}   "
        f"{document['verdicts']} verdicts, {document['failures']} failed"
    )
    yield f"{'metric':<28}{'n':>6}{'errors':>8}{'value':>9}{'95% CI':>13}{'before':>9}"
    apart = document["correctness_by_reference"] or {}
    for key, found in document["statistics"].items():
        before = document["before"].get(key, {}).get("mean")
        yield f"{_judged_line(clean(key), found)}{format_value(before):>9}"
        if key == "correctness":
            yield from (_judged_line(f"  {PARTS[name]}", part) for name, part in apart.items())
    found = document["outcomes"]
    counts = (f"{found[name]} {name}" for name in CASE_OUTCOMES.values() if found[name])
    yield f"cases    {', '.join(counts)}"
    for line in reliability:
        yield f"judge    {clean(line)}"
    if cost := document["cost"]:
        tokens = cost["judge_prompt_tokens"] + cost["judge_completion_tokens"]
        yield f"cost     {_spent(cost['judge_cost_usd'], tokens)}"
    yield f"saved    {clean(document['saved'])}"


def _judged_line(name: str, found: Mapping[str, Any]) -> str:
    return (
        f"{name:<28}{found['n']:>6}{found['n_error']:>8}"
        f"{format_value(found['mean']):>9}{interval_text(found['low'], found['high']):>13}"
    )


def _spent(usd: float | None, tokens: int) -> str:
    return f"{'price unknown' if usd is None else f'${usd:.4f}'}, {tokens} tokens"
