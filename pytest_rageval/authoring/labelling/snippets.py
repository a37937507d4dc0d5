"""Choice of the sentences of a chunk that hold the evidence. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.support.text import sentences

SHOWN: Final = 200
"""Most sentences that are shown at once: a chunk may be a document of 20,000."""


class SnippetChoice:
    """Sentences of one chunk, some of them picked.

    Args:
        passages: sentences that can be quoted, at least one.
        held: existing quotes; they may be parts of sentences, several of them, or from elsewhere.
    """

    def __init__(self, passages: Sequence[str], held: Sequence[str]) -> None:
        self.passages = tuple(passages)
        self._texts = list(map(norm_text, passages))
        self._held = [(quote, frozenset(self._sentences_of(quote))) for quote in held]
        self._first: frozenset[int] = frozenset().union(*(places for _, places in self._held))
        self.picked = self._first
        """Indices into ``passages``."""
        self.cursor = min(self.picked, default=0)
        """Index into ``passages``."""
        self.filter = ""
        self.found: Sequence[int] = range(len(self.passages))
        """Indices of the passages that contain ``filter``, never empty."""

    @property
    def changed(self) -> bool:
        """Whether anything was picked or dropped."""
        return self.picked != self._first

    @property
    def shown(self) -> Sequence[int]:
        """At most ``SHOWN`` of ``found``, with the cursor among them."""
        start = self._place // SHOWN * SHOWN
        return self.found[start : start + SHOWN]

    @property
    def _place(self) -> int:
        return bisect_left(self.found, self.cursor)

    def press(self, key: str) -> bool:
        """Take one key: one that moves or picks, or the number of a sentence.

        Returns:
            Whether it was one of these, and a number that of a sentence that is found.
        """
        steps = {"down": 1, "j": 1, "up": -1, "k": -1}
        if key in steps:
            self._move_to(self._place + steps[key])
        elif key in {"home", "end"}:
            self._move_to(0 if key == "home" else len(self.found) - 1)
        elif key == "space":
            self.picked ^= {self.cursor}
        elif key.isascii() and key.isdigit() and len(key) < 8 and int(key) - 1 in self.found:
            self.cursor = int(key) - 1
            self.picked ^= {self.cursor}
        else:
            return False
        return True

    def _move_to(self, place: int) -> None:
        self.cursor = self.found[max(0, min(place, len(self.found) - 1))]

    def search(self, text: str) -> str:
        """Show only the sentences that contain a text, ignoring spelling; empty: all.

        If none does, the same sentences are shown as before. The cursor stays on its sentence if
        that one is found.

        Returns:
            The reason why nothing changed; empty: something did.
        """
        found = self._containing(text)
        if not found:
            return "no sentence with the text"
        self.filter, self.found = text, found
        if self.cursor not in found:
            self.cursor = found[0]
        return ""

    def _containing(self, text: str) -> list[int]:
        """Return the indices of the sentences that contain a text, ignoring spelling."""
        wanted = norm_text(text)
        return [i for i, one in enumerate(self._texts) if wanted in one]

    def _sentences_of(self, quote: str) -> Sequence[int]:
        """Return the sentences that contain a quote, or those that it runs through."""
        if found := self._containing(quote):
            return found
        wanted = norm_text(quote)
        start = " ".join(self._texts).find(wanted)
        if start < 0:
            return ()
        ends = list(accumulate(len(one) + 1 for one in self._texts))
        return range(bisect_right(ends, start), bisect_right(ends, start + len(wanted) - 1) + 1)

    def snippets(self) -> list[str]:
        """Return the quotes: first the existing ones that are kept, then new ones.

        A quote is kept if a sentence of it is picked, or if it is not from this chunk.
        """
        kept = [quote for quote, places in self._held if not places or places & self.picked]
        return kept + [self.passages[i] for i in sorted(self.picked - self._first)]


_BREAK: Final = re.compile(r"\s*$|\s{0,3}(?:```|~~~|#{1,6}\s|[-*_=|:\s]{3,}$)")
"""Lines that end a sentence and are not part of one: blank lines, fences, headings, rules."""
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)\s*$")
_NEW_BLOCK: Final = re.compile(r"\s*(?:[-*+]\s+|\d{1,3}[.)]\s+|>\s?|\|)")
_MARKER: Final = re.compile(r"(?:\s*(?:[-*+]|\d{1,3}[.)])\s+|\s*>\s?)+")

_LONGEST: Final = 1_000
"""Most characters of a sentence of several lines. Of a longer one, such as a log or a list without
full stops, each line is a passage."""


def split_passages(text: str) -> tuple[str, ...]:
    r"""Return the sentences, list items and table rows of a chunk in order.

    Each is in the chunk word for word, except for line breaks and repeated blanks. Headings, fences
    and rules are left out, and duplicates are returned once.

    >>> split_passages("# A\n\nOne line\ngoes on. Next!\n\n- an *item*\n")
    ('One line goes on.', 'Next!', 'an *item*')
    """
    found: dict[str, None] = {}
    for lines in _blocks(text):
        passages = list(sentences(" ".join(lines)))
        if max(map(len, passages), default=0) > _LONGEST:
            passages = [passage for line in lines for passage in sentences(line)]
        for sentence in passages:
            if any(char.isalnum() for char in sentence):
                found.setdefault(sentence)
    return tuple(found)


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each block: a paragraph, a list item, a table row."""
    block: list[str] = []
    marker = None
    for line in (*text.splitlines(), ""):
        if block and marker is None and _UNDERLINE.match(line):
            block, line = [], ""  # a heading
        ends = _BREAK.match(line) is not None
        if block and (ends or _NEW_BLOCK.match(line)):
            yield block
            block = []
        if not ends:
            if not block:
                marker = _MARKER.match(line)
                line = line[marker.end() :] if marker else line
            block.append(" ".join(line.split()))
