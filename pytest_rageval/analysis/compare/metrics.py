"""Two runs over the same cases: paired differences and changed cases. Pure.

Base is the earlier run, new the later one; every difference is new - base.
Defined in docs/statistics.md#two-runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import variance
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup
from pytest_rageval.analysis.aggregate.operational import record_latency
from pytest_rageval.analysis.compare.flips import CaseFlip, find_flips
from pytest_rageval.analysis.compare.pairs import (
    BY_DOCUMENT,
    PASSED,
    TIME,
    CasePair,
    Clustering,
    PairedColumns,
    PairedValues,
    Pairing,
    Verdict,
    choose_clustering,
    newly_missed,
    pair_cases,
    pass_values,
    time_values,
    verdict,
)
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.analysis.stats.paired import holm_factors
from pytest_rageval.analysis.trust.reliability import summarise_spot_checks
from pytest_rageval.metrics.built_in import ASPECT_KEYS, BUILT_IN
from pytest_rageval.metrics.context import CONTEXT_KEYS, context_cell
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.scoring import ANSWER_KEYS, EXPECTED, decided_by
from pytest_rageval.support.text import counted
from pytest_rageval.values.numbers import SpotCheck
from pytest_rageval.values.record import ANSWER_STAGES, STAGES, CaseRecord
from pytest_rageval.values.settings import ClusterSetting

MARGIN_SHARE: Final = 0.05
"""Share of a metric's range: smaller differences do not matter unless a threshold sets another."""

OUTCOME_KEYS: Final = frozenset({"hit_at_k", "recall_all_at_k", "doc_hit_at_k", *EXPECTED})
"""Metrics that decide whether a case is missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """One metric over the cases that both runs scored."""

    key: str
    base: float | None
    """Mean over the pairs; None: no case was scored on both sides."""
    new: float | None
    delta: float | None
    """``new`` - ``base``, in either direction of improvement."""
    low: float | None
    """Lower bound of ``delta``, wrong with probability 1 - confidence; None: there is no test."""
    high: float | None
    """Upper bound, likewise."""
    p: float | None
    """One-sided, of a change in the direction of ``delta``: the test that the bounds invert."""
    tests: float = 1.0
    """Number of tests that ``p``, bounds and verdict are adjusted for, as Holm's method counts
    them."""
    n: int
    """Cases scored on both sides."""
    n_base_only: int
    """Paired cases that only the base scored."""
    n_new_only: int
    clusters: int | None
    """Number of clusters where any holds two cases."""
    margin: float
    """Differences below it do not matter."""
    mde: float | None
    """Smallest difference that this number of cases detects with 80 % power; None: none is."""
    equal: bool
    """Whether there are pairs and each has equal values."""
    verdict: Verdict
    noise: JudgeNoise | None = None
    """Of a judged metric with repeats or a second judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedChange:
    """A figure of each whole run, such as a percentile of call times: without a p-value."""

    key: str
    base: float | None
    """Of latency in milliseconds."""
    new: float | None
    delta: float | None
    n_base: int
    n_new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedContext:
    """Cases that moved alike in the table of context and answer."""

    base: str
    """Such as ``sufficient, correct``."""
    new: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedComparison:
    """Result of the comparison of two runs."""

    pairing: Pairing
    metrics: Mapping[str, MetricChange]
    """Metrics that either run scored on a paired case, in the order of the registry."""
    latency: Mapping[str, UnpairedChange]
    """Percentiles of call times."""
    run_metrics: Mapping[str, UnpairedChange] = field(default_factory=dict)
    """Metrics of whole runs, from the project's own code."""
    flips: tuple[CaseFlip, ...]
    """Worse ones, then better ones, each by file and id."""
    newly_missed: tuple[str, ...]
    """Ids of the cases that are missed in the new run and were not in the base."""
    stages: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Paired cases in base and new by failure stage, where the numbers differ."""
    contexts: tuple[MovedContext, ...] = ()
    """Paired cases whose place in the table of context and answer differs, the most first."""
    passed: MetricChange | None = None
    """Share of cases that pass, on which the verdict rests first; None: not comparable."""
    time: MetricChange | None = None
    """Mean time of a call, over the pairs; None: not comparable."""
    p_of_documents: float | None = None
    """p of ``passed`` if the documents are taken for a sample of others; None: too few."""
    clustering: Clustering = BY_DOCUMENT
    """Unit of the tests."""
    outcomes: bool = True
    """Whether outcomes of cases are comparable."""
    confidence: float = 0.95

    @property
    def unpaired(self) -> Mapping[str, UnpairedChange]:
        """Figures of whole runs: metrics, then latency."""
        return {**self.run_metrics, **self.latency}

    @property
    def n_paired(self) -> int:
        """Cases of the same content in both runs."""
        return len(self.pairing.pairs)

    @property
    def no_difference(self) -> bool:
        """Whether every score of every pair is equal in both runs."""
        found = self.metrics.values()
        one_sided = any(one.n_base_only or one.n_new_only for one in found)
        return bool(found) and not one_sided and all(one.equal for one in found)

    @property
    def unscored(self) -> str:
        """Reason why no metric is compared although cases are paired; empty: one is."""
        pairs = self.pairing.pairs
        if not pairs or any(one.n for one in self.metrics.values()):
            return ""
        base, new = (
            sum(case.outcome == "error" for case in cases)
            for cases in ([p.base for p in pairs], [p.new for p in pairs])
        )
        erred = f": {base} erred in base, {new} in new" if base or new else ""
        return (
            f"no metric of the {counted(len(pairs), 'paired case')} is scored in both runs{erred}"
        )

    @property
    def n_left_out(self) -> int:
        """Cases that only one run holds, or that differ in content or cutoff."""
        return len(self.pairing.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """Options of a comparison."""

    keys: frozenset[str] | None = None
    """Metrics that may be compared; None: all."""
    registry: Registry = BUILT_IN
    """The metrics of both runs."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Smallest relevant difference by metric; default: ``MARGIN_SHARE`` of its range."""
    confidence: float = 0.95
    """Of the intervals, 0 to 1."""
    base_timeout_ms: float | None = None
    """Duration that a timed-out call has in the latency percentiles."""
    new_timeout_ms: float | None = None
    cluster: ClusterSetting = "auto"
    """Unit by which cases are grouped."""
    any_k: bool = False
    """Pair cases of different cutoffs, too."""
    with_latency: bool = True
    """False: the runs had different numbers of requests in flight."""


