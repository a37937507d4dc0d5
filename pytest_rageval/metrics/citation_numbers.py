"""Numbers of passages as answers cite them: ``1``, ``1, 3``, ``1-3``, ``1, 2, and 3``. Pure."""

from __future__ import annotations

import re
from typing import Final

_DASH: Final = r"[-\u2010-\u2014]"
_STEP: Final = rf"\s?(?:[,;]\s?(?:and|or|&)|[,;&]|and|or|{_DASH})\s?"
_NUMBER: Final = re.compile(rf"(?:({_DASH})[^\d,;&]*)?([0-9]+)")
BRACKETED: Final = rf"\s*[0-9]{{1,3}}(?:\s*(?:[,;]|{_DASH})\s*[0-9]{{1,3}})*\s*"
"""Pattern of the numbers within ``[1]``, ``[1, 3]`` or ``[1-3]``, which are always read."""


def numbers_pattern(name: str) -> str:
    """Return the pattern of at most ten numbers as the group ``n``.

    Args:
        name: pattern of what stands before the first number and may stand before any other.
    """
    return rf"(?P<n>{name}\d{{1,3}}(?:{_STEP}(?:{name})?\d{{1,3}}){{0,9}})"


def cited_numbers(written: str, first: int = 1) -> tuple[int, ...]:
    """Return the numbers of a list in order, those within a range too.

    Args:
        written: the list.
        first: number of the first passage.

    Returns:
        Empty unless every range is one of passages: it rises from a passage, by at most 20.

    >>> cited_numbers("1, 3-5")
    (1, 3, 4, 5)
    >>> cited_numbers("0-9"), cited_numbers("9-1"), cited_numbers("100-150")
    ((), (), ())
    """
    found: list[int] = []
    for dash, digits in _NUMBER.findall(written):
        number = int(digits)
        if not dash:
            found.append(number)
        elif found and first <= found[-1] < number <= found[-1] + 20:
            found += range(found[-1] + 1, number + 1)
        else:
            return ()
    return tuple(found)
