"""Figures over all metrics of paired cases: the share that passes, and the time of a call. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Final

import numpy as np

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup
from pytest_rageval.analysis.compare.pairs import CasePair, PairedColumns, PairedValues
from pytest_rageval.analysis.compare.units import Clustering
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.registry import MetricInfo

PASSED: Final = MetricInfo(
    key="pass_rate", title="Share of cases that pass", binary=True, population="cases", level="run"
)
TIME: Final = MetricInfo(
    key="latency_ms",
    title="Mean time of a call in ms",
    direction="lower",
    scale=(0.0, None),
    population="answered cases",
    level="run",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The figures of both runs, case by case."""

    passed: PairedValues
    time: PairedValues
    p_of_documents: float | None
    """One-sided p of the change of ``passed``, its documents a sample of others; None: one
    document, or another unit."""


def compare_totals(pairs: Sequence[CasePair], clustering: Clustering) -> Totals:
    """Pair whether each case passes, and the mean time of its answers."""
    passed, time = pass_values(pairs, clustering), _paired(pairs, _time, clustering)
    others = None
    if clustering.by == "document" and passed.n:
        others = replace(passed, whole_clusters=True).test(PASSED)
    return Totals(
        passed=passed,
        time=time,
        p_of_documents=None if others is None else min(others.p_below(), others.p_above()),
    )


def pass_values(pairs: Iterable[CasePair], clustering: Clustering) -> PairedValues:
    """Pair whether each case passes in as many repeats as both runs have."""
    return _paired([pair.alike for pair in pairs], _passes, clustering)


def _paired(
    pairs: Sequence[CasePair],
    value: Callable[[CaseGroup], float | None],
    clustering: Clustering,
) -> PairedValues:
    base, new = (
        np.array([nan if (found := value(case)) is None else found for case in cases], dtype=float)
        for cases in ([pair.base for pair in pairs], [pair.new for pair in pairs])
    )
    return replace(PairedColumns(pairs, (), clustering).paired(base, new), repeated=False)


def _passes(case: CaseGroup) -> float | None:
    return None if case.outcome in {"error", "unchecked"} else float(case.outcome == "passed")


def _time(case: CaseGroup) -> float | None:
    answered = [record for record in case.records if record.status == "ok"]
    return fmean([r.latency["total_ms"] for r in answered if "total_ms" in r.latency])
