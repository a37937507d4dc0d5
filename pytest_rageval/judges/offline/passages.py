"""The context of an answer, indexed for looking up claims."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from pytest_rageval.judges.offline.claims import sentences
from pytest_rageval.judges.offline.words import Word, read_words
from pytest_rageval.values.verdict import Passage

LIMIT: Final = 200_000
"""Characters of a passage that are read."""
_NEARBY: Final = 3
"""Maximum distance, in content words, of a pair."""
_LABEL: Final = re.compile(r"(?:\A|\n\n)[ \t]*\[(\d{1,3})\][ \t]+")


class Sentence(NamedTuple):
    """One sentence of the context."""

    passage: int
    """1-based place of its passage in the request."""
    label: int
    """Number that ``[n]`` in the answer names it by."""
    words: Sequence[Word]
    keys: frozenset[str]
    """Keys of all words except core words."""
    first: int
    """Index of the first sentence of its passage, often a title."""
    heading: frozenset[str]
    """Words of its passage's heading path."""

    @property
    def negated(self) -> bool:
        """Whether it holds a negation."""
        return any(word.negates for word in self.words)


class Order(NamedTuple):
    """Neighbouring words in a sentence."""

    pairs: Set[tuple[str, str]]
    """Content words at most three apart, in order."""
    runs: Set[tuple[str, str, str]]
    """Three words in a row, core ones included."""


@dataclass(slots=True, kw_only=True)
class ContextIndex:
    """Positions of the relevant words in the context."""

    vocabulary: Set[str]
    """Keys that are looked up: of claims and question. Other words are not indexed, for speed."""
    sentences: list[Sentence] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    """Sentences by key."""
    orders: dict[int, Order] = field(default_factory=dict)
    """Neighbouring words by sentence, filled on first use."""

    def holds(self, word: Word) -> bool:
        """Whether any sentence contains a word as written; used for few words."""
        return any(word in sentence.words for sentence in self.sentences)

    def window(self, at: int) -> frozenset[str]:
        """Return the words of a sentence, its neighbours, and first line and heading."""
        here = self.sentences[at]
        close = range(max(here.first, at - 1), min(at + 2, len(self.sentences)))
        near = (self.sentences[i] for i in {here.first, *close})
        return here.heading.union(*(s.keys for s in near if s.first == here.first))

    def order(self, at: int) -> Order:
        """Return the neighbouring words in a sentence; computed on first use."""
        found = self.orders.get(at)
        if found is None:
            words = self.sentences[at].words
            found = Order(_nearby_pairs(content_keys(words)), word_runs(words))
            self.orders[at] = found
        return found


def read_context(passages: Sequence[Passage], vocabulary: Set[str]) -> ContextIndex:
    """Index passages; one that is itself a list of ``[n]`` blocks is read as those blocks."""
    index = ContextIndex(vocabulary=vocabulary)
    for place, passage in enumerate(passages, start=1):
        heading = frozenset(content_keys(read_words(passage.heading_path or "")))
        for label, text in labelled_blocks(passage.text[:LIMIT], place):
            _read_block(index, text, (place, label), heading)
    return index


def labelled_blocks(text: str, place: int) -> list[tuple[int, str]]:
    """Split a text of ``[1] …``, ``[2] …`` paragraphs into those; any other is one block."""
    if not text.lstrip().startswith("["):
        return [(place, text)]
    marks = list(_LABEL.finditer(text))
    if not marks or marks[0].start() != 0:
        return [(place, text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [(int(m[1]), text[m.end() : end]) for m, end in zip(marks, ends, strict=True)]


def _read_block(
    index: ContextIndex, text: str, where: tuple[int, int], heading: frozenset[str]
) -> None:
    vocabulary, found, places = index.vocabulary, index.sentences, index.places
    passage, label = where
    first = len(found)
    for at, (words, keys) in enumerate(_read_sentences(text), start=first):
        for key in keys & vocabulary:
            if key in places:
                places[key].append(at)
            else:
                places[key] = [at]
        found.append(Sentence(passage, label, words, keys, first, heading))


@lru_cache(maxsize=512)  # questions of a run share passages, and several rubrics read each
def _read_sentences(text: str) -> tuple[tuple[Sequence[Word], frozenset[str]], ...]:
    read = map(read_words, sentences(text))
    # ``content_keys`` inlined: a call costs more than a word.
    return tuple([(words, frozenset({w[1] for w in words if w[2]})) for words in read])


def content_keys(words: Sequence[Word]) -> list[str]:
    """Return the keys of words in order, core words left out."""
    return [word[1] for word in words if word[2]]  # by place: this is the innermost loop


def word_runs(words: Sequence[Word]) -> set[tuple[str, str, str]]:
    """Return every three words in a row."""
    keys = [word.key for word in words]
    return set(zip(keys, keys[1:], keys[2:], strict=False))


def _nearby_pairs(content: Sequence[str]) -> set[tuple[str, str]]:
    gaps = range(1, _NEARBY + 1)
    return {pair for gap in gaps for pair in zip(content, content[gap:], strict=False)}
