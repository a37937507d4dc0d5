"""The key of the judge's API reaches nothing that anybody reads."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.judge import OpenAIJudge
from pytest_rageval.judges.model.wire import Form
from pytest_rageval.support.threads import session_loop
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings
from tests.build.hostile_judge import Canned, HostileJudge, completion, error
from tests.build.targets import fake_target, http_reply
from tests.judges.model.conftest import KEY, DictCache, OpenJudge, model_judge
from tests.judges.model.groundedness_replies import GOOD, REQUEST

ECHO = f"you sent Authorization: Bearer {KEY}"
ESCAPED = "".join(f"\\u{ord(char):04x}" for char in KEY)


def echoed(reasoning: str) -> str:
    return GOOD.replace("All said.", reasoning)


@pytest.mark.parametrize(
    "reply",
    [
        completion(echoed(ECHO)),
        completion(echoed(ESCAPED)),
        completion(GOOD, model=KEY, system_fingerprint=KEY),
        completion(ECHO),
        completion("{" + json.dumps(ECHO) + ": 1}"),
        completion(None, refusal=ECHO),
        completion(ECHO, finish_reason="length"),
        error(401, f"Incorrect API key provided: {KEY[:12]}********{KEY[-4:]}."),
        error(401, ECHO),
        error(400, ECHO, code="content_filter"),
        error(403, "no", headers={"x-echo": KEY, "www-authenticate": f"Bearer {KEY}"}),
        error(429, ECHO),
        error(500, ECHO),
        Canned(status=502, body=f"<html>{ECHO}</html>", content_type="text/html"),
        Canned(status=302, headers={"location": f"/v1/moved?key={KEY}"}),
        Canned(body=f"<html>{ECHO}</html>", content_type="text/html"),
        Canned(body=json.dumps({"detail": ECHO})),
        Canned(body=json.dumps({"error": ECHO})),
        Canned(how="reset"),
        Canned(body=completion(GOOD).body, how="cut"),
        Canned(body=completion(GOOD).body, delay_s=1),
    ],
)
def test_the_key_appears_nowhere_whatever_the_server_says(
    open_judge: OpenJudge, caplog: pytest.LogCaptureFixture, reply: Canned
) -> None:
    caplog.set_level(logging.DEBUG)
    cache = DictCache()
    judge, server = open_judge([reply], cache=cache, retries=1, timeout_s=0.3)
    judgement = judge.judge("groundedness", REQUEST)
    assert KEY in server.asked[0].headers["authorization"]
    read = "\n".join(
        [repr(judgement), repr(judge), judge.identity, str(cache.verdicts), str(cache.levels)]
        + [f"{record.name} {record.getMessage()} {record.__dict__}" for record in caplog.records]
    )
    assert KEY not in read
    assert KEY[:12] not in read
    assert KEY[-12:] not in read


@pytest.mark.parametrize("masked", ["sk-ab12*****wxyz.", "sk-proj*****/=wx."])
def test_a_key_that_the_server_masked_itself_is_not_repeated(
    open_judge: OpenJudge, masked: str
) -> None:
    judge, _ = open_judge([error(401, f"Incorrect API key provided: {masked} See docs.")])
    failure = judge.judge("groundedness", REQUEST).failure
    assert failure is not None
    assert "provided: *** See docs." in failure.message


def test_no_prompt_and_no_header_is_logged_even_at_debug(
    open_judge: OpenJudge, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_LOG", "debug")
    caplog.set_level(logging.DEBUG)
    judge, _ = open_judge([completion(GOOD)])
    judge.judge("groundedness", REQUEST)
    chatty = ("openai", "httpx", "httpcore")
    assert [record for record in caplog.records if record.name.startswith(chatty)] == []


def test_a_repr_of_an_endpoint_holds_neither_key_nor_credentials() -> None:
    endpoint = ChatEndpoint(
        "m",
        JudgeSettings(base_url="https://ann:s3cret@gateway.example/v1"),
        environ={"OPENAI_API_KEY": KEY},
    )
    assert repr(endpoint) == "ChatEndpoint('https://gateway.example/v1')"


def test_credentials_in_the_url_are_sent_but_named_nowhere() -> None:
    with HostileJudge([error(401, "who?")]) as server:
        settings = JudgeSettings(base_url=server.url.replace("//", "//ann:s3cret@"))
        with model_judge("m", settings, environ={}) as judge:
            judgement = judge.judge("groundedness", REQUEST)
    assert server.asked[0].headers["authorization"] == "Basic YW5uOnMzY3JldA=="
    assert judge.identity == f"m at {server.host}"
    assert "s3cret" not in repr(judgement)


# --- where the key comes from --------------------------------------------------------------


def opened(environ: Mapping[str, str], **settings: Any) -> OpenAIJudge:
    return model_judge("m", JudgeSettings(**settings), environ=environ)


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " \n"}])
def test_a_missing_key_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="environment variable OPENAI_API_KEY is not set"):
        opened(environ)


def test_a_judge_on_this_machine_needs_no_key() -> None:
    with HostileJudge([completion(GOOD)]) as server:
        with opened({}, base_url=server.url) as judge:
            assert judge.judge("groundedness", REQUEST).verdict is not None
    assert server.asked[0].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize(
    "base_url", ["ftp://x", "localhost:8000", "http://", "http://h/v1?key=1", "http://h:99999/v1"]
)
def test_a_base_url_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        opened({"OPENAI_API_KEY": KEY}, base_url=base_url)


def test_a_password_of_a_proxy_is_removed_from_errors_though_it_may_be_a_word() -> None:
    environ = {"OPENAI_API_KEY": KEY, "https_proxy": "http://ann:lantern@proxy.test:3128"}
    with fake_target(http_reply(b"no access for ann:lantern", "502 Bad Gateway")) as target:
        settings = JudgeSettings(base_url=f"{target.url}/v1", retries=0)
        endpoint = ChatEndpoint("m", settings, environ=environ)
        answer = session_loop().run(endpoint.ask({}, 1, Form()))
    assert answer.failure is not None
    assert "HTTP 502: no access for" in answer.failure.message
    assert "lantern" not in answer.failure.message


@pytest.mark.parametrize("status", [200, 502])
def test_a_password_across_the_cut_of_an_error_leaves_no_beginning(status: int) -> None:
    environ = {"OPENAI_API_KEY": KEY, "https_proxy": "http://ann:lantern-word@proxy.test:3128"}
    body = {"error": {"message": "x " * 145 + "lantern-word", "code": status}}
    with HostileJudge(lambda _: Canned(body=json.dumps(body), status=status)) as server:
        settings = JudgeSettings(base_url=server.url, retries=0)
        endpoint = ChatEndpoint("m", settings, environ=environ)
        answer = session_loop().run(endpoint.ask({}, 1, Form()))
    assert answer.failure is not None
    assert "lant" not in answer.failure.message
