"""Metrics of citations, abstention and rules; citations are distinct (docs/site/metrics.toml)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.metrics.deciding import cited_golds
from pytest_rageval.metrics.matching import citation_in_chunks, fold
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.metrics.view import (
    ANSWERABLE,
    FAILED,
    NO_JUDGE,
    UNANSWERABLE,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    gold_population,
)
from pytest_rageval.support.patterns import PatternError, compile_pattern
from pytest_rageval.values.case import AnswerRule
from pytest_rageval.values.record import CheckedClaim

_NOTHING: Final[frozenset[int]] = frozenset()
_ATTRIBUTION: Final = ("attribution_hit_rate", "attribution_recall", "attribution_precision")
CITED_METRICS: Final = (*_ATTRIBUTION, "citation_in_context_rate", "recency_conflict_accuracy")
"""Metrics that need to know whether an answer without citations could have had some."""
SUPPORT_METRICS: Final = ("citation_support_precision", "citation_support_recall")
"""Metrics that need to know whether an answer could have had citations in its text."""
_NO_CITATION: Final = NotApplicable("The answer cites nothing.")


def score_citations(view: CaseView) -> Scores:
    """Score attribution, citations in context and the handling of recency conflicts."""
    chunks = view.chunks or ()
    found = [cited_golds(c, view.case, chunks, view.settings) for c in view.citations or ()]
    cited = [golds for golds in found if golds is not None]
    blocked = _blocked(view)
    if len(cited) < len(found):
        blocked = blocked or NotApplicable(
            "A cited chunk cannot be compared with the evidence of the case."
        )
    scores = _attribution(view, cited, blocked)
    scores["citation_in_context_rate"] = _in_context(view)
    scores["recency_conflict_accuracy"] = _recency(view, cited, blocked)
    return scores


def _blocked(view: CaseView) -> Score | None:
    """Return the score if citations cannot be read; a failed case stays in the population."""
    if view.failed:
        return FAILED
    return NotApplicable("The target reports no citations.") if view.citations is None else None


def _attribution(
    view: CaseView, cited: Sequence[frozenset[int]], blocked: Score | None
) -> dict[str, Score]:
    if blocked := gold_population(view.case) or blocked:
        return dict.fromkeys(_ATTRIBUTION, blocked)
    found = _NOTHING.union(*cited)
    recall = len(found) / len(view.case.gold_supports)
    precision = sum(map(bool, cited)) / len(cited) if cited else _NO_CITATION
    return dict(zip(_ATTRIBUTION, (1.0 if found else 0.0, recall, precision), strict=True))


def _in_context(view: CaseView) -> Score:
    """Score invented sources: below 1, a citation points at nothing that was retrieved."""
    if blocked := _blocked(view):
        return blocked
    if not view.citations:
        return _NO_CITATION
    if view.chunks is None:
        return NotApplicable("The target reports no retrieved_chunks.")
    case = view.settings.path_case
    held = [citation_in_chunks(citation, view.chunks, case) for citation in view.citations]
    return sum(held) / len(held)


def _recency(view: CaseView, each_cited: Sequence[frozenset[int]], blocked: Score | None) -> Score:
    if blocked := gold_population(view.case) or _rule_missing(view) or blocked:
        return blocked
    cited = _NOTHING.union(*each_cited)
    if view.case.recency_conflict_rule == "cite_newer":
        return 1.0 if 0 in cited else 0.0
    if len(cited) < len(view.case.gold_supports):
        return 0.0
    if view.case.recency_conflict_rule == "cite_both":
        return 1.0
    verdict = view.verdicts.acknowledges_conflict if view.verdicts is not None else None
    return FAILED if verdict is None else float(verdict)


def _rule_missing(view: CaseView) -> NotApplicable | None:
    rule = view.case.recency_conflict_rule
    if rule is None:
        return NotApplicable("The case has no recency_conflict_rule.", "case")
    if len(view.case.gold_supports) < 2:
        return NotApplicable("A recency_conflict_rule needs two gold_supports.")
    # Without a judge only misses could be detected, and keeping those alone would bias the mean.
    if rule == "acknowledge_both" and not view.settings.judge_configured:
        return NotApplicable("The rule acknowledge_both needs a judge.")
    return None


def score_citation_support(view: CaseView) -> Scores:
    """Score whether the passages that a claim cites support it (ALCE, Gao et al. 2023)."""
    claims = _checked_claims(view)
    if not isinstance(claims, tuple):
        return dict.fromkeys(SUPPORT_METRICS, claims)
    pairs = [check.supports is True for claim in claims for check in claim.citations]
    if not pairs and not view.settings.citations_in_text:
        outside = NotApplicable("The target cites nothing in the text of its answers.")
        return dict.fromkeys(SUPPORT_METRICS, outside)
    supported = [any(check.supports for check in claim.citations) for claim in claims]
    precision = (
        sum(pairs) / len(pairs) if pairs else NotApplicable("The answer cites nothing in its text.")
    )
    return dict(zip(SUPPORT_METRICS, (precision, sum(supported) / len(claims)), strict=True))


def _checked_claims(view: CaseView) -> tuple[CheckedClaim, ...] | Score:
    """Return the claims of the answer, or why they are not scored."""
    if not view.settings.judge_configured:
        return NO_JUDGE
    if not view.case.answerable:
        return UNANSWERABLE
    if view.failed:
        return FAILED
    if view.abstained:
        return NotApplicable("The answer abstains, so it makes no claim.")
    if view.chunks is None:
        return NotApplicable("The target reports no retrieved_chunks.")
    claims = view.evidence.claims
    if not view.texts_whole or any(c.supports is None for m in claims or () for c in m.citations):
        return NotApplicable("A cited or retrieved chunk came without its whole text.")
    if claims is None:
        return NotApplicable("Nothing was looked up in the passages.")
    return claims or NotApplicable("The answer makes no claim.")


def score_abstention(view: CaseView) -> Scores:
    """Score abstention; refusing everything is perfect except for ``over_abstention_rate``.

    ``hallucination_rate_unanswerable`` is 1 minus ``abstention_accuracy``, case by case.
    """
    score = _abstained(view)
    if view.case.answerable:
        return {
            "abstention_accuracy": ANSWERABLE,
            "hallucination_rate_unanswerable": ANSWERABLE,
            "over_abstention_rate": score,
        }
    return {
        "abstention_accuracy": score,
        "hallucination_rate_unanswerable": 1.0 - score if isinstance(score, float) else score,
        "over_abstention_rate": UNANSWERABLE,
    }


def _abstained(view: CaseView) -> Score:
    if view.failed:
        return FAILED
    if view.abstained is not None:
        return float(view.abstained)
    if not view.settings.judge_configured:
        return NotApplicable("The target does not say whether it abstained, and there is no judge.")
    return FAILED


_AROUND = 30
"""Characters shown on either side of a text that was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """One rule applied to one answer."""

    rule: AnswerRule
    kept: bool
    found: str = ""
    """The text or line that was found, with what is around it; empty: nothing was."""
    fault: str = ""
    """Reason why it is unknown whether the answer keeps the rule."""


