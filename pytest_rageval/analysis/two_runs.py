"""Comparison of two whole runs: comparability, changes, and differences for checks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.compare.conclusion import Conclusion, conclude, unanswered
from pytest_rageval.analysis.compare.metrics import (
    ComparisonSettings,
    GroupChange,
    MetricChange,
    PairedComparison,
    UnpairedChange,
    compare_records,
)
from pytest_rageval.analysis.compare.pairs import place_of
from pytest_rageval.analysis.compare.settings import (
    Comparability,
    Invariant,
    compare_configs,
    judge_dependent_keys,
    rules_difference,
    unaffected_keys,
)
from pytest_rageval.analysis.gate.differences import GateBaseline, check_differences, margins
from pytest_rageval.analysis.gate.figures import is_past_limit
from pytest_rageval.analysis.headline import headline_of
from pytest_rageval.analysis.trust.reliability import (
    judge_reliability,
)
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.scoring import decided_by
from pytest_rageval.support.text import counted, first_few
from pytest_rageval.values.gate import BaselineInfo, CheckResult, CheckStatus, Thresholds
from pytest_rageval.values.headline import Headline
from pytest_rageval.values.numbers import JudgeReliability
from pytest_rageval.values.run import StoredRun, other_concurrency


def with_numbers(
    run: StoredRun, *, confidence: float, reliability: JudgeReliability | None = None
) -> StoredRun:
    """Return a run with the numbers of its records, and its own metrics of the whole run.

    Args:
        run: with its records.
        confidence: of the intervals.
        reliability: of its judge; None: as its records show it, with the means that labels
            corrected when it was stored.
    """
    judge = reliability or judge_reliability(run.records, confidence=confidence)
    if reliability is None and run.aggregate and (stored := run.aggregate.judge_reliability):
        judge = replace(judge, corrected=stored.corrected)
    numbers = aggregate(
        run.records,
        confidence=confidence,
        timeout_ms=run.timeout_ms,
        registry=stored_registry(run.config),
        path_case=run.settings.path_case,
        by_traffic=run.settings.weights == "traffic",
    )
    own = run.own_figures
    return replace(run, aggregate=replace(numbers, judge_reliability=judge.known, run_metrics=own))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Two runs with their comparison."""

    base: StoredRun
    new: StoredRun
    comparability: Comparability
    comparison: PairedComparison
    """Comparison of all comparable metrics; of every metric if invariants were ignored."""
    headline: Headline = field(default_factory=Headline)
    """Changes in the later run."""
    ignored: bool = False
    """Whether differing invariants were ignored, which makes the numbers unreliable."""

    @property
    def comparable(self) -> bool:
        """Whether every invariant agrees."""
        return self.comparability.comparable

    @property
    def conclusion(self) -> Conclusion:
        """The verdict without limits."""
        if self.comparable or self.ignored:
            return conclude(self.comparison, self.headline)
        return Conclusion(word="not_comparable", reason=self.comparability.sentence())

    @property
    def n_paired(self) -> int:
        """Number of cases that are compared; none if the settings leave no figure to compare."""
        return self.comparison.n_paired if self.comparable or self.comparison.metrics else 0

    @property
    def registry(self) -> Registry:
        """The metrics of both runs; of two definitions that of the later run holds."""
        return stored_registry(self.base.config, self.new.config)

    @property
    def latency_problem(self) -> str:
        """Reason why the latency of the runs is not comparable; empty: it is, or was not timed."""
        if not all(any(r.latency for r in run.records) for run in (self.base, self.new)):
            return ""
        return other_concurrency(self.base.config.concurrency, self.new.config.concurrency)


