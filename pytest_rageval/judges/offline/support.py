"""Features of the support of one claim by an indexed context, each from 0 to 1.

Coverage is the share of the claim's words, by weight, that the context contains. A claim that
occurs word for word in one sentence has 1 in every feature of ``FOR`` and 0 in every one of
``AGAINST``.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pytest_rageval.judges.offline.claims import unix_lines, unwrapped
from pytest_rageval.judges.offline.lexicon import (
    FULL,
    LIGHT,
    SOFT,
    Word,
    read_words,
    rivals,
)
from pytest_rageval.judges.offline.relations import (
    REACH,
    Quantity,
    alike,
    by_prefix,
    content_keys,
    exchanged,
    is_same_quantity,
    other_unit,
    quantities,
)
from pytest_rageval.judges.offline.vocabulary import APPROXIMATE
from pytest_rageval.support.text import sentences
from pytest_rageval.values.verdict import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS: Final[Mapping[int, int]] = {SOFT: 4, LIGHT: 7, FULL: 10}
"""Weight of a word by its tier; whole numbers, so that sums are the same in any order."""
CLOSEST: Final = 3
"""Sentences in which the order of words is compared."""
_MANY_PLACES: Final = 20_000
"""Places of a claim's words, from which on loading numpy is the shorter way."""

FOR: Final = ("window", "new_words", "pairs", "runs", "on_topic")
AGAINST: Final = ("numbers", "names", "negated", "not_negated", "rival", "absolute", "self_talk")
FEATURES: Final = FOR + AGAINST


class ReadClaim:
    """A claim, read once for all contexts that it is looked up in.

    Args:
        words: of the claim, without markup and citations.
        question: keys of the question's words.
        language: of the words.
    """

    def __init__(
        self, words: Sequence[Word], question: Set[str] = frozenset(), language: str = "en"
    ) -> None:
        self.words: Final = words
        self.language: Final = language
        self.question: Final = question
        # By index, as in ``content_keys``.
        self.weights: Final = {word[1]: WEIGHTS[word[2]] for word in words if word[2]}
        """Weight of each distinct key, core words left out."""
        self.keys: Final = frozenset(self.weights)
        new = {key: weight for key, weight in self.weights.items() if key not in question}
        self.new: Final = new or self.weights
        """Those that the question does not hold, or all."""
        self.pairs: Final = set(pairwise(content_keys(words)))
        self.negations: Final = _negated_keys(words)
        self.numbers: Final = [at for at, word in enumerate(words) if word.number or word.exact]


