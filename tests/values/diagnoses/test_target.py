"""The table of a target makes its sentences and advice."""

from __future__ import annotations

import string

import pytest

from pytest_rageval.values.diagnoses.target import (
    TARGET,
    http_code,
    target_advice,
    target_sentence,
)
from pytest_rageval.values.errors import target_error, with_facts
from pytest_rageval.values.reply import endpoint_error, error_info


@pytest.mark.parametrize("code", TARGET)
def test_an_example_is_said_in_one_line_with_every_fact(code: str) -> None:
    row = TARGET[code]
    for example in row.examples:
        text = target_sentence(code, example)
        assert text
        assert "\n" not in text
        for name, fact in example.items():
            shown = "stream" if name == "looks_like" else str(fact)
            assert shown in text, name
        assert target_advice(code, row.kind, example, "run")


@pytest.mark.parametrize("code", TARGET)
def test_facts_that_are_absent_leave_no_gap(code: str) -> None:
    row = TARGET[code]
    named = {name for part in row.says for _, name, _, _ in string.Formatter().parse(part) if name}
    for left_out in named:
        for example in row.examples:
            facts = {name: fact for name, fact in example.items() if name != left_out}
            text = target_sentence(code, facts)
            assert f"{{{left_out}}}" not in text.replace(str(facts.get("placeholder")), "")


def test_facts_are_added_to_an_error() -> None:
    error = target_error("http_fields", address="http://b/ask", status=400, reason="", begins="no")
    assert error.facts == {"address": "http://b/ask", "status": 400, "begins": "no"}
    assert error.message == "http://b/ask: HTTP 400; the reply begins: no"
    more = with_facts(error, "http_session", setting="auth", attempts=3)
    assert (more.kind, more.code, more.facts["setting"]) == ("http", "http_session", "auth")
    assert more.message.endswith("as auth in [tool.rageval.target] (after 3 attempts)")


def test_an_error_is_stored_without_secrets_and_raised_as_it_was() -> None:
    error = target_error("http_server", attempts=4, status=500, reason="bad key s3cret")
    info = error_info(error, lambda text: text.replace("s3cret", "***"))
    assert "s3cret" not in repr(info)
    assert (info.code, info.facts) == ("http_server", {"status": 500, "reason": "bad key ***"})
    raised = endpoint_error(info)
    assert (raised.kind, raised.message) == ("http", "HTTP 500: bad key ***")
    assert (raised.attempts, raised.code, raised.facts) == (4, info.code, info.facts)


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (302, "", "http_moved"),
        (400, "", "http_fields"),
        (422, "", "http_fields"),
        (401, "CSRF", "http_unauthorized"),
        (403, "CSRF failed", "http_csrf"),
        (404, "", "http_not_found"),
        (405, "", "http_method"),
        (418, "", "http_status"),
        (429, "", "http_rate_limit"),
        (500, "", "http_server"),
        (599, "", "http_server"),
    ],
)
def test_a_status_has_one_code(status: int, said: str, code: str) -> None:
    assert http_code(status, said) == code
    assert TARGET[code].kind == "http"
    assert target_advice(code, "http", {}, "doctor")


def test_an_answer_that_comes_later_needs_a_client() -> None:
    error = with_facts(target_error("reply_empty", size="empty"), accepted=202)
    assert "HTTP 202: the answer comes later" in error.message
    assert "rag_client" in target_advice(error.code, error.kind, error.facts, "doctor")
