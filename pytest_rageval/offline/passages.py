"""The context of an answer, indexed for looking up claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.judgements import Passage
from pytest_rageval.offline.claims import sentences
from pytest_rageval.offline.words import CORE, Word, read_words

LIMIT: Final = 200_000
"""Characters of a passage that are read."""
_LABEL: Final = re.compile(r"(?:\A|\n\n)[ \t]*\[(\d{1,3})\][ \t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of the context."""

    passage: int
    """1-based place of its passage in the request."""
    label: int
    """Number that ``[n]`` in the answer names it by."""
    keys: frozenset[str]
    """Of all words but the core ones."""
    negated: bool


@dataclass(slots=True, kw_only=True)
class ContextIndex:
    """Where each word of the context stands."""

    sentences: list[Sentence] = field(default_factory=list)
    topics: list[frozenset[str]] = field(default_factory=list)
    """For each sentence the words of its passage's heading and first line."""
    places: dict[str, list[int]] = field(default_factory=dict)
    """Key to the sentences that hold it."""
    forms: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """Content words at most three apart, in order."""
    runs: set[tuple[str, str, str]] = field(default_factory=set)
    """Three words in a row, core ones included."""

    def window(self, at: int) -> frozenset[str]:
        """Return the words of a sentence, its neighbours and the topic of its passage."""
        here = self.sentences[at]
        near = (s.keys for s in self.sentences[max(0, at - 1) : at + 2] if s.label == here.label)
        return self.topics[at].union(*near)


def read_context(passages: Sequence[Passage]) -> ContextIndex:
    """Index passages; one that is itself a list of ``[n]`` blocks is read as those blocks."""
    index = ContextIndex()
    for place, passage in enumerate(passages, start=1):
        heading = frozenset(word.key for word in read_words(passage.heading_path or ""))
        for label, text in labelled_blocks(passage.text[:LIMIT], place):
            _read_block(index, text, place, label, heading)
    return index


def labelled_blocks(text: str, place: int) -> list[tuple[int, str]]:
    """Split ``[1] …\\n\\n[2] …`` into numbered blocks; any other text is one block."""
    marks = list(_LABEL.finditer(text))
    if not marks or marks[0].start() != 0:
        return [(place, text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [(int(m[1]), text[m.end() : end]) for m, end in zip(marks, ends, strict=True)]


def _read_block(
    index: ContextIndex, text: str, place: int, label: int, heading: frozenset[str]
) -> None:
    topic: frozenset[str] | None = None
    for sentence in sentences(text):
        words = read_words(sentence)
        content = [word.key for word in words if word.tier != CORE]
        keys = frozenset(content)
        if topic is None:
            topic = heading | keys
        at = len(index.sentences)
        negated = any(word.negates for word in words)
        index.sentences.append(Sentence(passage=place, label=label, keys=keys, negated=negated))
        index.topics.append(topic)
        for key in keys:
            index.places.setdefault(key, []).append(at)
        index.forms.update([word.form for word in words])
        index.pairs.update(nearby_pairs(content))
        index.runs.update(word_runs(words))


def nearby_pairs(content: Sequence[str]) -> set[tuple[str, str]]:
    """Return the pairs of content words at most three apart."""
    return {pair for gap in (1, 2, 3) for pair in zip(content, content[gap:], strict=False)}


def word_runs(words: Sequence[Word]) -> set[tuple[str, str, str]]:
    """Return every three words in a row."""
    keys = [word.key for word in words]
    return set(zip(keys, keys[1:], keys[2:], strict=False))
