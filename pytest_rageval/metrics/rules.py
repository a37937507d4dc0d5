"""Rules on the text of an answer (``answer_rules``): decided by the text alone, without a judge.

Defined in docs/site/metrics.toml.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from pytest_rageval.metrics.matching import fold
from pytest_rageval.metrics.prepared import PreparedAnswer
from pytest_rageval.metrics.view import FAILED, CaseView, NotApplicable, Score, Scores
from pytest_rageval.support.patterns import PatternError, compile_pattern
from pytest_rageval.values.case import AnswerRule

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