# --- metrics ---------------------------------------------------------------------------------


def margin_of(info: MetricInfo) -> float:
    """Return the largest difference of a metric that does not matter."""
    return MARGIN_SHARE * info.width if math.isfinite(info.width) else 0.0


def _change(
    info: MetricInfo,
    values: PairedValues,
    settings: ComparisonSettings,
    *,
    tests: float = 1.0,
    noise: JudgeNoise | None = None,
) -> MetricChange:
    alpha = (1 - settings.confidence) / tests
    test, margin = values.test(info), settings.margins.get(info.key, margin_of(info))
    low, high = (None, None) if test is None else test.bounds(alpha)
    p = None if test is None else min(test.p_below(), test.p_above())
    return MetricChange(
        key=info.key,
        base=fmean(values.base),
        new=fmean(values.new),
        delta=fmean([n - b for b, n in zip(values.base, values.new, strict=True)]),
        low=low,
        high=high,
        p=None if p is None else min(1.0, p * tests),
        tests=tests,
        n=values.n,
        n_base_only=values.n_base_only,
        n_new_only=values.n_new_only,
        clusters=None if test is None else test.clusters,
        margin=margin,
        mde=None if test is None else test.detectable(alpha),
        equal=values.equal,
        verdict=verdict(low, high, margin=margin, direction=info.direction, equal=values.equal),
        noise=noise,
    )


def compare_metrics(
    pairs: Sequence[CasePair],
    settings: ComparisonSettings,
    clustering: Clustering = BY_DOCUMENT,
    *,
    family: Collection[str] = (),
) -> dict[str, MetricChange]:
    """Compare every metric that either side scored.

    Args:
        pairs: cases of both runs.
        settings: metrics, margins and confidence.
        clustering: unit of the tests.
        family: keys whose tests are adjusted for their number (Holm), since a verdict rests on
            any of them.
    """
    cases = [group.records for pair in pairs for group in (pair.base, pair.new)]
    checks = summarise_spot_checks(record for repeats in cases for record in repeats)
    repeated = [repeats for repeats in cases if len(repeats) > 1]
    cases_of, allowed = settings.registry.cases, settings.keys
    wanted = [key for key in cases_of if allowed is None or key in allowed]
    columns = PairedColumns(pairs, wanted, clustering)
    compared = {
        key: values
        for key in wanted
        if (values := columns.values(key)).n or values.n_base_only or values.n_new_only
    }
    ps = {
        key: min(test.p_below(), test.p_above())
        for key in family
        if key in compared and (test := compared[key].test(cases_of[key])) is not None
    }
    factors = dict(zip(ps, holm_factors([*ps.values()]), strict=True))
    found = {}
    for key, values in compared.items():
        info = cases_of[key]
        noise = judge_noise(repeated, checks.get(key), key) if info.judged else None
        found[key] = _change(info, values, settings, tests=factors.get(key, 1.0), noise=noise)
    return found


