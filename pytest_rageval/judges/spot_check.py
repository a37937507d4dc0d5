"""Choice of cases and scores for a second judge. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, TypeVar

from pytest_rageval.metrics.built_in import BUILT_IN, FIVE_WEIGHTS
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.record import CaseVerdicts
from pytest_rageval.values.settings import Settings

CaseKey = tuple[str, str]
"""File and id of a case."""

COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    "groundedness": ("groundedness",),
    "correctness": ("correctness",),
    "quality": tuple(key for key in BUILT_IN.cases if key.startswith("quality.")),
    "five_dimensions": tuple(f"five.{name}" for name in FIVE_WEIGHTS),
}
"""Scores that a second judge repeats, by rubric."""


def second_scores(verdicts: CaseVerdicts) -> dict[str, float]:
    """Return the scores that the second judge of a case repeated, by metric key."""
    given = verdicts.spot_check.items()
    kept = [(r, one.verdict.scores) for r, one in given if one is not None and one.verdict]
    return {key: s[key] for rubric, s in kept for key in COMPARED.get(rubric, ()) if key in s}


DISAGREEMENT: Final = "judge_disagreement_rate"


def repeated_rubrics(rubrics: Iterable[str]) -> tuple[str, ...]:
    """Return the rubrics in use that a second judge repeats."""
    return tuple(rubric for rubric in rubrics if rubric in COMPARED)


def asks_second_judge(settings: Settings) -> bool:
    """Return whether a second judge is configured beside a first one."""
    return settings.judged and settings.judging.spot_check > 0


def check_second_judge(settings: Settings) -> None:
    """Refuse a spot check that could not yield a comparison.

    Raises:
        ConfigError: the second judge, or a score that it could repeat, is missing.
    """
    if not asks_second_judge(settings):
        return
    judging, second = settings.judging, settings.judging.spot_check_model
    flag = f"--judge-spot-check {judging.spot_check}"
    place = "spot_check_model in [tool.rageval.judge]"
    if second is None and settings.judge in {"offline", judging.client}:
        first = "the offline judge" if settings.judge == "offline" else settings.judge
        raise ConfigError.of(flag, "no_other_wording", judge=first)
    if second in {"none", settings.judge}:
        raise ConfigError.of(place, "second_judge", found=repr(second))
    if not repeated_rubrics(judging.rubrics):
        raise ConfigError.of(
            flag,
            "not_repeated",
            names=", ".join(COMPARED),
            found=", ".join(judging.rubrics) or "none",
        )


def choose_cases(cases: Iterable[tuple[str, Case]], settings: Settings) -> frozenset[CaseKey]:
    """Choose the cases that are judged twice.

    The choice is the same in every process and for every order. Cases known beforehand to have no
    verdict to repeat are left out: an unanswerable one is judged by ``five_dimensions`` alone.
    """
    if not asks_second_judge(settings):
        return frozenset()
    every = "five_dimensions" in settings.judging.rubrics
    keys = [(file, case.id) for file, case in cases if every or case.answerable]
    return frozenset(choose_spot_check(keys, settings.judging.spot_check))


Key = TypeVar("Key", bound=Hashable)


def choose_spot_check(case_keys: Iterable[Key], n: int) -> tuple[Key, ...]:
    """Choose ``n`` cases for a second judge, or all if there are fewer, in the order given.

    The choice depends on the keys alone, not on their order or the process, and an additional case
    replaces at most one of the chosen.

    Args:
        case_keys: strings, or tuples of strings and numbers; repeats count once.
        n: number of cases to choose.
    """
    keys = list(dict.fromkeys(case_keys))
    chosen = set(sorted(keys, key=_draw)[: max(n, 0)])
    return tuple(key for key in keys if key in chosen)


def _draw(key: Hashable) -> bytes:
    # The 0 is a seed; another one would choose other cases than earlier versions.
    return hashlib.sha256(f"0 {key!r}".encode("utf-8", "backslashreplace")).digest()
