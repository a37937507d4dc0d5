"""Figures over all metrics of paired cases: the share that passes, and the time of a call. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, record_outcome
from pytest_rageval.analysis.compare.pairs import CasePair, PairedValues
from pytest_rageval.analysis.compare.units import Clustering
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.dataclass import dataclass, replace
from pytest_rageval.values.record import CaseRecord

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
    """Pair the share of repeats that pass, and the mean time, of every case that has them."""
    passed, time = (_paired(pairs, value, clustering) for value in (_passes, _time))
    others = None
    if clustering.by == "document" and passed.n:
        others = replace(passed, whole_clusters=True).test(PASSED)
    return Totals(
        passed=passed,
        time=time,
        p_of_documents=None if others is None else min(others.p_below(), others.p_above()),
    )


def _paired(
    pairs: Iterable[CasePair],
    value: Callable[[CaseRecord], float | None],
    clustering: Clustering,
) -> PairedValues:
    def mean(case: CaseGroup) -> float | None:
        return fmean([v for record in case.records if (v := value(record)) is not None])

    rows = [(pair, mean(pair.base), mean(pair.new)) for pair in pairs]
    both = [(pair, b, n) for pair, b, n in rows if b is not None and n is not None]
    return PairedValues(
        base=tuple(b for _, b, _ in both),
        new=tuple(n for _, _, n in both),
        clusters=tuple(clustering.ids(pair.new.first for pair, _, _ in both)),
        nodeids=tuple(pair.new.first.nodeid for pair, _, _ in both),
        repeated=any(len(p.base.records) > 1 or len(p.new.records) > 1 for p, _, _ in both),
        n_base_only=sum(b is not None and n is None for _, b, n in rows),
        n_new_only=sum(b is None and n is not None for _, b, n in rows),
        whole_clusters=clustering.whole,
    )


def _passes(record: CaseRecord) -> float | None:
    outcome = record_outcome(record)
    return None if outcome in {"error", "unchecked"} else float(outcome == "passed")


def _time(record: CaseRecord) -> float | None:
    return record.latency.get("total_ms") if record.status == "ok" else None
