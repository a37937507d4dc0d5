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
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.claims import LIMIT, answer_text, plain_text
from pytest_rageval.judges.offline.grounding import (
    FAULTY,
    IDEAL,
    judge_grounding,
    scale,
    support_odds,
)
from pytest_rageval.judges.offline.lexicon import Word, read_words
from pytest_rageval.judges.offline.parameters import Layer, Parameters
from pytest_rageval.judges.offline.support import LIMIT as PASSAGE_LIMIT
from pytest_rageval.judges.offline.support import (
    ContextIndex,
    ReadClaim,
    Support,
    content_keys,
    find_support,
    question_keys,
    read_context,
    read_passage,
)
from pytest_rageval.values.verdict import JudgeRequest, Passage, Verdict

FEATURES: Final = (
    "window", "coverage", "new_words", "pairs", "first", "last", "exact", "numbers",
)  # fmt: skip
LONG: Final = 15
"""Words from which a key fact is a statement, and not a name, number or phrase."""
_IDEAL: Final = dict.fromkeys(FEATURES, 1.0) | {"numbers": 0.0}
_ALTERNATIVES: Final = re.compile(r"\n+|\s\|\s")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_CONFLICT: Final = re.compile(
    r"\b(?:conflict|contradict|disagree|discrepan|inconsisten|diverg|differs?\b|differing"
    r"|vary\b|varies\b|at odds|do(?:es)? not (?:agree|match)|don't (?:agree|match)|superse"
    r"|outdated|no longer (?:valid|current)"
    r"|different (?:figures|numbers|values|dates|answers|information|limits|periods|policies)"
    r"|(?:older|newer|earlier|previous|updated|more recent) (?:version|document|policy"
    r"|source|guide|page)"
    r"|(?:one|another|the other) (?:source|document|passage|page) (?:says|states|gives|lists"
    r"|claims)"
    r"|(?:while|whereas)\b.{0,120}\b(?:says?|states?|gives?|lists?|claims?|according to))",
    re.IGNORECASE,
)


def judge_correctness(request: JudgeRequest, parameters: Parameters) -> Verdict:
    """Judge an answer by its key facts and expected answer; their scores are averaged.

    ``correctness`` is 0 to 5, and not applicable if nothing is expected and there is no context.
    """
    facts = [fact for fact in request.expected_key_facts if fact.strip()]
    if not request.answer.strip() or read_abstention(request.answer).abstained:
        reason = "The answer is empty or declines."
        return _verdict(request, 0.0, (False,) * len(facts), reason)
    keys, answer = question_keys(request.question), StatedText.of_answer(request.answer)
    stated = [answer.look_up(Expected(fact, keys)) for fact in facts]
    found = tuple([fact.holds(parameters) for fact in stated])
    parts = (
        [math.fsum(fact.fact_score(parameters) for fact in stated) / len(facts)] if facts else []
    )
    if request.expected_answer and request.expected_answer.strip():
        wanted = [Expected(text, keys) for text in split_alternatives(request.expected_answer)]
        parts.append(max(answer.look_up(one).score(parameters.correct) for one in wanted))
    if parts:
        score: float | None = math.fsum(parts) / len(parts)
        reasoning = _explain(request, facts, found)
    else:
        score, reasoning = _without_reference(request, parameters.grounded)
    return _verdict(request, score, found, reasoning)


def _verdict(
    request: JudgeRequest, score: float | None, found: tuple[bool, ...], reasoning: str
) -> Verdict:
    conflict = acknowledges_conflict(request.answer) if request.asks_conflict else None
    scores: dict[str, float] = {}
    absent: dict[str, str] = {}
    if score is None:
        absent["correctness"] = reasoning
    else:
        scores["correctness"] = score
    if found:
        scores["key_fact_recall"] = sum(found) / len(found)
    else:
        absent["key_fact_recall"] = "The case has no expected_key_facts."
    return Verdict(
        scores=scores,
        not_applicable=absent,
        reasoning=reasoning,
        key_facts_found=found or None,
        acknowledges_conflict=conflict,
    )


def split_alternatives(expected: str) -> list[str]:
    """Return the accepted answers, separated by lines or bars; most texts have one."""
    return [part for part in _ALTERNATIVES.split(expected) if part.strip()] or [expected]


def acknowledges_conflict(answer: str) -> bool:
    """Whether an answer says that its sources differ."""
    return bool(_CONFLICT.search(answer[:LIMIT].replace("’", "'")))


class Expected:
    """An expected answer or a key fact, read once for all texts that it is looked up in.

    Args:
        text: as the case has it.
        question: keys of the question's words.
    """

    def __init__(self, text: str, question: Set[str]) -> None:
        words = read_words(text)
        self.claim: Final = ReadClaim(words, question)
        self.content: Final = content_keys(words)
        self.line: Final = _line(words)
        self.says: Final = _yes_or_no(words)
        self.is_statement: Final = len(words) >= LONG


