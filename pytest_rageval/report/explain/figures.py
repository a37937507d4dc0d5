"""The arithmetic behind the retrieval metrics in words, from a ranking's own counts.

No value is computed here: ``metrics.retrieval`` does that, and a sentence shows what it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.metrics.retrieval import (
    Groups,
    Ranking,
    dcg,
    group_recall_at_k,
    ideal_dcg,
)
from pytest_rageval.report.explain.values import join, ranks
from pytest_rageval.support.numbers import format_value
from pytest_rageval.support.text import counted

_TERMS: Final = 6
"""Most fractions or groups that one sentence lists."""


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
        return f"the first {counted(k, 'chunk')}" if k > 1 else "the first chunk"
    if not n_chunks:
        return "an empty list"
    return f"the {counted(n_chunks, 'chunk')} returned (k = {k})"


def ranking_sentences(ranking: Ranking, terms: Terms) -> dict[str, str]:
    """Explain the ranking metrics of one level by their plain keys."""
    return {
        "hit_at_k": _hit(ranking, terms),
        "recall_at_k": _recall(ranking, terms),
        "mrr": _reciprocal_rank(ranking, terms),
        "precision_at_k": _precision(ranking, f"k = {ranking.k}"),
        "precision_returned_at_k": _precision_returned(ranking, terms),
        "ndcg_at_k": _ndcg(ranking),
        "map": _average_precision(ranking, terms),
    }


def group_sentences(ranking: Ranking, groups: Groups, terms: Terms) -> dict[str, str]:
    """Explain the metrics over ``required_support_groups``."""
    return {
        "recall_all_at_k": _whole_group(ranking, groups, terms),
        "group_recall_at_k": _best_group(ranking, groups, terms),
    }


def _first_relevant(ranking: Ranking) -> int | None:
    return next((rank for rank, golds in enumerate(ranking.matched, start=1) if golds), None)


def _hit(ranking: Ranking, terms: Terms) -> str:
    first = _first_relevant(ranking)
    if first is None:
        return f"no {terms.gold} in {terms.place}"
    return f"{terms.name(ranking.matched[first - 1])} at {terms.rank} {first}"


def _recall(ranking: Ranking, terms: Terms) -> str:
    n, found = len(ranking.grades), ranking.found
    text = f"{len(found)} of {counted(n, terms.gold)} in {terms.place}"
    missing = frozenset(range(n)) - found
    if found and missing:
        text += f"; missing {terms.name(missing)}"
    return text


def _reciprocal_rank(ranking: Ranking, terms: Terms) -> str:
    first = _first_relevant(ranking)
    if first is None:
        return f"no relevant {terms.unit} in {terms.place}"
    return f"1 / {terms.rank} {first}, the first relevant {terms.unit}"


def _precision(ranking: Ranking, of: str) -> str:
    copies = sum(
        again and bool(golds)
        for golds, again in zip(ranking.matched, ranking.duplicate, strict=True)
    )
    text = f"{ranking.n_relevant} relevant of {of}"
    if copies:
        text += f"; {'1 copy' if copies == 1 else f'{copies} copies'} not counted"
    return text


def _precision_returned(ranking: Ranking, terms: Terms) -> str:
    n = len(ranking.matched)
    if not n:
        return "nothing was returned"
    return _precision(ranking, f"{counted(n, terms.unit)} returned")


def _ndcg(ranking: Ranking) -> str:
    gains = ranking.gains
    ideal = ideal_dcg(ranking.grades, ranking.k)
    text = f"DCG {format_value(dcg(gains))} / ideal {format_value(ideal)}"
    places = [rank for rank, gain in enumerate(gains, start=1) if gain]
    if places and max(ranking.grades) == 1:
        text += f" ({ranks(places)})"
    elif places:
        text += f" (gain {join([f'{gains[rank - 1]} at rank {rank}' for rank in places])})"
    return text


def _average_precision(ranking: Ranking, terms: Terms) -> str:
    places = [rank for rank, gain in enumerate(ranking.gains, start=1) if gain]
    if not places:
        return f"no {terms.rank} in the cut gains anything"
    parts = [f"{nth}/{rank}" for nth, rank in enumerate(places, start=1)]
    if len(parts) > _TERMS:
        parts = [*parts[: _TERMS - 1], "..."]
    text = " + ".join(parts)
    shown = text if len(places) == 1 else f"({text})"
    return f"{shown} / {counted(len(ranking.grades), terms.gold)}"


def _group(golds: Iterable[int]) -> str:
    return " ".join(f"[{index}]" for index in sorted(set(golds)))


def _whole_group(ranking: Ranking, groups: Groups, terms: Terms) -> str:
    lacking = []
    for group in groups:
        missing = frozenset(group) - ranking.found
        if not missing:
            return f"all of group {_group(group)} in {terms.place}"
        lacking.append(f"{_group(group)} lacks {terms.name(missing)}")
    return f"no group is whole: {'; '.join(lacking[:_TERMS])}"


def _best_group(ranking: Ranking, groups: Groups, terms: Terms) -> str:
    first_best = max(groups, key=lambda group: group_recall_at_k(ranking, [group]))
    best = frozenset(first_best)
    text = (
        f"{len(best & ranking.found)} of {counted(len(best), terms.gold)} of group {_group(best)}"
    )
    return f"{text}, the best" if len(groups) > 1 else text
