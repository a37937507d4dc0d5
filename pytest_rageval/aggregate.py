"""From the records of a run to its numbers: means with their counts, intervals and groups.

Every sum is exact (``math.fsum``) and every case is taken in the order of its file and id, so
that serial and parallel runs agree to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from pytest_rageval.metrics.indexing import indexing_summary
from pytest_rageval.metrics.registry import METRICS, MetricInfo
from pytest_rageval.metrics_document import metrics_document
from pytest_rageval.models import Aggregate, CaseRecord, MetricSummary
from pytest_rageval.operational import (
    attempt_status,
    judge_verdicts,
    operational_rates,
    phase_latency,
    record_cost,
    record_latency,
)
from pytest_rageval.stats.intervals import clustered_se, fmean, mean_interval

__all__ = [
    "CaseGroup",
    "CaseValue",
    "aggregate",
    "case_values",
    "group_repeats",
    "headings_reported",
    "metrics_document",
    "summarise_metric",
]

ValueStatus = Literal["scored", "not_applicable", "error"]
CaseOutcome = Literal["passed", "missed", "error", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseValue:
    """One metric of one case over all of its repeats."""

    case_id: str
    file: str = ""
    value: float | None = None
    """Mean of the scored repeats; None unless ``status`` is ``scored``."""
    status: ValueStatus
    cluster: str | None = None
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """A case with its repeats, which are never extra cases."""

    records: tuple[CaseRecord, ...]
    """At least one, by repeat."""

    @property
    def first(self) -> CaseRecord:
        """The record that speaks for what all repeats share: id, tags, category, cluster."""
        return self.records[0]

    @property
    def outcome(self) -> CaseOutcome:
        """``error`` if every repeat erred, else ``missed`` if any missed, else ``passed``.

        ``unchecked`` if nothing could be scored in any of them.
        """
        finished = [r for r in self.records if r.outcome != "error"]
        if not finished:
            return "error"
        if any(r.outcome == "missed" for r in finished):
            return "missed"
        return "unchecked" if all(r.unchecked for r in finished) else "passed"

    def value(self, key: str) -> CaseValue:
        """The mean of the case's scored repeats; an error if none was scored and one erred."""
        values = [v for r in self.records if (v := r.metrics.get(key)) is not None]
        status: ValueStatus = "scored"
        if not values:
            erred = any(key in r.metrics and key not in r.not_applicable for r in self.records)
            status = "error" if erred else "not_applicable"
        return CaseValue(
            case_id=self.first.case_id,
            file=self.first.file,
            value=fmean(values),
            status=status,
            cluster=self.first.cluster,
            repeats=len(self.records),
        )


def group_repeats(records: Iterable[CaseRecord]) -> list[CaseGroup]:
    """Records by case, in the order of file, case id and repeat."""
    cases: dict[tuple[str, str], list[CaseRecord]] = {}
    for record in sorted(records, key=lambda r: (r.file, r.case_id, r.repeat)):
        cases.setdefault((record.file, record.case_id), []).append(record)
    return [CaseGroup(records=tuple(repeats)) for repeats in cases.values()]


def case_values(records: Iterable[CaseRecord], key: str) -> list[CaseValue]:
    """One value per case of the metric ``key``, in the order of file and case id."""
    return [case.value(key) for case in group_repeats(records)]


def summarise_metric(
    values: Sequence[CaseValue],
    info: MetricInfo | None = None,
    *,
    worst: float | None = None,
    confidence: float = 0.95,
) -> MetricSummary:
    """Macro mean over scored cases with its counts and intervals (METRICS 0.4, 2.2).

    Args:
        values: one per case.
        info: scale and direction; None: an unbounded metric that nothing is known of.
        worst: value that stands for an error in ``mean_errors_as_worst``; by default the
            metric's own.
        confidence: of the intervals, 0 to 1.

    >>> scored = [CaseValue(case_id=c, value=v, status="scored") for c, v in [("a", 1), ("b", 0.5)]]
    >>> failed = CaseValue(case_id="c", status="error")
    >>> summary = summarise_metric([*scored, failed], METRICS["recall_at_k"])
    >>> summary.mean, summary.n, summary.n_error, summary.mean_errors_as_worst
    (0.75, 2, 1, 0.5)
    """
    scored = [(v.value, v.cluster) for v in values if v.value is not None]
    xs, clusters = [x for x, _ in scored], [cluster for _, cluster in scored]
    n_error = sum(v.status == "error" for v in values)
    lo, hi = info.scale if info is not None else (None, None)
    binary = info is not None and info.binary and all(v.repeats == 1 for v in values)
    if worst is None and info is not None:
        worst = info.worst
    as_worst = None
    if n_error and worst is not None:
        as_worst = math.fsum([*xs, n_error * worst]) / (len(xs) + n_error)
    two, one = (
        mean_interval(
            xs,
            lo=lo,
            hi=hi,
            binary=binary,
            clusters=clusters,
            confidence=confidence,
            sided=sided,
        )
        for sided in (2, 1)
    )
    return MetricSummary(
        n=len(xs),
        n_not_applicable=sum(v.status == "not_applicable" for v in values),
        n_error=n_error,
        mean=fmean(xs),
        median=float(median(xs)) if xs else None,
        mean_errors_as_worst=as_worst,
        low=two.low,
        high=two.high,
        low_one_sided=one.low,
        high_one_sided=one.high,
        se=clustered_se(xs, clusters).se,
        method=two.method,
        clusters=two.clusters,
    )


