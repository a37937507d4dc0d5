"""What changed between two texts, word by word. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_SINGLE: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words, of which every character is taken for one."""
_WORD: Final = re.compile(rf"(?:[{_SINGLE}]|[^\W{_SINGLE}]+|[^\w\s]+)\s*|\s+")
MAX_PAIRS: Final = 20_000
"""Places of equal words that are looked at: some ten milliseconds, however long a text is."""
_COMMON: Final = 0.2
"""Share of the shorter text that two must have in common for marks to tell anything."""
_ISLAND: Final = 1
"""Words between two changes that are taken for changed, too: chance makes them equal."""

Piece = tuple[bool, str]
"""Whether a part of a text changed, and the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDiff:
    """Two texts in pieces, whose parts put together are the texts."""

    old: tuple[Piece, ...]
    new: tuple[Piece, ...]


def diff_words(old: str, new: str) -> WordDiff | None:
    """Mark the words of each text that the other does not have at that place.

    The longest common sequence of words stays unmarked; where texts repeat the same words over
    and over, that of their rarer words. Spaces and line ends alone are no change.

    Args:
        old: the earlier text.
        new: the later one.

    Returns:
        Both texts in pieces; None: too little of them is the same.

    >>> diff_words("It takes 5 days.", "It takes 10 days.").new
    ((False, 'It takes '), (True, '10'), (False, ' days.'))
    """
    ours, theirs = _WORD.findall(old), _WORD.findall(new)
    same = _islands_out(_common([w.strip() for w in ours], [w.strip() for w in theirs]))
    if len(same) < max(_COMMON * min(len(ours), len(theirs)), 1):
        return None
    return WordDiff(
        old=tuple(_pieces(ours, {i for i, _ in same})),
        new=tuple(_pieces(theirs, {j for _, j in same})),
    )


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return places of a longest common sequence, by the method of Hunt and Szymanski (1977).

    Its time grows with the pairs of equal words, which are therefore limited.
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    places = equal_places(old[start : len(old) - end], new[start : len(new) - end])
    last: list[int] = []
    chains: list[tuple[int, int, object]] = []
    for i, word in enumerate(old[start : len(old) - end], start):
        for j in places.get(word, ()):
            length = bisect_left(last, j)
            chain = (i, j + start, chains[length - 1] if length else None)
            last[length : length + 1] = [j]
            chains[length : length + 1] = [chain]
    head = [(i, i) for i in range(start)]
    tail = [(len(old) - n, len(new) - n) for n in range(end, 0, -1)]
    return [*head, *_unwound(chains[-1] if chains else None), *tail]


def equal_places(old: Sequence[str], new: Sequence[str]) -> dict[str, list[int]]:
    """Return by word where the new text has it, last first; of the rarest words alone."""
    ours, theirs = Counter(old), Counter(new)
    pairs = sorted((n * theirs[word], word) for word, n in ours.items() if word in theirs)
    kept: dict[str, list[int]] = {}
    left = MAX_PAIRS
    for n, word in pairs:
        left -= n
        if left < 0:
            break
        kept[word] = []
    for j in range(len(new) - 1, -1, -1):
        if new[j] in kept:
            kept[new[j]].append(j)
    return kept


def _unwound(chain: object) -> list[tuple[int, int]]:
    found = []
    while isinstance(chain, tuple):
        i, j, chain = chain
        found.append((i, j))
    return found[::-1]


def _islands_out(same: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leave out runs of a word or so in the midst of what changed."""
    runs: list[list[tuple[int, int]]] = []
    for i, j in same:
        if runs and runs[-1][-1] == (i - 1, j - 1):
            runs[-1].append((i, j))
        else:
            runs.append([(i, j)])
    inner = range(1, len(runs) - 1)
    kept = [run for n, run in enumerate(runs) if n not in inner or len(run) > _ISLAND]
    return [pair for run in kept for pair in run]


def _pieces(words: Sequence[str], same: set[int]) -> Iterator[Piece]:
    """Put neighbours of one kind together; spaces around a change are none of it."""
    kind, text = False, ""
    for place, word in enumerate(words):
        changed = place not in same and not word.isspace()
        if changed != kind:
            bare = text.rstrip() if kind else text
            if bare:
                yield kind, bare
            kind, text = changed, text[len(bare) :]
            if kind and text:
                yield False, text
                text = ""
        text += word
    bare = text.rstrip() if kind else text
    yield from ((k, t) for k, t in ((kind, bare), (False, text[len(bare) :])) if t)
