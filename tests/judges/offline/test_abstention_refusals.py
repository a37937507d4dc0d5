"""Answers that decline and answers that do not, in all languages that the judge reads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_rageval.judges.offline.abstention import (
    every_reading,
    read_abstention,
    readings,
    refuses,
)

ANSWERS = Path(__file__).parents[2] / "data" / "answers"
REFUSALS = (ANSWERS / "refusals.txt").read_text(encoding="utf-8").splitlines()
STATEMENTS = (ANSWERS / "statements.txt").read_text(encoding="utf-8").splitlines()
"""Sentences with a negation, a condition, quoted speech or a partial answer, which answer."""


def test_each_refusal_is_seen() -> None:
    assert len(REFUSALS) > 300
    assert [answer for answer in REFUSALS if not read_abstention(answer).abstained] == []


def test_no_statement_is_a_refusal() -> None:
    assert len(STATEMENTS) > 300
    assert [answer for answer in STATEMENTS if read_abstention(answer).abstained] == []


def test_words_have_the_roles_of_their_language() -> None:
    assert readings("the handbook does not describe") == ["wdwnV"]
    assert readings("steht in den Unterlagen nichts") == ["VpwdnI"]
    assert readings("我不知道") == ["#snk"]
    assert readings("it lasts two years") == []
    assert len(every_reading("it lasts")) < len(every_reading("情報"))


def test_a_condition_does_not_decline() -> None:
    (roles,) = readings("if the documents do not say")
    assert not refuses(roles)
    assert refuses(roles.removeprefix("c"))


@pytest.mark.parametrize(
    "run", ["not ", "documents do not ", "no, ", "if ", '"a', "'a ", "ない", "; ", "cannot and "]
)
def test_the_time_of_a_long_answer_is_bounded(run: str) -> None:
    started = time.process_time()
    read_abstention(run * (100_000 // len(run)))
    assert time.process_time() - started < 8
