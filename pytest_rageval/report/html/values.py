"""What the page is made from, and what it is made of: plain values that the template shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_rageval.report.explain.values import AnchorReason, CitationReason, JudgementReason
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.word_diff import WordDiff

# --- in ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How much the page holds."""

    redact: bool = False
    """Leave out every text that a case, a document, a model or a server wrote."""
    full: bool = False
    """Show what lies behind every case, however many there are."""
    full_up_to: int = 1000
    """Cases up to which that happens without being asked for."""


# --- out ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """One check of the gate."""

    name: str
    status: str
    """``pass``, ``fail``, ``warn`` or ``skip``."""
    message: str
    interval: str
    n: str
    cases: tuple[tuple[str, str], ...]
    """Id and anchor of cases that pulled the value down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """One limit that a mean is held against."""

    text: str
    status: str
    place: float | None
    """Where it stands on the metric's scale; None: it is not about the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """What became of a mean since the baseline, over the cases that both runs scored."""

    base: str
    delta: str
    interval: str
    p: str
    verdict: str
    """``better``, ``worse``, ``same`` or ``unclear``."""
    n: int
    place: float | None
    """Where the baseline stands on the metric's scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricView:
    """One mean with its counts."""

    key: str
    title: str
    n: int
    n_not_applicable: int
    n_error: int
    mean: float | None
    value: str
    interval: str
    limits: tuple[LimitView, ...]
    change: ChangeView | None
    """Since the baseline; None: there is none, or it cannot be compared."""
    places: tuple[float, float, float] | None
    """Low, mean and high as shares of the metric's scale; None: it has no end, or no data."""
    better: str
    """Such as ``higher is better``."""
    headline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One mean of a group."""

    text: str
    level: str
    """Class: ``h0`` (worst) to ``h6`` (best), ``hn`` for what is neither, empty: no data."""
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Groups of one kind by metric."""

    title: str
    columns: tuple[tuple[str, str], ...]
    """Key and title of each metric."""
    rows: tuple[tuple[str, int, tuple[HeatCell, ...]], ...]
    """Name, number of cases and cells of each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendRow:
    """One run of the trend."""

    run_id: str
    when: str
    current: bool
    changed: tuple[str, ...]
    """What differs from the run before and breaks the line."""
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Headline means over the last runs, oldest first."""

    columns: tuple[str, ...]
    runs: tuple[TrendRow, ...]
    charts: tuple[Element, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyView:
    """Percentiles of one phase."""

    phase: str
    n: int
    p50: str
    p95: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkView:
    """One retrieved chunk."""

    rank: int
    in_cut: bool
    golds: str
    """Such as ``gold [0]``; empty: it matches none. Made of numbers alone."""
    irrelevant: bool
    path: str
    heading: str
    facts: str
    """Lines, scores and earlier rank: numbers and words of ours."""
    text: str
    truncated: bool
    moved: str
    """Where the other of two runs had it, such as ``was rank 3``; empty: at the same rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDetail:
    """What lies behind one case; of a redacted page no text is left in it."""

    question: str | None
    expected_facts: tuple[tuple[str, str], ...]
    """Each with what the judge found, empty: it was not asked."""
    expected_answer: str | None
    answer: str | None
    error: str
    abstained: str
    citations: tuple[CitationReason, ...]
    chunks: tuple[ChunkView, ...] | None
    golds: tuple[AnchorReason, ...]
    judgements: tuple[JudgementReason, ...]
    stage_meaning: str
    steps: tuple[str, ...]
    numbers: str
    """Every metric of the case."""
    latency: str
    command: str
    prompt_hash: str
    base: BaseDetail | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseDetail:
    """The same case in the baseline."""

    outcome: str
    stage: str
    answer: str | None
    """None: there is none, or it is the same."""
    chunks: tuple[ChunkView, ...] | None
    """None: not reported, or the same."""
    same: tuple[str, ...]
    """What is the same: ``answer``, ``chunks``."""
    diff: WordDiff | None = None
    """Both answers word by word; None: one is missing, or they have next to nothing in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One row of the case table."""

    anchor: str
    case_id: str
    repeat: str
    """``repeat 1`` where a case was asked several times."""
    outcome: str
    """``passed``, ``missed`` or ``error``; ``unchecked`` where nothing could be scored."""
    flip: str
    """``worse``, ``better`` or empty."""
    stage: str
    category: str
    difficulty: str
    tags: tuple[str, ...]
    required: bool
    answerable: bool
    cells: tuple[tuple[str, str], ...]
    """Text and sort value of each metric column."""
    ms: tuple[str, str]
    question: str | None
    detail: CaseDetail | None
    """None: left out of the page, which says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipView:
    """One case that changed since the baseline."""

    anchor: str
    case_id: str
    direction: str
    """``worse`` or ``better``."""
    change: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareView:
    """How the run stands to its baseline."""

    run_id: str
    invariants: tuple[str, ...]
    """What differs and keeps figures of the two from meaning the same."""
    warning: str
    flips: tuple[FlipView, ...]
    n_paired: int
    left_out: tuple[str, ...]
    """How many cases were left out, and why."""
    facts: tuple[tuple[str, str, str], ...]
    """Name, baseline's and this run's value of what differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """The whole page."""

    run_id: str
    verdict: str
    """``pass``, ``fail``, ``not_evaluated`` or ``unknown``."""
    sentence: str
    counts: tuple[tuple[str, int], ...]
    failed: tuple[CheckView, ...]
    others: tuple[CheckView, ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    compare: CompareView | None
    metrics: tuple[MetricView, ...]
    forest: tuple[Element, Element] | None
    """For a wide window and for a narrow one, as the next."""
    heat_maps: tuple[HeatMap, ...]
    trend: Trend | None
    latency: tuple[LatencyView, ...]
    latency_chart: tuple[Element, Element] | None
    cost: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    """Metric columns of the case table."""
    cases: tuple[CaseView, ...]
    categories: tuple[str, ...]
    outcomes: tuple[str, ...]
    n_hidden: int
    """Cases without what lies behind them."""
    redacted: bool

    @property
    def verdict_word(self) -> str:
        """The verdict in a word or two; the gate's sentence mostly begins with it."""
        return _VERDICT_WORDS[self.verdict]

    @property
    def reason(self) -> str:
        """What the gate's sentence says beyond the verdict."""
        return self.sentence.removeprefix(self.verdict_word).strip(": ")


_VERDICT_WORDS: Final = {
    "pass": "PASS",
    "fail": "FAIL",
    "not_evaluated": "NOT EVALUATED",
    "unknown": "NO VERDICT",
}