class Support:
    """Support of one claim by a context.

    Args:
        claim: one with content words.
        index: the context, its vocabulary at least the claim's and the question's.
    """

    def __init__(self, claim: ReadClaim, index: ContextIndex) -> None:
        weights = claim.weights
        self.claim: Final = claim
        self._index = index
        # A sentence that holds all words is the best one, and mostly decides alone.
        at = index.whole(claim.keys)
        self.best: Final = at if at is not None else next(iter(self._closest), None)
        """Index of the best sentence; None: no word of the claim is in the context."""
        best = None if self.best is None else index.sentences[self.best].read
        self._best = best
        self.window: Final[Set[str]] = (
            claim.keys if at is not None else index.in_window(weights, self.best)
        )
        """The claim's words that the window holds."""
        self.covered: Final = 1.0 if at is not None else _share(weights, self.window)
        self.coverage: Final = 1.0 if at is not None else _share(weights, index.places.keys())
        """As ``covered``, by the whole context."""
        self.new_words: Final = 1.0 if at is not None else _share(claim.new, self.window)
        self.pairs: Final = self._found(claim.pairs, "pairs")
        self.negated: Final = _negates(claim.negations, self.window)
        self.denied: Final = best is not None and _negates(best.negations, weights)
        """Whether the best sentence negates a shared word."""

    @cached_property
    def _closest(self) -> list[int]:
        return _closest_sentences(self.claim.weights, self._index)

    def _found(self, wanted: Set[object], kind: Literal["pairs", "runs"]) -> float:
        """Return the share of neighbouring words that the close sentences hold, the best first."""
        if not wanted:
            return self.coverage
        left = wanted if self._best is None else wanted - getattr(self._best.order, kind)
        if left and self._best is not None:
            for at in self._closest[1:]:
                left = left - getattr(self._index.sentences[at].read.order, kind)
        return (len(wanted) - len(left)) / len(wanted)

    @cached_property
    def features(self) -> Mapping[str, float]:
        """Numbers by the names of ``FEATURES``.

        - ``window``: coverage by the best sentence, its neighbours, its heading and first line;
        - ``new_words``: by the window, of the words that the question does not hold;
        - ``pairs``: neighbouring content words that are near each other in a close sentence, too;
        - ``runs``: three words in a row that occur unchanged in a close sentence;
        - ``on_topic``: share of the question's words in the context, 0.5 without a question;
        - ``numbers``: a number, address or code is not in the window (nor near one, where it is an
          estimate), or a number has another unit there;
        - ``names``: a name is neither in the context nor in the question;
        - ``negated``, ``not_negated``: only the claim, only the best sentence negates a shared
          word;
        - ``rival``: the best sentence has an opposite of a word of the claim, or the two sides of
          what it relates the other way round;
          these are the square of ``window`` where they hold: in a claim that is otherwise found, a
          fault is a contradiction; in one that is not found, it adds nothing;
        - ``absolute``: 1 if "only", "never", … is only in the claim;
        - ``self_talk``: 1 if "I", "my" is only in the claim.
        """
        words, question, places = self.claim.words, self.claim.question, self._index.places
        runs, sure = word_runs(words), self.covered**2
        marked = [word for word in words if word.absolute or word.self_talk]
        unheard = [word for word in marked if not self._index.holds(word)]
        return {
            "window": self.covered,
            "new_words": self.new_words,
            "pairs": self.pairs,
            "runs": self._found(runs, "runs"),
            "on_topic": len(question & places.keys()) / len(question) if question else 0.5,
            "numbers": sure * bool(self.lost_numbers or self.other_unit),
            "names": sure * bool(self.lost_names),
            "negated": sure * (self.negated and not self.denied),
            "not_negated": sure * (self.denied and not self.negated),
            "rival": sure * (self.opposed is not None or self.exchanged),
            "absolute": float(any(word.absolute for word in unheard)),
            "self_talk": float(any(word.self_talk for word in unheard)),
        }

    @cached_property
    def lost_numbers(self) -> tuple[str, ...]:
        """Numbers of the claim that the window does not support.

        "Over 275" is supported by 280, "about 12" by 13, "the 1800s" by 1888.
        """
        words, lost = self.claim.words, []
        for at in self.claim.numbers:
            if words[at].key in self.window:
                continue
            before = {word.form for word in words[max(0, at - 2) : at]}
            rough = words[at].form.endswith("s") or not APPROXIMATE.isdisjoint(before)
            near = self._index.window(self.best) if rough else ()
            if any(_near(words[at].key, key) for key in near):
                continue
            if not is_same_quantity(words[at], *self._quantities):
                lost.append(words[at].form)
        return tuple(lost)

    @cached_property
    def _quantities(self) -> tuple[list[Quantity], list[Quantity]]:
        """Those of the claim and of the window."""
        near = [one for words in self._near_words for one in quantities(words)]
        return quantities(self.claim.words), near

    @cached_property
    def _near_words(self) -> list[Sequence[Word]]:
        if self.best is None:
            return []
        return [one.read.words for one in self._index.near_sentences(self.best)]

    @cached_property
    def other_unit(self) -> str:
        """A number of the claim with another unit, as the window has it; empty if absent."""
        return other_unit(self.claim.words, self._near_words)

    @cached_property
    def exchanged(self) -> bool:
        """Whether the best sentence says who does what to whom the other way round."""
        words = self.claim.words
        best = self._best.words if self._best is not None else ()
        whole = self.covered == 1.0 and alike(words, best)
        return whole and exchanged(words, best, self.claim.language)

    @cached_property
    def lost_names(self) -> tuple[str, ...]:
        """Unknown names, without the first word, which is always capitalised."""
        words, known, asked = self.claim.words, self._index.places, self.claim.question
        names = [w for w in words[1:] if w.capital and w.tier == FULL and not w.number]
        if len(names) > len(words) / 2:  # a heading
            return ()
        return tuple(w.form for w in names if w.key not in known and w.key not in asked)

    @cached_property
    def opposed(self) -> tuple[str, str] | None:
        """A word of the claim and its opposite in the best sentence."""
        best = self._best.words if self._best is not None else ()
        table, here = rivals(self.claim.language), {word.key for word in best}
        mine = {word.key for word in self.claim.words}
        for word in self.claim.words:
            if word.key in here or word.key in self.window:
                continue
            if others := table.get(word.key, frozenset()) & here - mine:
                return word.form, min(others)
            if self.negated == self.denied and not here.isdisjoint(by_prefix(word)):
                return word.form, next(key for key in by_prefix(word) if key in here)
        return None

    @property
    def keys(self) -> Set[str]:
        """Distinct words of the claim, core ones left out."""
        return self.claim.keys

    @property
    def weight(self) -> float:
        """Square root of the number of words."""
        return math.sqrt(len(self.claim.words))

    @property
    def lost(self) -> tuple[str, ...]:
        """Content words missing from the window, as written."""
        lost = (w for w in self.claim.words if w.tier >= LIGHT and w.key not in self.window)
        return tuple(dict.fromkeys(word.form for word in lost if not word.number))


