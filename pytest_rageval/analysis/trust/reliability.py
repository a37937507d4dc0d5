"""Trust in the scores of a run's judge: a second judge, and labels of people. Pure.

A second opinion on some cases, means corrected by human labels, and drift between two times, as
defined in docs/statistics.md#agreement-with-people. Nothing here changes a metric or the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats
from pytest_rageval.analysis.stats.calibration import CanaryDrift, canary_drift, ppi_mean
from pytest_rageval.analysis.stats.intervals import fmean, wilson
from pytest_rageval.judges.spot_check import COMPARED, CaseKey, Key, second_scores
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import CORRECTED, PASS_SHARE, scores_disagree, valid_score
from pytest_rageval.support.text import TOLERANCE, counted, part
from pytest_rageval.values.errors import Fault, faults_error
from pytest_rageval.values.numbers import CorrectedMean, Disagreement, JudgeReliability, SpotCheck
from pytest_rageval.values.record import CaseRecord

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


PASS_LINE: Final = SCALE[0] + PASS_SHARE * (SCALE[1] - SCALE[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanLabel:
    """A label that people gave to the answer to one case."""

    case_id: str
    rubric: str
    label: float | bool
    """A score from 0 to 5, or whether the answer passes."""
    file: str | None = None
    """Case file; None: the only one that holds the case."""
    answer: str | None = None
    """The answer that people saw; None: that of the run, whatever it is."""
    line: int = 0
    """Line of the label file, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLabels:
    """The labels of one file; those of a rubric are all scores or all booleans."""

    labels: tuple[HumanLabel, ...]
    display: str
    """The file as shown in messages."""


def judge_reliability(
    records: Iterable[CaseRecord], labels: JudgeLabels | None = None, *, confidence: float = 0.95
) -> JudgeReliability:
    """Summarise the judge's reliability from records and labels.

    Args:
        records: of the run.
        labels: of people; None if absent.
        confidence: of the intervals.

    Raises:
        DatasetError: a label matches several cases.
    """
    kept, corrected = list(records), dict[str, CorrectedMean]()
    if labels is not None:
        cases = {(case.first.file, case.first.name): case for case in group_repeats(kept)}
        answers = {
            key: {record.reply.answer for record in case.records} for key, case in cases.items()
        }
        by_rubric = labels_by_case(labels, cases, answers)
        for rubric in CORRECTED:
            if rubric in by_rubric:
                found = _correction(rubric, by_rubric[rubric], cases, confidence)
                corrected[rubric] = found
    checks = summarise_spot_checks(kept, confidence=confidence)
    return JudgeReliability(
        disagreement_rate=_disagreement_rate(checks.values()),
        spot_check=checks,
        corrected=corrected,
    )


def _disagreement_rate(checks: Collection[SpotCheck]) -> float | None:
    n = sum(one.n for one in checks)
    apart = sum(round((one.disagreement_rate or 0.0) * one.n) for one in checks)
    return apart / n if n else None


def _correction(
    rubric: str,
    labels: Mapping[CaseKey, float | bool],
    cases: Mapping[CaseKey, CaseGroup],
    confidence: float,
) -> CorrectedMean:
    passes = any(isinstance(label, bool) for label in labels.values())
    found = corrected_mean(
        {key: float(label) for key, label in labels.items()},
        {
            key: _pass_share(case, rubric) if passes else case.mean(rubric)
            for key, case in cases.items()
        },
        scale=(0.0, 1.0) if passes else SCALE,
        confidence=confidence,
    )
    return replace(found, quantity="pass_share" if passes else "mean")


def _pass_share(case: CaseGroup, key: str) -> float | None:
    scores = [score for r in case.records if (score := r.scores.metrics.get(key)) is not None]
    return fmean([float(score >= PASS_LINE - TOLERANCE) for score in scores])