def score_rules(view: CaseView) -> Scores:
    """Score 1 if the answer keeps every rule of the case, else 0; fail where one takes too long."""
    return {"answer_rules_pass_rate": _score(view)}


def _score(view: CaseView) -> Score:
    if not view.case.answer_rules:
        return NotApplicable("The case has no answer_rules.", "case")
    if view.failed or view.response is None:
        return FAILED
    prepared = view.prepared or PreparedAnswer(view.response.answer)
    answer = prepared.visible
    for rule in view.case.answer_rules:
        if not (check := check_rule(rule, answer)).kept:
            return FAILED if check.fault else 0.0
    return 1.0


def check_rule(rule: AnswerRule, answer: str) -> RuleCheck:
    """Apply a rule to an answer."""
    if rule.kind == "matches":
        return _matches(rule, _plain(answer, rule))
    text, wanted = _plain(answer, rule), _plain(rule.text, rule)
    at = text.find(wanted)
    if at < 0:
        return RuleCheck(rule=rule, kept=rule.kind == "not_contains")
    found = _around(text, at, at + len(wanted))
    return RuleCheck(rule=rule, kept=rule.kind == "contains", found=found)


def _matches(rule: AnswerRule, text: str) -> RuleCheck:
    try:
        search = compile_pattern(rule.text, ignore_case=rule.ignores_case)
        if not search(text):
            return RuleCheck(rule=rule, kept=False)
        line = next((line for line in text.splitlines() if search(line)), text)
    except PatternError as error:
        # Case files refuse a faulty pattern, but not a slow one; a record of another tool may hold
        # either.
        return RuleCheck(rule=rule, kept=False, fault=str(error))
    return RuleCheck(rule=rule, kept=True, found=_around(line, 0, 2 * _AROUND))


def _plain(text: str, rule: AnswerRule) -> str:
    """Return a text in the form in which a rule compares it."""
    # A pattern ignores case by itself, and must not be folded.
    folds = rule.ignores_case and rule.kind != "matches"
    text = fold(text) if folds else unicodedata.normalize("NFC", text)
    return " ".join(text.split()) if rule.ignores_whitespace else text


def _around(text: str, start: int, end: int) -> str:
    before, after = max(start - _AROUND, 0), end + _AROUND
    shown = " ".join(text[before:after].split())
    return f"{'...' if before else ''}{shown}{'...' if after < len(text) else ''}"
