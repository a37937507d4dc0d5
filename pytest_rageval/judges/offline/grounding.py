"""Groundedness of a whole answer: claims decided one by one, then one score from 0 to 5.

Support of a claim is a fitted probability over the features of ``support``. The answer's log odds
are the mean over its distinct claims, drawn towards the worst one; the score grows with them, is 4
where the fitted probability is a half, and answers without citations reach only 4.5. 5 is an answer
that is word for word in the context and cited throughout; 0 shares no word with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pytest_rageval.judges.offline.abstention import declines
from pytest_rageval.judges.offline.claims import RawClaim, is_aside, split_claims
from pytest_rageval.judges.offline.lexicon import language_of, read_words
from pytest_rageval.judges.offline.parameters import Layer, probability
from pytest_rageval.judges.offline.relations import content_keys
from pytest_rageval.judges.offline.support import (
    AGAINST,
    FOR,
    ContextIndex,
    ReadClaim,
    Support,
    find_support,
    question_keys,
    read_context,
)
from pytest_rageval.values.verdict import Claim, JudgeRequest, Verdict

PASS: Final = 4.0
UNCITED_SHARE: Final = 0.5
"""Share of the way from 4 to 5 that is open without citations."""
WORST_SHARE: Final = 0.15
"""Weight of the worst claim, against the mean, in the answer's log odds."""
_LINE: Final = 0.5
FAULTY: Final = -0.25
"""Maximum log odds of a claim with a missing number or name, an opposite or a one-sided
negation."""
_BUT: Final = re.compile(r"[,;]?\s*\b(?:but|however|nevertheless)\b,?\s*", re.IGNORECASE)
_SHORTEST: Final = 4
"""Minimum words of a clause that makes a statement."""
_KEPT_CHARS: Final = 50_000
"""Longest answer of which the statements are kept."""
STRICT: Final = ("numbers", "names", "rival", "negated", "not_negated")
IDEAL: Final = dict.fromkeys(FOR, 1.0) | dict.fromkeys(AGAINST, 0.0)
"""Features of a claim that is word for word in the context."""
_SOME: Final = 3.0
"""Score on the scale of a partly supported answer."""
_BELOW: Final = 0.9
"""Factor that keeps such answers below the pass line, and in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClaim:
    """One claim with its support."""

    raw: RawClaim
    support: Support
    log_odds: float
    cited: bool
    """Whether it has a valid citation."""

    @property
    def supported(self) -> bool:
        """Whether it is probably supported, without conflicting number, name or negation."""
        return self.log_odds >= 0


def judge_grounding(request: JudgeRequest, layer: Layer) -> Verdict:
    """Judge an answer against its context, by the layer fitted for claims.

    ``groundedness`` is 0 to 5, ``claim_support_rate`` the share of its claims.
    """
    claims, index = find_claims(request, layer)
    if not claims:
        return _without_claims(request)
    log_odds = combine(claims)
    cited = math.fsum(c.support.weight for c in claims if c.cited)
    share = cited / math.fsum(c.support.weight for c in claims)
    touched = any(claim.support.best is not None for claim in claims)
    reached = UNCITED_SHARE + (1 - UNCITED_SHARE) * share
    score = scale(log_odds, layer, IDEAL, reached) if touched else 0.0
    shown = tuple(_show(claim, index) for claim in claims)
    supported = sum(claim.supported for claim in shown) / len(shown)
    return Verdict(
        scores={"groundedness": _by_scale(score, supported), "claim_support_rate": supported},
        reasoning=_explain(shown, share),
        claims=shown,
    )


def _by_scale(score: float, supported: float) -> float:
    """Keep an answer below 4 unless most of its claims, more than half, are supported."""
    if supported > 0.5 or score < PASS:
        return score
    return _SOME + (score - PASS) * (PASS - _SOME) * _BELOW


def _without_claims(request: JudgeRequest) -> Verdict:
    score, why = 0.0, "The answer states nothing."
    if any(declines(raw.text) for raw in split_claims(request.answer)):
        score, why = PASS, "The answer declines and makes no claim that could be unsupported."
    return Verdict(
        scores={"groundedness": score},
        not_applicable={"claim_support_rate": "The answer makes no claim."},
        reasoning=why,
    )


def find_claims(request: JudgeRequest, layer: Layer) -> tuple[list[JudgedClaim], ContextIndex]:
    """Return the distinct claims of an answer in order, each looked up in the context.

    Sentences that decline are not claims. Courtesies and questions are left out if there are other
    sentences.
    """
    language = language_of(
        request.answer, request.question, *[passage.text for passage in request.context[:1]]
    )
    read = [
        (raw, read_words(raw.text, language))
        for raw in statements(request.answer, request.question)
    ]
    question = question_keys(request.question, language)
    vocabulary = question.union(*(content_keys(words) for _, words in read))
    index = read_context(request.context, vocabulary, language)
    labels = {sentence.label for sentence in index.sentences}
    found = []
    for raw, words in read:
        support = find_support(ReadClaim(words, question, language), index)
        if support is not None:
            cited = any(n in labels for n in raw.numbers) if raw.numbers else raw.cited
            odds = support_odds(support, layer)
            found.append(JudgedClaim(raw=raw, support=support, log_odds=odds, cited=cited))
    return distinct(found), index


def statements(answer: str, question: str) -> tuple[RawClaim, ...]:
    """Return the statements of an answer in order, repeated ones included.

    Sentences that decline are left out; courtesies and questions are if there are others. A bare
    yes or no states what the question asks.
    """
    read = _stated_once if len(answer) <= _KEPT_CHARS else _stated
    return read(answer, question)


def _stated(answer: str, question: str) -> tuple[RawClaim, ...]:
    stated = [raw for raw in split_claims(answer, question) if _states(raw)]
    return tuple([raw for raw in stated if not is_aside(raw.text)] or stated)


_stated_once = lru_cache(maxsize=64)(_stated)  # the judge and the evidence read each answer


def support_odds(support: Support, layer: Layer) -> float:
    """Return the log odds that a claim is supported; a contradicted one is not."""
    odds = layer.log_odds(support.features)
    return min(odds, FAULTY) if any(support.features[name] for name in STRICT) else odds


def _states(raw: RawClaim) -> bool:
    """Whether a sentence makes a claim: "I am not sure, but it is blue" does."""
    if not declines(raw.text):
        return True
    tail = _BUT.split(raw.text)[-1]
    return tail != raw.text and len(tail.split()) >= _SHORTEST and not declines(tail)


def distinct(claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """Drop claims whose words a longer one contains, so that repetition has no effect.

    Of claims with the same words the one with the least support stays.
    """
    kept: list[JudgedClaim] = []
    for claim in sorted(claims, key=lambda c: (-len(c.support.keys), c.log_odds)):
        at = next((i for i, other in enumerate(kept) if _repeats(claim, other)), None)
        if at is None:
            kept.append(claim)
        elif claim.cited and claim.support.keys == kept[at].support.keys:
            kept[at] = replace(kept[at], cited=True)
    places = {id(claim.raw): i for i, claim in enumerate(claims)}
    return sorted(kept, key=lambda c: places[id(c.raw)])


def _repeats(claim: JudgedClaim, other: JudgedClaim) -> bool:
    return (
        claim.support.keys <= other.support.keys and claim.support.negated == other.support.negated
    )


def combine(claims: Sequence[JudgedClaim]) -> float:
    """Return the log odds of the answer; the order of its claims does not matter."""
    weight = math.fsum(c.support.weight for c in claims)
    mean = math.fsum(c.support.weight * c.log_odds for c in claims) / weight
    return (1 - WORST_SHARE) * mean + WORST_SHARE * min(c.log_odds for c in claims)


def scale(log_odds: float, layer: Layer, ideal: Mapping[str, float], reached: float = 1.0) -> float:
    """Return 0 to 5: 4 at even odds, and 5 at those of ideal features, or a share of the way."""
    chance = probability(log_odds)
    if chance < _LINE:
        return PASS * chance / _LINE
    best = probability(layer.log_odds(ideal))
    return PASS + min(1.0, (chance - _LINE) / (best - _LINE)) * reached


def _show(claim: JudgedClaim, index: ContextIndex) -> Claim:
    support = claim.support
    place = None if support.best is None else index.sentences[support.best].passage
    return Claim(
        text=claim.raw.text,
        supported=claim.supported,
        passage=place if support.features["window"] >= _LINE else None,
        reason=_reason(claim),
    )


def _reason(claim: JudgedClaim) -> str:
    features, support = claim.support.features, claim.support
    faults = []
    if support.lost_numbers:
        faults.append(f"not found there: {', '.join(support.lost_numbers[:3])}")
    if support.other_unit:
        faults.append(f"the passage has {support.other_unit}")
    if support.exchanged:
        faults.append("has the two sides the other way round")
    if support.lost_names:
        faults.append(f"names not found: {', '.join(support.lost_names[:3])}")
    if support.opposed:
        faults.append('says "{}" where the passage has "{}"'.format(*support.opposed))
    if features["negated"]:
        faults.append("negates what the passage states")
    if features["not_negated"]:
        faults.append("states what the passage negates")
    if not claim.supported and support.lost:
        faults.append(f"words without support: {', '.join(support.lost[:5])}")
    return "; ".join(faults) or f"{features['window']:.0%} of its words found together"


def _explain(claims: Sequence[Claim], cited: float) -> str:
    supported = sum(claim.supported for claim in claims)
    text = f"{supported} of {len(claims)} claims supported, {cited:.0%} of the answer cited."
    worst = next((claim for claim in claims if not claim.supported), None)
    return text if worst is None else f'{text} "{worst.text[:120]}": {worst.reason}.'
