"""The numbers of a run, computed from its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_rageval.values.case import count_cases
from pytest_rageval.values.diagnoses.table import WORDS
from pytest_rageval.values.record import SCHEMA_VERSION, AgainReason


def plain(value: Any) -> Any:
    """Return a number or truth value of NumPy as one of Python, and any other value as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """A mean with its counts and intervals.

    Defined in docs/metrics.md#the-mean-and-its-counts.
    """

    n: int
    """Scored cases."""
    n_not_applicable: int = 0
    """Cases that the metric does not apply to."""
    n_error: int = 0
    """Cases without an answer to score."""
    mean: float | None = None
    """None: no data."""
    median: float | None = None
    """Median of the scores."""
    mean_errors_as_worst: float | None = None
    """Set only where ``n_error`` > 0."""
    low: float | None = None
    """Two-sided interval at the run's confidence; None where none can be given."""
    high: float | None = None
    """The upper end."""
    low_one_sided: float | None = None
    """One-sided lower bound at the run's confidence, for proofs in the gate."""
    high_one_sided: float | None = None
    """One-sided upper bound."""
    detectable_se: float | None = None
    """Standard error of the one-sided interval, from which the smallest difference that the cases
    can show is computed."""
    se: float | None = None
    """Standard error of the mean."""
    method: str | None = None
    """``wilson``, ``plus_two`` or ``bootstrap``."""
    clusters: int | None = None
    """Number of clusters where the clustered form was used."""
    reason: str | None = None
    """Reason for no mean; None: there is one."""

    def __post_init__(self) -> None:
        """Give the reason where there is no mean."""
        reason = no_data_reason(self) if self.mean is None else None
        object.__setattr__(self, "reason", reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedMean:
    """A mean in which each case counts as the requests that it stands for."""

    n: int
    """Scored cases."""
    mean: float
    """The sum of weight times score over the sum of weights."""
    low: float | None = None
    """Two-sided interval at the run's confidence; None where none can be given."""
    high: float | None = None
    """The upper end."""
    se: float | None = None
    """Standard error."""
    clusters: int = 1
    """Clusters that the cases form."""
    n_effective: float = 0.0
    """Cases of equal weight that would say as much: (sum w)^2 / sum w^2 (Kish 1965)."""
    design_effect: float | None = None
    """Variance of the mean over that of as many independent cases of equal weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySummary:
    """Percentiles of one duration in milliseconds."""

    n: int
    """Durations that count."""
    n_excluded: int = 0
    """Calls that failed, or without a duration."""
    n_cached: int = 0
    """Cached replies, which are left out."""
    n_censored: int = 0
    """Timeouts, which count with the limit."""
    p50_ms: float | None = None
    """Median."""
    p95_ms: float | None = None
    """95th percentile."""
    p50_censored: bool = False
    """Whether the median is only a lower bound, because of timeouts."""
    p95_censored: bool = False
    """The same of the 95th percentile."""
    sum_ms: float = 0.0
    """Sum of all durations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSummary:
    """Effect of reranking on one metric, over the cases scored in both orders."""

    n: int
    """Cases scored in both orders."""
    before: float
    """Mean in the order before reranking."""
    after: float
    """Mean in the delivered order."""
    delta: float
    """``after`` - ``before``: positive is an improvement."""
    low: float | None
    """Two-sided interval of ``delta`` from the paired cases."""
    high: float | None
    """The upper end."""
    improved: int
    """Cases whose value rose; the next two: fell, stayed."""
    worsened: int
    """Cases whose value fell."""
    stayed: int
    """Cases whose value is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyCase:
    """A case that passed some but not all of its repeats."""

    file: str
    """Its case file."""
    case_id: str
    """Its id."""
    passes: int
    """Repeats that passed."""
    asked: int = 0
    """Repeats that could be checked; 0: not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatSummary:
    """Noise between repeats of the same cases, each case by its own number of repeats."""

    repeats: int
    """R, the largest number of repeats of any case; at least 2."""
    n: int
    """Cases of which more than one repeat could be checked."""
    again: Mapping[AgainReason, int] = field(default_factory=dict)
    """Of cases that were asked again for their first answer, the number by reason. They are no
    sample of all, so that the figures below are None or empty."""
    every: int = 0
    """Cases that passed all of their repeats."""
    flaky_rate: float | None = None
    """Cases that passed some but not all repeats / ``n``; an error is not a pass."""
    flip_probability: float | None = None
    """Probability that two repeats of a case disagree on passing, mean over cases."""
    pass_at_k: Mapping[int, float] = field(default_factory=dict)
    """For k = 1 to R: probability that at least one of k repeats passes, mean over the cases
    asked at least k times."""
    pass_hat_k: Mapping[int, float] = field(default_factory=dict)
    """The same for all of k repeats ("pass^k")."""
    flaky_cases: tuple[FlakyCase, ...] = ()
    """At most 50, those that pass least often first."""
    variance: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """By metric: n, within, between, icc, se_mean and noise_share, over the cases scored R
    times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSummary:
    """Amount that the target reports for its answers, such as tokens."""

    n: int
    """Answers that report it; every repeat is one."""
    mean: float
    """Amount of one answer."""
    total: float
    """Amount of all answers."""


AbstentionCounts = Mapping[str, Mapping[str, int]]
ContextCounts = Mapping[str, Mapping[str, int]]
"""By ``answerable`` and ``unanswerable``: cases ``abstained``, ``answered``, ``error`` and
``unknown`` (nothing says whether the answer abstains)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFigure:
    """Own metric of a whole run: a value, or the reason why it is absent."""

    value: float | None = None
    """The value; absent where it has none."""
    not_applicable: str | None = None
    """Reason for which it does not apply to the run."""
    error: str | None = None
    """Place and fault of its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two scores of an answer that differ too much."""

    file: str
    """The case file."""
    case_id: str
    """Name of the case in its run."""
    first: float
    """Score of the first judge."""
    second: float
    """Score of the second judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotCheck:
    """Disagreements between a second judge and the first."""

    n: int
    """Cases with two valid scores."""
    n_error: int
    """Cases in which one of the two is missing."""
    disagreement_rate: float | None
    """0 to 1, lower is better; None without cases."""
    low: float | None
    """Wilson interval of the rate, with ``high``."""
    high: float | None
    """The upper end."""
    worst: tuple[Disagreement, ...]
    """Up to five, the widest first."""


Quantity = Literal["mean", "pass_share"]
"""Quantity that labels correct: the mean by scores, the share of cases at the pass line by true and
false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedMean:
    """A judge's mean, corrected by people's labels of some of its cases."""

    quantity: Quantity = "mean"
    """Quantity that the labels correct."""
    estimate: float | None
    """None: no case has both a label and a score."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """The upper end."""
    low_one_sided: float | None = None
    """One-sided lower bound at the run's confidence, for proofs in the gate."""
    high_one_sided: float | None = None
    """One-sided upper bound."""
    detectable_se: float | None = None
    """Standard error of the one-sided interval, as of a plain mean."""
    judge_mean: float | None
    """Mean of all scores, uncorrected."""
    human_mean: float | None
    """Mean of the labels alone."""
    weight: float
    """Weight of the judge, from 0 (only the labels count) to 1."""
    n_labels: int
    """Cases with a label and a score."""
    n_judge_only: int
    """Cases with a score alone."""
    n_unused: int
    """Labels of cases without a score, or of another answer than that of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReliability:
    """Figures about the judge of a run; both tables by metric key."""

    disagreement_rate: float | None = None
    """Disagreements / scores given twice, over all keys; None: none was given twice."""
    spot_check: Mapping[str, SpotCheck] = field(default_factory=dict)
    """Second scores compared with the first."""
    corrected: Mapping[str, CorrectedMean] = field(default_factory=dict)
    """Means corrected by labels."""

    @property
    def known(self) -> JudgeReliability | None:
        """Itself; None: there are no figures."""
        return self if self.spot_check or self.corrected else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRates:
    """Rates of the counts in an indexing coverage; None: not reported, or 0/0."""

    no_chunks_generated_rate: float | None
    """Documents without a chunk / documents; 0 to 1, lower is better."""
    chunks_skipped_rate: float | None
    """Chunks skipped / chunks attempted; likewise."""
    chunks_skipped_due_to_context_rate: float | None
    """Chunks skipped as longer than the context of the embedding model / attempted; likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingNumbers(IndexRates):
    """Rates and consistency of the ``indexing_coverage`` of a target."""

    consistent: bool
    """Whether the sums add up."""
    warnings: tuple[str, ...]
    """Sums that do not."""
    n_target_warnings: int = 0
    """Number of the target's own warnings, which may quote documents."""
    coverage_by_doc_type: Mapping[str, IndexRates]
    """The rates by type of document."""
    chunk_tokens: Mapping[str, float | None]
    """``min``, ``max``, ``mean`` and ``p95`` of the tokens of a chunk."""
    reported: Mapping[str, Any]
    """Counts and versions, unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNumbers:
    """Numbers that grow with the groups of a run, and what may name its cases and documents.

    They are in ``groups.json``, which git ignores. A metric that applies to no case of a group is
    left out there.
    """

    by_category: Mapping[str, Mapping[str, MetricSummary]] = field(default_factory=dict)
    """Metrics of each group by key."""
    by_tag: Mapping[str, Mapping[str, MetricSummary]] = field(default_factory=dict)
    """Metrics of each group by key."""
    by_difficulty: Mapping[str, Mapping[str, MetricSummary]] = field(default_factory=dict)
    """Metrics of each group by key."""
    by_answerable: Mapping[str, Mapping[str, MetricSummary]] = field(default_factory=dict)
    """Metrics of each group by key."""
    by_vault: Mapping[str, Mapping[str, MetricSummary]] = field(default_factory=dict)
    """Metrics of each group by key."""
    by_turn: Mapping[str, Mapping[str, MetricSummary]] = field(default_factory=dict)
    """Metrics of the first, second and later turns of conversations: ``1``, ``2`` and ``3+``."""
    failed_cases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the cases that are ``error``, ``missed``, ``flawed`` and ``flaky``, in the order of
    file and id."""
    target_warnings: tuple[str, ...] = ()
    """Warnings of the target about its index; they may quote documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(LocalNumbers):
    """All numbers of a run, computed from its records alone, and the content of ``metrics.json``.

    Times are only in ``latency``, ``latency_by_phase`` and ``usage``, money and tokens spent only
    in ``cost_usd``, ``cost_usd_uncached``, ``judge_tokens`` and ``usage``, so that every other
    number is equal between serial and parallel runs.
    """

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    total: int
    """Cases with a record."""
    answerable: int
    """Those that the documents answer."""
    unanswerable: int
    """Those that they do not."""
    passed: int
    """Cases whose retrieval and answer are as expected."""
    flaky: int = 0
    """Cases that passed some but not all of their repeats."""
    flawed: int
    """Cases whose retrieval passed and whose answer did not."""
    missed: int
    """Cases whose retrieval is not as expected."""
    errored: int
    """Cases without an answer to score."""
    unchecked: int
    """Cases of which nothing could be scored."""
    stages: Mapping[str, int]
    """Number of cases by failure stage, the most first."""
    metrics: Mapping[str, MetricSummary]
    """Plain metric keys, every key of the metric registry."""
    rates: Mapping[str, float | None]
    """``error_rate``, ``timeout_rate``, ``empty_response_rate``, ``pass_rate``; 0 to 1."""
    latency: LatencySummary
    """Time of a reply at the client."""
    latency_by_phase: Mapping[str, LatencySummary]
    """Times of the phases that the target reports."""
    indexing: IndexingNumbers | None = None
    """Of the last indexing coverage; None: not reported."""
    cost_usd: float | None = 0.0
    """US dollars of the verdicts that were asked for; absent where a price is unknown."""
    cost_usd_uncached: float | None = 0.0
    """The same, had no verdict been cached."""
    judge_tokens: int = 0
    """Tokens of the verdicts that were asked for, without cached ones."""
    usage: Mapping[str, UsageSummary] = field(default_factory=dict)
    """Of the target: ``input_tokens``, ``output_tokens`` and ``cost_usd``, as far as reported."""
    abstention: AbstentionCounts = field(default_factory=dict)
    """Answers that decline, by whether they should."""
    context: ContextCounts = field(default_factory=dict)
    """Answerable cases by whether their context was ``sufficient``, and by their answer:
    ``correct``, ``wrong``, ``not_judged`` or ``abstained``; empty: it is known of none."""
    rerank: Mapping[str, RerankSummary] = field(default_factory=dict)
    """By retrieval metric; empty: no case reports its ranks before reranking."""
    repeats: RepeatSummary | None = None
    """None: every case was asked once."""
    cross_lingual: Mapping[str, float | int | None] = field(default_factory=dict)
    """``mean``, ``n``, ``n_not_applicable``, ``n_error`` and ``n_unpaired`` of
    ``cross_lingual_consistency``; empty: no case is a translation of another."""
    by_traffic: Mapping[str, WeightedMean] = field(default_factory=dict)
    """Means weighted by ``metadata.weight``, under the setting ``weights = "traffic"``."""
    correctness_by_reference: Mapping[str, MetricSummary] = field(default_factory=dict)
    """``correctness`` of the cases with a ``reference`` and of those with ``no_reference``; empty:
    not both occur."""
    matching: Mapping[str, int] = field(default_factory=dict)
    """Number of chunks within the cuts that a rule compared with anchors, by rule, and
    ``undecided``."""
    judge_reliability: JudgeReliability | None = None
    """Findings of a spot check of the judge and corrections by people's labels; None: none."""
    run_metrics: Mapping[str, OwnFigure] = field(default_factory=dict)
    """Own metrics of the whole run."""
    warnings: tuple[str, ...] = ()
    """Remarks on the figures."""


def no_data_reason(summary: MetricSummary) -> str:
    """Explain a missing mean, such as ``no case was scored (10 not applicable, 2 errors)``."""
    counts = (summary.n_not_applicable, summary.n_error)
    return WORDS.format("no case was scored ({} not applicable, {:error})", *counts)


def counted_total(numbers: Aggregate) -> str:
    """Return the number of cases of a run, with the conversations among them."""
    sizes = {turn: group_size(group) for turn, group in numbers.by_turn.items()}
    return count_cases(numbers.total, sum(sizes.values()), sizes.get("1", 0))


def group_size(summaries: Mapping[str, MetricSummary]) -> int:
    """Return the number of cases of a group, which each of its metrics counts."""
    one = next(iter(summaries.values()), MetricSummary(n=0))
    return one.n + one.n_not_applicable + one.n_error