# --- the whole -------------------------------------------------------------------------------


def compare_records(
    base: Sequence[CaseRecord],
    new: Sequence[CaseRecord],
    settings: ComparisonSettings | None = None,
) -> PairedComparison:
    """Compare two runs.

    Args:
        base: records of the earlier run, the last of each case and repeat.
        new: records of the later one.
        settings: metrics and confidence; None: all metrics, 95 %.
    """
    given = settings or ComparisonSettings()
    if given.keys is not None and not given.keys.issuperset(ANSWER_KEYS):
        base, new = (_without_answers(records) for records in (base, new))
    pairing = pair_cases(base, new, any_k=given.any_k)
    pairs = pairing.pairs
    alike = [pair.alike for pair in pairs]
    outcomes = given.keys is None or given.keys >= OUTCOME_KEYS
    clustering = choose_clustering([pair.new.first for pair in pairs], given.cluster)
    flips = find_flips(pairs, keys=given.keys, outcomes=outcomes)
    latency = _latency(base, new, given)
    passed, time = pass_values(pairs, clustering), time_values(pairs, clustering)
    p_of_documents = None
    if outcomes and clustering.by == "document" and passed.n:
        others = replace(passed, whole_clusters=True).test(PASSED)
        p_of_documents = None if others is None else min(others.p_below(), others.p_above())
    return PairedComparison(
        pairing=pairing,
        metrics=compare_metrics(pairs, given, clustering, family=ASPECT_KEYS),
        latency=latency,
        flips=flips,
        newly_missed=tuple(r.name for r in newly_missed(alike) if outcomes),
        stages=_moved_stages(alike) if outcomes else {},
        contexts=_moved_contexts(alike, given.keys),
        passed=_change(PASSED, passed, given) if outcomes and passed.n else None,
        time=_change(TIME, time, given) if latency and time.n else None,
        p_of_documents=p_of_documents,
        clustering=clustering,
        outcomes=outcomes,
        confidence=given.confidence,
    )


def _without_answers(records: Iterable[CaseRecord]) -> list[CaseRecord]:
    """Return records without the flaws of their answers, which cannot be compared."""
    found = []
    for record in records:
        if record.scores.failure_stage in ANSWER_STAGES:
            record = decided_by(record, ("retrieval",))
            record = replace(record, scores=replace(record.scores, failure_stage=None))
        found.append(record)
    return found


def _moved_stages(pairs: Sequence[CasePair]) -> dict[str, tuple[int, int]]:
    base, new = Counter(p.base.stage for p in pairs), Counter(p.new.stage for p in pairs)
    return {s: (base[s], new[s]) for s in STAGES if base[s] != new[s]}


def _moved_contexts(
    pairs: Sequence[CasePair], keys: frozenset[str] | None
) -> tuple[MovedContext, ...]:
    if keys is not None and not keys.issuperset(CONTEXT_KEYS):
        return ()
    found: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        base, new = map(_context, (pair.base, pair.new))
        if base and new and base != new:
            found.setdefault((base, new), []).append(pair.new.first.name)
    moved = (MovedContext(base=b, new=n, names=tuple(names)) for (b, n), names in found.items())
    return tuple(sorted(moved, key=lambda one: -len(one.names)))


def _context(case: CaseGroup) -> str:
    cell = context_cell(*(case.mean(key) for key in CONTEXT_KEYS))
    return "" if cell is None else ", ".join(cell).replace("_", " ")


