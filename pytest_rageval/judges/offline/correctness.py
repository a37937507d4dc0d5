"""Correctness of an answer, compared with its expected content.

An expected answer or key fact is looked up in the answer like a claim in a context; a fitted
logistic layer turns the features into a probability. A key fact of ``LONG`` words or more shares
words with many answers that do not state it, so it has a layer of its own, over the features of a
claim. Several accepted answers, one per line, are
alternatives; all key facts are required. Without either, only support by the context and overlap
with the question are used, which cannot detect that the wrong passage was retrieved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.claims import LIMIT, plain_text
from pytest_rageval.judges.offline.grounding import (
    FAULTY,
    STRICT,
    judge_grounding,
    support_odds,
)
from pytest_rageval.judges.offline.lexicon import read_words
from pytest_rageval.judges.offline.parameters import Layer, Parameters, probability
from pytest_rageval.judges.offline.support import (
    AGAINST,
    FOR,
    ContextIndex,
    Support,
    content_keys,
    find_support,
    question_keys,
    read_context,
)
from pytest_rageval.judges.offline.support import LIMIT as PASSAGE_LIMIT
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.verdict import JudgeRequest, Passage

FEATURES: Final = (
    "window", "coverage", "new_words", "pairs", "first", "last", "exact", "numbers",
)  # fmt: skip
PASS: Final = 4.0
LONG: Final = 15
"""Words from which a key fact is a statement, and not a name, number or phrase."""
_IDEAL: Final = dict.fromkeys(FEATURES, 1.0) | {"numbers": 0.0}
_STATED: Final = dict.fromkeys(FOR, 1.0) | dict.fromkeys(AGAINST, 0.0)
_NO_LAYER: Final = Layer(intercept=0.0, weights={})
_BLANK: Final = Parameters(grounded=_NO_LAYER, correct=_NO_LAYER, stated=_NO_LAYER)
_LINE: Final = 0.5
_ALTERNATIVES: Final = re.compile(r"\n+|\s\|\s")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_CONFLICT: Final = re.compile(
    r"\b(?:conflict|contradict|disagree|discrepan|inconsisten|diverg|differs?\b|differing"
    r"|vary\b|varies\b"
    r"|at odds|do(?:es)? not (?:agree|match)|don't (?:agree|match)|superse|outdated|no"
    r" longer (?:valid|current)"
    r"|different (?:figures|numbers|values|dates|answers|information|limits|periods|policies)"
    r"|(?:older|newer|earlier|previous|updated|more recent) (?:version|document|policy"
    r"|source|guide|page)"
    r"|(?:one|another|the other) (?:source|document|passage|page) (?:says|states|gives|lists"
    r"|claims)"
    r"|(?:while|whereas)\b.{0,120}\b(?:says?|states?|gives?|lists?|claims?|according to))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correctness:
    """The verdict on one answer."""

    score: float | None
    """0 to 5; None: nothing was expected and there is no context."""
    key_fact_recall: float | None
    """0 to 1; None: no key fact was expected."""
    key_facts_found: tuple[bool, ...] | None
    acknowledges_conflict: bool | None
    reasoning: str


def judge_correctness(request: JudgeRequest, parameters: Parameters) -> Correctness:
    """Judge an answer by its key facts and expected answer; their scores are averaged."""
    facts = [fact for fact in request.expected_key_facts if fact.strip()]
    conflict = acknowledges_conflict(request.answer) if request.asks_conflict else None
    if not request.answer.strip() or read_abstention(request.answer).abstained:
        return Correctness(
            score=0.0,
            key_fact_recall=0.0 if facts else None,
            key_facts_found=(False,) * len(facts) if facts else None,
            acknowledges_conflict=conflict,
            reasoning="The answer is empty or declines.",
        )
    answer = StatedText.read(request.question, request.answer, parameters)
    found = [answer.holds(fact) for fact in facts]
    parts = [math.fsum(answer.fact_score(fact) for fact in facts) / len(facts)] if facts else []
    if request.expected_answer and request.expected_answer.strip():
        parts.append(max(map(answer.score, split_alternatives(request.expected_answer))))
    if parts:
        score: float | None = math.fsum(parts) / len(parts)
        reasoning = _explain(request, facts, found)
    else:
        score, reasoning = _without_reference(request, parameters.grounded)
    return Correctness(
        score=score,
        key_fact_recall=sum(found) / len(found) if found else None,
        key_facts_found=tuple(found) if found else None,
        acknowledges_conflict=conflict,
        reasoning=reasoning,
    )


def split_alternatives(expected: str) -> list[str]:
    """Return the accepted answers, separated by lines or bars; most texts have one."""
    return [part for part in _ALTERNATIVES.split(expected) if part.strip()] or [expected]


def acknowledges_conflict(answer: str) -> bool:
    """Whether an answer says that its sources differ."""
    return bool(_CONFLICT.search(answer[:LIMIT].replace("’", "'")))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedText:
    """An answer or a passage, in which expected answers and key facts are looked up."""

    text: str
    line: str
    """Its words in a row between blanks, articles left out."""
    question: frozenset[str]
    parameters: Parameters
    index: ContextIndex | None = None
    """Of a passage, for all facts that are looked up in it; None: one is made for each text."""
    looked_up: dict[str, tuple[Support | None, ContextIndex]] = field(default_factory=dict)
    """Results of ``support`` by expected text."""

    @classmethod
    def read(cls, question: str, text: str, parameters: Parameters) -> StatedText:
        """Read an answer."""
        text = plain_text(text)
        keys = question_keys(question)
        return cls(text=text, line=_line(text), question=keys, parameters=parameters)

    @classmethod
    def of_passages(
        cls,
        question: str,
        facts: Sequence[str],
        passages: Sequence[Passage],
        parameters: Parameters,
    ) -> list[StatedText]:
        """Read retrieved passages, in which these key facts are looked up."""
        keys = question_keys(question)
        wanted = keys.union(*(content_keys(read_words(fact)) for fact in facts))
        return [
            cls(
                text=passage.text,
                line=_passage_line(passage.text),
                question=keys,
                parameters=parameters,
                index=read_context((passage,), wanted),
            )
            for passage in passages
        ]

    def support(self, expected: str) -> tuple[Support | None, ContextIndex]:
        """Look a text up; the index holds its words and those of the question."""
        if expected not in self.looked_up:
            words, index = read_words(expected), self.index
            if index is None:
                wanted = self.question.union(content_keys(words))
                index = read_context((Passage(text=self.text),), wanted)
            self.looked_up[expected] = find_support(words, index, self.question), index
        return self.looked_up[expected]

    def features(self, expected: str) -> Mapping[str, float] | None:
        """Return the features of an expected text; None: it has no content words."""
        words = read_words(expected)
        content = content_keys(words)
        support, index = self.support(expected)
        if support is None:
            return None
        known = index.places
        return {
            **{name: support.features[name] for name in ("window", "new_words", "pairs")},
            "coverage": support.coverage,
            "first": float(content[0] in known),
            "last": float(content[-1] in known),
            "exact": float(_line(expected) in self.line),
            "numbers": float(any(word.number and word.key not in known for word in words)),
            "against": max(support.features["negated"], support.features["not_negated"]),
        }

    def score(self, expected: str) -> float:
        """Return 0 to 5 for an expected answer or a short key fact."""
        features = self.features(expected)
        if features is None or not features["coverage"]:
            return 5.0 if features is None and _line(expected) in self.line else 0.0
        layer = self.parameters.correct
        return scale(layer.log_odds(features), layer.log_odds(_IDEAL))

    def statement(self, fact: str) -> Mapping[str, float] | None:
        """Return the features of a long key fact, those of a claim; None: it is not long."""
        words = read_words(fact)
        support = self.support(fact)[0] if len(words) >= LONG else None
        return None if support is None else support.features

    def fact_score(self, fact: str) -> float:
        """Return 0 to 5 for a key fact of any length."""
        features = self.statement(fact)
        if features is None:
            return self.score(fact)
        if _line(fact) in self.line:
            return 5.0
        return scale(self.stated_odds(features), self.parameters.stated.log_odds(_STATED))

    def stated_odds(self, features: Mapping[str, float]) -> float:
        """Return the log odds that a long key fact is stated; a contradicted one is not."""
        odds = self.parameters.stated.log_odds(features)
        return min(odds, FAULTY) if any(features[name] for name in STRICT) else odds

    def holds(self, fact: str) -> bool:
        """Return whether the text states a key fact."""
        features = self.features(fact)
        statement = self.statement(fact)
        if features is None or (statement is not None and _line(fact) in self.line):
            return _line(fact) in self.line
        if features["numbers"] or features["against"]:
            return False
        if statement is not None:
            return self.stated_odds(statement) >= 0
        return self.parameters.correct.log_odds(features) >= 0

    def confirms(self, fact: str) -> bool:
        """Return whether a passage states a key fact, by the rule for claims as well.

        In a fact with a number at least two of its neighbouring words must be near each other: many
        passages hold 30 and days, and few 30 days.
        """
        if not self.holds(fact):
            return False
        support = self.support(fact)[0]
        if support is None or _line(fact) in self.line:
            return True
        if not support.features["pairs"] and any(word.number for word in read_words(fact)):
            return False
        return support_odds(support, self.parameters.grounded) >= 0


def scale(log_odds: float, best: float) -> float:
    """Return 0 to 5: 4 at even odds, 5 at the best."""
    chance = probability(log_odds)
    if chance < _LINE:
        return PASS * chance / _LINE
    return PASS + min(1.0, (chance - _LINE) / (probability(best) - _LINE))


def reference_features(question: str, answer: str, expected: str) -> Mapping[str, float] | None:
    """Return the features of one expected answer; None: it has no content words."""
    return StatedText.read(question, answer, _BLANK).features(expected)


def statement_features(question: str, answer: str, fact: str) -> Mapping[str, float] | None:
    """Return the features of one long key fact; None: it is not long, or has no content words."""
    return StatedText.read(question, answer, _BLANK).statement(fact)


@lru_cache(maxsize=512)  # questions of a run share passages
def _passage_line(text: str) -> str:
    return _line(plain_text(text, PASSAGE_LIMIT))


def _line(text: str) -> str:
    keys = (word.key for word in read_words(text) if word.form not in _ARTICLES)
    return f" {' '.join(keys)} "


def _without_reference(request: JudgeRequest, layer: Layer) -> tuple[float | None, str]:
    if not request.context:
        return None, "Nothing was expected, and there is no context to compare with."
    asked = question_keys(request.question)
    answer = {word.key for word in read_words(plain_text(request.answer))}
    touched = len(asked & answer) / len(asked) if asked else 1.0
    score = judge_grounding(request, layer).score * (1 + touched) / 2
    return score, "Judged without a reference, by support and the words of the question alone."


def _explain(request: JudgeRequest, facts: Sequence[str], found: Sequence[bool]) -> str:
    parts = []
    if facts:
        lost = [fact for fact, there in zip(facts, found, strict=True) if not there]
        parts.append(f"{sum(found)} of {len(facts)} key facts found.")
        parts += [f'Not found: "{lost[0][:120]}".'] if lost else []
    if request.expected_answer:
        parts.append("Compared with the expected answer.")
    return " ".join(parts)
