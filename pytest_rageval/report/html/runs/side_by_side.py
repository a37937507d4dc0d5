"""Two or three runs side by side: the first is compared with each of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.report.html.run.cases import case_anchors
from pytest_rageval.report.html.run.figures import view_metrics
from pytest_rageval.report.html.run.overview_values import ChangeView, CompareView, MetricView
from pytest_rageval.report.html.run.view import view_changes, view_comparison
from pytest_rageval.report.text.comparison import (
    describe_side,
    flip_counts,
    moved_stages,
    pairing_text,
)
from pytest_rageval.report.text.summary import change_text
from pytest_rageval.support.text import format_value
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.json_documents import text
from pytest_rageval.values.run import StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the runs."""

    run_id: str
    described: str
    when: str
    verdict: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """A run with its differences to the first one."""

    side: Side
    compare: CompareView
    pairing: str
    flips: str
    stages: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCell:
    """A mean of one of the other runs, with its change."""

    metric: MetricView | None
    change: ChangeView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric of all runs."""

    key: str
    better: str
    base: MetricView | None
    others: tuple[SideCell, ...]
    headline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRow:
    """A percentile of call times, in milliseconds."""

    key: str
    base: str
    others: tuple[tuple[str, str], ...]
    """Value and difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Content of the page."""

    base: Side
    others: tuple[OtherRun, ...]
    metrics: tuple[MetricRow, ...]
    times: tuple[TimeRow, ...]
    redacted: bool


def view_side_by_side(found: Sequence[RunComparison], *, redact: bool = False) -> SideBySide:
    """Compute everything that the page shows.

    Args:
        found: comparisons with one base, at least one.
        redact: leave out the reasons of flips, which name paths and headings.
    """
    return SideBySide(
        base=_side(found[0].base),
        others=tuple(_other(one, redact=redact) for one in found),
        metrics=tuple(_metric_rows(found)),
        times=tuple(_time_rows(found)),
        redacted=redact,
    )


def _side(run: StoredRun) -> Side:
    verdict = text(run.gate, "verdict")
    return Side(
        run_id=run.run_id,
        described=describe_side(run).removeprefix(run.run_id).lstrip(", "),
        when=text(run.config, "timestamp")[:16].replace("T", " ") or "-",
        verdict=verdict if verdict in {"pass", "fail", "not_evaluated"} else "unknown",
        sentence=text(run.gate, "sentence"),
    )


def _other(found: RunComparison, *, redact: bool) -> OtherRun:
    return OtherRun(
        side=_side(found.new),
        compare=view_comparison(found, case_anchors(found.new.records), redact=redact),
        pairing=pairing_text(found),
        flips=flip_counts(found),
        stages=moved_stages(found),
    )


def _metric_rows(found: Sequence[RunComparison]) -> Iterator[MetricRow]:
    registry = found[0].registry
    first = found[0].base
    base = {row.key: row for row in view_metrics(first.metrics, first.gate, {}, registry)}
    changes = [view_changes(one.comparison, one.registry) for one in found]
    others = [
        {row.key: row for row in view_metrics(one.new.metrics, one.new.gate, of_one, one.registry)}
        for one, of_one in zip(found, changes, strict=True)
    ]
    keys = dict.fromkeys([*base, *(key for of_one in others for key in of_one)])
    for key in keys:
        shown = [one for one in (base.get(key), *(of_one.get(key) for of_one in others)) if one]
        cells = (
            SideCell(metric=of_one.get(key), change=of_change.get(key))
            for of_one, of_change in zip(others, changes, strict=True)
        )
        yield MetricRow(
            key=key,
            better=shown[0].better if registry.info(key) else "",
            base=base.get(key),
            others=tuple(cells),
            headline=shown[0].headline,
        )


def _time_rows(found: Sequence[RunComparison]) -> Iterator[TimeRow]:
    keys = dict.fromkeys(key for one in found for key in one.comparison.latency)
    for key in keys:
        of_key = [one.comparison.latency.get(key) for one in found]
        base = next((one.base for one in of_key if one is not None), None)
        yield TimeRow(
            key=key,
            base=format_value(base, "ms"),
            others=tuple(
                ("-", "-")
                if one is None
                else (format_value(one.new, "ms"), change_text(key, one.delta))
                for one in of_key
            ),
        )
