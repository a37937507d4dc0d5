"""Choice of the sentences of a chunk that hold the evidence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_rageval.authoring.labelling.draft import quoted
from pytest_rageval.judges.offline.claims import sentences


class SnippetChoice:
    """Sentences of one chunk, some of them picked.

    Args:
        passages: sentences that can be quoted, at least one.
        held: existing quotes; they may be parts of sentences, or from elsewhere.
    """

    def __init__(self, passages: Sequence[str], held: Sequence[str]) -> None:
        self.passages = tuple(passages)
        self._held = tuple(held)
        self.picked = frozenset(
            i for i, passage in enumerate(passages) if any(quoted(h, passage) for h in held)
        )
        """Indices into ``passages``."""
        self._first = self.picked
        self.cursor = min(self.picked, default=0)

    @property
    def changed(self) -> bool:
        """Whether anything was picked or dropped."""
        return self.picked != self._first

    def press(self, key: str) -> bool:
        """Take one key: ``up``, ``down``, ``j``, ``k``, ``space`` or the number of a sentence.

        Returns:
            Whether it was one of these, and a number that of a sentence.
        """
        last = len(self.passages) - 1
        if key in {"down", "j"}:
            self.cursor = min(self.cursor + 1, last)
        elif key in {"up", "k"}:
            self.cursor = max(self.cursor - 1, 0)
        elif key == "space":
            self.picked ^= {self.cursor}
        elif key.isascii() and key.isdigit() and len(key) < 6 and 1 <= int(key) <= last + 1:
            self.cursor = int(key) - 1
            self.picked ^= {self.cursor}
        else:
            return False
        return True

    def snippets(self) -> list[str]:
        """Return the quotes: first the existing ones that are kept, then new ones."""
        new = [
            passage
            for i, passage in enumerate(self.passages)
            if i in self.picked and not any(quoted(held, passage) for held in self._held)
        ]
        return [held for held in self._held if self._stays(held)] + new

    def _stays(self, held: str) -> bool:
        """Whether a snippet is kept: its sentence is picked, or it is not from this chunk."""
        holders = {i for i, passage in enumerate(self.passages) if quoted(held, passage)}
        return not holders or bool(holders & self.picked)


_BREAK: Final = re.compile(r"\s*$|\s{0,3}(?:```|~~~|#{1,6}\s|[-*_=|:\s]{3,}$)")
"""Lines that end a sentence and are not part of one: blank lines, fences, headings, rules."""
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)\s*$")
_NEW_BLOCK: Final = re.compile(r"\s*(?:[-*+]\s+|\d{1,3}[.)]\s+|>\s?|\|)")
_MARKER: Final = re.compile(r"(?:\s*(?:[-*+]|\d{1,3}[.)])\s+|\s*>\s?)+")
_MAX_SENTENCES: Final = 200


def split_passages(text: str) -> tuple[str, ...]:
    r"""Return the sentences, list items and table rows of a chunk in order.

    Each is in the chunk word for word, except for line breaks and repeated blanks. Headings, fences
    and rules are left out, and duplicates are returned once.

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
    """Yield blocks as one line each: a paragraph, a list item, a table row."""
    block: list[str] = []
    marker = None
    for line in (*text.splitlines(), ""):
        if block and marker is None and _UNDERLINE.match(line):
            block, line = [], ""  # a heading
        ends = _BREAK.match(line) is not None
        if block and (ends or _NEW_BLOCK.match(line)):
            yield " ".join(block)
            block = []
        if not ends:
            if not block:
                marker = _MARKER.match(line)
                line = line[marker.end() :] if marker else line
            block.append(" ".join(line.split()))