def labels_by_case(
    labels: JudgeLabels,
    cases: Iterable[CaseKey],
    answers: Mapping[CaseKey, Collection[str]] | None = None,
) -> dict[str, dict[CaseKey, float | bool]]:
    """Find the case of every label, by rubric.

    A label of a missing case is kept under its own id: a run may have left the case out. One of
    another answer than the run got says nothing about this one, and is kept under its line.

    Args:
        labels: of one file.
        cases: of the run or the set.
        answers: those that the run got; None: not known.

    Raises:
        DatasetError: an id is in several files and the label names none, or a case has two labels
            of one rubric for one answer.
    """
    files: dict[str, list[str]] = {}
    for file, case_id in cases:
        files.setdefault(case_id, []).append(file)
    found: dict[str, dict[CaseKey, float | bool]] = {}
    faults: list[Fault] = []
    seen = set[tuple[str, str, str, str | None]]()
    for label in labels.labels:
        homes = files.get(label.case_id, [])
        if label.file is None and len(homes) > 1:
            where = " and of ".join(sorted(homes)[:3])
            faults.append(_fault(labels, label, "file", "which_file", files=where))
            continue
        file = label.file if label.file is not None else (homes[0] if homes else "")
        if (one := (label.rubric, file, label.case_id, label.answer)) in seen:
            faults.append(_fault(labels, label, "id", "second_label", rubric=label.rubric))
        seen.add(one)
        given = (answers or {}).get((file, label.case_id))
        if label.answer is not None and given is not None and label.answer not in given:
            file = f"{labels.display}:{label.line}"
        found.setdefault(label.rubric, {})[file, label.case_id] = label.label
    if faults:
        raise faults_error(faults)
    return found


def _fault(labels: JudgeLabels, label: HumanLabel, name: str, code: str, **facts: str) -> Fault:
    facts["id"] = f"{label.case_id!r:.80}"
    return Fault(code=code, facts=facts, file=labels.display, line=label.line, field=name)


# --- in words ------------------------------------------------------------------------------------


def reliability_lines(found: JudgeReliability) -> Iterator[str]:
    """Yield sentences for the summary, with numbers only."""
    if parts := [f"{key} {_disagreement(one)}" for key, one in found.spot_check.items()]:
        yield f"second judge disagrees: {', '.join(parts)}"
    for key, one in found.corrected.items():
        share = f"share at {PASS_LINE:g} or above " if one.quantity == "pass_share" else ""
        unused = part(" ({:label} without a score)", one.n_unused)
        yield f"{key} {share}{corrected_text(one)}{unused}"


def _disagreement(found: SpotCheck) -> str:
    errors = part(", {} without verdict", found.n_error)
    if found.disagreement_rate is None or found.low is None or found.high is None:
        return f"no data (n 0{errors})"
    interval = f"{found.low:.2f}-{found.high:.2f}"
    return f"{found.disagreement_rate:.2f} [{interval}] (n {found.n}{errors})"


def worst_disagreements(found: JudgeReliability) -> Iterator[tuple[str, str, float, float]]:
    """Yield metric key, case id, first and second score of the widest disagreements."""
    for key, one in found.spot_check.items():
        for worst in one.worst:
            yield key, worst.case_id, worst.first, worst.second


def summarise_spot_checks(
    records: Iterable[CaseRecord], *, confidence: float = 0.95
) -> dict[str, SpotCheck]:
    """Compare first and second scores of a run, by metric key.

    Args:
        records: of the run; those judged once are ignored.
        confidence: of the intervals.
    """
    pairs: dict[str, list[tuple[CaseKey, object, object]]] = {}
    for record in records:
        second = second_scores(record.verdicts)
        for rubric in record.verdicts.spot_check:
            first = record.verdicts.of(rubric)
            for key in COMPARED.get(rubric, ()):
                # Without the key the first judge had nothing to score.
                if first is None or key in first.scores:
                    score = None if first is None else first.scores[key]
                    pairs.setdefault(key, []).append(
                        ((record.file, record.name), score, second.get(key))
                    )
    return {
        key: summarise_spot_check(
            pairs[key], scale=BUILT_IN.cases[key].bounds, confidence=confidence
        )
        for keys in COMPARED.values()
        for key in keys
        if key in pairs
    }
