"""The numbers of a run from its records: means with counts, intervals and groups.

Sums of values are exact (``math.fsum``) and cases are taken in the order of their file and id, so
that serial and parallel runs agree to the last digit.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum, isnan
from typing import Any

from pytest_rageval.analysis.aggregate.case_groups import CaseOutcome, count_stages, shared_names
from pytest_rageval.analysis.aggregate.columns import CaseTable, RecordColumns
from pytest_rageval.analysis.aggregate.operational import (
    operational_rates,
    sum_costs,
    summarise_latency,
)
from pytest_rageval.analysis.aggregate.samples import CasePart
from pytest_rageval.analysis.aggregate.summaries import (
    count_abstentions,
    summarise_cases,
    summarise_repeats,
    summarise_rerank,
    summarise_translations,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.metrics.indexing import indexing_summary
from pytest_rageval.metrics.matching import PathCase
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.support.text import counted
from pytest_rageval.values.numbers import (
    Aggregate,
    LatencySummary,
    MetricSummary,
    RepeatSummary,
    UsageSummary,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import MATCH_RULES, USAGE


def aggregate(
    records: Iterable[CaseRecord],
    *,
    confidence: float = 0.95,
    timeout_ms: float | None = None,
    registry: Registry = BUILT_IN,
    path_case: PathCase = "sensitive",
) -> Aggregate:
    """All numbers of a run from its records alone, in any order.

    Args:
        records: one per case and repeat.
        confidence: of the intervals, 0 to 1.
        timeout_ms: the limit at which a timed-out call enters the latency percentiles.
        registry: the metrics; unregistered keys of records are summarised as unbounded.
        path_case: whether paths that differ only in case are different documents.
    """
    columns = RecordColumns(registry, path_case=path_case)
    for record in records:
        columns.add(record)
    return aggregate_columns(columns, confidence=confidence, timeout_ms=timeout_ms)


def aggregate_columns(
    columns: RecordColumns, *, confidence: float = 0.95, timeout_ms: float | None = None
) -> Aggregate:
    """``aggregate`` of records that were added one by one."""
    table = columns.table()
    groups = group_cases(table)
    found = {
        key: summarise_groups(table.metric(key), groups, info, confidence)
        for key, info in table.metric_infos.items()
    }
    rest = aggregate_rest(table, groups, confidence=confidence, timeout_ms=timeout_ms)
    return with_summaries(rest, found)


def aggregate_rest(
    table: CaseTable, groups: Groups, *, confidence: float = 0.95, timeout_ms: float | None = None
) -> Aggregate:
    """All numbers of a run but the summaries of its metrics, for ``with_summaries``."""
    columns = table.columns
    outcomes = Counter(table.outcomes)
    coverages = table.coverages()
    answerable = sum(profile.answerable * len(cases) for profile, cases in table.profiles())
    repeats = summarise_repeats(table)
    costs = sum_costs(table.costs())
    return Aggregate(
        total=len(table),
        answerable=answerable,
        unanswerable=len(table) - answerable,
        passed=outcomes["passed"],
        flawed=outcomes["flawed"],
        missed=outcomes["missed"],
        errored=outcomes["error"],
        unchecked=outcomes["unchecked"],
        stages=count_stages(table.stages),
        metrics={},
        rates=_rates(table, outcomes, repeats),
        latency=summarise_latency(table.latencies("total_ms"), timeout_ms=timeout_ms),
        latency_by_phase=_phases(table),
        indexing=indexing_summary(coverages[-1]) if coverages else {},
        cost_usd=costs.cost_usd,
        cost_usd_uncached=costs.cost_usd_uncached,
        judge_tokens=costs.tokens,
        usage={
            name: UsageSummary(n=len(found), mean=fsum(found) / len(found), total=fsum(found))
            for name in USAGE
            if (found := columns.usage.get(name))
        },
        failed_cases=_failed_cases(table),
        abstention=count_abstentions(table, groups["answerable"]),
        rerank=summarise_rerank(table, confidence),
        repeats=repeats,
        matching={
            name: columns.rules[name] for name in (*MATCH_RULES, UNDECIDED) if columns.rules[name]
        },
        cross_lingual=summarise_translations(table),
        correctness_by_reference=_by_reference(table, confidence),
        warnings=_warnings(table, outcomes["unchecked"], coverages),
        target_warnings=target_warnings(coverages),
    )


Groups = Mapping[str, Mapping[str, CasePart]]
"""The cases of each group of each breakdown; all cases are the group ``""`` of ``""``."""
GroupSummaries = Mapping[str, Mapping[str, MetricSummary]]
"""A metric over each of `Groups`."""


def summarise_groups(
    column: array[float], groups: Groups, info: MetricInfo | None, confidence: float = 0.95
) -> GroupSummaries:
    """Summarise a metric over all cases and over each group.

    Args:
        column: its value of every case.
        groups: of ``group_cases``.
        info: scale and direction of the metric; None: unknown.
        confidence: of the intervals, 0 to 1.
    """
    parts = [part for members in groups.values() for part in members.values()]
    if all(map(isnan, column)):  # of no case, so of no group
        summaries = [MetricSummary(n=0, n_not_applicable=len(part.cases)) for part in parts]
    else:
        summaries = summarise_cases(column, parts, info, confidence)
    each = iter(summaries)
    return {name: {group: next(each) for group in members} for name, members in groups.items()}


def with_summaries(rest: Aggregate, found: Mapping[str, GroupSummaries]) -> Aggregate:
    """Return the numbers of a run with the summaries of its metrics, by key."""

    def by(name: str) -> dict[str, dict[str, MetricSummary]]:
        groups = next(iter(found.values()))[name]  # the same for every metric
        return {group: {key: of[name][group] for key, of in found.items()} for group in groups}

    return replace(
        rest,
        metrics=by("")[""],
        by_category=by("category"),
        by_tag=by("tag"),
        by_difficulty=by("difficulty"),
        by_answerable=by("answerable"),
        by_vault=by("vault"),
    )


def _failed_cases(table: CaseTable) -> dict[str, tuple[str, ...]]:
    """Return the shortest names of the cases that did not pass, by outcome."""
    shared = shared_names(table.names())
    found: dict[str, list[str]] = {"error": [], "missed": [], "flawed": []}
    for (file, name), outcome in zip(table.names(), table.outcomes, strict=True):
        if outcome in found:
            found[outcome].append(f"{file}::{name}" if name in shared else name)
    return {outcome: tuple(ids) for outcome, ids in found.items()}


def correctness_by_reference(records: Iterable[CaseRecord]) -> dict[str, MetricSummary]:
    """Return `Aggregate.correctness_by_reference` of records alone."""
    columns = RecordColumns()
    for record in records:
        columns.add(record)
    return _by_reference(columns.table())


# --- groups --------------------------------------------------------------------------------


def group_cases(table: CaseTable) -> Groups:
    """Return the cases of every group; a case counts under each of its tags and vaults."""
    found: dict[str, dict[str, list[int]]] = {
        name: {} for name in ("category", "tag", "difficulty", "answerable", "vault")
    }
    for profile, cases in table.profiles():
        names: dict[str, Iterable[str]] = {
            "category": [profile.category],
            "tag": set(profile.tags),
            "difficulty": [] if profile.difficulty is None else [profile.difficulty],
            "answerable": ["true" if profile.answerable else "false"],
            "vault": set(profile.vaults),
        }
        for breakdown, groups in names.items():
            for group in groups:
                found[breakdown].setdefault(group, []).extend(cases)
    parts = {
        name: {group: table.part(sorted(cases)) for group, cases in sorted(groups.items()) if cases}
        for name, groups in found.items()
    }
    return {"": {"": table.part(range(len(table)))}, **parts}


def _by_reference(table: CaseTable, confidence: float = 0.95) -> dict[str, MetricSummary]:
    """Average ``correctness`` separately if cases with and without a reference both occur.

    Without one a judge cannot see that the wrong passage was retrieved, and scores higher.
    """
    if "correctness" not in table.columns.registry.cases:
        return {}
    column, info = table.metric("correctness"), table.columns.registry.cases["correctness"]
    found = {}
    for name, known in (("reference", 1), ("no_reference", 0)):
        seen = enumerate(zip(table.references, column, strict=True))
        cases = [case for case, (has, value) in seen if has == known and not isnan(value)]
        if not cases:
            return {}
        [found[name]] = summarise_cases(column, [table.part(cases)], info, confidence)
    return found


# --- what is not a mean --------------------------------------------------------------------


def _rates(
    table: CaseTable, outcomes: Mapping[CaseOutcome, int], repeats: RepeatSummary | None
) -> dict[str, Any]:
    attempts = operational_rates(table.repeats_of(table.columns.attempts))
    checked = len(table) - outcomes["unchecked"]
    rates = {
        "error_rate": attempts.error_rate,
        "timeout_rate": attempts.timeout_rate,
        "empty_response_rate": attempts.empty_response_rate,
        "pass_rate": outcomes["passed"] / checked if checked else None,
    }
    if needed := table.columns.verdicts_needed:
        rates["judge_error_rate"] = table.columns.verdicts_failed / needed
    if repeats is not None:
        rates["flaky_rate"] = repeats.flaky_rate
    return rates


def _phases(table: CaseTable) -> dict[str, LatencySummary]:
    """Durations of each phase that answers report, by name without ``_ms``."""
    return {
        name.removesuffix("_ms"): summarise_latency(
            (status, ms, cached)
            for status, ms, cached in table.latencies(name)
            if status == "ok" and ms is not None
        )
        for name in sorted(table.columns.latency)
        if name != "total_ms"
    }


def target_warnings(coverages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the target's warnings in the last of several indexing coverages, a line each."""
    if not coverages:
        return ()
    lines = indexing_summary(coverages[-1])["target_warnings"]
    return tuple(f"indexing coverage: {line}" for line in lines)


def _warnings(
    table: CaseTable, unchecked: int, coverages: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    found = []
    if n := len(table.columns.uncounted):
        of, verb = counted(n + len(table), "case"), "is" if n == 1 else "are"
        found.append(
            f"{n} of {of} {verb} not reviewed yet (review: generated) and in no figure or "
            "check; go through them with `rageval label --review`"
        )
    if len(table.cutoffs) > 1:
        found.append(f"cases use several cutoffs k: {', '.join(map(str, table.cutoffs))}")
    if unchecked:
        found.append(f"{unchecked} of {counted(len(table), 'case')} could not be checked")
    if unsure := len(table.columns.unsure):
        found.append(
            f"judge unsure of {counted(unsure, 'answer')}: the expected words are not all there, "
            "and others may say the same; a model as judge can tell (--judge MODEL)"
        )
    if coverages:
        summary = indexing_summary(coverages[-1])
        found += [f"indexing coverage: {line}" for line in summary["warnings"]]
    if len(coverages) > 1:
        found.append("indexing coverage changed during the run; the last case's is shown")
    return tuple(found)
