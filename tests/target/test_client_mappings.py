"""Mapped requests and replies of the HTTP client, over real sockets."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.reply import AskRequest, Search
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import fake_target, http_reply, json_reply
from tests.target.test_client import ask_once, failure

TABLE = "[tool.rageval.target.request]"
RPC = {"request": {"jsonrpc": "'2.0'", "params.q": "question"}}
DIFY = {"preset": "dify"}
OF_DIFY = {"preset": "dify", "vars": "user"}


def test_mappings_speak_to_an_api_of_another_shape() -> None:
    theirs = {"out": {"text": "Monthly."}, "hits": [{"file": "a.md", "sim": "0.5"}]}
    with fake_target(json_reply(theirs)) as target:
        settings = TargetSettings(
            url=target.url,
            request={"input.query": "question", "input.top": "k", "input.in": "folders"},
            response={
                "answer": "out.text",
                "retrieved_chunks": "hits[].{rel_path: file, score_final: sim}",
            },
        )
        client = HttpRagClient(settings)
        result = client.ask_result(AskRequest(question="q", k=2))
        client.close()
    assert target.received[0].json == {"input": {"query": "q", "top": 2}}
    assert result.response is not None
    assert result.response.answer == "Monthly."
    assert result.response.retrieved_chunks is not None
    assert result.response.retrieved_chunks[0].score_final == 0.5


def test_a_mapping_that_gives_no_answer_is_named_with_the_keys_that_came() -> None:
    reply = json_reply({"out": {"text": "Monthly."}, "hits": []})
    assert failure(reply, response={"answer": "out.txt"})[1] == (
        "answer: `out.txt` in [tool.rageval.target.response] gave nothing; "
        "keys of the reply: hits, out; out: text"
    )


def test_a_refusal_without_a_reason_may_be_of_a_server_that_reads_a_form() -> None:
    page = b"<title>400 Bad Request</title><p>The server could not understand a request."
    form = "; an API that reads a form needs a client in Python"
    refused = [http_reply(page, "400 Bad Request", content_type="text/html")]
    refused.append(json_reply({"error": "too long"}, "400 Bad Request"))
    # Of this one the field can be mapped.
    refused.append(http_reply(b"query is required", "400 Bad Request", content_type="text/plain"))
    assert [form in failure(one)[1] for one in refused] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "said", "settings", "code", "facts"),
    [
        (400, "Missing session ID", RPC, "http_session", {"setting": "auth"}),
        (400, "Missing session ID", {}, "http_fields", {"sent": "question"}),
        (404, "x", {}, "http_not_found", {"setting": "path"}),
        (404, "x", DIFY, "http_not_found", {"write": "path", **OF_DIFY}),
        (405, "x", {}, "http_method", {"method": "POST"}),
        (405, "x", DIFY, "http_method", {"write": "path", **OF_DIFY}),
        (418, "x", {}, "http_status", {}),
        (422, "q is required", {}, "http_fields", {"sent": "question", "lines": 'q = "question"'}),
        (400, "question is missing", {}, "http_fields", {"sent": "question", "missed": "question"}),
        (400, "q is required", {"method": "GET"}, "http_fields",
            {"query": "question", "lines": 'q = "question"'}),
        (400, "q is required", DIFY, "http_fields",
            {"sent": "question", "write": f"path or a field of {TABLE}", **OF_DIFY}),
    ],
)  # fmt: skip
def test_a_status_that_the_settings_can_change_names_which(
    status: int, said: str, settings: dict[str, Any], code: str, facts: dict[str, str]
) -> None:
    with fake_target(json_reply({"error": said}, f"{status} X")) as target:
        client = HttpRagClient(TargetSettings(url=target.url, **settings))
        error = client.ask_result(AskRequest(question="q")).error
        client.close()
    assert error is not None
    known = {"status": status, "reason": said, "address": f"{target.url}/api/v1/ask"}
    if code == "http_fields" and "write" not in facts:
        known["table"] = TABLE
    assert (error.code, error.facts) == (code, {**known, **facts})


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        ({"text": "Monthly."}, 'an object; map it: {table} answer = "answer.text"'),
        (["Monthly."], "a list; map it with answer in {table}"),
        (None, "null"),
    ],
)
def test_an_answer_that_holds_its_text_is_advised_to_be_mapped(answer: object, end: str) -> None:
    message = failure(json_reply({"answer": answer}))[1]
    table = "[tool.rageval.target.response]"
    assert message == f"answer: expected a string, got {end.format(table=table)}"


@pytest.mark.parametrize(
    ("reply", "mapping", "message"),
    [
        (
            {"code": 102, "message": "You don't own the chat.", "data": None},
            {"answer": "data.answer", "error": "code != `0` && message || null"},
            "You don't own the chat.",
        ),
        (
            {"type": "abort", "textResponse": None, "error": "No API key t0ken-abc."},
            {"answer": "textResponse", "error": "error"},
            "No API key ***.",
        ),
    ],
)
def test_an_error_under_status_200_that_is_mapped_is_one_of_the_target(
    reply: object, mapping: dict[str, str], message: str
) -> None:
    secret: dict[str, Any] = {"headers": {"X-Key": "env:TOKEN"}, "environ": {"TOKEN": "t0ken-abc"}}
    assert failure(json_reply(reply), **secret, response=mapping) == ("target", message, 1)


def test_a_mapped_error_that_is_null_leaves_the_answer() -> None:
    reply = json_reply({"code": 0, "data": {"answer": "Monthly."}})
    mapping = {"answer": "data.answer", "error": "code != `0` && message || null"}
    result = ask_once(reply, response=mapping)
    assert result.error is None
    assert result.response is not None
    assert result.response.answer == "Monthly."


def test_usage_session_and_searches_may_be_mapped() -> None:
    reply = {
        "text": "Monthly.",
        "conversation_id": "c-1",
        "usage": {"prompt_tokens": 800, "completion_tokens": 90, "total_price": "0.0041"},
        "calls": [{"queries": ["oil"], "name": "kb", "results": [{"id": "x"}]}],
    }
    result = ask_once(
        json_reply(reply),
        response={
            "answer": "text",
            "usage": "usage.{input_tokens: prompt_tokens, output_tokens: completion_tokens}",
            "session": "conversation_id",
            "searches": "calls[].{query: queries[0], tool: name, chunks: results[].id}",
        },
    )
    assert result.response is not None
    assert result.response.usage == {"input_tokens": 800, "output_tokens": 90}
    assert result.response.session == "c-1"
    assert result.response.searches == (Search(query="oil", tool="kb", chunks=("x",)),)
    cost = ask_once(
        json_reply(reply), response={"answer": "text", "usage.cost_usd": "usage.total_price"}
    )
    assert cost.response is not None
    assert cost.response.usage == {"cost_usd": 0.0041}
