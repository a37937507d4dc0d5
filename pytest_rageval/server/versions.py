"""Two versions of a note: dated notes on one subject that say different things."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

from pytest_rageval.server.chunking import Chunk
from pytest_rageval.server.terms import terms

COMPARED_CHUNKS = 10
"""Number of retrieved chunks that are compared with each other."""
_HEAD_BYTES = 2000
_ISO = r"(\d{4}-\d{2}-\d{2})"
_STATED = re.compile(
    r"^[^\w\n]*(?:last[ _-])?(?:updated|modified|changed|reviewed|edited|date|created|published"
    rf"|as of|valid from|effective)\b[^\w\n]*(?:on[^\w\n]+)?{_ISO}\b",
    re.IGNORECASE | re.MULTILINE,
)
_IN_NAME = re.compile(rf"(?<!\d){_ISO}(?!\d)")
_SAME_SUBJECT = 0.5
"""Minimum share of the words of the shorter title that two versions have in common."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Positions of two retrieved chunks, from 0; one is newer."""

    newer: int
    older: int


def note_date(rel_path: str, data: bytes) -> date | None:
    r"""Return the date that a note states at its beginning, else the one in its name.

    >>> note_date("a.md", b"# A\n\nLast updated: 2026-02-03\n")
    datetime.date(2026, 2, 3)
    """
    stated = _STATED.search(data[:_HEAD_BYTES].decode("utf-8", errors="replace"))
    found = stated or _IN_NAME.search(PurePosixPath(rel_path).stem)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def find_versions(chunks: Sequence[Chunk], dates: Mapping[str, date]) -> Iterator[Versions]:
    """Yield pairs of chunks, best first, that lie in one section of two versions of a note."""
    dated = [one for one in enumerate(chunks[:COMPARED_CHUNKS]) if one[1].rel_path in dates]
    for second, other in dated:
        for first, chunk in dated:
            if first >= second:
                break
            days = dates[chunk.rel_path], dates[other.rel_path]
            if days[0] != days[1] and _are_versions(chunk, other):
                newest_first = (first, second) if days[0] > days[1] else (second, first)
                yield Versions(*newest_first)


def _are_versions(chunk: Chunk, other: Chunk) -> bool:
    if chunk.rel_path == other.rel_path:
        return False
    headings, others = _headings(chunk), _headings(other)
    return _alike(headings[0], others[0]) and _alike(headings[-1], others[-1])


def _headings(chunk: Chunk) -> list[str]:
    """Return the headings of a chunk; without any, the name of its note."""
    return [part for part in chunk.heading_path.split(" > ") if part] or [
        PurePosixPath(chunk.rel_path).stem
    ]


def _alike(one: str, other: str) -> bool:
    """Whether two titles name one subject, whatever their numbers and dates."""
    mine, theirs = (
        {term for term in terms(title) if not any(map(str.isdigit, term))} for title in (one, other)
    )
    shorter = min(len(mine), len(theirs))
    return shorter > 0 and len(mine & theirs) >= _SAME_SUBJECT * shorter
