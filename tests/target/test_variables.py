"""Facts of the case and the run in requests, paths and headers, over real sockets."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.project.case_variables import case_variables
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.target.documents import DocumentsClient
from pytest_rageval.target.variables import filled_path, new_uuid, request_document, without_uuids
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import AskRequest, AskResult
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import Received, Reply, fake_target, http_reply, json_reply

CASE = Case(
    id="acl/1",
    question="Who is paid?",
    category="hr",
    tags=("acl", "pay"),
    language="de",
    expected_answer="Nobody.",
    metadata={"user": "ann b", "level": 3, "teams": ["hr", "ops"], "odd": {"x": 1}, "admin": True},
)
REQUEST = AskRequest(
    question=CASE.question, k=5, case=case_variables(CASE), run_id="run-1", uuid=new_uuid()
)
GOOD = json_reply({"answer": "Nobody."})


def ask(
    *replies: Reply, asked: AskRequest = REQUEST, environ: Any = None, **target: Any
) -> tuple[AskResult, list[Received]]:
    with fake_target(*(replies or (GOOD,))) as server:
        client = HttpRagClient(
            TargetSettings(url=server.url, **target),
            environ=environ or {},
            sleep=lambda seconds: None,
            rng=random.Random(7),
        )
        try:
            return client.ask_result(asked), server.received
        finally:
            client.close()


def sent(**target: Any) -> Received:
    result, received = ask(**target)
    assert result.error is None
    [one] = received
    return one


def refusal(asked: AskRequest = REQUEST, **target: Any) -> str:
    result, received = ask(asked=asked, **target)
    assert received == []
    assert result.error is not None
    assert (result.error.kind, result.attempts) == ("protocol", 0)
    return result.error.message


# --- the request -----------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [None, "@", "merge(@, `{}`)"])
def test_without_a_mapping_that_names_one_no_variable_is_sent(whole: str | None) -> None:
    assert sent(request=whole).json == {"question": "Who is paid?", "k": 5}


def test_a_mapping_may_name_facts_of_the_case_and_the_run() -> None:
    body = sent(
        request={
            "q": "question",
            "user": "case.metadata.user",
            "teams": "case.metadata.teams[?@ != 'ops']",
            "about": "case.[id, category, tags[0], language]",
            "lang": "language",
            "thread": "join('/', [run_id, uuid])",
            "tenant": "case.metadata.tenant",
            "all": "to_string(contains(to_string(case), 'Nobody'))",  # what is expected is no fact
        }
    ).json
    assert body == {
        "q": "Who is paid?",
        "user": "ann b",
        "teams": ["hr"],
        "about": ["acl/1", "hr", "acl", "de"],
        "lang": "de",
        "thread": f"run-1/{REQUEST.uuid}",
        "all": "false",
    }


def test_a_parameter_of_the_name_of_a_variable_wins() -> None:
    request = replace(REQUEST, params={"language": "fr"})
    _, [received] = ask(asked=request)
    assert received.json["language"] == "fr"
    assert request_document(request).get("language") == "fr"


def test_attempts_keep_the_uuid_and_requests_differ() -> None:
    failed = http_reply(b"", "503 Service Unavailable")
    result, received = ask(failed, GOOD, headers={"X-Id": "{uuid}"})
    assert result.error is None
    assert [one.headers["x-id"] for one in received] == [REQUEST.uuid] * 2
    made = {new_uuid() for _ in range(1000)}
    assert len(made) == 1000
    assert all(UUID(one).version == 4 for one in made)
    assert len({without_uuids(f"a-{one}-b") for one in made}) == 1


# --- headers ---------------------------------------------------------------------------------


def test_headers_hold_facts_of_the_case() -> None:
    headers = sent(
        headers={
            "X-User": "user={case.metadata.level};admin={case.metadata.admin}",
            "X-Tags": "{case.tags}",
            "X-Run": "{run_id}",
            "X-Text": '{{case.id}} {"a": {"b": 1}} {}',
        }
    ).headers
    assert headers["x-user"] == "user=3;admin=true"
    assert headers["x-tags"] == "acl,pay"
    assert headers["x-run"] == "run-1"
    assert headers["x-text"] == '{case.id} {"a": {"b": 1}} {}'


def test_what_a_case_puts_into_a_header_is_not_hidden_from_its_reply() -> None:
    reply = json_reply({"answer": "See users/ann b/pay.md with key s3cret-part."})
    headers = {"X-Auth-User": "{case.metadata.user}", "X-Api-Key": "s3cret-part {case.id}"}
    result, _ = ask(reply, headers=headers)
    assert result.response is not None
    assert result.response.answer == "See users/ann b/pay.md with key ***."


def test_a_secret_of_the_environment_is_not_searched_for_placeholders() -> None:
    _, [received] = ask(headers={"X-Key": "env:TOKEN"}, environ={"TOKEN": "{case.id}"})
    assert received.headers["x-key"] == "{case.id}"


def test_a_fact_of_a_case_names_no_variable_of_the_environment() -> None:
    request = replace(REQUEST, case={**REQUEST.case, "metadata": {"user": "env:TOKEN"}})
    _, [received] = ask(
        asked=request, headers={"X-User": "{case.metadata.user}"}, environ={"TOKEN": "s3cret"}
    )
    assert received.headers["x-user"] == "env:TOKEN"


@pytest.mark.parametrize("text", ["a\r\nX-Admin: 1", "a\nb", "ä", "\x00"])
def test_a_value_that_no_header_may_hold_is_refused(text: str) -> None:
    request = replace(REQUEST, case={**REQUEST.case, "metadata": {"user": text}})
    assert refusal(request, headers={"X-User": "{case.metadata.user}"}) == (
        "[tool.rageval.target] headers.X-User: {case.metadata.user} contains a character that "
        "headers do not allow (case acl/1)"
    )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("case.metadata.tenant", "has no value (case acl/1)"),
        ("case.metadata.odd", "must be text or a number, but is an object (case acl/1)"),
        ("case.difficulty", "has no value (case acl/1)"),
        ("folders", "has no value (case acl/1)"),
        ("quesiton", "has no value; did you mean 'question'? (case acl/1)"),
    ],
)
def test_a_value_that_is_missing_names_the_case_and_the_field(name: str, fault: str) -> None:
    message = refusal(headers={"X-User": f"{{{name}}}"})
    assert message == f"[tool.rageval.target] headers.X-User: {{{name}}} {fault}"


def test_a_question_that_no_case_asks_has_no_facts() -> None:
    message = refusal(AskRequest(question="q"), path="/ask/{case.id}")
    assert message.endswith("path: {case.id} has no value (question of no case)")


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        (
            {"headers": {"X-User": "{case.metdata.user}"}},
            r"headers\.X-User: got \{case\.metdata\.user\}.*did you mean \"metadata\"",
        ),
        ({"path": "/{case}"}, r"path: got \{case\}, expected case\.id, case\.category"),
        (
            {"headers": {"Authorization": "Bearer env:TOKEN_{case.metadata.user}"}},
            "expected env:NAME without placeholders: .*into the case",
        ),
        (
            {"path": "/{env.TOKEN}"},
            r"path: got \{env\.TOKEN\}, expected env:TOKEN as the value of a",
        ),
        (
            {"headers": {"X-A": "a {env.TOKEN}"}},
            r"headers\.X-A: got \{env\.TOKEN\}, expected env:TOKEN",
        ),
        (
            {"request": {"key": "env:TOKEN"}},
            r"request\.key: bad .*'env:TOKEN'; write env\.TOKEN in a",
        ),
    ],
)
def test_a_placeholder_that_no_request_can_fill_is_found_at_once(
    target: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ConfigError, match=fault):
        HttpRagClient(TargetSettings(url="http://h", **target))


def test_a_variable_of_the_environment_is_sent_and_shown_nowhere() -> None:
    request = {"query": "question", "auth": "{type: 'api_key', key: env.SEARCH_KEY}"}
    with fake_target(json_reply({"answer": "key s3cret-4711"})) as server:
        target = TargetSettings(url=server.url, request=request)
        client = HttpRagClient(target, environ={"SEARCH_KEY": "s3cret-4711\n"})
        found = client.inspect(AskRequest(question="q"))
        result, report = found.result, found.report
    sent = json.loads(server.received[0].body)
    assert sent == {"query": "q", "auth": {"type": "api_key", "key": "s3cret-4711"}}
    assert result.response is not None
    assert result.response.answer == "key ***"
    assert report.unsent == {}


@pytest.mark.parametrize(
    ("request_", "environ", "fault"),
    [
        ({"a": "[env.SEARCH_KEY]"}, {}, r"a: the environment variable SEARCH_KEY is not set"),
        (
            {"index": "env.INDEX"},
            {"INDEX": "docs"},
            r"index: the value of INDEX is hidden .* its name must end with KEY, TOKEN",
        ),
    ],
)
def test_a_variable_that_cannot_be_sent_is_named_before_anything_is(
    request_: dict[str, str], environ: dict[str, str], fault: str
) -> None:
    target = TargetSettings(url="http://127.0.0.1:1", request=request_)
    with pytest.raises(ConfigError, match=rf"request\.{fault}"):
        HttpRagClient(target, environ=environ).ask_result(AskRequest(question="q"))


def test_documents_are_put_without_the_headers_of_a_case() -> None:
    with fake_target(json_reply({})) as server:
        target = TargetSettings(url=server.url, headers={"X-User": "{case.id}", "X-App": "eval"})
        DocumentsClient(target, "/docs", environ={}).delete("evals/handbook/")
    assert "x-user" not in server.received[0].headers
    assert server.received[0].headers["x-app"] == "eval"


# --- the path --------------------------------------------------------------------------------


def test_a_path_holds_values_percent_encoded() -> None:
    line = sent(path="/users/{case.metadata.user}/{case.id}/ask?run={run_id}&q={question}").line
    assert line == "POST /users/ann%20b/acl%2F1/ask?run=run-1&q=Who%20is%20paid%3F HTTP/1.1"


@pytest.mark.parametrize("text", [".", ".."])
def test_a_value_that_would_name_another_path_is_refused(text: str) -> None:
    request = replace(REQUEST, case={**REQUEST.case, "metadata": {"user": text}})
    message = refusal(request, path="/users/{case.metadata.user}/ask")
    assert f"is {text!r}, which would change the path (case acl/1)" in message


def test_messages_name_the_path_as_it_is_configured() -> None:
    result, _ = ask(http_reply(b"", "404 Not Found"), path="/ask/{question}")
    assert result.error is not None
    assert "/ask/{question}: HTTP 404" in result.error.message
    assert "paid" not in result.error.message


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1))
def test_any_value_stays_in_its_place_of_the_path(text: str) -> None:
    document = request_document(AskRequest(question=text))
    try:
        path = filled_path("/a/{question}/b?c={question}&d=1", document)
    except EndpointError:
        assert text in {".", ".."} or re.search(r"[\ud800-\udfff]", text)
        return
    parts = urlsplit(path)
    assert [unquote(one) for one in parts.path.split("/")] == ["", "a", text, "b"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("c", text), ("d", "1")]


# --- GET -------------------------------------------------------------------------------------


def test_a_get_sends_the_fields_of_the_request_as_query() -> None:
    one = sent(
        method="GET",
        path="/search?debug=1",
        request={"q": "question", "top": "k", "tag": "case.tags", "on": "`true`", "no": "folders"},
    )
    assert one.line == "GET /search?debug=1&q=Who+is+paid%3F&top=5&tag=acl&tag=pay&on=true HTTP/1.1"
    assert one.body == b""


def test_a_get_without_a_mapping_sends_what_a_post_would() -> None:
    assert sent(method="GET", path="/ask").line == "GET /ask?question=Who+is+paid%3F&k=5 HTTP/1.1"


def test_an_object_in_a_get_is_refused() -> None:
    request = replace(REQUEST, vector_weight=0.5)
    assert refusal(request, method="GET") == (
        "[tool.rageval.target] request.rerank_weights: must be text, a number or a list of them, "
        "as a GET sends it in the query"
    )
    assert "must be a table of fields" in refusal(method="GET", request="question")
