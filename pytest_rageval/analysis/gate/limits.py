"""The small decisions of the gate: one estimate against one limit.

Defined in docs/statistics.md#what-a-gate-decides.

Numbers are compared unrounded with a tolerance of 1e-9 in favour of passing: in binary floats
0.90 - 0.85 is more than 0.05.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.gate import CheckKind, Decide, Proof

LimitOutcome = Literal["pass", "fail", "no_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDecision:
    """What one limit says of one estimate."""

    outcome: LimitOutcome
    proof: Proof | None
    """None: there is no interval to prove anything with."""


def decide_limit(
    kind: CheckKind,
    limit: float,
    *,
    decide: Decide = "estimate",
    estimate: float | None,
    low: float | None = None,
    high: float | None = None,
) -> LimitDecision:
    """Decide one limit.

    Args:
        kind: ``min`` and ``max`` hold a value; ``max_drop`` and ``max_rise`` hold the difference
            candidate - baseline.
        limit: absolute, at least 0 for the last two.
        decide: ``estimate`` goes by the estimate; ``prove_fail`` fails only what is proven
            beyond the limit; ``prove_pass`` passes only what is proven within it.
        estimate: the value or difference; None: no data.
        low: one-sided lower bound of the estimate, where there is one.
        high: one-sided upper bound.
    """
    if estimate is None:
        return LimitDecision(outcome="no_data", proof=None)
    # Mirror the upper limits, so that below only "too low" is bad.
    if kind in {"max", "max_rise"}:
        estimate, limit = -estimate, -limit
        low, high = (None if high is None else -high), (None if low is None else -low)
    elif kind == "max_drop":
        limit = -limit
    floor = limit - TOLERANCE
    proof: Proof | None = None
    if low is not None and low >= floor:
        proof = "proven_pass"
    elif high is not None and high < floor:
        proof = "proven_fail"
    elif low is not None or high is not None:
        proof = "unproven"
    needed = {"estimate": estimate, "prove_pass": low, "prove_fail": high}[decide]
    if needed is None:
        return LimitDecision(outcome="no_data", proof=proof)
    return LimitDecision(outcome="pass" if needed >= floor else "fail", proof=proof)
