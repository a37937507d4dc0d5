"""Features of the support of one claim by an indexed context, each from 0 to 1.

Coverage is the share of the claim's words, by weight, that the context contains. A claim that
occurs word for word in one sentence has 1 in every feature of ``FOR`` and 0 in every one of
``AGAINST``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from pytest_rageval.judges.offline.claims import sentences
from pytest_rageval.judges.offline.lexicon import (
    APPROXIMATE,
    CORE,
    FULL,
    LIGHT,
    SOFT,
    Word,
    read_words,
    rivals,
)
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.verdict import Passage

WEIGHTS: Final[Mapping[int, int]] = {SOFT: 4, LIGHT: 7, FULL: 10}
"""Weight of a word by its tier; whole numbers, so that sums are the same in any order."""
_REACH: Final = 4
"""Number of words after a negation that it can negate."""
CLOSEST: Final = 3
"""Sentences in which the order of words is compared."""

FOR: Final = ("window", "new_words", "pairs", "runs", "on_topic")
AGAINST: Final = ("numbers", "names", "negated", "not_negated", "rival", "absolute", "self_talk")
FEATURES: Final = FOR + AGAINST


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Support of one claim."""

    features: Mapping[str, float]
    """By the names of ``FEATURES``.

    - ``window``: coverage by the best sentence, its neighbours, its heading and first line;
    - ``new_words``: by the window, of the words that the question does not hold;
    - ``pairs``: neighbouring content words that are near each other in a close sentence, too;
    - ``runs``: three words in a row that occur unchanged in a close sentence;
    - ``on_topic``: share of the question's words in the context, 0.5 without a question;
    - ``numbers``: a number is not in the window (nor near one, where it is an estimate);
    - ``names``: a name is neither in the context nor in the question;
    - ``negated``, ``not_negated``: only the claim, only the best sentence negates a shared word;
    - ``rival``: the best sentence contains an opposite of a word of the claim;
      these are the square of ``window`` where they hold: in a claim that is otherwise found, a
      fault is a contradiction; in one that is not found, it adds nothing;
    - ``absolute``: 1 if "only", "never", … is only in the claim;
    - ``self_talk``: 1 if "I", "my" is only in the claim.
    """
    keys: frozenset[str]
    """Its distinct words, core ones left out."""
    negated: bool
    coverage: float
    """As ``window``, by the whole context."""
    weight: float
    """Square root of the number of words."""
    best: int | None
    """Index of the best sentence; None: no word of the claim is in the context."""
    lost: tuple[str, ...]
    """Content words missing from the window, as written."""
    lost_numbers: tuple[str, ...]
    lost_names: tuple[str, ...]
    opposed: tuple[str, str] | None
    """A word of the claim and its opposite in the best sentence."""


def find_support(
    words: Sequence[Word], index: ContextIndex, question: Set[str] = frozenset()
) -> Support | None:
    """Look a claim up in a context.

    Args:
        words: of the claim, without markup and citations.
        index: the context, its vocabulary at least the claim's and the question's.
        question: keys of the question's words.

    Returns:
        None for a claim without content words.
    """
    weights = word_weights(words)
    if not weights:
        return None
    closest = _closest_sentences(weights, index)
    best = closest[0] if closest else None
    window: Set[str] = frozenset() if best is None else index.window(best)
    orders = [index.sentences[at].read.order for at in closest]
    new = {key: weight for key, weight in weights.items() if key not in question}
    numbers = lost_numbers(words, window)
    names = _lost_names(words, index.places.keys() | question)
    heard = best is not None and _negates(index.sentences[best].read.words, weights.keys())
    said = _negates(words, window)
    opposed = None
    if best is not None:
        opposed = _opposed(words, window, index.sentences[best].read.keys, weights.keys())
    coverage = _share(weights, index.places.keys())
    covered = _share(weights, window)
    sure = covered**2
    runs = word_runs(words)
    pairs = set(pairwise(content_keys(words)))
    features = {
        "window": covered,
        "new_words": _share(new or weights, window),
        "pairs": _found(pairs, {p for o in orders for p in pairs & o.pairs}, coverage),
        "runs": _found(runs, {r for o in orders for r in runs & o.runs}, coverage),
        "on_topic": len(question & index.places.keys()) / len(question) if question else 0.5,
        "numbers": sure * bool(numbers),
        "names": sure * bool(names),
        "negated": sure * (said and not heard),
        "not_negated": sure * (heard and not said),
        "rival": sure * (opposed is not None),
        "absolute": float(any(w.absolute and not index.holds(w) for w in words)),
        "self_talk": float(any(w.self_talk and not index.holds(w) for w in words)),
    }
    lost = tuple(w.form for w in words if w.tier >= LIGHT and not w.number and w.key not in window)
    return Support(
        features=features,
        keys=frozenset(weights),
        coverage=coverage,
        negated=said,
        weight=math.sqrt(len(words)),
        best=best,
        lost=tuple(dict.fromkeys(lost)),
        lost_numbers=numbers,
        lost_names=names,
        opposed=opposed,
    )


def question_keys(question: str) -> frozenset[str]:
    """Return the keys of the words that a question asks about."""
    return frozenset(word.key for word in read_words(question) if word.tier >= LIGHT)


def word_weights(words: Sequence[Word]) -> dict[str, int]:
    """Return the weight of each distinct key, core words left out."""
    return {word.key: WEIGHTS[word.tier] for word in words if word.tier != CORE}


def _closest_sentences(weights: Mapping[str, int], index: ContextIndex) -> list[int]:
    scores: dict[int, int] = {}
    for key, weight in weights.items():
        for at in index.places.get(key, ()):
            scores[at] = scores.get(at, 0) + weight
    ranked = sorted((-score, at) for at, score in scores.items())
    return [at for _, at in ranked[:CLOSEST]]