def find_support(claim: ReadClaim, index: ContextIndex) -> Support | None:
    """Look a claim up in a context; None: it has no content words."""
    return Support(claim, index) if claim.weights else None


@lru_cache(maxsize=64)  # of each case for every rubric, its facts and its claims
def question_keys(question: str, language: str = "en") -> frozenset[str]:
    """Return the keys of the words that a question asks about."""
    return frozenset(word.key for word in read_words(question, language) if word.tier >= LIGHT)


def _closest_sentences(weights: Mapping[str, int], index: ContextIndex) -> list[int]:
    if sum(len(index.places.get(key, ())) for key in weights) > _MANY_PLACES:
        return _closest_of_many(weights, index)
    scores: defaultdict[int, int] = defaultdict(int)
    for key, weight in weights.items():
        for at in index.places.get(key, ()):
            scores[at] -= weight
    return [at for _, at in sorted(zip(scores.values(), scores, strict=True))[:CLOSEST]]


def _closest_of_many(weights: Mapping[str, int], index: ContextIndex) -> list[int]:
    """Return the same as ``_closest_sentences``, by a library that small contexts need not load."""
    import numpy as np

    scores = np.zeros(len(index.sentences), dtype=np.int64)
    for key in weights.keys() & index.places.keys():
        scores[index.place_array(key)] += weights[key]
    found: list[int] = []
    while len(found) < CLOSEST and scores[best := int(scores.argmax())]:  # the first of the best
        found.append(best)
        scores[best] = 0
    return found


def _share(weights: Mapping[str, int], vocabulary: Set[str]) -> float:
    if weights.keys() <= vocabulary:
        return 1.0
    found = sum(weight for key, weight in weights.items() if key in vocabulary)
    return found / sum(weights.values())


def _negated_keys(words: Sequence[Word]) -> tuple[str | None, ...]:
    """Return the word that each negation can negate: the next content word, else the last one.

    None: no content word is near it.
    """

    def near(at: int) -> str | None:
        after, before = words[at + 1 : at + 1 + REACH], words[max(0, at - REACH) : at]
        keys = (word.key for word in (*after, *reversed(before)) if word.tier >= LIGHT)
        return next(keys, None)

    return tuple(near(at) for at, word in enumerate(words) if word.negates)


def _negates(negated: Sequence[str | None], shared: Container[str]) -> bool:
    """Whether a negation precedes a word that both sides have."""
    for key in negated:  # mostly none, so not with any()
        if key is None or key in shared:
            return True
    return False


def _near(one: str, other: str) -> bool:
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    return a > 0 and 0.5 <= b / a <= 2


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
        self.keys: Final = frozenset(content_keys(words))
        """Keys of all words except core words."""

    @cached_property
    def negations(self) -> tuple[str | None, ...]:
        """The word that each of its negations can negate."""
        return _negated_keys(self.words)

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


