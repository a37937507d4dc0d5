"""Effect of other orders of the candidates that a run stored (docs/studies.md#reranking-study).

An order is compared with the one that the target delivered, and with the ceiling: the best value
of each metric that any order of the same chunks reaches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, log2
from types import MappingProxyType
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.summaries import compare_orders
from pytest_rageval.analysis.stats.intervals import MetricScale
from pytest_rageval.metrics.matching import PathCase
from pytest_rageval.metrics.retrieval import (
    Ranking,
    anchor_ranking,
    average_precision,
    document_ranking,
    hit_at_k,
    ideal_dcg,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from pytest_rageval.values.numbers import RerankSummary
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

CaseKey = tuple[str, str]
"""File and name of a case."""
Level = Literal["anchor", "document"]
Order = Sequence[int]
"""Positions of the delivered chunks, from 0, best first; each of them once."""
Metric = tuple[str, int]
"""Name of a measure and its cutoff."""
MEASURES: Final[Mapping[str, Callable[[Ranking], float]]] = MappingProxyType(
    {
        "hit": hit_at_k,
        "recall": recall_at_k,
        "precision": precision_at_k,
        "mrr": reciprocal_rank,
        "ndcg": ndcg_at_k,
        "map": average_precision,
    }
)
CUTOFFS: Final = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The chunks of one case in the order of the target."""

    record: CaseRecord
    chunks: tuple[RetrievedChunk, ...]
    level: Level
    settings: ScoreSettings

    @property
    def key(self) -> CaseKey:
        """File and name of the case."""
        return self.record.file, self.record.name

    def ranking(self, order: Order, k: int) -> Ranking:
        """Cut an order at ``k`` chunks and reduce it to the golds that it finds."""
        rank = anchor_ranking if self.level == "anchor" else document_ranking
        ordered = [self.chunks[position] for position in order[:k]]
        return rank(self.record.case, ordered, k, self.settings)

    def measured(self, order: Order, ks: Sequence[int]) -> dict[Metric, float]:
        """Return every measure of an order at every cutoff."""
        cuts = {k: self.ranking(order, k) for k in ks}
        return {(name, k): score(cuts[k]) for name, score in MEASURES.items() for k in ks}

    def before(self) -> Order | None:
        """Return the order before the target's own reranking, if it reports it."""
        ranks = [chunk.rank_before_rerank for chunk in self.chunks]
        return None if None in ranks else sorted(range(len(ranks)), key=lambda at: ranks[at] or 0)


def read_candidates(
    records: Iterable[CaseRecord], *, path_case: PathCase, level: Level
) -> tuple[list[Candidates], Counter[str]]:
    """Return the candidates of the cases that an order can change, and why others are left out.

    Of repeats of a case only the first counts: they differ by the noise of the target.

    Args:
        records: of a run, in any order.
        path_case: whether paths that differ only in case are different documents.
        level: whether golds are sections or whole documents.
    """
    settings = ScoreSettings(path_case=path_case)
    found: list[Candidates] = []
    left_out: Counter[str] = Counter()
    for record in records:
        if record.repeat:
            continue
        if reason := _left_out(record, level):
            left_out[reason] += 1
            continue
        found.append(
            Candidates(
                record=record,
                chunks=record.reply.retrieved_chunks or (),
                level=level,
                settings=settings,
            )
        )
    return found, left_out


def _left_out(record: CaseRecord, level: Level) -> str:
    if not record.counted:
        return "not reviewed"
    if not record.case.answerable:
        return "unanswerable"
    if not record.case.gold_supports:
        return "no gold_supports"
    if record.reply.retrieved_chunks is None:
        return "the target failed" if record.status == "error" else "no retrieved_chunks"
    if level == "anchor" and any(c.matched_golds is None for c in record.reply.retrieved_chunks):
        return "a chunk could not be compared with the golds"
    return ""


# --- the ceiling ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The best value of every measure over all orders of the candidates of one case."""

    values: Mapping[Metric, float]
    exact: bool
    """False: upper bounds, since too many chunks hold overlapping golds to try every order."""


