"""Differences between two texts, word by word. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Final

_SINGLE: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words; each character counts as a word."""
_WORD: Final = re.compile(rf"(?:[{_SINGLE}]|[^\W{_SINGLE}]+|[^\w\s]+)\s*|\s+")
MAX_WORDS: Final = 10_000
"""Longest text that is compared, so that no case of a page takes longer than a second."""
_COMMON: Final = 0.2
"""Minimum common share of the shorter text for marks to be useful."""
_ISLAND: Final = 1
"""Equal words between two changes that count as changed, because they match by chance."""

Piece = tuple[bool, str]
"""Whether a part of a text changed, and the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDiff:
    """Two texts in pieces; the joined parts equal the texts."""

    old: tuple[Piece, ...]
    new: tuple[Piece, ...]


def diff_words(old: str, new: str) -> WordDiff | None:
    """Mark the words of each text that the other does not have at that place.

    In longer texts, frequent words are not matched alone, but only kept beside other equal words.
    Spaces and line ends alone do not count as a change.

    Returns:
        Both texts in pieces; None: too little of them is the same, or one is too long.

    >>> diff_words("It takes 5 days.", "It takes 10 days.").new
    ((False, 'It takes '), (True, '10'), (False, ' days.'))
    """
    ours, theirs = _WORD.findall(old), _WORD.findall(new)
    if max(len(ours), len(theirs)) > MAX_WORDS:
        return None
    same = _common([w.strip() for w in ours], [w.strip() for w in theirs])
    if len(same) < max(_COMMON * min(len(ours), len(theirs)), 1):
        return None
    return WordDiff(
        old=tuple(_pieces(ours, {i for i, _ in same})),
        new=tuple(_pieces(theirs, {j for _, j in same})),
    )


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of equal words in both, without short runs of them between changes."""
    *runs, _ = SequenceMatcher(None, old, new).get_matching_blocks()  # the last one is empty
    inner = range(1, len(runs) - 1)
    kept = [run for n, run in enumerate(runs) if n not in inner or run.size > _ISLAND]
    return [(run.a + n, run.b + n) for run in kept for n in range(run.size)]


def _pieces(words: Sequence[str], same: set[int]) -> Iterator[Piece]:
    """Join neighbours of the same kind; spaces around a change are not part of it."""
    flagged = [(n not in same and not word.isspace(), word) for n, word in enumerate(words)]
    space = ""
    for changed, group in groupby(flagged, key=itemgetter(0)):
        text = space + "".join(word for _, word in group)
        piece = text.rstrip() if changed else text
        space = text[len(piece) :]
        yield changed, piece
    if space:
        yield False, space
