"""The arithmetic behind the retrieval metrics, from a ranking's own counts.

Value and sentence are made of the same numbers, and the value must equal what the kernels of
``metrics.retrieval`` recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

from pytest_rageval.explain.wording import count, join, ranks
from pytest_rageval.metrics.retrieval import Groups, Ranking
from pytest_rageval.report.numbers import format_value

_TERMS = 6


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its arithmetic in words."""

    value: float | None
    """None: what is stored does not tell."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How one level of the ranking metrics is spoken about."""

    unit: str
    """What a rank holds: ``chunk`` or ``document``."""
    gold: str
    """``gold`` or ``gold document``."""
    names: tuple[str, ...]
    """One per gold of the ranking."""
    place: str
    """Such as ``the first 5 chunks``."""

    @property
    def rank(self) -> str:
        """What a place in the list is called."""
        return "rank" if self.unit == "chunk" else f"{self.unit} rank"

    def name(self, golds: Sequence[int] | frozenset[int]) -> str:
        """Name some golds."""
        return join([self.names[index] for index in sorted(golds)])


def cut_text(n_chunks: int, k: int) -> str:
    """Name the cut: ``the first 5 chunks``, ``the 3 chunks returned (k = 5)``."""
    if n_chunks >= k:
        return f"the first {count(k, 'chunk')}" if k > 1 else "the first chunk"
    if not n_chunks:
        return "an empty list"
    return f"the {count(n_chunks, 'chunk')} returned (k = {k})"


def ranking_figures(ranking: Ranking, terms: Terms) -> dict[str, Figure]:
    """Explain the ranking metrics of one level by their plain keys."""
    return {
        "hit_at_k": _hit(ranking, terms),
        "recall_at_k": _recall(ranking, terms),
        "mrr": _reciprocal_rank(ranking, terms),
        "precision_at_k": _precision(ranking, terms, ranking.k, f"k = {ranking.k}"),
        "precision_returned_at_k": _precision_returned(ranking, terms),
        "ndcg_at_k": _ndcg(ranking, terms),
        "map": _average_precision(ranking, terms),
    }


def group_figures(ranking: Ranking, groups: Groups, terms: Terms) -> dict[str, Figure]:
    """Explain the metrics over ``required_support_groups``."""
    return {
        "recall_all_at_k": _whole_group(ranking, groups, terms),
        "group_recall_at_k": _best_group(ranking, groups, terms),
    }


def _first_relevant(ranking: Ranking) -> int | None:
    return next((rank for rank, golds in enumerate(ranking.matched, start=1) if golds), None)


def _hit(ranking: Ranking, terms: Terms) -> Figure:
    first = _first_relevant(ranking)
    if first is None:
        return Figure(0.0, f"no {terms.gold} in {terms.place}")
    return Figure(1.0, f"{terms.name(ranking.matched[first - 1])} at {terms.rank} {first}")


def _recall(ranking: Ranking, terms: Terms) -> Figure:
    n, found = len(ranking.grades), ranking.found
    text = f"{len(found)} of {count(n, terms.gold)} in {terms.place}"
    missing = frozenset(range(n)) - found
    if found and missing:
        text += f"; missing {terms.name(missing)}"
    return Figure(len(found) / n, text)


def _reciprocal_rank(ranking: Ranking, terms: Terms) -> Figure:
    first = _first_relevant(ranking)
    if first is None:
        return Figure(0.0, f"no relevant {terms.unit} in {terms.place}")
    return Figure(1 / first, f"1 / {terms.rank} {first}, the first relevant {terms.unit}")


def _precision(ranking: Ranking, terms: Terms, of: int, of_text: str) -> Figure:
    n = ranking.n_relevant
    copies = sum(
        again and bool(golds)
        for golds, again in zip(ranking.matched, ranking.duplicate, strict=True)
    )
    text = f"{n} relevant of {of_text}"
    if copies:
        text += f"; {count(copies, 'copy') if copies == 1 else f'{copies} copies'} not counted"
    return Figure(n / of, text)


def _precision_returned(ranking: Ranking, terms: Terms) -> Figure:
    n = len(ranking.matched)
    if not n:
        return Figure(0.0, "nothing was returned")
    return _precision(ranking, terms, n, f"{count(n, terms.unit)} returned")


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _ndcg(ranking: Ranking, terms: Terms) -> Figure:
    gains = ranking.gains
    ideal = sorted(ranking.grades, reverse=True)[: ranking.k]
    dcg, best = _discounted(gains), _discounted(ideal)
    text = f"DCG {format_value(dcg)} / ideal {format_value(best)}"
    places = [rank for rank, gain in enumerate(gains, start=1) if gain]
    if places and max(ranking.grades) == 1:
        text += f" ({ranks(places)})"
    elif places:
        text += f" (gain {join([f'{gains[rank - 1]} at rank {rank}' for rank in places])})"
    return Figure(min(1.0, dcg / best), text)


def _average_precision(ranking: Ranking, terms: Terms) -> Figure:
    n = len(ranking.grades)
    places = [rank for rank, gain in enumerate(ranking.gains, start=1) if gain]
    if not places:
        return Figure(0.0, f"no {terms.rank} in the cut gains anything")
    parts = [f"{nth}/{rank}" for nth, rank in enumerate(places, start=1)]
    if len(parts) > _TERMS:
        parts = [*parts[: _TERMS - 1], "..."]
    total = sum(nth / rank for nth, rank in enumerate(places, start=1))
    text = " + ".join(parts)
    shown = text if len(places) == 1 else f"({text})"
    return Figure(total / n, f"{shown} / {count(n, terms.gold)}")


def _group(golds: Iterable[int]) -> str:
    return " ".join(f"[{index}]" for index in sorted(set(golds)))


def _whole_group(ranking: Ranking, groups: Groups, terms: Terms) -> Figure:
    lacking = []
    for group in groups:
        missing = frozenset(group) - ranking.found
        if not missing:
            return Figure(1.0, f"all of group {_group(group)} in {terms.place}")
        lacking.append(f"{_group(group)} lacks {terms.name(missing)}")
    return Figure(0.0, f"no group is whole: {'; '.join(lacking[:_TERMS])}")


def _best_group(ranking: Ranking, groups: Groups, terms: Terms) -> Figure:
    sets = [frozenset(group) for group in groups]
    best = max(sets, key=lambda group: len(group & ranking.found) / len(group))
    n = len(best & ranking.found)
    text = f"{n} of {count(len(best), terms.gold)} of group {_group(best)}"
    return Figure(n / len(best), f"{text}, the best" if len(sets) > 1 else text)
