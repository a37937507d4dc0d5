"""The table of a judge makes its sentences and advice."""

from __future__ import annotations

import pytest

from pytest_rageval.values.diagnoses.judge import (
    JUDGE,
    judge_advice,
    judge_http_code,
    judge_sentence,
)
from pytest_rageval.values.verdict import judge_failure


@pytest.mark.parametrize("code", JUDGE)
def test_an_example_is_said_in_one_line_with_every_fact_and_advice(code: str) -> None:
    row = JUDGE[code]
    for example in row.examples:
        text = judge_sentence(code, example)
        assert text
        assert "\n" not in text
        assert [name for name, fact in example.items() if str(fact) not in text] == []
        assert judge_advice(code, row.kind, example, "run")
        assert judge_advice(code, row.kind, example, "doctor")


def test_a_failure_keeps_the_facts_that_are_known() -> None:
    failure = judge_failure("http_server", raw="oops", host="h", status=503, reason="", attempts=3)
    assert failure.facts == {"host": "h", "status": 503, "attempts": 3}
    assert (failure.kind, failure.raw) == ("unreachable", "oops")
    assert failure.message == "judge at h: HTTP 503 (after 3 attempts)"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (302, "http_moved"),
        (400, "http_status"),
        (401, "http_unauthorized"),
        (403, "http_unauthorized"),
        (404, "http_not_found"),
        (500, "http_server"),
    ],
)
def test_a_status_has_one_code(status: int, code: str) -> None:
    assert judge_http_code(status) == code


def test_a_failure_of_other_code_has_the_advice_of_its_kind() -> None:
    assert judge_advice("", "truncated", {}, "doctor") == "raise max_tokens in [tool.rageval.judge]"
    assert judge_advice("", "truncated", {}, "run") == "Raise max_tokens in [tool.rageval.judge]."
