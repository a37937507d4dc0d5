"""View values of the overview: what happened, in numbers that lead to cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_rageval.report.html.markup import Element


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """A number of cases with the link to them."""

    label: str
    n: int
    share: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """One check of the gate."""

    name: str
    status: str
    """``pass``, ``fail``, ``warn`` or ``skip``."""
    message: str
    """The gate's own sentence."""
    erred: int
    """Cases that ended in an error, which the figure leaves out."""
    interval: str
    n: str
    cases: tuple[tuple[str, str], ...]
    """Id and anchor of cases that lowered the value, the first few."""
    link: str
    """Link to all of them; empty: none did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorView:
    """Errors of the target with one cause."""

    kind: str
    message: str
    """Error of the first case, in the words of the target or its client; redacted only a status."""
    n: int
    cases: tuple[tuple[str, str], ...]
    """Id and anchor of the first few cases."""
    link: str
    """Link to all cases with an error of this kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """One limit of a mean."""

    text: str
    status: str
    place: float | None
    """Position on the metric's scale; None: it does not limit the mean."""
    about_change: bool
    """Whether it limits the change since the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """Change of a mean since the baseline, over the cases that both runs scored."""

    base: str
    delta: str
    interval: str = "-"
    p: str = "-"
    verdict: str = ""
    """``better``, ``worse``, ``same`` or ``unclear``; empty: a figure of the whole run."""
    n: int
    place: float | None = None
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
    scale: str
    """Such as ``of 5``; empty: it ends at 1, or has no end."""
    better: str
    """Such as ``higher is better``."""
    headline: bool
    own: bool
    """Whether the project defines it."""
    link: str
    """Link to the cases, sorted by the metric."""

    @property
    def failed(self) -> bool:
        """Whether the mean itself is past a limit, not its change."""
        return any(one.status == "fail" and not one.about_change for one in self.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One mean of a group."""

    text: str
    level: str
    """Class: ``h0`` (worst) to ``h6`` (best), ``hn`` if neither way is better, empty: no data."""
    n: int
    bound: str
    """Highest mean that the group can reach with one chunk for each gold; empty: the scale's."""
    link: str
    change: str = ""
    """Change since the baseline over the cases of both runs; empty: none."""
    changed: str = ""
    """``worse`` or ``better``; empty: neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """One group."""

    name: str
    n: int
    link: str
    worse: CountRow
    """Its cases that got worse since the baseline, and below those that got better."""
    better: CountRow
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Groups of one kind by metric."""

    title: str
    n_left_out: int
    """Smaller groups that have no row."""
    columns: tuple[tuple[str, str], ...]
    """Key and title of each metric."""
    rows: tuple[HeatRow, ...]
    changed: bool
    """Whether any case of any group changed since the baseline."""
    ceilings: bool
    """Whether any cell has a bound of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendRow:
    """One run of the trend."""

    run_id: str
    when: str
    current: bool
    changed: tuple[str, ...]
    """Differences from the previous run that break the line."""
    link: str
    """Address of its page; empty: it is this one."""
    cells: tuple[tuple[str, str], ...]
    """Mean and interval of each metric."""


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
    change: str = ""
    """Of the 95th percentile since the baseline; empty: not compared."""


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
    flipped: str
    """Number of cases that flipped, by the change of their outcome."""
    n_paired: int
    left_out: tuple[str, ...]
    """Numbers of cases left out, with reasons."""
    facts: tuple[tuple[str, str, str], ...]
    """Name, baseline's value and this run's value of each difference."""
    verdict: str = ""
    """The comparison without limits, in one sentence."""
    lost: str = ""
    """The group that explains most of what was lost; empty: none does, or it is redacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A chart with the table of its numbers."""

    key: str
    title: str
    note: str
    columns: tuple[str, str, str]
    rows: tuple[CountRow, ...]
    chart: Element


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """All cases by one property, as a bar of linked parts."""

    title: str
    chart: Element
    rows: tuple[CountRow, ...]
    styles: tuple[str, ...]
    """Class of the colour of each part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One figure of the first screen."""

    key: str
    title: str
    value: str
    unit: str
    detail: str
    """Interval and number of cases."""
    status: str
    """Worst state of its limits: ``fail``, ``warn``, ``pass``; empty: it has none."""
    limit: str
    """The limit that decides the state."""
    change: ChangeView | None
    spark: Element | None
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One case to read first."""

    anchor: str
    case_id: str
    kind: str
    """``newly worse``, ``error``, ``worst``, ``uncertain`` or ``lowest``."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView:
    """Differences from the baseline in one sentence."""

    run_id: str
    cases: str
    """Number of cases that both runs asked alike; empty: none."""
    worse: int
    better: int
    worse_link: str
    better_link: str
    metrics: str
    """Such as ``Worse: mrr -0.020``; empty: no metric is surely another."""
    settings: str
    """Names of settings and versions that differ, the first few; empty: none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewView:
    """The first screen and the charts."""

    tiles: tuple[Tile, ...]
    bars: tuple[Bar, ...]
    meanings: tuple[tuple[str, str], ...]
    """Words of the bars, each with a sentence."""
    changes: ChangesView | None
    reading: tuple[Reading, ...]
    panels: tuple[Panel, ...]
    """Distributions of the headline metrics."""
    more_panels: tuple[Panel, ...]
    """Distributions of the others."""
    latency: Panel | None
    ranks: Panel | None
    abstention: Mapping[tuple[bool, bool], CountRow] | None
    """By answerable and abstained."""
    repeated: bool
    """Whether a case was asked several times, each of which the charts count."""
