"""The numbers of a run from its records: means with counts, intervals and groups.

Sums of values are exact (``math.fsum``) and cases are taken in the order of their file and id, so
that serial and parallel runs agree to the last digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np

from pytest_rageval.analysis.aggregate.case_groups import pass_share, shared_names
from pytest_rageval.analysis.aggregate.operational import (
    operational_rates,
    summarise_latency,
)
from pytest_rageval.analysis.aggregate.summaries import (
    count_abstentions,
    count_contexts,
    summarise_parts,
    summarise_repeats,
    summarise_rerank,
    summarise_translations,
    weighted_means,
)
from pytest_rageval.analysis.aggregate.table import CasePart, CaseTable, RecordRows
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import CONTEXT_CARRY
from pytest_rageval.metrics.deciding import UNDECIDED
from pytest_rageval.metrics.matching import PathCase
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.whole_run import indexing_numbers, target_warnings
from pytest_rageval.support.text import counted, plural
from pytest_rageval.values.lenient import USAGE
from pytest_rageval.values.numbers import (
    Aggregate,
    LatencySummary,
    MetricSummary,
    RepeatSummary,
    UsageSummary,
)
from pytest_rageval.values.record import STAGES, CaseRecord
from pytest_rageval.values.reply import MATCH_RULES
from pytest_rageval.values.verdict import sum_usage


def aggregate(
    records: Iterable[CaseRecord],
    *,
    confidence: float = 0.95,
    timeout_ms: float | None = None,
    registry: Registry = BUILT_IN,
    path_case: PathCase = "sensitive",
    by_traffic: bool = False,
) -> Aggregate:
    """All numbers of a run from its records alone, in any order.

    Args:
        records: one per case and repeat.
        confidence: of the intervals, 0 to 1.
        timeout_ms: the limit at which a timed-out call enters the latency percentiles.
        registry: the metrics; unregistered keys of records are summarised as unbounded.
        path_case: whether paths that differ only in case are different documents.
        by_traffic: whether to compute weighted means as well.
    """
    columns = RecordRows(registry, path_case=path_case)
    for record in records:
        columns.add(record)
    return aggregate_rows(
        columns, confidence=confidence, timeout_ms=timeout_ms, by_traffic=by_traffic
    )


def aggregate_rows(
    columns: RecordRows,
    *,
    confidence: float = 0.95,
    timeout_ms: float | None = None,
    by_traffic: bool = False,
) -> Aggregate:
    """``aggregate`` of records that were added one by one."""
    table = CaseTable(columns)
    groups = _group_cases(table)
    parts = [part for members in groups.values() for part in members.values()]
    summaries = {
        key: summarise_parts(table.scores.metric(key), parts, info, confidence)
        for key, info in table.metric_infos.items()
        if key != CONTEXT_CARRY or groups["turn"]
    }
    each = iter(range(len(parts)))
    by = {
        name: {
            group: {key: found[at] for key, found in summaries.items()}
            for group, at in zip(members, each, strict=False)
        }
        for name, members in groups.items()
    }
    outcomes, stages = Counter(table.outcomes), Counter(table.stages)
    coverages = table.coverages()
    answerable = sum(row.profile.answerable for row in table.firsts)
    repeats = summarise_repeats(table)
    costs = sum_usage(row.judged for row in columns.rows if row.judged is not None)
    rules = {name: columns.rules[name] for name in (*MATCH_RULES, UNDECIDED)}
    return Aggregate(
        total=len(table),
        answerable=answerable,
        unanswerable=len(table) - answerable,
        passed=outcomes["passed"],
        flaky=outcomes["flaky"],
        flawed=outcomes["flawed"],
        missed=outcomes["missed"],
        errored=outcomes["error"],
        unchecked=outcomes["unchecked"],
        # The most first, else in the order of the way of a question.
        stages={s: stages[s] for s in sorted(STAGES, key=lambda s: -stages[s]) if stages[s]},
        metrics=by[""][""],
        by_category=by["category"],
        by_tag=by["tag"],
        by_difficulty=by["difficulty"],
        by_answerable=by["answerable"],
        by_vault=by["vault"],
        by_turn=by["turn"],
        rates=_rates(table, repeats),
        latency=summarise_latency(
            [(row.attempt, row.latency.get("total_ms"), False) for row in table.rows],
            timeout_ms=timeout_ms,
        ),
        latency_by_phase=_phases(table),
        indexing=indexing_numbers(coverages[-1]) if coverages else None,
        cost_usd=costs.cost_usd,
        cost_usd_uncached=costs.cost_usd_uncached,
        judge_tokens=costs.tokens,
        usage=_usage(table),
        failed_cases=_failed_cases(table),
        abstention=count_abstentions(table, groups["answerable"]),
        context=count_contexts(table),
        rerank=summarise_rerank(table, confidence),
        repeats=repeats,
        matching={name: n for name, n in rules.items() if n},
        cross_lingual=summarise_translations(table),
        by_traffic=weighted_means(table, confidence) if by_traffic else {},
        correctness_by_reference=_by_reference(table, confidence),
        warnings=_warnings(table, outcomes["unchecked"], coverages),
        target_warnings=warnings_of_target(coverages),
    )


def _usage(table: CaseTable) -> dict[str, UsageSummary]:
    """Return the means of what the target reported of its answers, and the sums over all."""
    found = {name: [row.usage[name] for row in table.rows if name in row.usage] for name in USAGE}
    return {
        name: UsageSummary(
            n=len(values),
            mean=fsum(values) / len(values),
            total=fsum(row.usage[name] for row in table.columns.rows if name in row.usage),
        )
        for name, values in found.items()
        if values
    }


def _failed_cases(table: CaseTable) -> dict[str, tuple[str, ...]]:
    """Return the shortest names of the cases that did not pass, by outcome."""
    shared = shared_names([row.name for row in table.firsts])
    found: dict[str, list[str]] = {"error": [], "missed": [], "flawed": [], "flaky": []}
    for row, outcome in zip(table.firsts, table.outcomes, strict=True):
        if outcome in found:
            file, name = row.name
            found[outcome].append(f"{file}::{name}" if name in shared else name)
    return {outcome: tuple(ids) for outcome, ids in found.items()}


# --- groups --------------------------------------------------------------------------------


def _group_cases(table: CaseTable) -> dict[str, dict[str, CasePart]]:
    """Return the cases of each group of each breakdown; all cases are the group ``""`` of ``""``.

    A case counts under each of its tags and vaults.
    """
    found: dict[str, dict[str, list[int]]] = {
        name: {} for name in ("category", "tag", "difficulty", "answerable", "vault", "turn")
    }
    for case, row in enumerate(table.firsts):
        profile = row.profile
        names: dict[str, Iterable[str]] = {
            "category": [profile.category],
            "tag": set(profile.tags),
            "difficulty": [] if profile.difficulty is None else [profile.difficulty],
            "answerable": ["true" if profile.answerable else "false"],
            "vault": set(profile.vaults),
            "turn": [] if profile.turn is None else [profile.turn],
        }
        for breakdown, groups in names.items():
            for group in groups:
                found[breakdown].setdefault(group, []).append(case)
    parts = {
        name: {group: CasePart(cases, table) for group, cases in sorted(groups.items())}
        for name, groups in found.items()
    }
    return {"": {"": CasePart(range(len(table)), table)}, **parts}


def _by_reference(table: CaseTable, confidence: float) -> dict[str, MetricSummary]:
    """Average ``correctness`` separately if cases with and without a reference both occur.

    Without one a judge cannot see that the wrong passage was retrieved, and scores higher.
    """
    info = table.columns.registry.cases.get("correctness")
    if info is None:
        return {}
    column = table.scores.metric("correctness")
    applies = np.flatnonzero(~np.isnan(column)).tolist()
    parts = {
        name: CasePart(
            [case for case in applies if table.firsts[case].has_reference is known], table
        )
        for name, known in (("reference", True), ("no_reference", False))
    }
    if not all(len(part.cases) for part in parts.values()):
        return {}
    found = summarise_parts(column, [*parts.values()], info, confidence)
    return dict(zip(parts, found, strict=True))


# --- what is not a mean --------------------------------------------------------------------


def _rates(table: CaseTable, repeats: RepeatSummary | None) -> dict[str, Any]:
    rates = operational_rates([row.attempt for row in rows] for rows in table.cases)
    shares = (pass_share([row.outcome for row in rows]) for rows in table.cases)
    rates["pass_rate"] = fmean([share for share in shares if share is not None])
    if needed := sum(row.verdicts[1] for row in table.rows):
        rates["judge_error_rate"] = sum(row.verdicts[0] for row in table.rows) / needed
    if asked := [row.clarifies for row in table.rows if row.clarifies is not None]:
        rates["clarify_rate"] = sum(asked) / len(asked)
    if repeats is not None and repeats.flaky_rate is not None:
        rates["pass_hat_k"] = repeats.every / repeats.n
        rates["flaky_rate"] = repeats.flaky_rate
    return rates


def _phases(table: CaseTable) -> dict[str, LatencySummary]:
    """Durations of each phase that answers report, by name without ``_ms``."""
    names = {name for row in table.rows for name in row.latency} - {"total_ms"}
    return {
        name.removesuffix("_ms"): summarise_latency(
            (row.attempt, row.latency[name], False)
            for row in table.rows
            if row.attempt == "ok" and name in row.latency
        )
        for name in sorted(names)
    }


def warnings_of_target(coverages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the target's warnings in the last of several indexing coverages, a line each."""
    lines = target_warnings(coverages[-1]) if coverages else ()
    return tuple(f"indexing coverage: {line}" for line in lines)


def _warnings(
    table: CaseTable, unchecked: int, coverages: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    found = []
    if n := len(table.columns.uncounted):
        of, verb = counted(n + len(table), "case"), plural(n, "is", "are")
        found.append(
            f"{n} of {of} {verb} not reviewed yet (review: generated) and in no figure or "
            "check; go through them with `rageval label --review`"
        )
    cutoffs = sorted({row.k for row in table.firsts})
    if len(cutoffs) > 1:
        found.append(f"cases use several cutoffs k: {', '.join(map(str, cutoffs))}")
    if unchecked:
        found.append(f"{unchecked} of {counted(len(table), 'case')} could not be checked")
    if unsure := len({(row.name[0], row.case_id) for row in table.rows if row.unsure}):
        found.append(
            f"judge unsure of {counted(unsure, 'answer')}: the expected words are not all there, "
            "and others may say the same; a model as judge can tell (--judge MODEL)"
        )
    if coverages:
        lines = indexing_numbers(coverages[-1]).warnings
        found += [f"indexing coverage: {line}" for line in lines]
    if len(coverages) > 1:
        found.append("indexing coverage changed during the run; the last case's is shown")
    return tuple(found)