_PAST: Final[Mapping[CheckStatus, str]] = {"warn": "warned", "skip": "skipped"}
BEYOND: Final = "beyond"
"""Verdict of a metric whose change is past a limit of thresholds.toml without being proven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedComparison:
    """A comparison under the limits of a project."""

    found: RunComparison
    checks: tuple[CheckResult, ...] = ()
    """Checks of thresholds.toml against the baseline; empty: none, or not decided."""
    thresholds: str | None = None
    """The file as shown; None if absent."""
    notes: tuple[str, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    """Changes by category and tag; empty: not computed."""
    min_n: int = 20
    """Pairs below which a group has no verdict."""

    @property
    def failed(self) -> bool:
        """Whether a check against the baseline failed."""
        return any(result.status == "fail" for result in self.checks)

    @property
    def conclusion(self) -> str:
        """The verdict without limits, then the result of the checks, if there are any."""
        return "; ".join(filter(None, (self.found.conclusion.sentence, self.decision)))

    @property
    def decision(self) -> str:
        """The result of the checks; empty without checks."""
        if not self.checks:
            return ""
        found = Counter(result.status for result in self.checks)
        if found["fail"]:
            return f"regression: {found['fail']} of {counted(len(self.checks), 'check')} failed"
        if found["skip"] == len(self.checks):
            return "nothing decided: every check was skipped"
        limits = f"{counted(found['pass'], 'limit')} on changes met"
        rest = [f"{found[one]} {past}" for one, past in _PAST.items() if found[one]]
        return f"{', '.join((limits, *rest))} ({self.thresholds or 'thresholds.toml'})"

    def verdict_of(self, change: MetricChange) -> str:
        """Return the verdict of a metric, in agreement with the checks of the whole set."""
        return verdict_word(change, past_limits(self.checks))


def past_limits(checks: Iterable[CheckResult]) -> frozenset[str]:
    """Return the metrics of the whole set whose value or change is past a limit."""
    return frozenset(
        one.check.metric
        for one in checks
        if one.check.table == "overall"
        and one.status in {"fail", "warn"}
        and is_past_limit(one.check.kind, one.check.limit, one.estimate)
    )


def verdict_word(change: MetricChange, past: Container[str]) -> str:
    """Return the verdict of a metric, which is ``beyond`` if it is past a limit, but unproven."""
    return BEYOND if change.verdict == "unclear" and change.key in past else change.verdict


def compare_runs(
    base: StoredRun,
    new: StoredRun,
    *,
    thresholds: Thresholds | None = None,
    ignore_invariants: bool = False,
    name: str = "",
) -> RunComparison:
    """Compare two runs as far as they are comparable.

    Both are decided by the rule of the later one, since the base may be older than the rule.

    Args:
        base: the earlier run.
        new: the later one.
        thresholds: of the project, with margins and confidence; None: those of the gate of the
            later run.
        ignore_invariants: compare everything, regardless of differences.
        name: of the base as the user knows it; empty: its first tag, or else its id.
    """
    judged_on = new.settings.judged_on
    base = replace(base, records=[decided_by(record, judged_on) for record in base.records])
    given = thresholds or Thresholds(
        checks=tuple(one.check for one in new.checks),
        confidence=0.95 if new.gate is None else new.gate.confidence,
    )
    comparability = _comparability(base, new)
    registry = stored_registry(base.config, new.config)
    judged = _judged(base, new, registry)
    keys = None if ignore_invariants else unaffected_keys(comparability, judged, registry)
    comparison = compare_records(
        base.records,
        new.records,
        ComparisonSettings(
            keys=keys,
            registry=registry,
            margins=margins(given.checks),
            confidence=given.confidence,
            base_timeout_ms=base.timeout_ms,
            new_timeout_ms=new.timeout_ms,
            cluster=new.settings.cluster,
            # Without ranks all chunks are in the cut, whose size then differs by itself.
            any_k=ignore_invariants or not (base.settings.ranked and new.settings.ranked),
            with_latency=ignore_invariants
            or not other_concurrency(base.config.concurrency, new.config.concurrency),
        ),
    )
    changes = {} if keys is not None and not keys else _run_metrics(base, new, registry)
    comparison = replace(comparison, run_metrics=changes)
    usable = comparison.outcomes and (comparability.comparable or ignore_invariants)
    headline = headline_of(
        new.records,
        comparison if usable else None,
        name=name or next(iter(base.tags), base.run_id),
        run_id=base.run_id,
    )
    if headline.since is not None:
        verdict = conclude(comparison, headline).shown
        headline = replace(headline, since=replace(headline.since, verdict=verdict))
    return RunComparison(
        base=base,
        new=new,
        comparability=comparability,
        comparison=comparison,
        headline=headline,
        ignored=ignore_invariants and not comparability.comparable,
    )


def _run_metrics(base: StoredRun, new: StoredRun, registry: Registry) -> dict[str, UnpairedChange]:
    """Return the changes of own metrics of whole runs that both runs define alike."""
    first, second = stored_registry(base.config), stored_registry(new.config)
    n_base, n_new = (len({place_of(r) for r in run.records if r.counted}) for run in (base, new))
    found = {}
    for key in registry.runs:
        before, after = base.run_metrics.get(key), new.run_metrics.get(key)
        one, other = first.runs.get(key), second.runs.get(key)
        if one is None or other is None or one.meaning != other.meaning:
            continue
        if before is None or after is None:
            continue
        found[key] = UnpairedChange(
            key=key, base=before, new=after, delta=after - before, n_base=n_base, n_new=n_new
        )
    return found


def _comparability(base: StoredRun, new: StoredRun) -> Comparability:
    found = compare_configs(base.config, new.config)
    rules = rules_difference(base.records, new.records)
    if isinstance(rules, Invariant):
        found = replace(found, invariants=(*found.invariants, rules))
    elif rules is not None:
        found = replace(found, config=(*found.config, rules))
    asked = {(place_of(r), r.case_hash) for r in base.records if r.counted}
    if any((place_of(r), r.case_hash) in asked for r in new.records if r.counted):
        return found
    ours, theirs = _dataset(base), _dataset(new)
    nothing = Invariant(name="dataset", base=ours, new=theirs, affects="everything")
    return replace(found, invariants=(*found.invariants, nothing))


def _dataset(run: StoredRun) -> str:
    # The hash covers contents: after a case file was renamed, only the files differ.
    files = first_few(sorted({record.file for record in run.records}), 3)
    cases = counted(run.n_cases, "case") + (files and f" of {files}")
    return f"{run.config.dataset_hash or 'no hash'} ({cases})"


def _judged(base: StoredRun, new: StoredRun, registry: Registry) -> frozenset[str]:
    """Return the metrics that depend on a judge in either run."""
    records = (*base.records, *new.records)
    return judge_dependent_keys(
        abstention=any("abstention" in r.verdicts.judgements for r in records),
        conflict=any(r.case.recency_conflict_rule == "acknowledge_both" for r in records),
        registry=registry,
    )


# --- the baseline of a gate --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline(GateBaseline):
    """The baseline of a gate with the whole comparison."""

    comparison: RunComparison | None = None
    """None: the baseline could not be read."""

    @property
    def changes(self) -> dict[str, float]:
        """Difference of every metric over the paired cases, by key; latency over all calls."""
        if self.comparison is None or self.info.problem is not None:
            return {}
        found = self.comparison.comparison
        both: dict[str, MetricChange | UnpairedChange] = {**found.metrics, **found.unpaired}
        return {key: one.delta for key, one in both.items() if one.delta is not None}


def as_baseline(found: RunComparison, thresholds: Thresholds, *, name: str) -> Baseline:
    """Compute the differences that decide a gate from a comparison; what prevents it is named.

    Args:
        found: its later run with its numbers, where a check is of the whole run.
        thresholds: the checks.
        name: of the baseline, as it was given.
    """
    base, new, invariants = found.base, found.new, found.comparability.invariants
    differs = f"not comparable with the baseline: {found.comparability.sentence()}"
    comparable = all(one.only for one in invariants)
    problem = None if comparable else differs
    comparison, pairing = found.comparison, found.comparison.pairing
    if problem is None and pairing.count("only_in_new"):
        problem = _partial(base, new)
    if problem is None and (gone := unanswered([pair.base for pair in pairing.pairs])):
        problem = f"run {base.run_id} is not a baseline for this one: {gone} in it"
    info = BaselineInfo(
        name=name,
        run_id=base.run_id,
        problem=problem,
        comparable=comparable,
        n_paired=len(pairing.pairs),
        n_changed=pairing.count("content_changed") + pairing.count("k_changed"),
        n_only_base=pairing.count("only_in_base"),
        n_only_new=pairing.count("only_in_new"),
        n_documents=comparison.clustering.n_documents,
    )
    differences = None
    if problem is None:
        differences = check_differences(
            thresholds.checks,
            pairing.pairs,
            lambda: (with_numbers(base, confidence=thresholds.confidence), new),
            clustering=found.comparison.clustering,
            registry=found.registry,
        )
        alone = {one.only for one in invariants}  # here each affects one metric only
        for check, one in differences.items():
            if check.metric in alone:
                differences[check] = replace(one, problem=differs)
    return Baseline(info=info, differences=differences, comparison=found)


def _partial(base: StoredRun, new: StoredRun) -> str | None:
    """Describe a baseline that covers only part of its own set, or of the files of a run."""
    whole = base.config.set
    skipped = {nodeid.split("[", 1)[0] for nodeid in base.config.skipped}
    held = {f"{record.file}::{record.case.id}" for record in base.records} | skipped
    if whole.hash is None or len(held) >= whole.n_cases:
        return None
    if len(held) >= whole.n_asked > 0 and {*new.config.set.files} <= {*whole.files}:
        return None
    return (
        f"run {base.run_id} is not a baseline for this one: it holds {len(held)} of the "
        f"{whole.n_cases} cases of its set; name a run over the whole set"
    )
