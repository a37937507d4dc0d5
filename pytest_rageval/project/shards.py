"""Parts of a set of cases, for runs on several machines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self, TypeVar

_SHARD: Final = re.compile(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*")
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``index``-th of ``count`` parts, from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text such as ``2/3``.

        Raises:
            ValueError: it does not name a part; the message says what was expected.
        """
        found = _SHARD.fullmatch(text)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.index <= shard.count:
            raise ValueError(
                f"got {text!r:.40}, expected I/N with I from 1 to N, such as 1/3 for the first of "
                "three parts"
            )
        return shard

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def part_of(self, keys: Iterable[_Key]) -> frozenset[_Key]:
        """Return this part of the keys: every ``count``-th one.

        The place in the whole set decides, so that neither another selection nor the order in
        which cases run moves a key to another part. Neighbours, which often cost alike, are put
        into different parts.

        >>> sorted(Shard(2, 3).part_of("abcdefg"))
        ['b', 'e']
        """
        return frozenset(
            key for place, key in enumerate(keys) if place % self.count == self.index - 1
        )
