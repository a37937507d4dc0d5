"""Reliability of a run's judge: a second judge's scores, and means corrected by labels.

Pure. Nothing here changes a metric or the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.analysis.trust.judge import (
    SCALE,
    corrected_mean,
    corrected_text,
    summarise_spot_check,
)
from pytest_rageval.judges.spot_check import COMPARED, CaseKey, second_scores
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.judged import CORRECTED, PASS_SHARE
from pytest_rageval.support.text import TOLERANCE, part
from pytest_rageval.values.errors import Fault, faults_error
from pytest_rageval.values.numbers import CorrectedMean, JudgeReliability, SpotCheck
from pytest_rageval.values.record import CaseRecord

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