def _latency(
    base: Sequence[CaseRecord], new: Sequence[CaseRecord], given: ComparisonSettings
) -> dict[str, UnpairedChange]:
    if not given.with_latency or (given.keys is not None and not given.keys):
        return {}
    one, other = (
        record_latency([r for r in records if r.counted and not r.selected], timeout_ms)
        for records, timeout_ms in ((base, given.base_timeout_ms), (new, given.new_timeout_ms))
    )
    if not (one.n or other.n):
        return {}
    rows = {
        "latency_ms.p50": (one.p50_ms, other.p50_ms),
        "latency_ms.p95": (one.p95_ms, other.p95_ms),
    }
    return {
        key: UnpairedChange(
            key=key,
            base=before,
            new=after,
            delta=None if before is None or after is None else after - before,
            n_base=one.n,
            n_new=other.n,
        )
        for key, (before, after) in rows.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeNoise:
    """Noise of one judged metric, from the records of both runs."""

    disagreement_rate: float | None
    """Share of scores that a second judge did not confirm; None: there was none."""
    n_checked: int
    """Scores given twice."""
    repeat_sd: float | None
    """Standard deviation between scores that were given for one prompt; None: no prompt
    has two, or the judge has no prompts, as the offline one. What answers differ by is noise of
    the target."""
    n_repeated: int
    """Prompts, of either run, with two scores or more."""


def judge_noise(
    cases: Sequence[Sequence[CaseRecord]], checked: SpotCheck | None, key: str
) -> JudgeNoise | None:
    """Sum up the noise of a judged metric; None: neither repeats nor a second judge.

    Args:
        cases: the repeats of each case and run that was asked several times.
        checked: by the second judge; None: there was none.
        key: a judged metric.
    """
    rate = None if checked is None else checked.disagreement_rate
    spreads = []
    for repeats in cases:
        scores: dict[tuple[str, ...], list[float]] = {}
        for one in repeats:
            prompts = tuple(given.prompt_hash for given in one.verdicts.judgements.values())
            if any(prompts) and (value := one.scores.metrics.get(key)) is not None:
                scores.setdefault(prompts, []).append(value)
        spreads += [variance(values) for values in scores.values() if len(values) > 1]
    within = fmean(spreads)
    if rate is None and within is None:
        return None
    return JudgeNoise(
        disagreement_rate=rate,
        n_checked=0 if checked is None else checked.n,
        repeat_sd=None if within is None else math.sqrt(within),
        n_repeated=len(spreads),
    )


# --- groups of cases ---------------------------------------------------------------------------


GroupTable = Literal["category", "tag", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """One metric over the paired cases of one group that both runs scored."""

    table: GroupTable
    group: str
    change: MetricChange
    """Not adjusted for the number of groups."""
    verdict: Verdict | None
    """None: too few cases to give one."""

    @property
    def name(self) -> str:
        """The group as checks name it, ``multi_hop`` or ``tag work``, or ``turn 2``."""
        return self.group if self.table == "category" else f"{self.table} {self.group}"


def compare_groups(
    pairs: Sequence[CasePair],
    settings: ComparisonSettings,
    clustering: Clustering = BY_DOCUMENT,
    *,
    min_n: int = 20,
) -> tuple[GroupChange, ...]:
    """Compare the main metrics of every category, tag and position in a conversation.

    Descriptive, not a test: nothing is adjusted for the number of groups, and groups are not part
        of the family of tests over all cases.

    Args:
        pairs: the cases of both runs; category and tags are the new one's.
        settings: metrics and confidence.
        clustering: unit of the comparison.
        min_n: minimum number of pairs for a verdict.
    """
    groups: dict[tuple[GroupTable, str], list[CasePair]] = {}
    for pair in pairs:
        case = pair.new.first.case
        groups.setdefault(("category", case.category), []).append(pair)
        for tag in dict.fromkeys(case.tags):
            groups.setdefault(("tag", tag), []).append(pair)
        if case.turn_group is not None:
            groups.setdefault(("turn", case.turn_group), []).append(pair)
    keys = frozenset(ASPECT_KEYS if settings.keys is None else settings.keys & {*ASPECT_KEYS})
    settings = replace(settings, keys=keys)
    found: list[GroupChange] = []
    for (table, group), members in sorted(groups.items()):
        changes = compare_metrics(members, settings, clustering)
        found += [
            GroupChange(
                table=table,
                group=group,
                change=changes[key],
                verdict=changes[key].verdict if changes[key].n >= max(min_n, 1) else None,
            )
            for key in ASPECT_KEYS
            if key in changes and changes[key].n
        ]
    return tuple(found)
