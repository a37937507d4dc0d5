"""Configurations that no other one beats in every objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Point = Sequence[float | None]
"""One figure by objective, the more the better; None: not measured."""


def pareto_front(points: Mapping[str, Point]) -> tuple[str, ...]:
    """Return the keys of the points that no other one dominates, in their order.

    A point dominates another if it is at least as good in every objective and better in one. A
    point without a figure neither dominates nor is on the front.
    """
    known = {
        key: [value for value in point if value is not None]
        for key, point in points.items()
        if None not in point
    }

    def dominates(one: list[float], other: list[float]) -> bool:
        return one != other and all(a >= b for a, b in zip(one, other, strict=True))

    return tuple(
        key for key, one in known.items() if not any(dominates(b, one) for b in known.values())
    )


def pareto_ranks(points: Mapping[str, Point]) -> dict[str, int]:
    """Return the number of the front of each point: 0 on the front, 1 on that of the rest.

    Points without a figure share the last one.
    """
    left, ranks, rank = dict(points), dict[str, int](), 0
    while front := pareto_front(left):
        ranks |= dict.fromkeys(front, rank)
        left = {key: point for key, point in left.items() if key not in ranks}
        rank += 1
    return ranks | dict.fromkeys(left, rank)
