"""Two or three runs side by side: the first is compared with each of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.report.html.run.cases import case_anchors
from pytest_rageval.report.html.run.figures import numbers_of, view_metrics
from pytest_rageval.report.html.run.overview_values import ChangeView, CompareView, MetricView
from pytest_rageval.report.html.run.view import view_changes, view_comparison
from pytest_rageval.report.view.comparison import (
    describe_side,
    flip_counts,
    moved_stages,
    pairing_text,
)
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.support.text import format_value
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
class MetricRow:
    """One metric of all runs."""

    key: str
    better: str
    base: MetricView | None
    others: tuple[tuple[MetricView | None, ChangeView | None], ...]
    """Mean of each of the other runs, and its change."""
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
    return Side(
        run_id=run.run_id,
        described=describe_side(run).removeprefix(run.run_id).lstrip(", "),
        when=(run.config.timestamp or "-")[:16].replace("T", " "),
        verdict=run.verdict or "unknown",
        sentence=run.sentence,
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
    base = _by_key(found[0].base, {}, registry)
    changes = [view_changes(one) for one in found]
    others = [
        _by_key(one.new, of_one, one.registry) for one, of_one in zip(found, changes, strict=True)
    ]
    sides = [*zip(others, changes, strict=True)]
    for key in dict.fromkeys(chain(base, *others)):
        shown = next(side[key] for side in (base, *others) if key in side)
        yield MetricRow(
            key=key,
            better=shown.better if registry.info(key) else "",
            base=base.get(key),
            others=tuple((means.get(key), changed.get(key)) for means, changed in sides),
            headline=shown.headline,
        )


def _by_key(
    run: StoredRun, changes: Mapping[str, ChangeView], registry: Registry
) -> dict[str, MetricView]:
    return {row.key: row for row in view_metrics(numbers_of(run), run.checks, changes, registry)}


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
