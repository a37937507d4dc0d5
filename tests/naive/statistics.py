"""The statistics of the package a second time, by definition and by brute force.

Slow on purpose and sharing nothing with the package: intervals come from scipy or from solving
the defining equation, p-values from listing every outcome, agreement from going through all
pairs. `None` stands for "no value": no data, or a figure that is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from tests.naive import intervals, raters
from tests.naive.intervals import SLACK, Floats, Values


def answer(op: str, row: Values) -> Values:
    """Answer one row by definition: ``op`` and input as in the rows of checked examples."""
    if op == "stat":
        found: Values = STATISTICS[row["fn"]](**row["args"])
        return found
    return OPERATIONS[op](**row)


# --- means, limits and verdicts -------------------------------------------------------------------


def aggregate(values: list[Values], worst: float) -> Values:
    scored = sorted(v["value"] for v in values if v["status"] == "scored")
    errors = sum(v["status"] == "error" for v in values)
    filled = [*scored, *[worst] * errors]
    return {
        "n": len(scored),
        "n_error": errors,
        "n_not_applicable": sum(v["status"] == "not_applicable" for v in values),
        "median": float(np.median(scored)) if scored else None,
        "mean_errors_as_worst": math.fsum(filled) / len(filled) if errors else None,
        **intervals.mean_interval(scored),
    }


def percentile(values: Floats, p: float) -> Values:
    return {"value": float(np.percentile(values, p)) if len(values) else None}


def gate(
    check: str,
    limit: float,
    decide: str = "estimate",
    estimate: float | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Values:
    """Turn each check into "at least": a maximum is a minimum of the mirrored axis."""
    sign = 1 if check in ("min", "max_drop") else -1
    floor = -limit if check == "max_drop" else sign * limit
    if estimate is None:
        return {"outcome": "no_data", "proof": None}
    proof = None
    if low is not None and high is not None:
        bad, good = sorted((sign * low, sign * high))
        if bad >= floor - SLACK:
            proof = "proven_pass"
        else:
            proof = "proven_fail" if good < floor - SLACK else "unproven"
    if decide == "estimate":
        passed = sign * estimate >= floor - SLACK
    elif proof is None:
        return {"outcome": "no_data", "proof": None}
    else:
        passed = proof == "proven_pass" if decide == "prove_pass" else proof != "proven_fail"
    return {"outcome": "pass" if passed else "fail", "proof": proof}


def verdict(low: float, high: float, margin: float = 0.0, direction: str = "higher") -> Values:
    if direction == "lower":
        low, high = -high, -low
    if low > 0:
        return {"verdict": "better"}
    if high < 0:
        return {"verdict": "worse"}
    return {"verdict": "same" if -margin < low and high < margin else "unclear"}


# --- several tests, power -------------------------------------------------------------------------


def holm(ps: Floats) -> Values:
    """Adjusted p = the smallest level at which stepping down rejects the hypothesis."""

    def rejected(level: float) -> set[int]:
        order = sorted(range(len(ps)), key=lambda i: ps[i])
        out: set[int] = set()
        for rank, i in enumerate(order):
            if ps[i] * (len(ps) - rank) > level:
                break
            out.add(i)
        return out

    return {"adjusted": smallest_levels(ps, rejected)}


def bh(ps: Floats) -> Values:
    """Adjusted p = the smallest rate at which stepping up rejects the hypothesis."""

    def rejected(level: float) -> set[int]:
        order = sorted(range(len(ps)), key=lambda i: ps[i])
        last = max((r for r, i in enumerate(order, 1) if ps[i] * len(ps) / r <= level), default=0)
        return set(order[:last])

    return {"adjusted": smallest_levels(ps, rejected)}


def smallest_levels(ps: Floats, rejected: Callable[[float], set[int]]) -> list[float]:
    m = len(ps)
    levels = sorted({1.0} | {p * (m - r) for p in ps for r in range(m)} | step_ups(ps))
    return [
        next((min(1.0, level) for level in levels if i in rejected(level)), 1.0) for i in range(m)
    ]


def step_ups(ps: Floats) -> set[float]:
    return {p * len(ps) / rank for p in ps for rank in range(1, len(ps) + 1)}


def holm_family(ps: Floats, level: float) -> list[bool]:
    """Which hypotheses the stepwise procedure rejects, walked through once."""
    order, alarms = sorted(range(len(ps)), key=lambda i: ps[i]), [False] * len(ps)
    for rank, i in enumerate(order):
        if ps[i] > level / (len(ps) - rank) + SLACK:
            break
        alarms[i] = True
    return alarms


def mde(se: float, alpha: float = 0.05, power: float = 0.8) -> Values:
    return {"mde": float(stats.norm.isf(alpha) + stats.norm.ppf(power)) * se}


def n_required(sd: float, delta: float, alpha: float = 0.05, power: float = 0.8) -> Values:
    """Count up to the first n whose detectable effect is small enough."""
    n, whole = 1, mde(sd, alpha, power)["mde"]
    while whole / math.sqrt(n) > delta:
        n += 1
    return {"n": n}


OPERATIONS: dict[str, Callable[..., Values]] = {
    "aggregate": aggregate,
    "percentile": percentile,
    "gate": gate,
    "verdict": verdict,
}

STATISTICS: dict[str, Callable[..., Values]] = {
    "wilson": intervals.wilson,
    "clopper_pearson": intervals.clopper_pearson,
    "beta_credible": intervals.beta_credible,
    "mean_interval": intervals.mean_interval,
    "clustered_se": intervals.clustered_se,
    "quantile_ci": intervals.quantile_ci,
    "paired_diff": intervals.paired_diff,
    "mcnemar": intervals.mcnemar,
    "sign_flip": intervals.sign_flip,
    "holm": holm,
    "bh": bh,
    "variance_components": raters.variance_components,
    "pass_at_k": raters.pass_at_k,
    "pass_hat_k": raters.pass_hat_k,
    "flakiness": raters.flakiness,
    "mde": mde,
    "n_required": n_required,
    "kappa": raters.kappa,
    "krippendorff_alpha": raters.krippendorff_alpha,
    "spearman": raters.spearman,
    "prf": raters.prf,
    "ppi_mean": raters.ppi_mean,
    "canary": raters.canary,
}
