"""Trust in the scores of a run's judge. Pure.

Defined in docs/statistics.md#agreement-with-people.

A second opinion on some cases, means corrected by human labels, and drift between two times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.stats.calibration import CanaryDrift, canary_drift, ppi_mean
from pytest_rageval.analysis.stats.intervals import fmean, wilson
from pytest_rageval.judges.spot_check import CaseKey, Key
from pytest_rageval.metrics.judged import scores_disagree, valid_score
from pytest_rageval.support.text import counted
from pytest_rageval.values.numbers import CorrectedMean, Disagreement, SpotCheck

SCALE: Final = (0.0, 5.0)
MIN_CANARIES: Final = 30


# --- a second opinion ----------------------------------------------------------------------------


def summarise_spot_check(
    pairs: Sequence[tuple[CaseKey, object, object]],
    *,
    scale: tuple[float, float] = SCALE,
    confidence: float = 0.95,
) -> SpotCheck:
    """Compare the first and the second score of spot-checked cases.

    Args:
        pairs: case, first and second score; one that is no number of the scale is no valid verdict.
        scale: ends of both scores.
        confidence: of the interval.
    """
    read = [(key, valid_score(a, scale), valid_score(b, scale)) for key, a, b in pairs]
    valid = [(key, a, b) for key, a, b in read if a is not None and b is not None]
    apart = [pair for pair in valid if scores_disagree(pair[1], pair[2], scale)]
    apart.sort(key=lambda pair: (-abs(pair[1] - pair[2]), repr(pair[0])))
    interval = wilson(len(apart), len(valid), confidence=confidence)
    return SpotCheck(
        n=len(valid),
        n_error=len(pairs) - len(valid),
        disagreement_rate=len(apart) / len(valid) if valid else None,
        low=interval.low,
        high=interval.high,
        worst=tuple(
            Disagreement(file=file, case_id=case_id, first=one, second=other)
            for (file, case_id), one, other in [*dict.fromkeys(apart)][:5]  # repeats often agree
        ),
    )


# --- a mean corrected by people ------------------------------------------------------------------


def corrected_mean(
    labels: Mapping[Key, float],
    scores: Mapping[Key, float | None],
    *,
    scale: tuple[float, float] = SCALE,
    confidence: float = 0.95,
) -> CorrectedMean:
    """Correct a judge's mean by prediction-powered inference (``stats.calibration.ppi_mean``).

    The labelled cases must be a random sample: a choice of doubtful ones biases the result.

    Args:
        labels: people's scores, by case.
        scores: the judge's scores of all cases, on the same scale; None: no valid verdict, left out
            of every mean.
        scale: ends of both.
        confidence: two-sided.

    Raises:
        ValueError: a label or score lies outside the scale.

    >>> people = {"a": 5, "b": 2, "c": 4, "d": 1}
    >>> judge = {"a": 5, "b": 4, "c": 5, "d": 3, "e": 4, "f": 5}
    >>> print(corrected_text(corrected_mean(people, judge)))
    3.16 [0.26-5.00] corrected by 4 labels; the judge alone says 4.33 over 6 cases
    """
    judged = {key: score for key, score in scores.items() if score is not None}
    for value in (*labels.values(), *judged.values()):
        if valid_score(value, scale) is None:
            raise ValueError(f"{value!r}, expected a number from {scale[0]:g} to {scale[1]:g}")
    both = [key for key in labels if key in judged]
    others = [score for key, score in judged.items() if key not in labels]
    found = ppi_mean(
        [labels[key] for key in both],
        [judged[key] for key in both],
        others,
        lo=scale[0],
        hi=scale[1],
        confidence=confidence,
    )
    return CorrectedMean(
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        low_one_sided=found.low_one_sided,
        high_one_sided=found.high_one_sided,
        detectable_se=found.detectable_se,
        judge_mean=fmean(list(judged.values())),
        human_mean=found.human_only,
        weight=found.weight,
        n_labels=len(both),
        n_judge_only=len(others),
        n_unused=len(labels) - len(both),
    )


def corrected_text(found: CorrectedMean) -> str:
    """Say what labels make of a mean."""
    if found.estimate is None or found.judge_mean is None:
        return "no correction: no case has both a label and a score"
    interval = "no interval"
    if found.low is not None and found.high is not None:
        interval = f"{found.low:.2f}-{found.high:.2f}"
    return (
        f"{found.estimate:.2f} [{interval}] corrected by {counted(found.n_labels, 'label')}; "
        f"the judge alone says {found.judge_mean:.2f} "
        f"over {counted(found.n_labels + found.n_judge_only, 'case')}"
    )


# --- the same answers after a while --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The same answers judged at two times."""

    n: int
    """Answers scored both times."""
    n_lost: int
    """Answers that were scored before and are not now."""
    found: CanaryDrift
    """If its ``drift`` is true, judged scores should not be compared."""

    @property
    def enough(self) -> bool:
        """Whether there are enough answers for a statement."""
        return self.n >= MIN_CANARIES

    def __str__(self) -> str:
        shift, flips = self.found.mean_shift, self.found.flip_rate
        if shift is None or flips is None:
            return "drift unknown: no answer was scored both times"
        few = "" if self.enough else f", of the {MIN_CANARIES} it takes"
        return (
            f"{'the judge has drifted' if self.found.drift else 'no drift seen'}: "
            f"mean shift {shift:+.3f} of the scale, {flips:.1%} changed sides of the pass line "
            f"({counted(self.n, 'answer')}{few})"
        )


def measure_drift(
    before: Mapping[Key, float],
    now: Mapping[Key, float | None],
    *,
    scale: tuple[float, float] = SCALE,
) -> Drift:
    """Compare the scores of frozen answers with those of an earlier time.

    Args:
        before: stored scores by answer.
        now: today's; answers that are not in ``before`` are ignored; None: no valid verdict.
        scale: ends of both.
    """
    pairs = [(score, new) for key, score in before.items() if (new := now.get(key)) is not None]
    found = canary_drift(
        [one for one, _ in pairs], [other for _, other in pairs], lo=scale[0], hi=scale[1]
    )
    return Drift(n=len(pairs), n_lost=len(before) - len(pairs), found=found)
