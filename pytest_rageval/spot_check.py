"""A second judge for some cases of a run: which cases, which scores, what is kept of it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.errors import ConfigError
from pytest_rageval.judge_trust import SpotCheck, choose_spot_check, summarise_spot_check
from pytest_rageval.judgements import Judgement
from pytest_rageval.metrics.judged import valid_score
from pytest_rageval.metrics.registry import FIVE_WEIGHTS, METRICS
from pytest_rageval.models import Case, CaseRecord, Settings

CaseKey = tuple[str, str]
"""File and id of a case."""

COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    "groundedness": ("groundedness",),
    "correctness": ("correctness",),
    "quality": tuple(key for key in METRICS if key.startswith("quality.")),
    "five_dimensions": tuple(f"five.{name}" for name in FIVE_WEIGHTS),
}
"""Scores that a second judge repeats, by rubric."""

DISAGREEMENT: Final = "judge_disagreement_rate"


def repeated_rubrics(rubrics: Iterable[str]) -> tuple[str, ...]:
    """Return the rubrics in use that a second judge repeats."""
    return tuple(rubric for rubric in rubrics if rubric in COMPARED)


def asks_second_judge(settings: Settings) -> bool:
    """Say whether a second judge is wanted, and there is a first one for it to follow."""
    return (
        settings.judging.spot_check > 0 and settings.judge != "none" and not settings.retrieval_only
    )


def check_second_judge(settings: Settings) -> None:
    """Refuse a spot check that could tell nothing.

    Raises:
        ConfigError: there is no second judge, or no score that it could repeat.
    """
    if not asks_second_judge(settings):
        return
    judging = settings.judging
    second = judging.spot_check_model
    flag = f"--judge-spot-check {judging.spot_check}"
    place = "spot_check_model in [tool.rageval.judge]"
    if second is None and settings.judge == "offline":
        raise ConfigError(
            f"{flag}: the offline judge has no other wording to be asked in, so it cannot be its "
            f"own second judge; name a model with {place}, let a model judge (--judge MODEL), or "
            "leave the spot check out (--judge-spot-check 0)"
        )
    if second in {"none", settings.judge}:
        why = "names no judge" if second == "none" else "is the first judge itself"
        raise ConfigError(
            f"{place}: {second!r} {why}, expected another model or 'offline'; without it the "
            "first judge is asked in the other wording of its rubrics"
        )
    if not repeated_rubrics(judging.rubrics):
        raise ConfigError(
            f"{flag}: a second judge repeats {', '.join(COMPARED)}, and the rubrics in use are "
            f"{', '.join(judging.rubrics) or 'none'}"
        )


def choose_cases(cases: Iterable[tuple[str, Case]], settings: Settings) -> frozenset[CaseKey]:
    """Choose the cases that are judged twice.

    The same ones in every process and whatever their order. Cases without a verdict to repeat are
    left out as far as that is known beforehand: an unanswerable one is judged by
    ``five_dimensions`` alone.

    Args:
        cases: file and case of every selected case.
        settings: of the run.
    """
    if not asks_second_judge(settings):
        return frozenset()
    every = "five_dimensions" in settings.judging.rubrics
    keys = [(file, case.id) for file, case in cases if every or case.answerable]
    return frozenset(choose_spot_check(keys, settings.judging.spot_check))


# --- what a record keeps -------------------------------------------------------------------------


def spot_check_fields(rubrics: Sequence[str], second: Sequence[Judgement]) -> dict[str, Any] | None:
    """Return a record's ``spot_check``; None: the case had no verdict to repeat.

    Args:
        rubrics: those that were to be repeated.
        second: the second judge's judgements; none for a rubric whose first verdict failed.
    """
    if not rubrics:
        return None
    timed = [found.duration_ms for found in second if found.duration_ms is not None]
    by_rubric = {found.rubric: found for found in second}
    verdicts = {r: found.verdict for r, found in by_rubric.items() if found.verdict is not None}
    failures = {r: found.failure for r, found in by_rubric.items() if found.failure is not None}
    last = second[-1] if second else None
    return {
        "rubrics": list(rubrics),
        "judge": None if last is None else last.judge,
        "model": None if last is None else last.model,
        "system_fingerprint": None if last is None else last.system_fingerprint,
        "level": None if last is None else last.level,
        "rubric_version": {r: found.rubric_version for r, found in by_rubric.items()},
        "prompt_hash": {r: found.prompt_hash for r, found in by_rubric.items()},
        "scores": {
            key: verdict.scores[key]
            for r, verdict in verdicts.items()
            for key in COMPARED.get(r, ())
            if key in verdict.scores
        },
        "reasoning": {r: verdict.reasoning for r, verdict in verdicts.items()},
        "errors": {r: {"kind": f.kind, "message": f.message} for r, f in failures.items()},
        "duration_ms": math.fsum(timed) if timed else None,
    }


# --- what a run says -----------------------------------------------------------------------------

_Pair = tuple[CaseKey, float | None, float | None]


def summarise_spot_checks(
    records: Iterable[CaseRecord], *, confidence: float = 0.95
) -> dict[str, SpotCheck]:
    """Compare first and second scores of a run, by metric key.

    Args:
        records: of the run; those that were judged once have no part.
        confidence: of the intervals.
    """
    pairs: dict[str, list[_Pair]] = {}
    for record in records:
        for key, one, other in _pairs(record):
            pairs.setdefault(key, []).append(((record.file, record.name), one, other))
    return {
        key: summarise_spot_check(pairs[key], scale=_scale(key), confidence=confidence)
        for keys in COMPARED.values()
        for key in keys
        if key in pairs
    }


def _scale(key: str) -> tuple[float, float]:
    low, high = METRICS[key].scale
    return low, 1.0 if high is None else high


def _pairs(record: CaseRecord) -> Iterator[tuple[str, float | None, float | None]]:
    found = record.spot_check
    if found is None:
        return
    for rubric in found.get("rubrics", ()):
        first = (record.judgements.get(rubric) or {}).get("scores")
        for key in COMPARED.get(rubric, ()):
            if first is not None and key not in first:
                continue  # The first judge found nothing to score.
            one = None if first is None else valid_score(first.get(key), _scale(key))
            yield key, one, valid_score(found.get("scores", {}).get(key), _scale(key))


def disagreement_rate(found: Mapping[str, SpotCheck]) -> float | None:
    """Return the share of disagreements among all scores that were given twice."""
    n = sum(one.n for one in found.values())
    apart = sum(round((one.disagreement_rate or 0.0) * one.n) for one in found.values())
    return apart / n if n else None
