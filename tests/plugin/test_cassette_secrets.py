"""Parts of requests and responses that a cassette may contain."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from vcr.request import Request  # type: ignore[import-untyped]

from pytest_rageval.plugin.cassette_secrets import NOT_NEEDED, Scrubber, replay_environ
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings

TOKEN = 'tok/en"1234'
KEY = "sk-proj-4f7a9c1e2b8d6f3a"
ENVIRON = {"RAG_TOKEN": f"{TOKEN}\n", "JUDGE_KEY": KEY}
SETTINGS = Settings(
    rootdir=".",
    target=TargetSettings(
        url="http://ann:passw0rd@rag.example",
        headers={"X-Tenant": "Bearer env:RAG_TOKEN", "X-Team": "blue", "X-Api-Key": "in-clear-1"},
    ),
    judging=JudgeSettings(api_key_env="JUDGE_KEY"),
)


def scrubber(environ: Mapping[str, str] = ENVIRON) -> Scrubber:
    return Scrubber(SETTINGS, environ)


def request(uri: str = "http://rag.example/ask", body: bytes = b"{}", **headers: str) -> Request:
    return Request("POST", uri, body, {k.replace("_", "-"): v for k, v in headers.items()})


def response(body: bytes = b"{}", code: int = 200, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return {"status": {"code": code, "message": ""}, "headers": named, "body": {"string": body}}


def test_of_a_requests_headers_only_harmless_ones_stay() -> None:
    cleaned = scrubber().request(
        request(
            Authorization="Bearer x", Cookie="id=1", X_Api_Key="in-clear-1", X_Unknown="maybe",
            X_Tenant=f"Bearer {TOKEN}", X_Team="blue", Content_Type="application/json",
            User_Agent="pytest-rageval",
        )
    )  # fmt: skip
    assert dict(cleaned.headers) == {"X-Team": "blue", "Content-Type": "application/json"}


@pytest.mark.parametrize("name", ["key", "token", "secret", "api_key", "API-KEY", "access_token"])
def test_secrets_of_a_query_are_hidden_by_their_names(name: str) -> None:
    cleaned = scrubber().request(request(f"http://h/ask?debug=true&{name}=abc123&max_tokens=5"))
    assert cleaned.uri == f"http://h/ask?debug=true&{name}=(hidden)&max_tokens=5"


def test_cookies_and_account_names_of_a_response_are_left_out() -> None:
    cleaned = scrubber().response(
        response(set_cookie="sid=1", OpenAI_Organization="acme", x_auth_token="t", server="s",
                 content_length="2")
    )  # fmt: skip
    assert cleaned["headers"] == {"server": ["s"]}


ECHOES = [
    TOKEN.encode(),
    json.dumps({"said": TOKEN}).encode(),
    json.dumps({"said": TOKEN}).replace("/", "\\/").encode(),
    b"tok%2Fen%221234",
    b"passw0rd",
    b"in-clear-1",
    KEY.encode(),
]


@pytest.mark.parametrize("body", ECHOES)
def test_a_secret_that_is_echoed_is_blotted(body: bytes) -> None:
    for cleaned in (
        scrubber().response(response(body))["body"]["string"],
        scrubber().request(request(body=body)).body,
    ):
        assert b"***" in cleaned
        assert b"1234" not in cleaned
        assert cleaned != body


@pytest.mark.parametrize("secret", [KEY, TOKEN])
@pytest.mark.parametrize(
    "verdict",
    [
        '{{"reasoning": "you sent {}"}}',
        'Here it is: ```json\n{{"reasoning": "you sent {}"}}\n```',
        "you sent {}, and that is no JSON",
    ],
)
def test_a_secret_within_the_json_of_a_verdict_is_blotted(secret: str, verdict: str) -> None:
    content = verdict.format(json.dumps(secret)[1:-1])
    body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    cleaned = scrubber().response(response(body))["body"]["string"]
    shown = json.loads(cleaned)["choices"][0]["message"]["content"]
    assert shown == verdict.format("***")


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("sse", 'data: {{"id": "e-{n}", "delta": {text}}}\n\n'),
        ("sse", "data: {bare}\n\n"),
        ("ndjson", "0:{text}\n"),
        ("ndjson", '{{"choices": [{{"delta": {{"content": {text}}}}}], "n": {n}}}\n'),
    ],
)
def test_a_secret_that_comes_in_pieces_of_a_stream_is_blotted(kind: Any, event: str) -> None:
    answer = f"Keys {KEY}, {KEY} open it."
    texts = [answer[at : at + 3] for at in range(0, len(answer), 3)]
    body = "".join(
        event.format(n=n, text=json.dumps(text), bare=text) for n, text in enumerate(texts)
    )
    body += "data: [DONE]\n\n"
    streaming = replace(SETTINGS, target=replace(SETTINGS.target, stream=kind))
    cleaned = Scrubber(streaming, ENVIRON).response(response(body.encode()))["body"]["string"]
    blank = event.format(n=1, text='""', bare="").encode()
    first = event.format(n=0, text='"Keys ***, *** open it."', bare="Keys ***, *** open it.")
    assert cleaned.startswith(first.encode() + blank)
    assert cleaned.endswith(b"\n\ndata: [DONE]\n\n" if kind == "sse" else b"\ndata: [DONE]\n\n")
    assert cleaned.count(b"\n") == body.count("\n")
    plain = event.format(n=0, text='"Keys"', bare="Keys").encode() * 3
    assert Scrubber(streaming, ENVIRON).response(response(plain))["body"]["string"] == plain


def test_a_secret_of_any_bytes_is_blotted() -> None:
    found = scrubber(ENVIRON | {"APP_TOKEN": "t0ken-of-\udcff-bytes"})
    cleaned = found.response(response(b"you sent t0ken-of-\xff-bytes"))
    assert cleaned["body"]["string"] == b"you sent ***"


def test_tokens_of_a_login_are_blotted_and_texts_about_them_are_not() -> None:
    form = b"grant_type=refresh_token&refresh_token=t0&client_secret=s3cret"
    sent = scrubber().request(request(body=form)).body
    assert sent == b"grant_type=refresh_token&refresh_token=***&client_secret=***"
    answer = rb'"answer": "Give \"id_token\": \"x\", or id_token=1"'
    reply = b'{"access_token": "eyJ0.b-4", "token": "Mon", ' + answer + b"}"
    got = scrubber().response(response(reply))["body"]["string"]
    assert got == reply.replace(b"eyJ0.b-4", b"***")
    jwt = b"eyJhbGciOiJI.eyJzdWIiOiJh.dBjf-eZ4"
    signed_in = b'{"token": "' + jwt + b'", "answer": "such as \\"' + jwt + b'\\""}'
    got = scrubber().response(response(signed_in))["body"]["string"]
    assert got == signed_in.replace(jwt, b"***", 1)
    sent = scrubber().request(request(body=b'{"email": "a@b.c", "password": "hunter2"}')).body
    assert sent == b'{"email": "a@b.c", "password": "***"}'


@pytest.mark.parametrize(
    "body",
    [
        '{"AuthenticationResult": {"AccessToken": "s3cret", "RefreshToken": "s3cret"}}',
        '{"roleCredentials": {"secretAccessKey": "s3cret", "sessionToken": "s3cret"}}',
        '{"clientId": "app", "clientSecret": "s3cret"}',
        "Action=AssumeRoleWithWebIdentity&WebIdentityToken=s3cret&Version=2011-06-15",
        "<SecretAccessKey>s3cret</SecretAccessKey><SessionToken>s3cret</SessionToken>",
    ],
)
def test_tokens_of_a_login_are_blotted_however_their_names_are_written(body: str) -> None:
    expected = body.replace("s3cret", "***").encode()
    assert scrubber().request(request(body=body.encode())).body == expected
    assert scrubber().response(response(body.encode()))["body"]["string"] == expected


@pytest.mark.parametrize("password", ["R&D-2026", 'say "friend"', "back\\slash\\"])
def test_a_password_of_special_characters_is_blotted_whole(password: str) -> None:
    body = json.dumps({"password": password, "note": "see /ask?a=1&password=x"}).encode()
    sent = json.loads(scrubber().request(request(body=body)).body)
    assert sent == {"password": "***", "note": "see /ask?a=1&password=***"}


def test_no_credentials_of_a_judge_are_no_secret() -> None:
    reply = b'{"image": "YWJjOg=="}'
    assert scrubber({}).response(response(reply))["body"]["string"] == reply


def test_a_packed_reply_is_unpacked_and_searched() -> None:
    packed = response(gzip.compress(b"you sent " + KEY.encode()), content_encoding="gzip")
    cleaned = scrubber().response(packed)
    assert cleaned["body"]["string"] == b"you sent ***"
    assert "content-encoding" not in cleaned["headers"]


def test_a_reply_that_cannot_be_unpacked_is_not_recorded() -> None:
    with pytest.raises(EndpointError, match="compressed as 'zstd'"):
        scrubber().response(response(b"(packed)", content_encoding="zstd"))


def test_the_ends_of_a_refused_key_are_blotted() -> None:
    said = f"Incorrect API key provided: {KEY[:8]}******6f3a."
    assert scrubber().response(response(said.encode(), 401))["body"]["string"] == (
        b"Incorrect API key provided: ***"
    )
    assert scrubber().response(response(said.encode(), 200))["body"]["string"] == said.encode()


def test_a_replay_needs_no_secret_and_keeps_those_that_are_there() -> None:
    found = replay_environ(SETTINGS, {"JUDGE_KEY": KEY, "RAG_TOKEN": " ", "HOME": "h"})
    assert found == {"JUDGE_KEY": KEY, "RAG_TOKEN": NOT_NEEDED, "HOME": "h"}


def test_a_secret_in_a_body_is_recorded_and_replayed_as_the_same_text() -> None:
    target = TargetSettings(url="http://h", request={"a": "{key: env.SEARCH_KEY}"})
    settings = Settings(rootdir=".", target=target)
    bodies = []
    for environ in ({"SEARCH_KEY": "s3cret-4711"}, replay_environ(settings, {})):
        cleaned = Scrubber(settings, environ).request(
            request("http://h/x", json.dumps({"a": {"key": environ["SEARCH_KEY"]}}).encode())
        )
        bodies.append(cleaned.body)
    assert bodies == [b'{"a": {"key": "***"}}'] * 2