class StatedText(NamedTuple):
    """An answer or a passage, in which expected answers and key facts are looked up."""

    line: str
    """Its words in a row between blanks, articles left out."""
    context: ContextIndex
    says: str = ""
    """Whether it begins with yes or no."""

    @classmethod
    def of_answer(cls, answer: str) -> StatedText:
        """Read an answer."""
        text = answer_text(answer)
        words = read_words(text)
        return cls(_line(words), read_context((Passage(text=text),)), _yes_or_no(words))

    def look_up(self, expected: Expected) -> Stated:
        """Look an expected answer or key fact up."""
        support, places = find_support(expected.claim, self.context), self.context.places
        opposed = {expected.says, self.says} == {"yes", "no"}
        return Stated(expected, expected.line in self.line, support, places.keys(), opposed)


class Stated(NamedTuple):
    """An expected answer or a key fact, as far as a text states it."""

    expected: Expected
    exact: bool
    """Whether the text holds its words in a row."""
    support: Support | None
    """None: it has no content words."""
    known: Set[str]
    """Words of the text, at least those that are expected."""
    opposed: bool
    """Whether one of them answers yes and the other no."""

    def features(self) -> Mapping[str, float] | None:
        """Return the features of a short text; None: it has no content words."""
        if self.support is None:
            return None
        found, content, claim = self.support, self.expected.content, self.expected.claim
        lost = [at for at in claim.numbers if claim.words[at].key not in self.known]
        return {
            "window": found.covered,
            "new_words": found.new_words,
            "pairs": found.pairs,
            "coverage": found.coverage,
            "first": 1.0 if content[0] in self.known else 0.0,
            "last": 1.0 if content[-1] in self.known else 0.0,
            "exact": 1.0 if self.exact else 0.0,
            "numbers": 1.0 if lost else 0.0,
            "against": self.opposed or found.covered**2 * (found.negated != found.denied),
        }

    def score(self, layer: Layer) -> float:
        """Return 0 to 5 for an expected answer or a short key fact."""
        features = self.features()
        if features is None or not features["coverage"]:
            return 5.0 if features is None and self.exact else 0.0
        odds = layer.log_odds(features)
        # A long text may have numbers that a right answer need not repeat.
        if not self.expected.is_statement and (features["numbers"] or features["against"]):
            odds = min(odds, FAULTY)
        return scale(odds, layer, _IDEAL)

    def statement(self) -> Support | None:
        """Return the support of a long key fact, that of a claim; None: it is not long."""
        return self.support if self.expected.is_statement else None

    def fact_score(self, parameters: Parameters) -> float:
        """Return 0 to 5 for a key fact of any length."""
        statement = self.statement()
        if statement is None:
            return self.score(parameters.correct)
        if self.exact:
            return 5.0
        return scale(support_odds(statement, parameters.stated), parameters.stated, IDEAL)

    def holds(self, parameters: Parameters) -> bool:
        """Return whether the text states a key fact."""
        statement = self.statement()
        features = None if statement is not None and self.exact else self.features()
        if features is None:
            return self.exact
        if features["numbers"] or features["against"]:
            return False
        if statement is not None:
            return support_odds(statement, parameters.stated) >= 0
        return parameters.correct.log_odds(features) >= 0

    def confirmed(self, parameters: Parameters) -> bool:
        """Return whether a passage states a key fact, by the rule for claims as well.

        In a fact with a number at least two of its neighbouring words must be near each other: many
        passages hold 30 and days, and few 30 days.
        """
        if not self.holds(parameters):
            return False
        support = self.support
        if support is None or self.exact:
            return True
        if not support.pairs and self.expected.claim.numbers:
            return False
        return support_odds(support, parameters.grounded) >= 0


@lru_cache(maxsize=256)  # questions of a run share passages
def stated_passage(text: str, heading_path: str | None) -> StatedText:
    """Read a retrieved passage."""
    line = _line(read_words(plain_text(text, PASSAGE_LIMIT)))
    return StatedText(line, read_passage(text, heading_path))


def _yes_or_no(words: Sequence[Word]) -> str:
    first = words[0] if words else None
    return first.form if first and first.form in {"yes", "no"} and not first.negates else ""


def _line(words: Sequence[Word]) -> str:
    return f" {' '.join([word.key for word in words if word.form not in _ARTICLES])} "


def _without_reference(request: JudgeRequest, layer: Layer) -> tuple[float | None, str]:
    if not request.context:
        return None, "Nothing was expected, and there is no context to compare with."
    asked = question_keys(request.question)
    answer = {word.key for word in read_words(plain_text(request.answer))}
    touched = len(asked & answer) / len(asked) if asked else 1.0
    score = judge_grounding(request, layer).scores["groundedness"] * (1 + touched) / 2
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
