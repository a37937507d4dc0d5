"""Two rankings into one: weighted scores or reciprocal ranks."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
FusionMethod = Literal["weighted", "rrf"]
FUSION_METHODS: tuple[FusionMethod, ...] = ("weighted", "rrf")
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
        vector: Cosine of each chunk with the question; 0 or less is no match.
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