def _share(weights: Mapping[str, int], vocabulary: Set[str]) -> float:
    found = sum([weights[key] for key in weights.keys() & vocabulary])
    return found / sum(weights.values())


def _found(wanted: Set[object], there: Set[object], without: float) -> float:
    return len(wanted & there) / len(wanted) if wanted else without


def _negates(words: Sequence[Word], shared: Set[str]) -> bool:
    """Whether a negation precedes a word that both sides have."""
    for at, word in enumerate(words):
        if word.negates:
            after = next((w for w in words[at + 1 : at + 1 + _REACH] if w.tier >= LIGHT), None)
            if after is None or after.key in shared:
                return True
    return False


def _lost_names(words: Sequence[Word], known: Set[str]) -> tuple[str, ...]:
    """Return the unknown names, without the first word, which is always capitalised."""
    names = [word for word in words[1:] if word.capital and word.tier == FULL and not word.number]
    if len(names) > len(words) / 2:  # a heading
        return ()
    return tuple(word.form for word in names if word.key not in known)


def lost_numbers(words: Sequence[Word], window: Set[str]) -> tuple[str, ...]:
    """Return the numbers of a claim that a window does not support.

    "Over 275" is supported by 280, "about 12" by 13, "the 1800s" by 1888.
    """
    lost = []
    for at, word in enumerate(words):
        if not word.number or word.key in window:
            continue
        rough = word.form.endswith("s") or bool(
            APPROXIMATE.intersection(w.form for w in words[max(0, at - 2) : at])
        )
        if not (rough and any(_near(word.key, key) for key in window)):
            lost.append(word.form)
    return tuple(lost)


def _near(one: str, other: str) -> bool:
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    return a > 0 and 0.5 <= b / a <= 2


def _opposed(
    words: Sequence[Word], window: Set[str], best: Set[str], claimed: Set[str]
) -> tuple[str, str] | None:
    table = rivals()
    for word in words:
        if word.key in table and word.key not in window:
            for other in sorted(table[word.key] & best):
                if other not in claimed:
                    return word.form, other
    return None


LIMIT: Final = 200_000
"""Characters of a passage that are read."""
_NEARBY: Final = 3
"""Maximum distance, in content words, of a pair."""
_LABEL: Final = re.compile(r"(?:\A|\n\n)[ \t]*\[(\d{1,3})\][ \t]+")


class Order(NamedTuple):
    """Neighbouring words in a sentence."""

    pairs: Set[tuple[str, str]]
    """Content words at most three apart, in order."""
    runs: Set[tuple[str, str, str]]
    """Three words in a row, core ones included."""


class ReadSentence:
    """One sentence, read once for all cases whose context holds it."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words: Final = words
        # ``content_keys`` inlined: a call costs more than a word.
        self.keys: Final = frozenset({w[1] for w in words if w[2]})
        """Keys of all words except core words."""

    @cached_property
    def order(self) -> Order:
        """Its neighbouring words."""
        return Order(_nearby_pairs(content_keys(self.words)), word_runs(self.words))


class Sentence(NamedTuple):
    """One sentence of the context."""

    passage: int
    """1-based place of its passage in the request."""
    label: int
    """Number ``n`` of its citation ``[n]`` in the answer."""
    read: ReadSentence
    first: int
    """Index of the first sentence of its passage, often a title."""
    heading: frozenset[str]
    """Words of its passage's heading path."""

    @property
    def negated(self) -> bool:
        """Whether it contains a negation."""
        return any(word.negates for word in self.read.words)


@dataclass(slots=True, kw_only=True)
class ContextIndex:
    """Positions of the relevant words in the context."""

    vocabulary: Set[str]
    """Keys that are looked up: of claims and question. Other words are not indexed, for speed."""
    sentences: list[Sentence] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    """Sentences by key."""

    def holds(self, word: Word) -> bool:
        """Whether any sentence contains a word as written; used for few words."""
        return any(word in sentence.read.words for sentence in self.sentences)

    def window(self, at: int) -> frozenset[str]:
        """Return the words of a sentence, its neighbours, and first line and heading."""
        here = self.sentences[at]
        close = range(max(here.first, at - 1), min(at + 2, len(self.sentences)))
        near = (self.sentences[i] for i in {here.first, *close})
        return here.heading.union(*(s.read.keys for s in near if s.first == here.first))


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
    for at, read in enumerate(_read_sentences(text), start=first):
        for key in read.keys & vocabulary:
            if key in places:
                places[key].append(at)
            else:
                places[key] = [at]
        found.append(Sentence(passage, label, read, first, heading))


@lru_cache(maxsize=512)  # questions of a run share passages, and several rubrics read each
def _read_sentences(text: str) -> tuple[ReadSentence, ...]:
    return tuple([ReadSentence(read_words(sentence)) for sentence in sentences(text)])


def content_keys(words: Sequence[Word]) -> list[str]:
    """Return the keys of words in order, core words left out."""
    return [word[1] for word in words if word[2]]  # by index, for speed in the innermost loop


def word_runs(words: Sequence[Word]) -> set[tuple[str, str, str]]:
    """Return every three words in a row."""
    keys = [word.key for word in words]
    return set(zip(keys, keys[1:], keys[2:], strict=False))


def _nearby_pairs(content: Sequence[str]) -> set[tuple[str, str]]:
    gaps = range(1, _NEARBY + 1)
    return {pair for gap in gaps for pair in zip(content, content[gap:], strict=False)}