def ceiling(case: Candidates, ks: Sequence[int]) -> Ceiling:
    """Return the best that any order of the candidates of a case reaches.

    Each measure has its own best order: of two sections, the one with more golds is best for
    recall@1, and the one with the higher grade for nDCG@1.
    """
    whole = case.ranking(range(len(case.chunks)), max(len(case.chunks), 1))
    sets = [golds for golds, twice in zip(whole.matched, whole.duplicate, strict=True) if not twice]
    relevant = [golds for golds in sets if golds]
    distinct = sorted(set(relevant), key=sorted)
    exact, best = _sequences(distinct, whole.grades)
    n_golds = len(whole.grades)
    values: dict[Metric, float] = {}
    for k in ks:
        n_found, gain, n_gaining = best[min(k, len(best) - 1)]
        values["hit", k] = values["mrr", k] = 1.0 if relevant else 0.0
        values["recall", k] = n_found / n_golds
        values["precision", k] = min(k, len(relevant)) / k
        values["ndcg", k] = min(1.0, gain / ideal_dcg(whole.grades, k))
        values["map", k] = n_gaining / n_golds
    return Ceiling(values, exact)


def _sequences(
    sets: Sequence[frozenset[int]], grades: Sequence[int]
) -> tuple[bool, list[tuple[int, float, int]]]:
    """Return the best golds found, gain and gaining ranks within 0, 1, 2, … chunks.

    The gain is discounted as in DCG. The list ends where another chunk adds nothing.
    """
    golds: frozenset[int] = frozenset().union(*sets)
    tops = sorted((max(grades[i] for i in one) for one in sets), reverse=True)
    sizes = sorted(map(len, sets), reverse=True)
    exact = all(one.isdisjoint(other) for one, other in combinations(sets, 2))
    if not exact and len(golds) <= 12:  # 2^12 states
        return True, _tried(sets, grades)
    if not exact:
        # Upper bounds: each rank gains another gold.
        tops = sorted((grades[i] for i in golds), reverse=True)[: len(tops)]
    best = [(0, 0.0, 0)]
    for rank, top in enumerate(tops, start=1):
        n_found = min(best[-1][0] + sizes[rank - 1], len(golds))
        best.append((n_found, best[-1][1] + top / log2(rank + 1), rank))
    return exact, best


def _tried(sets: Sequence[frozenset[int]], grades: Sequence[int]) -> list[tuple[int, float, int]]:
    """Find the best of every sequence by the golds that it has found so far."""
    reached: dict[frozenset[int], float] = {frozenset(): 0.0}
    best = [(0, 0.0, 0)]
    n_found, gain = 0, 0.0
    for rank in range(1, len(sets) + 1):
        following: dict[frozenset[int], float] = {}
        for found, so_far in reached.items():
            for one in sets:
                new = one - found
                if new:
                    total = so_far + max(grades[i] for i in new) / log2(rank + 1)
                    after = found | new
                    following[after] = max(following.get(after, 0.0), total)
        if not following:
            break
        reached = following
        n_found = max(n_found, max(map(len, reached)))
        gain = max(gain, max(reached.values()))
        best.append((n_found, gain, rank))
    return best


