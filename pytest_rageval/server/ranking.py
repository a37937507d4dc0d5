"""Reranking of the best candidates by words of the question, and their proximity."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.server.terms import TermFrequencies

MIN_POOL = 50
"""Least number of candidates to rerank."""
NEAR = 4
"""Two words of the question count as close within this many content words."""

_BASE, _COVERAGE, _HEADING, _NEARNESS = 0.45, 0.3, 0.1, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk as the first stage ranked it."""

    position: int
    score: float
    body_terms: Sequence[str]
    """Stems of the text, in order."""
    heading_terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its score and the rank, from 1, that it had before; None: it is not reranked."""

    position: int
    score: float
    rank_before: int | None = None


def rerank(
    question_terms: Sequence[str], candidates: Sequence[Candidate], frequencies: TermFrequencies
) -> list[Ranked]:
    """Rerank candidates, best first; equal scores keep their order.

    The new score, 0 to 1, is 0.45 of the first-stage score (over the best one), 0.3 of the share
    of the question's words in the passage, 0.1 of that share in its headings alone, and 0.15 of
    the share of neighbouring words of the question that stand close together in the text.

    Args:
        question_terms: Distinct stems of the question in order.
        candidates: Best first.
        frequencies: Weighs the words: rare ones count for more.
    """
    best = max((candidate.score for candidate in candidates), default=0.0) or 1.0
    scored = []
    for rank, candidate in enumerate(candidates, start=1):
        heading = set(candidate.heading_terms)
        score = (
            _BASE * candidate.score / best
            + _COVERAGE * frequencies.coverage(question_terms, heading.union(candidate.body_terms))
            + _HEADING * frequencies.coverage(question_terms, heading)
            + _NEARNESS * nearness(question_terms, candidate.body_terms)
        )
        scored.append(Ranked(candidate.position, round(score, 9), rank))
    return sorted(scored, key=lambda entry: -entry.score)


def nearness(question_terms: Sequence[str], body: Sequence[str]) -> float:
    """Return the share, 0 to 1, of neighbouring question terms that are within `NEAR` words.

    >>> nearness(["retri", "limit", "queu"], ["limit", "of", "retri", "x", "x", "x", "x", "queu"])
    0.5
    """
    pairs = list(pairwise(question_terms))
    if not pairs:
        return 0.0
    places: dict[str, list[int]] = {}
    wanted = set(question_terms)
    for place, term in enumerate(body):
        if term in wanted:
            places.setdefault(term, []).append(place)
    close = sum(_within(places.get(one, ()), places.get(two, ())) for one, two in pairs)
    return close / len(pairs)


def _within(one: Sequence[int], two: Sequence[int]) -> bool:
    """Whether two ascending lists have positions at most `NEAR` apart."""
    return any(bisect_left(two, place - NEAR) < bisect_right(two, place + NEAR) for place in one)


Scores = NDArray[np.float64]
FusionMethod = Literal["weighted", "rrf"]
RRF_K = 60


def normalised(scores: Scores) -> Scores:
    """Scale scores to 0..1 by the best one, with 0 (no match) as the fixed lower end.

    The theoretical-minimum form of min-max normalisation (Bruch, Gai and Ingber, 2023): unlike
    the observed minimum, it does not stretch a list of near-equal scores over the whole range.

    >>> normalised(np.array([4.0, 1.0, 0.0, -2.0])).tolist()
    [1.0, 0.25, 0.0, 0.0]
    """
    positive = np.maximum(scores, 0.0)
    best = float(positive.max(initial=0.0))
    return positive / best if best > 0 else positive


def fuse(
    vector: Scores,
    lexical: Scores,
    *,
    method: FusionMethod,
    vector_weight: float,
    lexical_weight: float,
) -> Scores:
    """Return one score for each chunk; 0 means that neither side found it.

    `weighted` is the weighted mean of the normalised scores, 0 to 1. `rrf` is reciprocal rank
    fusion (Cormack, Clarke and Buettcher, 2009): the sum of 1 / (60 + rank) over both rankings,
    at most 2/61. It looks at ranks only; a weight of 0 leaves its ranking out.

    Args:
        vector: Cosine of each chunk with the question; 0 or less for no match.
        lexical: BM25 of each chunk, 0 for no match.
        method: How to join them.
        vector_weight: At least 0; only the proportion of the weights counts.
        lexical_weight: At least 0; not both 0.
    """
    sides = ((vector, vector_weight), (lexical, lexical_weight))
    if method == "rrf":
        parts = [_reciprocal_ranks(side) for side, weight in sides if weight > 0]
    else:
        total = vector_weight + lexical_weight
        parts = [normalised(side) * (weight / total) for side, weight in sides]
    fused: Scores = np.sum(parts, axis=0, dtype=np.float64)
    return fused


def _reciprocal_ranks(scores: Scores) -> Scores:
    result = np.zeros(len(scores))
    found = ranking(scores)
    result[found] = 1.0 / (RRF_K + np.arange(1, len(found) + 1))
    return result


def ranking(scores: Scores) -> NDArray[np.int64]:
    """Return the positions with a score above 0, best first, ties in order of position.

    Scores are compared to nine places, so that the last bit of a sum decides no rank.
    """
    order = np.argsort(-np.round(scores, 9), kind="stable")
    return order[scores[order] > 0]
