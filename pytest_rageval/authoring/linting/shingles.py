"""Near-duplicate texts, found without comparing all pairs. Pure.

MinHash (Broder 1997) over the words and the pairs of words of a text, with banding: texts that
share a band are compared in full, by the Jaccard similarity of the two sets.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pytest_rageval.metrics.matching import norm_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAR: Final = 0.75
"""Jaccard similarity of near-duplicates."""
_BANDS: Final = 20
_ROWS: Final = 4
"""A pair of similarity s shares a band with probability 1 - (1 - s^4)^20: 0.9996 at 0.75."""
_BUCKET: Final = 8
"""Number of texts of a bucket to compare with: thousands of texts from one template share a
bucket, and comparing all of them would take hours."""
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
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for index, held in enumerate(sets):
        if not held:
            continue
        candidates: set[int] = set()
        for band in _bands(held):
            bucket = buckets[band]
            candidates.update(bucket)
            if len(bucket) < _BUCKET:
                bucket.append(index)
        similar = [(jaccard(held, sets[earlier]), earlier) for earlier in candidates]
        for similarity, earlier in sorted(similar, key=lambda pair: (-pair[0], pair[1])):
            if similarity >= threshold:
                yield Resemblance(index=index, earlier=earlier, similarity=similarity)


def asks_of_another(one: str, other: str) -> bool:
    """Whether two texts differ in a number, and so have different subjects.

    >>> asks_of_another("What does form 12 ask for?", "What does form 13 ask for?")
    True
    """
    return _numbers(one) != _numbers(other)


@lru_cache(maxsize=1 << 16)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if any(map(str.isdigit, word)))


@cache
def _coefficients() -> NDArray[np.uint64]:
    import numpy as np

    rng = np.random.default_rng(20_260_701)
    drawn = rng.integers(1, 2**63, size=(2, _BANDS * _ROWS), dtype=np.uint64)
    drawn[0] |= np.uint64(1)
    return drawn


def _bands(held: frozenset[str]) -> list[tuple[int, bytes]]:
    import numpy as np

    hashes = np.fromiter(
        (zlib.crc32(one.encode("utf-8", "surrogatepass")) for one in held), np.uint64, len(held)
    )
    scale, shift = _coefficients()
    # Multiply-shift hashing (Dietzfelbinger et al. 1997): the high half of a wrapping product.
    mixed = (hashes[:, None] * scale + shift) >> np.uint64(32)
    least = mixed.min(axis=0).astype(np.uint32).reshape(_BANDS, _ROWS)
    return [(number, row.tobytes()) for number, row in enumerate(least)]