# --- the study -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Reordered:
    """Orders of the candidates of a run by one reranker."""

    orders: Mapping[CaseKey, Order]
    milliseconds: tuple[float, ...]
    """Time of each query that was answered, pauses before repeated attempts included."""
    usage: Mapping[str, float]
    """Sums over all queries."""
    failed: Mapping[CaseKey, str]
    """Cases that it did not answer, with the reason."""
    n_unranked: int
    """Documents without a score; they keep the delivered order behind all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A case whose nDCG at the main cutoff differs between two orders."""

    file: str
    case_id: str
    category: str
    before: float
    after: float
    first_before: int | None
    """Rank of the first relevant chunk, from 1; None if absent."""
    first_after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderStudy:
    """One order against the delivered one, over the same cases."""

    n: int
    """Cases that have the order."""
    metrics: Mapping[Metric, RerankSummary]
    """``before`` is the delivered order."""
    ceiling: Mapping[Metric, float]
    """Means over the same cases."""
    by_category: Mapping[str, Mapping[Metric, RerankSummary]]
    """Of the main cutoff alone."""
    worsened: tuple[Moved, ...]
    """Cases that it breaks, the largest loss first."""
    improved: tuple[Moved, ...]

    def gap_closed(self, metric: Metric) -> float | None:
        """Return the share of the way from the delivered order to the ceiling; None: no way."""
        found = self.metrics[metric]
        gap = self.ceiling[metric] - found.before
        return found.delta / gap if gap > 1e-12 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTable:
    """The delivered order and the ceiling of every case."""

    cases: Sequence[Candidates]
    ks: tuple[int, ...]
    main: int
    """Cutoff of the breakdowns and of the lists of cases."""
    delivered: Mapping[CaseKey, Mapping[Metric, float]]
    ceilings: Mapping[CaseKey, Ceiling]

    @property
    def present(self) -> dict[Metric, float]:
        """Means of the delivered order over all cases."""
        return _means(self.delivered.values())

    @property
    def ceiling(self) -> dict[Metric, float]:
        """Means of the ceiling over all cases."""
        return _means(one.values for one in self.ceilings.values())

    @property
    def n_bounds(self) -> int:
        """Cases whose ceiling is an upper bound."""
        return sum(not one.exact for one in self.ceilings.values())


def tabulate(cases: Sequence[Candidates], ks: Sequence[int], main: int) -> OrderTable:
    """Measure the delivered order and the ceiling of every case.

    Args:
        cases: at least one.
        ks: cutoffs, ascending, each at least 1.
        main: one of them.
    """
    return OrderTable(
        cases=cases,
        ks=tuple(ks),
        main=main,
        delivered={case.key: case.measured(range(len(case.chunks)), ks) for case in cases},
        ceilings={case.key: ceiling(case, ks) for case in cases},
    )


def study_order(table: OrderTable, orders: Mapping[CaseKey, Order]) -> OrderStudy:
    """Compare an order with the delivered one, case by case.

    Args:
        table: of the run.
        orders: by case; cases without one are left out.
    """
    cases = [case for case in table.cases if case.key in orders]
    after = {case.key: case.measured(orders[case.key], table.ks) for case in cases}
    by_category: dict[str, list[Candidates]] = {}
    for case in cases:
        by_category.setdefault(case.record.case.category, []).append(case)
    moved = sorted(
        (_moved(case, table, after[case.key], orders[case.key]) for case in cases),
        key=lambda one: one.after - one.before,
    )

    def compared(
        some: Sequence[Candidates], metrics: Iterable[Metric]
    ) -> dict[Metric, RerankSummary]:
        clusters = [case.record.cluster or case.key for case in some]
        return {
            metric: compare_orders(
                [table.delivered[case.key][metric] for case in some],
                [after[case.key][metric] for case in some],
                MetricScale(0.0, 1.0, binary=metric[0] == "hit"),
                clusters=clusters,
            )
            for metric in metrics
        }

    every = [(name, k) for name in MEASURES for k in table.ks]
    return OrderStudy(
        n=len(cases),
        metrics=compared(cases, every),
        ceiling=_means(table.ceilings[case.key].values for case in cases),
        by_category={
            name: compared(some, [(measure, table.main) for measure in MEASURES])
            for name, some in sorted(by_category.items())
        },
        worsened=tuple(one for one in moved if one.after < one.before),
        improved=tuple(one for one in reversed(moved) if one.after > one.before),
    )


def _moved(
    case: Candidates, table: OrderTable, after: Mapping[Metric, float], order: Order
) -> Moved:
    metric, (file, case_id) = ("ndcg", table.main), case.key
    return Moved(
        file=file,
        case_id=case_id,
        category=case.record.case.category,
        before=table.delivered[case.key][metric],
        after=after[metric],
        first_before=_first_relevant(case, range(len(case.chunks))),
        first_after=_first_relevant(case, order),
    )


def _first_relevant(case: Candidates, order: Order) -> int | None:
    ranked = case.ranking(order, max(len(order), 1)).matched
    return next((rank for rank, golds in enumerate(ranked, start=1) if golds), None)


def _means(rows: Iterable[Mapping[Metric, float]]) -> dict[Metric, float]:
    table = list(rows)
    return {metric: fsum(row[metric] for row in table) / len(table) for metric in table[0]}
