"""Input and view values of the page, as plain values for the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pytest_rageval.report.explain.values import AnchorReason, CitationReason, JudgementReason
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.text.word_diff import WordDiff
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.record import CaseRecord

# --- input -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Extent of the page."""

    redact: bool = False
    """Leave out every text that a case, a document, a model or a server wrote."""
    full: bool = False
    """Show the details of every case, however many there are."""
    full_up_to: int = 1000
    """Number of cases up to which all details are shown by default."""


# --- output ------------------------------------------------------------------------------------


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
    """Id and anchor of cases that lowered the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """One limit of a mean."""

    text: str
    status: str
    place: float | None
    """Position on the metric's scale; None: it does not limit the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """Change of a mean since the baseline, over the cases that both runs scored."""

    base: str
    delta: str
    interval: str
    p: str
    verdict: str
    """``better``, ``worse``, ``same`` or ``unclear``."""
    n: int
    place: float | None
    """Position of the baseline on the metric's scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricView:
    """One mean with its counts."""

    key: str
    title: str
    n: int
    n_not_applicable: int
    n_error: int
    value: str
    interval: str
    limits: tuple[LimitView, ...]
    change: ChangeView | None
    """Change since the baseline; None: there is none, or it cannot be compared."""
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
    """Class: ``h0`` (worst) to ``h6`` (best), ``hn`` if neither way is better, empty: no data."""
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
    """Differences from the previous run that break the line."""
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
    p50_ms: float
    p95_ms: float
    p50: str
    p95: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkView:
    """One retrieved chunk."""

    rank: int
    in_cut: bool
    golds: str
    """Such as ``gold [0]``; empty: it matches none. Contains no document text."""
    irrelevant: bool
    path: str
    heading: str
    facts: str
    """Lines, scores and earlier rank: numbers and fixed words."""
    text: str
    truncated: bool
    moved: str
    """Rank in the other run, such as ``was rank 3``; empty: the same rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDetail:
    """Details of one case; without text on a redacted page."""

    question: str | None
    expected_facts: tuple[tuple[str, str], ...]
    """Each fact with the judge's finding; empty: not asked."""
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
    trace_id: str
    """Trace that the target was asked in; empty: none."""
    trace_link: str
    """Address of that trace, of http or https; empty: not known."""
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
    """Equal parts: ``answer``, ``chunks``."""
    diff: WordDiff | None = None
    """Both answers word by word; None: one is missing, or they have almost nothing in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One row of the case table."""

    record: CaseRecord
    anchor: str
    case_id: str
    repeat: str
    """``repeat 1`` if a case was asked several times."""
    outcome: str
    """``passed``, ``missed`` or ``error``; ``unchecked`` if nothing could be scored."""
    flip: str
    """``worse``, ``better`` or empty."""
    stage: str
    cells: Element
    """Text and sort value of each metric and of the duration, as markup."""
    question: str | None
    make_detail: Callable[[], CaseDetail] | None
    """None: left out, with a note on the page."""

    @property
    def detail(self) -> CaseDetail | None:
        """The details, made anew by each call: those of a whole run are never held at once."""
        return None if self.make_detail is None else self.make_detail()


CaseKey = tuple[str, str, int]
"""File, case id and repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesView:
    """The case table."""

    columns: tuple[str, ...]
    """Metric columns."""
    rows: tuple[CaseRow, ...]
    anchors: Mapping[CaseKey, str]
    n_hidden: int
    """Number of cases without details."""


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
    """Comparison of the run with its baseline."""

    run_id: str
    invariants: tuple[str, ...]
    """Differences that make figures of the two runs incomparable."""
    warning: str
    flips: tuple[FlipView, ...]
    n_paired: int
    left_out: tuple[str, ...]
    """Numbers of cases left out, with reasons."""
    facts: tuple[tuple[str, str, str], ...]
    """Name, baseline's value and this run's value of each difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """The whole page."""

    run_id: str
    verdict: str
    """``pass``, ``fail``, ``not_evaluated`` or ``unknown``."""
    sentence: str
    counts: tuple[tuple[str, int], ...]
    stages: tuple[tuple[str, int], ...]
    """Number of cases by failure stage, the most first."""
    failed: tuple[CheckView, ...]
    others: tuple[CheckView, ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    compare: CompareView | None
    metrics: tuple[MetricView, ...]
    forest: tuple[Element, Element] | None
    """For wide and for narrow windows, like the next field."""
    heat_maps: tuple[HeatMap, ...]
    sections: tuple[Element, ...]
    """Of the project's own code."""
    trend: Trend | None
    latency: tuple[LatencyView, ...]
    concurrency: int | None
    """Requests in flight while it was measured; None: unknown."""
    latency_chart: tuple[Element, Element] | None
    cost: tuple[tuple[str, str], ...]
    cases: CasesView
    categories: tuple[str, ...]
    outcomes: tuple[str, ...]
    redacted: bool

    @property
    def verdict_word(self) -> str:
        """The verdict in a word or two; the gate's sentence usually begins with it."""
        return _VERDICT_WORDS[self.verdict]

    @property
    def reason(self) -> str:
        """The rest of the gate's sentence after the verdict."""
        return self.sentence.removeprefix(self.verdict_word).strip(": ")


_VERDICT_WORDS: Final = {
    "pass": "PASS",
    "fail": "FAIL",
    "not_evaluated": "NOT EVALUATED",
    "unknown": "NO VERDICT",
}
