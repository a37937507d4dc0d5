"""Near-duplicate texts, found without comparing all pairs. Pure.

Texts are compared by the Jaccard similarity of their words and pairs of words. Two that are alike
share at least one of their rarest parts (prefix filtering: Bayardo, Ma and Srikant 2007), so only
texts that do are compared.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from pytest_rageval.metrics.matching import norm_text

NEAR: Final = 0.75
"""Jaccard similarity of near-duplicates."""
_CROWD: Final = 16
"""Number of earlier texts with the same part to compare with: thousands of texts from one template
share most parts, and comparing all of them would take hours."""
_WORD: Final = re.compile(r"\w+(?:['’.\-]\w+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resemblance:
    """A near-duplicate of an earlier text."""

    index: int
    earlier: int
    similarity: float
    """0 to 1; 1: the same words and pairs of words."""


def words(text: str) -> tuple[str, ...]:
    """Return the normalised words of a text.

    >>> words("What's the e-mail of  Ines?")
    ("what's", 'the', 'e-mail', 'of', 'ines')
    """
    return tuple(_WORD.findall(norm_text(text)))


def shingles(text: str) -> frozenset[str]:
    """Return the words and the pairs of neighbouring words of a text."""
    found = words(text)
    return frozenset(found) | {f"{one} {two}" for one, two in pairwise(found)}


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection over that of the union; 0 if both are empty."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 0.0


def find_resemblances(texts: Sequence[str], *, threshold: float = NEAR) -> Iterator[Resemblance]:
    """Yield the earlier texts that each one resembles, most similar first.

    Args:
        texts: in a stable order, because the result depends on it.
        threshold: minimum similarity, above 0.
    """
    sets = [shingles(text) for text in texts]
    n_holding = Counter(part for held in sets for part in held)
    holding: dict[str, list[int]] = defaultdict(list)
    for index, held in enumerate(sets):
        # At the threshold, two sets differ in at most so many parts of either.
        n_rarest = int((1 - threshold) * len(held) + 1e-9) + 1
        candidates: set[int] = set()
        for part in heapq.nsmallest(n_rarest, held, key=lambda one: (n_holding[one], one)):
            earlier = holding[part]
            candidates.update(earlier)
            if len(earlier) < _CROWD:
                earlier.append(index)
        similar = [(jaccard(held, sets[one]), one) for one in candidates]
        for similarity, one in sorted(similar, key=lambda pair: (-pair[0], pair[1])):
            if similarity >= threshold:
                yield Resemblance(index=index, earlier=one, similarity=similarity)


def asks_of_another(one: str, other: str) -> bool:
    """Whether two texts differ in a number, and so have different subjects.

    >>> asks_of_another("What does form 12 ask for?", "What does form 13 ask for?")
    True
    """
    return _numbers(one) != _numbers(other)


@lru_cache(maxsize=1 << 16)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if any(map(str.isdigit, word)))
