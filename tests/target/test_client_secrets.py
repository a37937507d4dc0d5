"""Headers of the HTTP client, and secrets that targets send back."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import pytest

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import fake_target, http_reply, json_reply
from tests.target.test_client import GOOD, QUESTION, ask, ask_once, failure


def test_header_values_come_from_the_environment_when_a_request_is_sent() -> None:
    headers = {"X-Key": "env:RAG_KEY", "Authorization": "Bearer env:RAG_TOKEN", "X-Team": "blue"}
    environ: dict[str, str] = {}
    with fake_target(GOOD) as target:
        client = HttpRagClient(TargetSettings(url=target.url, headers=headers), environ=environ)
        environ |= {"RAG_KEY": "s3cret-key\n", "RAG_TOKEN": "t0ken"}
        client.ask(QUESTION)
        client.close()
    received = target.received[0].headers
    assert received["x-key"] == "s3cret-key"
    assert received["authorization"] == "Bearer t0ken"
    assert received["x-team"] == "blue"


@pytest.mark.parametrize(
    ("environ", "fault"),
    [
        ({}, r"headers\.X-Key: .*variable RAG_KEY is not set"),
        ({"RAG_KEY": "top\nsecret"}, "value of RAG_KEY"),
    ],
)
def test_a_variable_that_is_missing_or_cannot_be_sent_is_named_before_any_request(
    environ: dict[str, str], fault: str
) -> None:
    with fake_target(GOOD) as target:
        with pytest.raises(ConfigError, match=fault) as caught:
            ask(target, headers={"X-Key": "env:RAG_KEY"}, environ=environ)
    assert "top" not in str(caught.value)
    assert target.received == []


def test_secrets_that_a_server_echoes_do_not_reach_the_message() -> None:
    echo = http_reply(b"no access for Bearer t0ken-abc, key lit-key-9", "401 Unauthorized")
    headers = {"Authorization": "Bearer env:TOKEN", "X-Api-Key": "lit-key-9"}
    kind, message, _ = failure(echo, headers=headers, environ={"TOKEN": "t0ken-abc"})
    assert kind == "http"
    assert "t0ken-abc" not in message
    assert "lit-key-9" not in message
    assert "***" in message


def test_the_parts_of_a_header_that_a_server_reads_out_of_it_do_not_reach_the_message() -> None:
    said = b"no session 4f7a9c1e2b8d of ann, password hunter22, signature 'b8d3f6a4f7a9c' in dark"
    headers = {"Cookie": "env:JAR", "Authorization": "Basic env:BASIC", "X-Sig": "env:SIG"}
    basic = base64.b64encode(b"ann:hunter22").decode()
    environ = {"JAR": "sid=4f7a9c1e2b8d; theme=dark", "SIG": 'V4 by=ann, sig="b8d3f6a4f7a9c"'}
    _, message, _ = failure(
        http_reply(said, "401 No"), headers=headers, environ=environ | {"BASIC": basic}
    )
    assert message.endswith("no session *** of ann, password ***, signature '***' in dark")


@pytest.mark.parametrize(
    "body", [json.dumps({"error": "x " * 145 + "hushed" * 5}), "y" * 190 + "hushed" * 5]
)
def test_a_secret_across_the_cut_of_a_reason_leaves_no_beginning(body: str) -> None:
    echo = http_reply(body.encode(), "401 Unauthorized")
    _, message, _ = failure(echo, headers={"X-Api-Key": "hushed" * 5})
    assert "hush" not in message


@pytest.mark.parametrize("stream", ["off", "sse", "ndjson"])
def test_a_secret_across_the_cut_of_a_body_that_cannot_be_read_leaves_no_beginning(
    stream: str,
) -> None:
    echo = http_reply(b"y" * 70 + b"hushed" * 5)
    _, message, _ = failure(echo, headers={"X-Api-Key": "hushed" * 5}, stream=stream)
    assert "it begins: yyy" in message
    assert "hush" not in message


def test_a_password_of_the_environment_is_removed_from_errors_though_it_may_be_a_word() -> None:
    environ = {"https_proxy": "http://ann:lantern@proxy.test:3128"}
    echo = http_reply(b"no access for ann:lantern", "502 Bad Gateway")
    _, message, _ = failure(echo, environ=environ)
    assert "HTTP 502" in message
    assert "lantern" not in message


@pytest.mark.parametrize(
    "reply",
    [
        {"answer": "", "code": 5, "message": "no lantern-word"},
        {"answer": "a", "error": "x" * 393 + " lantern-word"},
        {"answer": ["lantern-word"]},
    ],
)
def test_a_password_that_a_reply_with_status_200_echoes_is_removed_before_a_cut(
    reply: dict[str, Any],
) -> None:
    environ = {"https_proxy": "http://ann:lantern-word@proxy.test:3128"}
    error = ask_once(json_reply(reply), environ=environ).error
    assert error is not None
    assert "lan" not in error.message


def test_words_that_may_be_passwords_are_kept_in_what_the_message_says_itself() -> None:
    environ = {"DATABASE_URL": "postgresql://rageval:rageval@db.test/rageval"}
    refused = json_reply({"detail": "rageval_id is missing"}, "422 Unprocessable")
    _, message, _ = failure(refused, environ=environ)
    assert "[tool.rageval.target.request]" in message
    assert "***_id is missing" in message


def test_a_key_in_the_query_that_a_server_echoes_does_not_reach_the_message() -> None:
    echo = http_reply(
        b"no access to /ask?api_key=q%2Fkey-7&max=55555 with q/key-7", "403 Forbidden"
    )
    result = ask_once(echo, path="/ask?api_key=q%2Fkey-7&max=55555")
    assert "key-7" not in str(result.error)
    assert "55555" in str(result.error)


def test_credentials_of_the_url_are_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    sent = base64.b64encode(b"ann:p@ss-word").decode()
    with fake_target(http_reply(f"echo {sent}".encode(), "403 Forbidden")) as target:
        url = target.url.replace("//", "//ann:p%40ss-word@")
        client = HttpRagClient(TargetSettings(url=url))
        result = client.ask_result(QUESTION)
        client.close()
    assert target.received[0].headers["authorization"] == f"Basic {sent}"
    for text in (str(result.error), repr(client), caplog.text):
        assert "ss-word" not in text
        assert sent not in text
    assert "127.0.0.1" in repr(client)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        (None, "expected a URL"),
        ("localhost:8000", "expected a URL"),
        ("hunter2:x@host", "expected a URL"),
        ("//host", "expected a URL"),
        ("ftp://ann:hunter2@host", "begins with ftp://"),
        ("http://ann:hunter2@host:99999", "the port is not valid"),
        ("http://ann:hunter2@", "expected a URL"),
        ("http://host/?key=hunter2", "put a query into `path`"),
        ("http://ho st", "whitespace"),
    ],
)
def test_a_bad_url_is_a_config_error_without_its_credentials(url: str | None, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpRagClient(TargetSettings(url=url))
    assert fault in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_key_in_the_path_reaches_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert ask_once(GOOD, path="/ask?api_key=hunter2hunter2").error is None
    assert "hunter2" not in caplog.text


def test_a_secret_that_a_good_reply_echoes_is_blotted_out_of_it() -> None:
    chunks = [{"rel_path": "a.md", "text": "sent with t0ken-abc"}]
    echo = json_reply({"answer": "You are t0ken-abc", "debug": {"retrieved_chunks": chunks}})
    result = ask_once(echo, headers={"X-Key": "env:TOKEN"}, environ={"TOKEN": "t0ken-abc"})
    assert result.response is not None
    assert "t0ken-abc" not in str(result)
    assert "You are ***" in result.response.answer


@pytest.mark.parametrize(
    ("key", "shown"), [("tvly-0123456789", "You sent ***"), ("test", "You sent test")]
)
def test_a_key_in_the_text_of_a_request_is_blotted_where_it_is_echoed_and_a_word_is_not(
    key: str, shown: str
) -> None:
    echo = json_reply({"answer": f"You sent {key}"})
    with fake_target(echo) as target:
        settings = TargetSettings(url=target.url, request=f"{{q: question, api_key: '{key}'}}")
        client = HttpRagClient(settings)
        result = client.ask_result(QUESTION)
        client.close()
    assert target.received[0].json["api_key"] == key
    assert result.response is not None
    assert result.response.answer == shown
