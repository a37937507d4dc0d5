from __future__ import annotations

from typing import get_args

from pytest_rageval.values.verdict import (
    DEFAULT_RUBRICS,
    JUDGE_ERROR_KINDS,
    RUBRICS,
    JudgeErrorKind,
)


def test_the_lists_of_names_hold_every_name() -> None:
    assert get_args(JudgeErrorKind) == JUDGE_ERROR_KINDS
    assert set(DEFAULT_RUBRICS) < set(RUBRICS)
    assert len(set(RUBRICS)) == len(RUBRICS)