def _groups_of(case: CaseGroup) -> dict[str, Sequence[str]]:
    """The groups of every breakdown that a case counts in; a case counts under each tag."""
    first = case.first
    return {
        "category": [first.category],
        "tag": sorted(set(first.tags)),
        "difficulty": [first.difficulty] if first.difficulty is not None else [],
        "answerable": ["true" if first.answerable else "false"],
        "vault": sorted(set(first.vaults)),
    }


def _members(cases: Sequence[CaseGroup]) -> dict[str, dict[str, list[int]]]:
    members: dict[str, dict[str, list[int]]] = {
        name: {} for name in ("category", "tag", "difficulty", "answerable", "vault")
    }
    for i, case in enumerate(cases):
        for breakdown, groups in _groups_of(case).items():
            for group in groups:
                members[breakdown].setdefault(group, []).append(i)
    return {name: dict(sorted(groups.items())) for name, groups in members.items()}


def _rates(cases: Sequence[CaseGroup], outcomes: Mapping[CaseOutcome, int]) -> dict[str, Any]:
    attempts = operational_rates([attempt_status(r) for r in c.records] for c in cases)
    checked = outcomes["passed"] + outcomes["missed"] + outcomes["error"]
    rates = {
        "error_rate": attempts.error_rate,
        "timeout_rate": attempts.timeout_rate,
        "empty_response_rate": attempts.empty_response_rate,
        "pass_rate": outcomes["passed"] / checked if checked else None,
    }
    failed, needed = judge_verdicts(r for c in cases for r in c.records)
    if needed:
        rates["judge_error_rate"] = failed / needed
    repeated = [c for c in cases if len(c.records) > 1]
    if repeated:
        flaky = [len({r.outcome == "passed" for r in c.records}) > 1 for c in repeated]
        rates["flaky_rate"] = sum(flaky) / len(flaky)
    return rates


def _indexing(cases: Sequence[CaseGroup]) -> tuple[dict[str, Any], list[str]]:
    """The coverage that the last case reports, and warnings about it."""
    reported = [
        record.indexing_coverage
        for case in cases
        for record in case.records
        if record.indexing_coverage is not None
    ]
    if not reported:
        return {}, []
    summary = indexing_summary(reported[-1])
    warnings = [f"indexing coverage: {line}" for line in summary["warnings"]]
    if any(coverage != reported[-1] for coverage in reported):
        warnings.append("indexing coverage changed during the run; the last case's is shown")
    return summary, warnings


def _warnings(cases: Sequence[CaseGroup], unchecked: int) -> list[str]:
    found = []
    cutoffs = sorted({case.first.k for case in cases})
    if len(cutoffs) > 1:
        found.append(f"cases use several cutoffs k: {', '.join(map(str, cutoffs))}")
    if unchecked:
        found.append(f"{unchecked} of {len(cases)} cases had nothing to check")
    return found


def aggregate(
    records: Iterable[CaseRecord],
    *,
    confidence: float = 0.95,
    timeout_ms: float | None = None,
    registry: Mapping[str, MetricInfo] = METRICS,
) -> Aggregate:
    """All numbers of a run from its records alone, in whatever order they come.

    Args:
        records: one per case and repeat.
        confidence: of the intervals, 0 to 1.
        timeout_ms: the limit at which a timed-out call enters the latency percentiles.
        registry: the metrics; keys that only records hold are summarised as unbounded.
    """
    cases = group_repeats(records)
    ordered = [record for case in cases for record in case.records]
    extra = {key for record in ordered for key in record.metrics} - registry.keys()
    infos: dict[str, MetricInfo | None] = {**registry, **dict.fromkeys(sorted(extra))}
    columns = {key: [case.value(key) for case in cases] for key in infos}

    def summaries(members: Sequence[int]) -> dict[str, MetricSummary]:
        return {
            key: summarise_metric([column[i] for i in members], infos[key], confidence=confidence)
            for key, column in columns.items()
        }

    breakdowns = {
        name: {group: summaries(members) for group, members in groups.items()}
        for name, groups in _members(cases).items()
    }
    outcomes: dict[CaseOutcome, int] = {"passed": 0, "missed": 0, "error": 0, "unchecked": 0}
    for case in cases:
        outcomes[case.outcome] += 1
    indexing, indexing_warnings = _indexing(cases)
    cost = record_cost(ordered)
    answerable = sum(case.first.answerable for case in cases)
    return Aggregate(
        total=len(cases),
        answerable=answerable,
        unanswerable=len(cases) - answerable,
        passed=outcomes["passed"],
        missed=outcomes["missed"],
        errored=outcomes["error"],
        unchecked=outcomes["unchecked"],
        metrics=summaries(range(len(cases))),
        rates=_rates(cases, outcomes),
        by_category=breakdowns["category"],
        by_tag=breakdowns["tag"],
        by_difficulty=breakdowns["difficulty"],
        by_answerable=breakdowns["answerable"],
        by_vault=breakdowns["vault"],
        latency=record_latency(ordered, timeout_ms),
        latency_by_phase=phase_latency(ordered),
        indexing=indexing,
        cost_usd=cost.cost_usd,
        cost_usd_uncached=cost.cost_usd_uncached,
        judge_tokens=cost.tokens,
        warnings=(*_warnings(cases, outcomes["unchecked"]), *indexing_warnings),
    )


# --- what only the whole run can tell --------------------------------------------------------


def headings_reported(records: Iterable[CaseRecord]) -> bool:
    """Whether any chunk of the run reports a heading.

    Without a single chunk nothing is known of the target's reporting, and True stands.
    """
    seen = False
    for record in records:
        for chunk in record.retrieved_chunks or ():
            seen = True
            if chunk.heading_path is not None:
                return True
    return not seen
