"""The sentences of a Markdown chunk, as they stand, to be quoted as snippets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pytest_rageval.judges.offline.claims import sentences

_BREAK: Final = re.compile(r"\s*$|\s{0,3}(?:```|~~~|#{1,6}\s|[-*_=|:\s]{3,}$)")
"""Lines that are no sentence and end the one before: blank ones, fences, headings, rules."""
_NEW_BLOCK: Final = re.compile(r"\s*(?:[-*+]\s+|\d{1,3}[.)]\s+|>\s?|\|)")
_MARKER: Final = re.compile(r"(?:\s*(?:[-*+]|\d{1,3}[.)])\s+|\s*>\s?)+")
_MAX_SENTENCES: Final = 200


def split_passages(text: str) -> tuple[str, ...]:
    r"""Return the sentences, list items and table rows of a chunk in order.

    Each is found word for word in the chunk, line breaks and runs of blanks apart; headings,
    fences and rules are left out, and what is equal comes once.

    >>> split_passages("# A\n\nOne line\ngoes on. Next!\n\n- an *item*\n")
    ('One line goes on.', 'Next!', 'an *item*')
    """
    found: dict[str, None] = {}
    for block in _blocks(text):
        for sentence in sentences(block):
            if any(char.isalnum() for char in sentence):
                found.setdefault(sentence)
            if len(found) == _MAX_SENTENCES:
                return tuple(found)
    return tuple(found)


def _blocks(text: str) -> Iterator[str]:
    """Yield what belongs together on one line: a paragraph, a list item, a table row."""
    block: list[str] = []
    for line in text.splitlines():
        ends = _BREAK.match(line) is not None
        if block and (ends or _NEW_BLOCK.match(line)):
            yield " ".join(block)
            block = []
        if not ends:
            marker = None if block else _MARKER.match(line)
            block.append(" ".join(line[marker.end() if marker else 0 :].split()))
    if block:
        yield " ".join(block)
