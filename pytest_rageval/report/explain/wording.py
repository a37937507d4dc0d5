"""Small pieces of sentences that every part of an explanation is put together from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LISTED = 8


def count(n: int, noun: str) -> str:
    """Count a regular noun: ``1 gold``, ``2 golds``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def join(names: Sequence[str], last: str = "and") -> str:
    """List names: ``a``, ``a and b``, ``a, b and c``; a long list is cut and says so."""
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], f"{len(names) - _LISTED + 1} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def indices(golds: Iterable[int]) -> str:
    """Name anchors by their index in the case file: ``[0] and [2]``."""
    return join([f"[{index}]" for index in sorted(golds)])


def ranks(places: Iterable[int]) -> str:
    """Name ranks: ``rank 2``, ``ranks 2 and 4``."""
    numbers = [str(rank) for rank in places]
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {join(numbers)}"
