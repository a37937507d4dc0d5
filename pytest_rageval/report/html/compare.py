"""A run compared with its baseline: flips, differences, and comparable figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.compare.flips import CaseFlip
from pytest_rageval.analysis.compare.metrics import Comparison, MetricChange
from pytest_rageval.analysis.compare.pairs import LeftOutReason
from pytest_rageval.analysis.compare.settings import shown
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.report.html.cases import case_key
from pytest_rageval.report.html.figures import place_on_scale
from pytest_rageval.report.html.values import CaseKey, ChangeView, CompareView, FlipView
from pytest_rageval.report.text.summary import change_text
from pytest_rageval.support.text import format_value
from pytest_rageval.values.record import CaseRecord

_REASONS: Final[tuple[tuple[LeftOutReason, str], ...]] = (
    ("only_in_base", "only in the baseline"),
    ("only_in_new", "only in this run"),
    ("content_changed", "of changed content"),
    ("k_changed", "of another k"),
)


def paired_records(
    baseline: RunComparison, records: Iterable[CaseRecord]
) -> dict[CaseKey, CaseRecord]:
    """Return the baseline's records of the cases that are the same in both runs."""
    paired = {
        (pair.new.first.file, pair.new.first.name) for pair in baseline.comparison.pairing.pairs
    }
    before = {case_key(record): record for record in baseline.base.records}
    keys = (case_key(record) for record in records)
    return {key: before[key] for key in keys if key[:2] in paired and key in before}


def view_changes(comparison: Comparison) -> dict[str, ChangeView]:
    """Show the change of each metric over the paired cases."""
    return {
        key: _change(change)
        for key, change in comparison.metrics.items()
        if change.base is not None and change.delta is not None
    }


def _change(change: MetricChange) -> ChangeView:
    interval = "-"
    if change.low is not None and change.high is not None:
        interval = f"{change.low:+.2f} to {change.high:+.2f}"
    return ChangeView(
        base=format_value(change.base),
        delta=change_text(change.key, change.delta),
        interval=interval,
        p="-" if change.p is None else f"{change.p:.2g}",
        verdict=change.verdict,
        n=change.n,
        place=place_on_scale(change.base, METRICS.get(change.key)),
    )


def view_comparison(
    baseline: RunComparison, anchors: Mapping[CaseKey, str], *, redact: bool
) -> CompareView:
    """Show flips, differences and metrics that cannot be compared.

    Args:
        baseline: the earlier run and the comparison with it.
        anchors: anchor of each record in the page.
        redact: leave out reasons, which name paths and headings.
    """
    found = baseline.comparison
    comparability = baseline.comparability
    places = {
        (file, case_id): anchor for (file, case_id, _), anchor in reversed([*anchors.items()])
    }
    listed = (*comparability.invariants, *comparability.versions, *comparability.config)
    return CompareView(
        run_id=baseline.base.run_id,
        invariants=tuple(one.name for one in comparability.invariants),
        warning=comparability.warning or "",
        flips=tuple(
            FlipView(
                anchor=places.get((flip.file, flip.case_id), ""),
                case_id=flip.case_id,
                direction=flip.direction,
                change=_flip_text(flip),
                reason="" if redact else flip.reason,
            )
            for flip in found.flips
        ),
        n_paired=found.n_paired,
        left_out=tuple(_left_out(found)),
        facts=tuple((one.name, shown(one.base), shown(one.new)) for one in listed),
    )


def _flip_text(flip: CaseFlip) -> str:
    if flip.base_outcome != flip.new_outcome:
        return f"{flip.base_outcome} \u2192 {flip.new_outcome}"
    if not flip.changes:
        return flip.new_outcome
    first = flip.changes[0]
    return f"{first.metric} {format_value(first.base)} \u2192 {format_value(first.new)}"


def _left_out(found: Comparison) -> Iterator[str]:
    for reason, words in _REASONS:
        n = found.pairing.count(reason)
        if n:
            yield f"{n} {words}"
