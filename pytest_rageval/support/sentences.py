"""Sentences of a text, as ranges or trimmed: split where they end, not at abbreviations. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ABBREVIATED: Final = frozenset(
    """
    mr mrs ms dr prof st sr jr gen col lt sgt capt rev hon gov sen rep vs etc approx ca cf al
    inc ltd co corp no nos vol pp fig e.g i.e a.m p.m u.s u.k jan feb mar apr jun jul aug sep
    sept oct nov dec
    """.split()
)
"""Words, besides single letters, after which a full stop does not end a sentence."""
_STOP: Final = re.compile(r"[.!?\n。！？｡؟।]+[\"'”’)\]*_]*")


def sentence_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of the sentences of a text, which are the whole of it in order."""
    start = 0
    for match in _STOP.finditer(text):
        end = match.end()
        if not _goes_on(text, match.start(), end, start):
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, trimmed, none of them blank."""
    for start, end in sentence_ranges(text):
        if piece := text[start:end].strip():
            yield piece


def _goes_on(text: str, stop: int, end: int, start: int) -> bool:
    """Whether a sentence continues after a full stop: in "3.5", "a.md", "e.g. this"."""
    if text[stop] not in ".!?":
        return False
    if end < len(text) and text[end - 1] != "\n" and not text[end].isspace():
        return True
    if text[stop] != "." or end != stop + 1:
        return False
    before = text[max(start, stop - 11) : stop].rsplit(None, 1)
    word = before[-1].strip("(\"'").lower() if before else ""
    return word in _ABBREVIATED or (len(word) == 1 and word.isalpha())
