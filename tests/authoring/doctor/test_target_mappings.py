"""A real server on loopback whose request and reply are mapped."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from pytest_rageval.authoring.doctor.findings import Finding
from pytest_rageval.authoring.doctor.target import AskedTwice, check_replies
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.reply import AskRequest
from tests.authoring.doctor.test_target import Reply, diagnose, good
from tests.build.asking import ask_client
from tests.build.loopback import http_json
from tests.build.targets import fake_target, http_reply
from tests.plugin.rag_server import rag_server

TEXT = "The north gate opens at 8:15."
CHAT: Reply = {
    "id": "c-1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"content": "It opens at 8:15."}}],
    "usage": {"total_tokens": 7},
}
GAVE_NOTHING = (
    "in [tool.rageval.target.response] gave nothing; "
    "keys of the reply: choices, id, object, usage; choices[]: index, message"
)


def chat(response: dict[str, str], request: dict[str, str] | None = None) -> list[Finding]:
    case = Case(id="gate", question="q", gold_supports=(Anchor(rel_path="gates.md"),))
    with rag_server(lambda question, nth: CHAT) as server:
        return diagnose(server.url, case=case, response=response, request=request)


def test_an_expression_that_gave_nothing_is_shown_with_the_keys_of_the_reply() -> None:
    [found] = [one for one in chat({"answer": "choice[0].message.content"}) if one.level == "FAIL"]
    assert found.check == "answer"
    assert found.message.startswith(f"`choice[0].message.content` {GAVE_NOTHING}")
    assert found.settings == (
        '[tool.rageval.target.response]\nanswer = "choices[0].message.content"'
    )


@pytest.mark.parametrize(
    ("body", "content_type", "said", "fix"),
    [
        (
            *(b"<html>Log in</html>", "text/html", "the reply is HTML (line 1); it begins: <html>"),
            "set path and headers in [tool.rageval.target], or turn HTML into text in a client "
            "in Python",
        ),
        (
            *(b"14 days", "application/json", "the reply is not JSON (line 1)"),
            "set path, headers or stream in [tool.rageval.target], so that the reply can be read",
        ),
        (
            *(b'data: {"t": "a"}\n\n', "text/event-stream", 'set stream = "sse" in '),
            "set stream as the message says",
        ),
    ],
)
def test_a_mapped_reply_that_cannot_be_read_is_no_fault_of_an_expression(
    body: bytes, content_type: str, said: str, fix: str
) -> None:
    with fake_target(http_reply(body, content_type=content_type)) as server:
        [found] = diagnose(server.url, response={"answer": "output.text"})
    assert (found.level, found.check) == ("FAIL", "reply")
    assert said in found.message
    assert "gave nothing" not in found.message
    assert found.fix == fix


@pytest.mark.parametrize("expression", ["hits[].{rel_path: f}", "choices[?kind=='x'].hits[]"])
def test_chunks_that_a_mapping_loses_fail_and_name_the_expression(expression: str) -> None:
    mapping = {"answer": "choices[0].message.content", "retrieved_chunks": expression}
    [found] = [one for one in chat(mapping) if one.level == "FAIL"]
    assert found.check == "chunks"
    assert f"`{expression}` {GAVE_NOTHING}" in found.message


@pytest.mark.parametrize(
    "hits",
    [
        [{"file": "gates.md", "body": TEXT, "score": 0.5}],
        [
            {
                "metadata": {"source": "gates.md", "Header 1": "Gates"},
                "page_content": TEXT,
            }
        ],
    ],
)
def test_a_search_without_an_answer_is_proposed_as_one_that_reads_the_hits(
    hits: list[Reply],
) -> None:
    case = Case(id="gate", question="q", gold_supports=(Anchor(rel_path="gates.md"),))
    for reply in ({"hits": hits}, hits):
        with fake_target(*[http_json(reply)] * 3) as server:
            [failed] = [one for one in diagnose(server.url) if one.level == "FAIL"]
            assert "and retrieval_only = true in [tool.rageval], since no answer" in failed.fix
            found = diagnose(server.url, case=case, **proposed(failed))
        levels = {one.check: one.level for one in found}
        assert levels["answer"] == levels["chunks"] == levels["rel_path"] == "ok"
        assert (levels["heading_path"] == "ok") == ("metadata" in hits[0])


def test_folders_in_front_of_the_path_of_a_gold_are_named() -> None:
    case = Case(id="gate", question="q", gold_supports=(Anchor(rel_path="gates.md"),))
    for path, level in (("/srv/docs/gates.md", "warn"), ("gates.md", "ok"), ("x/y.md", "ok")):
        reply = {"answer": "a", "debug": {"retrieved_chunks": [{"rel_path": path}]}}
        answered = ask_client(lambda request, reply=reply: reply, AskRequest(question="q"))
        found = {one.check: one for one in check_replies(answered, None, AskedTwice(case, 3))}
        assert found["rel_path"].level == level
    both = [{"rel_path": "docs/gates.md"}, {"rel_path": "gates.md"}]
    reply = {"answer": "a", "debug": {"retrieved_chunks": both}}
    answered = ask_client(lambda request: reply, AskRequest(question="q"))
    [ok] = [x for x in check_replies(answered, None, AskedTwice(case, 3)) if x.check == "rel_path"]
    assert ok.level == "ok"


@pytest.mark.parametrize(
    ("names", "level"), [("bb", "warn"), ("ba", "ok"), ("gg", "ok"), ("b", "ok")]
)
def test_one_name_for_all_chunks_is_said(names: str, level: str) -> None:
    paths = {"a": "a.md", "b": "blob", "g": "gates.md"}
    chunks = [{"rel_path": paths[name], "text": f"Text {n}."} for n, name in enumerate(names)]
    case = Case(id="gate", question="q", gold_supports=(Anchor(rel_path="gates.md"),))
    reply = {"answer": "a", "debug": {"retrieved_chunks": chunks}}
    answered = ask_client(lambda request: reply, AskRequest(question="q"))
    found = {one.check: one for one in check_replies(answered, None, AskedTwice(case, 3))}
    assert found["rel_path"].level == level
    assert ("all 2 chunks are named 'blob'" in found["rel_path"].message) == (level == "warn")


def test_a_name_that_a_mapping_gives_and_nobody_reads_is_named_with_the_nearest() -> None:
    reply = {"answer": "a", "hits": [{"f": "a.md", "s": 0.5}]}
    mapping = {"answer": "answer", "retrieved_chunks": "hits[].{rel_path: f, score: s}"}
    with rag_server(lambda question, nth: reply) as server:
        found = [one for one in diagnose(server.url, response=mapping) if "not read" in one.message]
    assert [(one.level, one.check, one.message) for one in found] == [
        ("warn", "chunks", "'score' is not read, did you mean 'score_final'?")
    ]


def test_an_mcp_server_that_wants_a_session_is_diagnosed_as_such() -> None:
    error = {"code": -32600, "message": "Bad Request: Missing session ID"}
    refused = http_json({"jsonrpc": "2.0", "id": "server-error", "error": error}, "400 Bad Request")
    request = {"jsonrpc": "'2.0'", "params": "{arguments: {query: question}}"}
    with fake_target(refused) as server:
        [found] = [one for one in diagnose(server.url, request=request) if one.level == "FAIL"]
    assert found.check == "session"
    assert "Missing session ID; the server requires a session" in found.message
    assert "auth = " in found.fix


def proposed(found: Finding) -> dict[str, Any]:
    """The settings of a finding, as arguments."""
    tables: dict[str, Any] = tomllib.loads(found.settings)["tool"]["rageval"]["target"]
    return tables


def test_what_a_client_in_code_lacks_is_advised_with_its_place_in_a_dictionary() -> None:
    reply = {"answer": "a", "retrieved_chunks": [{"rel_path": "a.md"}]}
    answered = ask_client(lambda request: reply, AskRequest(question="q"))
    found = [*check_replies(answered, None, AskedTwice(Case(id="q", question="q"), 3))]
    fixes = {one.check: one.fix.partition(" in your client")[0] for one in found if one.fix}
    assert fixes == {
        "chunks": "return debug.retrieved_chunks, or an AskResponse with retrieved_chunks,",
        "abstained": "return abstained",
        "references": "return references",
        "latency": "return debug.latency, or an AskResponse with latency,",
    }
    [unread] = [one.message for one in found if one.check == "chunks"]
    assert unread.endswith("so retrieval is not scored; keys that came: answer, retrieved_chunks")


@pytest.mark.parametrize(
    ("mapping", "asks"),
    [
        ({"request": {"query": "'question'"}}, False),
        ({"request": {"query": "'{ ask }'", "variables": "{k: k}"}}, False),
        ({"request": {"query": "{text: question}"}}, True),
        ({"request": {"query": "case.metadata.prompt || 'none'"}}, True),
        ({"request": "@"}, True),
        ({"request": {"top": "k"}, "path": "/ask/{question}"}, True),
        ({}, True),
    ],
)
def test_a_request_that_does_not_hold_the_question_fails(
    mapping: dict[str, Any], asks: bool
) -> None:
    with fake_target(http_json(good("q", 0), "200 OK", "Connection: close")) as server:
        found = [one for one in diagnose(server.url, **mapping) if one.level == "FAIL"]
    assert [(one.check, one.message) for one in found] == (
        [] if asks else [("request", "the question is not sent: nothing names it")]
    )
