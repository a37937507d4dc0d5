"""Rules of judged scores: validity, population, combination.

Defined in docs/site/metrics.toml.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_rageval.metrics.built_in import BUILT_IN, FIVE_WEIGHTS
from pytest_rageval.metrics.view import (
    FAILED,
    NO_JUDGE,
    UNANSWERABLE,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    Verdicts,
)
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.case import Case
from pytest_rageval.values.lenient import number

FACTS: Final = "key_fact_recall"
OKAY: Final = 0.5
"""Weight of a key fact that is not vital."""
PASS_SHARE: Final = 0.8
"""Pass line of a judged score as a share of its scale: 4 of 5."""
CORRECTED: Final = ("groundedness", "correctness")
"""Metrics whose mean labels of people can correct."""
_JUDGED_KEYS: Final = tuple(
    key for key, info in BUILT_IN.cases.items() if info.judged and key != "context_utilization"
)
"""Metrics that are scores of a verdict; ``context_utilization`` only counts by one."""
_BOUNDS: Final = {key: BUILT_IN.cases[key].bounds for key in _JUDGED_KEYS}


def valid_score(score: object, scale: tuple[float, float]) -> float | None:
    """Return a score as a float if it is a finite number within its scale, else None.

    Values are not clipped: 4.5 of 5 is valid, 5.1 is not. Booleans and strings are not numbers.
    """
    found, (low, high) = number(score), scale
    return found if found is not None and low <= found <= high else None


def composite(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Return the weighted mean, or None if any dimension of positive weight has no value.

    A mean over the remaining dimensions would be a different metric.

    >>> round(composite({"a": 1.0, "b": 0.5}, {"a": 3, "b": 1}) or 0, 3)
    0.875
    """
    total = 0.0
    for name, weight in weights.items():
        if weight > 0 and values.get(name) is None:
            return None
        total += weight * (values.get(name) or 0.0)
    weight_sum = sum(weights.values())
    return total / weight_sum if weight_sum > 0 else None


def claim_support(supported: int, unsupported: int) -> float | None:
    """Return supported / all claims (the faithfulness of RAGAS); None without claims."""
    claims = supported + unsupported
    return supported / claims if claims else None


def weighted_share(found: Sequence[bool], vital: Sequence[bool]) -> float | None:
    """Return the weighted share of facts that were found: a vital one counts 1, another one 0.5.

    The weights of the nuggets of TREC RAG (Pradeep et al. 2024); None without facts.

    >>> weighted_share([True, False, True], [True, True, False])
    0.6
    """
    weights = [1.0 if one else OKAY for one in vital]
    whole = math.fsum(weights)
    held = math.fsum(weight for weight, one in zip(weights, found, strict=True) if one)
    return held / whole if whole else None


def fact_share(case: Case, found: Sequence[bool] | None) -> float | None:
    """Return ``key_fact_recall`` of a case with facts that are not vital; None: a plain share."""
    vital = case.vital_facts
    if found is None or all(vital) or len(found) != len(vital):
        return None
    return weighted_share(found, vital)


def scores_disagree(one: float, other: float, scale: tuple[float, float]) -> bool:
    """Return whether two scores differ by more than one point of five or by the pass line."""
    low, high = scale
    line = low + PASS_SHARE * (high - low) - TOLERANCE
    apart = abs(one - other) > 0.2 * (high - low) + TOLERANCE
    return apart or (one >= line) != (other >= line)


NOT_GIVEN: Final = "The judge gave no such score."
_UNUSED: Final = NotApplicable("No rubric in use gives this score.")


def score_judged(view: CaseView) -> Scores:
    """Score the judged metrics of one case from its verdicts; higher is better for all.

    A key whose rubric is not in use is not applicable. Abstaining on an answerable case is 0 for
    ``correctness`` and ``key_fact_recall`` without asking.
    """
    if not view.settings.judge_configured:
        return dict.fromkeys(_JUDGED_KEYS, NO_JUDGE)
    verdicts = view.verdicts
    if verdicts is None:
        return dict.fromkeys(_JUDGED_KEYS, _UNUSED)
    used = {*verdicts.judged_keys, *verdicts.scores}
    five = any(key.startswith("five.") for key in used)
    used.update(verdicts.not_applicable)
    (used.add if five else used.discard)("five.composite")
    return {k: _score(view, verdicts, k) if k in used else _UNUSED for k in _JUDGED_KEYS}


def _score(view: CaseView, verdicts: Verdicts, key: str) -> Score:
    if not view.case.answerable and not key.startswith("five."):
        return UNANSWERABLE
    if key == "key_fact_recall" and not view.case.expected_key_facts:
        return NotApplicable("The case has no expected_key_facts.", "case")
    if view.failed:
        return FAILED
    if key in frozenset({"correctness", "key_fact_recall"}) and view.abstained:
        return 0.0
    if outside := _outside_answer(view, key):
        return outside
    if key in verdicts.not_applicable:
        return NotApplicable(verdicts.not_applicable[key])
    value = _valid(verdicts, key)
    if key == "five.composite":
        parts = {name: _valid(verdicts, f"five.{name}") for name in FIVE_WEIGHTS}
        value = composite(parts, FIVE_WEIGHTS)
    return FAILED if value is None else value


def _valid(verdicts: Verdicts, key: str) -> float | None:
    return valid_score(verdicts.scores.get(key), _BOUNDS[key])


def _outside_answer(view: CaseView, key: str) -> NotApplicable | None:
    if key not in {"groundedness", "claim_support_rate"}:
        return None
    if view.abstained:
        return NotApplicable("The answer abstains, so it makes no claim.")
    if not view.chunks:
        return NotApplicable("There is no retrieved context to be grounded in.")
    return None
