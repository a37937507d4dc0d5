"""Figures over all metrics of paired cases: the share that passes, and the time of a call. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
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


def pass_values(pairs: Iterable[CasePair], clustering: Clustering) -> PairedValues:
    """Pair whether each case passes in as many repeats as both runs have."""

    def passes(case: CaseGroup) -> float:
        return nan if case.outcome in {"error", "unchecked"} else float(case.outcome == "passed")

    return _paired([pair.alike for pair in pairs], passes, clustering)


def time_values(pairs: Sequence[CasePair], clustering: Clustering) -> PairedValues:
    """Pair the mean time of the answers of each case."""

    def time(case: CaseGroup) -> float:
        known = [r.latency for r in case.records if r.status == "ok" and "total_ms" in r.latency]
        mean = fmean([latency["total_ms"] for latency in known])
        return nan if mean is None else mean

    return _paired(pairs, time, clustering)


def _paired(
    pairs: Sequence[CasePair], value: Callable[[CaseGroup], float], clustering: Clustering
) -> PairedValues:
    base = np.array([value(pair.base) for pair in pairs], dtype=float)
    new = np.array([value(pair.new) for pair in pairs], dtype=float)
    return replace(PairedColumns(pairs, (), clustering).paired(base, new), repeated=False)