@dataclass(slots=True, kw_only=True)
class ContextIndex:
    """Positions of the relevant words in the context."""

    vocabulary: Set[str] | None = None
    """Keys that are looked up: of claims and question. Other words are not indexed, for speed.
    None: all are, so that an index serves every case."""
    sentences: list[Sentence] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    """Sentences by key."""
    _arrays: dict[str, NDArray[np.intp]] = field(default_factory=dict)

    def place_array(self, key: str) -> NDArray[np.intp]:
        """Return the sentences of a key as an array, made once."""
        import numpy as np

        if key not in self._arrays:
            self._arrays[key] = np.array(self.places[key], dtype=np.intp)
        return self._arrays[key]

    def holds(self, word: Word) -> bool:
        """Whether any sentence contains a word as written; used for few words."""
        return any(word in sentence.read.words for sentence in self.sentences)

    def whole(self, keys: Set[str]) -> int | None:
        """Return the first sentence that holds all of some keys; None if absent."""
        if not keys <= self.places.keys():
            return None
        for at in min(map(self.places.__getitem__, keys), key=len):
            if keys <= self.sentences[at].read.keys:
                return at
        return None

    def window(self, at: int | None) -> Set[str]:
        """Return the words of a sentence, its neighbours, and first line and heading."""
        if at is None:
            return frozenset()
        near = (self.sentences[i].read.keys for i in self.near(at))
        return self.sentences[at].heading.union(*near)

    def near_sentences(self, at: int | None) -> list[Sentence]:
        """Return the sentences of ``window``; all, without a place."""
        if at is None:
            return self.sentences
        return [self.sentences[i] for i in sorted(self.near(at))]

    def in_window(self, keys: Iterable[str], at: int | None) -> Set[str]:
        """Return those of some keys that ``window`` holds; faster than making it."""
        if at is None:
            return frozenset()
        heading, near, places = self.sentences[at].heading, self.near(at), self.places
        return {k for k in keys if k in heading or not near.isdisjoint(places.get(k, ()))}

    def near(self, at: int) -> Set[int]:
        """Return a sentence, its neighbours and the first one of its passage."""
        first, after = self.sentences[at].first, at + 1
        near = {first, max(first, at - 1), at}
        if after < len(self.sentences) and self.sentences[after].first == first:
            near.add(after)
        return near


def read_context(
    passages: Sequence[Passage], vocabulary: Set[str] | None = None, language: str = "en"
) -> ContextIndex:
    """Index passages; one that is itself a list of ``[n]`` blocks is read as those blocks."""
    index = ContextIndex(vocabulary=vocabulary)
    for place, passage in enumerate(passages, start=1):
        heading = frozenset(content_keys(read_words(passage.heading_path or "", language)))
        for label, text in labelled_blocks(unix_lines(passage.text[:LIMIT]), place):
            _read_block(index, _read_sentences(text, language), (place, label), heading)
    return index


@lru_cache(maxsize=256)  # questions of a run share passages
def read_passage(text: str, heading_path: str | None, language: str = "en") -> ContextIndex:
    """Index all words of one passage, as the only one of its context."""
    return read_context((Passage(text=text, heading_path=heading_path),), language=language)


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
    index: ContextIndex,
    read_sentences: Iterable[ReadSentence],
    where: tuple[int, int],
    heading: frozenset[str],
) -> None:
    vocabulary, found, places = index.vocabulary, index.sentences, index.places
    passage, label = where
    first = len(found)
    for at, read in enumerate(read_sentences, start=first):
        for key in read.keys if vocabulary is None else read.keys & vocabulary:
            if key in places:
                places[key].append(at)
            else:
                places[key] = [at]
        found.append(Sentence(passage, label, read, first, heading))


@lru_cache(maxsize=512)  # questions of a run share passages, and several rubrics read each
def _read_sentences(text: str, language: str) -> tuple[ReadSentence, ...]:
    return tuple(ReadSentence(read_words(one, language)) for one in sentences(unwrapped(text)))


def word_runs(words: Sequence[Word]) -> set[tuple[str, str, str]]:
    """Return every three words in a row."""
    keys = [word.key for word in words]
    return set(zip(keys, keys[1:], keys[2:], strict=False))


def _nearby_pairs(content: Sequence[str]) -> set[tuple[str, str]]:
    gaps = range(1, _NEARBY + 1)
    return {pair for gap in gaps for pair in zip(content, content[gap:], strict=False)}
