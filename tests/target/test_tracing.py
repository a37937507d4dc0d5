"""The header of a trace, over real sockets."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.reply import AskRequest, AskResult, span_id, trace_id, traceparent
from pytest_rageval.values.settings import TargetSettings
from tests.build.asking import ask_client
from tests.build.targets import Reply, fake_target, hang_up, http_reply, json_reply

TRACE = trace_id("one", "evals/a.jsonl::c-1", 0)
QUESTION = AskRequest(question="q", trace_id=TRACE)
GOOD = json_reply({"answer": "Monthly."})
BUSY = http_reply(b"", "503 Service Unavailable")
OWN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


def asked(
    *replies: Reply, request: AskRequest = QUESTION, **target: Any
) -> tuple[AskResult, list[str | None]]:
    with fake_target(*replies) as fake:
        client = HttpRagClient(TargetSettings(url=fake.url, **target), sleep=lambda _: None)
        result = ask_client(client, request)
        client.close()
    return result, [one.headers.get("traceparent") for one in fake.received]


def test_an_attempt_is_a_span_of_the_trace_of_the_question() -> None:
    before = time.time()
    result, sent = asked(GOOD)
    assert sent == [traceparent(TRACE)] == [QUESTION.traceparent]
    assert (result.trace_id, result.span_id) == (TRACE, span_id(TRACE))
    assert result.asked_at is not None
    assert before <= result.asked_at <= time.time()


@pytest.mark.parametrize("failed", [BUSY, hang_up])
def test_each_attempt_has_a_span_of_its_own_and_the_last_one_is_kept(failed: Reply) -> None:
    result, sent = asked(failed, failed, GOOD)
    assert sent == [traceparent(TRACE, n) for n in (1, 2, 3)]
    assert (result.trace_id, result.span_id) == (TRACE, span_id(TRACE, 3))
    result, sent = asked(failed, retries=1)
    assert (result.response, len(sent)) == (None, 2)
    assert (result.trace_id, result.span_id) == (TRACE, span_id(TRACE, 2))


def test_a_question_without_a_trace_or_that_cannot_be_sent_has_none() -> None:
    result, sent = asked(GOOD, headers={"X-User": "{case.metadata.user}"})
    assert (result.trace_id, result.span_id, result.asked_at, sent) == ("", "", None, [])
    result, sent = asked(GOOD, request=AskRequest(question="q"))
    assert (sent, result.trace_id, result.span_id) == ([None], "", "")


@pytest.mark.parametrize("name", ["traceparent", "TraceParent"])
def test_a_header_of_the_project_wins_and_names_the_trace(name: str) -> None:
    result, sent = asked(BUSY, GOOD, headers={name: OWN})
    assert sent == [OWN, OWN]
    assert (result.trace_id, result.span_id) == ("4bf92f3577b34da6a3ce929d0e0e4736", "")
    result, sent = asked(GOOD, headers={name: "mine"})
    assert (sent, result.trace_id) == (["mine"], "")


def test_a_header_of_the_login_wins_and_a_new_login_is_a_new_span(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("auth_of_traces")
    monkeypatch.setitem(sys.modules, "auth_of_traces", module)
    module.headers = lambda: {"X-Key": "k"}  # type: ignore[attr-defined]
    refused = http_reply(b"no", "401 Unauthorized")
    _, sent = asked(refused, GOOD, auth="auth_of_traces:headers")
    assert sent == [traceparent(TRACE, 1), traceparent(TRACE, 2)]
    module.headers = lambda: {"Traceparent": OWN}  # type: ignore[attr-defined]
    result, sent = asked(GOOD, auth="auth_of_traces:headers")
    assert (sent, result.trace_id) == ([OWN], OWN.split("-")[1])


def test_a_client_in_python_gets_the_header_to_hand_on() -> None:
    given = []

    def client(request: AskRequest) -> dict[str, str]:
        given.append(request.traceparent)
        return {"answer": "Monthly."}

    result = ask_client(client, QUESTION)
    assert given == [traceparent(TRACE)]
    assert (result.trace_id, result.span_id) == (TRACE, span_id(TRACE))
    assert result.asked_at is not None
    assert datetime.fromtimestamp(result.asked_at, UTC) <= datetime.now(UTC)
