"""How much of a judged difference may be the judge's own noise. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.analysis.trust.reliability import summarise_spot_checks
from pytest_rageval.values.record import CaseRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeNoise:
    """What both runs together know of the noise of one judged metric."""

    disagreement_rate: float | None
    """Share of scores that a second judge did not confirm; None: there was none."""
    n_checked: int
    """Scores given twice."""
    repeat_sd: float | None
    """Standard deviation between repeats of one case; None: no case was asked twice."""
    n_repeated: int
    """Cases, of either run, with two scored repeats or more."""


def judge_noise(cases: Sequence[Sequence[CaseRecord]], key: str) -> JudgeNoise | None:
    """Sum up the noise of a judged metric; None: nothing tells of it.

    Args:
        cases: the repeats of each case and run.
        key: a judged metric.
    """
    checked = summarise_spot_checks(r for repeats in cases for r in repeats).get(key)
    rate = None if checked is None else checked.disagreement_rate
    spreads = [s for repeats in cases if (s := _variance(repeats, key)) is not None]
    within = fmean(spreads)
    if rate is None and within is None:
        return None
    return JudgeNoise(
        disagreement_rate=rate,
        n_checked=0 if checked is None else checked.n,
        repeat_sd=None if within is None else math.sqrt(within),
        n_repeated=len(spreads),
    )


def _variance(repeats: Sequence[CaseRecord], key: str) -> float | None:
    values = [v for r in repeats if (v := r.metrics.get(key)) is not None]
    mean = fmean(values)
    if mean is None or len(values) < 2:
        return None
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
