from __future__ import annotations

import pytest

from pytest_rageval.metrics.view import Verdicts
from tests.build.scores import TIMEOUT, case, response, score, status

KEYS = ("abstention_accuracy", "hallucination_rate_unanswerable", "over_abstention_rate")


@pytest.mark.parametrize(
    ("answerable", "abstained", "expected"),
    [
        (False, True, (1, 0, None)),
        (False, False, (0, 1, None)),
        (True, True, (None, None, 1)),
        (True, False, (None, None, 0)),
    ],
)
def test_abstention_is_right_only_for_the_unanswerable(
    answerable: bool, abstained: bool, expected: tuple[float | None, ...]
) -> None:
    scores = score(case(answerable=answerable), response(abstained=abstained))
    assert tuple(scores.metrics[key] for key in KEYS) == expected
    assert all(status(scores, key) != "error" for key in KEYS)


def test_empty_text_with_the_flag_set_is_an_abstention() -> None:
    scores = score(case(answerable=False), response(answer="", abstained=True))
    assert scores.metrics["abstention_accuracy"] == 1
    assert scores.outcome == "passed"


@pytest.mark.parametrize("abstained", [None, False])
def test_empty_text_without_the_flag_is_an_error(abstained: bool | None) -> None:
    scores = score(case(answerable=False), response(answer=" \n\t", abstained=abstained))
    assert [status(scores, key) for key in KEYS] == ["error", "error", "not_applicable"]


@pytest.mark.parametrize(
    ("verdicts", "judge", "expected"),
    [
        (Verdicts(abstained=True), True, 1.0),
        (Verdicts(abstained=False), True, 0.0),
        (Verdicts(abstained=None), True, "error"),
        (None, True, "error"),
        (None, False, "not_applicable"),
    ],
)
def test_the_judge_classifies_where_the_target_does_not_say(
    verdicts: Verdicts | None, judge: bool, expected: float | str
) -> None:
    scores = score(case(answerable=False), response(), verdicts=verdicts, judge_configured=judge)
    value = scores.metrics["abstention_accuracy"]
    assert (status(scores, "abstention_accuracy") if value is None else value) == expected


@pytest.mark.parametrize(
    ("answer", "flag", "judge", "expected"),
    [
        ("**Kein  Treffer!**\nTicket 4", None, True, 1.0),
        ("Hello! Kein Treffer", None, False, 1.0),
        ("Kein Treffer", False, False, 0.0),
        ("Kein Treffer im Lager.", None, False, 0.0),
        ("Kein Treffer im Lager.", None, True, "error"),  # the judge has to say
        ("-", None, False, 0.0),
    ],
)
def test_an_answer_abstains_whose_first_line_is_a_text_of_the_settings(
    answer: str, flag: bool | None, judge: bool, expected: float | str
) -> None:
    scores = score(
        case(answerable=False),
        response(answer=answer, abstained=flag),
        abstention_texts=("KEIN TREFFER.", "--"),
        judge_configured=judge,
    )
    value = scores.metrics["abstention_accuracy"]
    assert (status(scores, "abstention_accuracy") if value is None else value) == expected


def test_the_flag_of_the_target_wins_over_the_judge() -> None:
    scores = score(
        case(answerable=False),
        response(abstained=True),
        verdicts=Verdicts(abstained=False),
        judge_configured=True,
    )
    assert scores.metrics["abstention_accuracy"] == 1


def test_a_timeout_is_neither_abstention_nor_hallucination() -> None:
    scores = score(case(answerable=False), None, error=TIMEOUT)
    assert [status(scores, key) for key in KEYS] == ["error", "error", "not_applicable"]
