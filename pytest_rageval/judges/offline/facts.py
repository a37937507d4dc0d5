"""Whether a text states an expected answer or a key fact: the one matcher of the offline judge.

A fact is stated if everything in it that tells it from another fact is there: its names, numbers
with their units, codes, negation, and who did what to whom. It is absent if one of these is missing
or another one stands in its place. Where only an ordinary word is missing and other words stand
where it could be, words cannot tell a paraphrase from an error: that is *unsure*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from pytest_rageval.judges.offline.claims import answer_text, plain_text
from pytest_rageval.judges.offline.lexicon import (
    CORE,
    FULL,
    LIGHT,
    SOFT,
    Word,
    normal_text,
    read_words,
)
from pytest_rageval.judges.offline.relations import bounds, content_keys
from pytest_rageval.judges.offline.support import LIMIT as PASSAGE_LIMIT
from pytest_rageval.judges.offline.support import (
    ContextIndex,
    ReadClaim,
    Support,
    find_support,
    read_context,
    read_passage,
)
from pytest_rageval.judges.offline.vocabulary import LANGUAGES, TITLES
from pytest_rageval.values.verdict import Passage

FEATURES: Final = (
    "window", "coverage", "new_words", "pairs", "first", "last", "exact", "numbers",
)  # fmt: skip
LONG: Final = 15
"""Words from which a fact is a statement of several parts, and not a name, number or phrase."""
IDEAL: Final = dict.fromkeys(FEATURES, 1.0) | {"numbers": 0.0}
_ARTICLES: Final = frozenset({"a", "an", "the"})
_ASIDE: Final = re.compile(
    r"[,(–—]\s*((?:an?|the|which|who|whose|eine?|die|das|une?|qui|una?|uno|el|la|que|het)\b"
    r"[^,()–—]{5,160})[,)–—]",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[;:.!?]\s+(?=\S)")
_LIST_LINK: Final = re.compile(
    r"\s*(?:,(?!\d)|;|、|，|\b(?:and|plus|und|sowie|et|y|e|en)\b|と|和)\s*"
)
SHORT_RUN: Final = 4
_THAN: Final = frozenset("than als que dan".split())
_WHICH: Final = re.compile(
    r"\b(?:which|what|how|welche[rs]?|quel(?:le)?s?|qu[eé]|cu[aá]l(?:es)?|qual[ei]?|wie|welk)\s+"
    r"([^\W\d_]+)",
    re.IGNORECASE,
)
YES: Final = frozenset({"yes", "true", *(w for table in LANGUAGES.values() for w in table.yes)})
NO: Final = frozenset({"no", "false", *(w for table in LANGUAGES.values() for w in table.no)})

State = Literal["stated", "absent", "unsure"]


class Question(NamedTuple):
    """Content of a question, which an answer need not repeat."""

    keys: frozenset[str]
    """Of its content words."""
    words: tuple[Word, ...]
    asked: frozenset[str]
    """Keys of the kind of thing asked for: "colour" of "what colour"."""
    language: str


@lru_cache(maxsize=64)  # of each case for its facts, its expected answers and its passages
def read_question(question: str, language: str) -> Question:
    """Read a question."""
    words = tuple(read_words(question, language))
    kinds = _WHICH.findall(question)
    asked = read_words(" ".join(kinds), language) if kinds else []
    keys = frozenset(word.key for word in words if word.tier >= LIGHT)
    return Question(keys, words, frozenset(word.key for word in asked), language)


class Expected:
    """An expected answer or a key fact, read once for all texts that it is looked up in."""

    def __init__(self, text: str, question: Question) -> None:
        words = read_words(plain_text(text), question.language)
        self.text: Final = text
        self.words: Final = words
        self.question: Final = question
        self.claim: Final = ReadClaim(words, question.keys)
        self.content: Final = content_keys(words)
        self.line: Final = _line(words)
        self.says: Final = _yes_or_no(words)
        self.is_statement: Final = len(words) >= LONG

    @cached_property
    def n_clauses(self) -> int:
        """Number of clauses that full stops, semicolons and colons part."""
        return 1 + len(_CLAUSE_END.findall(self.text.strip()))

    @cached_property
    def is_clause(self) -> bool:
        """Whether it says so much that a text which has it in a row means the same by it."""
        told = [word for word in self.words if word.tier >= LIGHT]
        return len(told) > 2 or any(word.negates for word in self.words)

    @cached_property
    def required(self) -> list[Word]:
        """Words that it is about: the rarest that it has; negations are compared apart."""
        titles = [a for a, b in pairwise(self.words) if a.form in TITLES and b.capital]
        said = [
            w for w in self.words if w.form not in YES | NO and not w.negates and w not in titles
        ]
        for tier in (FULL, LIGHT, SOFT, CORE):
            if found := [w for w in said if w.tier >= tier or (w.tier and self.is_name(w))]:
                return found
        return []

    def is_name(self, word: Word) -> bool:
        """Whether a word is written as a name, and not only as the first of a sentence."""
        return word.capital and (self.words[0] is not word or len(self.words) <= SHORT_RUN)

    @cached_property
    def bounds(self) -> dict[str, int]:
        """Numbers that are the least (1) or the most (-1) that is meant."""
        return bounds(self.words)

    @cached_property
    def compared(self) -> frozenset[str]:
        """Keys of what another thing is compared with, which "the deeper one" leaves out."""
        forms = [word.form for word in self.words]
        at = next((at for at, form in enumerate(forms) if form in _THAN), None)
        if at is None or self.is_statement:
            return frozenset()
        before = {word.key for word in self.words[:at]}
        return frozenset({word.key for word in self.words[at:] if word in self.required} - before)

    @cached_property
    def middle_names(self) -> dict[str, tuple[str, str]]:
        """Names between two others, which are often left out: John *Ernest* Crawford."""
        runs = zip(self.words, self.words[1:], self.words[2:], strict=False)
        names = [run for run in runs if all(w.capital and w.tier > CORE for w in run)]
        return {middle.key: (first.key, last.key) for first, middle, last in names}

    @cached_property
    def aside(self) -> frozenset[str]:
        """Keys of what a long fact says by the way, between commas or in brackets."""
        if not self.is_statement:
            return frozenset()
        said = " ".join(match[1] for match in _ASIDE.finditer(self.text))
        rest = read_words(_ASIDE.sub(" ", self.text), self.question.language)
        keys = {word.key for word in read_words(said, self.question.language)}
        return frozenset(keys - {word.key for word in rest})

    @cached_property
    def new(self) -> list[Word]:
        """Those of them that the question does not have; all, if it has them all."""
        known = self.question.keys | self.aside
        return [w for w in self.required if w.key not in known] or self.required

    @cached_property
    def parts(self) -> list[list[Word]]:
        """Items of a list: A, B and C; the text itself, if it is no list."""
        text = normal_text(self.text, self.question.language)  # "one hundred and five" is one
        texts = [one for one in _LIST_LINK.split(text) if one and one.strip()]
        items = [read_words(one, self.question.language) for one in texts]
        return [item for item in items if content_keys(item)]


class StatedText(NamedTuple):
    """An answer or a passage, in which expected answers and key facts are looked up."""

    text: str
    line: str
    """Its words in a row between blanks, articles left out."""
    context: ContextIndex
    says: str
    """Whether it begins with yes or no."""
    is_passage: bool

    @classmethod
    def of_answer(cls, answer: str, language: str) -> StatedText:
        """Read an answer."""
        text = answer_text(answer)
        words = read_words(text, language)
        index = read_context((Passage(text=text),), language=language)
        firsts = (_yes_or_no(sentence.read.words) for sentence in index.sentences[:3])
        return cls(text, _line(words), index, next(filter(None, firsts), ""), False)

    def features(
        self, expected: Expected, support: Support | None = None
    ) -> Mapping[str, float] | None:
        """Return the numbers by the names of ``FEATURES``; None: the fact has no content words."""
        support = support or find_support(expected.claim, self.context)
        if support is None:
            return None
        known, content, claim = self.context.places.keys(), expected.content, expected.claim
        return {
            "window": support.covered,
            "new_words": support.new_words,
            "pairs": support.pairs,
            "coverage": support.coverage,
            "first": 1.0 if content[0] in known else 0.0,
            "last": 1.0 if content[-1] in known else 0.0,
            "exact": 1.0 if expected.line in self.line else 0.0,
            "numbers": float(any(claim.words[at].key not in known for at in claim.numbers)),
        }


class Stated(NamedTuple):
    """Whether a text states a fact."""

    state: State
    score: float
    """0 to 5, at least 4 if it is stated; where it is unsure, what the words say by themselves."""
    reason: str
    """Words that are missing or stand in their place; empty: none."""
    contradicted: bool = False
    """Whether another fact is stated in its place, where it is absent."""


@lru_cache(maxsize=256)  # questions of a run share passages
def stated_passage(text: str, heading_path: str | None, language: str) -> StatedText:
    """Read a retrieved passage."""
    plain = plain_text(text, PASSAGE_LIMIT)
    index = read_passage(text, heading_path, language)
    words = [word for sentence in index.sentences for word in sentence.read.words]
    return StatedText(plain, _line(words), index, "", True)


def _yes_or_no(words: Sequence[Word]) -> str:
    form = words[0].form if words else ""
    if form in YES:
        return "yes"
    if form in NO and not (form == "no" and words[0].negates):
        return "no"
    forms = {word.form for word in words}
    return "yes" if "true" in forms else "no" if "false" in forms else ""


def _line(words: Sequence[Word]) -> str:
    return f" {' '.join([word.key for word in words if word.form not in _ARTICLES])} "
