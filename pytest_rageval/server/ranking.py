"""A second look at the best candidates: which words of the question they hold, and how close."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_rageval.server.frequencies import TermFrequencies

MIN_POOL = 50
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
class Reranked:
    """A candidate with its new score and the rank, from 1, that it had before."""

    position: int
    score: float
    rank_before: int


def pool_size(k: int) -> int:
    """Return how many candidates to look at for `k` results."""
    return max(MIN_POOL, 2 * k)


def rerank(
    question_terms: Sequence[str], candidates: Sequence[Candidate], frequencies: TermFrequencies
) -> list[Reranked]:
    """Order candidates anew, best first; equal scores keep their order.

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
        scored.append(Reranked(candidate.position, round(score, 9), rank))
    return sorted(scored, key=lambda entry: -entry.score)


def nearness(question_terms: Sequence[str], body: Sequence[str]) -> float:
    """Return the share, 0 to 1, of neighbouring question terms that stand within `NEAR` words.

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
    """Tell whether two rising lists hold places at most `NEAR` apart, in one pass over both."""
    left = right = 0
    while left < len(one) and right < len(two):
        if abs(one[left] - two[right]) <= NEAR:
            return True
        if one[left] < two[right]:
            left += 1
        else:
            right += 1
    return False
