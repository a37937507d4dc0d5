"""Whatever a user's ``rag_client`` fixture raises becomes an error of its case."""

from __future__ import annotations

import asyncio
import json
import socket
from email.message import Message
from enum import Enum
from functools import partial
from io import BytesIO
from urllib.error import HTTPError

import pytest

from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import AskRequest, AskResponse, AskResult
from tests.build.asking import ask_client
from tests.target.calls import call, error_of


class ApiTimeoutError(Exception):
    """As HTTP libraries do: a type of its own around what the socket raised."""


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (TimeoutError(), "timeout", "TimeoutError"),
        (TimeoutError("late"), "timeout", "TimeoutError: late"),
        (ConnectionRefusedError("no"), "connection", "ConnectionRefusedError: no"),
        (OSError("no route"), "connection", "OSError: no route"),
        (KeyError("answer"), "raised", "KeyError: 'answer'"),
        (ValueError("one\n\ttwo\x1b[2J"), "raised", "ValueError: one two"),
        (RuntimeError(), "raised", "RuntimeError"),
        (EndpointError("http", "HTTP 500", attempts=4), "http", "HTTP 500"),
        (
            ExceptionGroup("searches failed", [ConnectionResetError("gone"), ValueError("bad")]),
            "connection",
            "ExceptionGroup: searches failed (2 sub-exceptions), which contains "
            "ConnectionResetError: gone",
        ),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_client_raises_becomes_an_error_of_a_kind(
    raised: Exception, kind: str, message: str, is_async: bool
) -> None:
    def sync_client(request: AskRequest) -> AskResponse:
        raise raised

    async def async_client(request: AskRequest) -> AskResponse:
        raise raised

    result = call(async_client if is_async else sync_client)
    assert error_of(result) == (kind, message)
    assert result.total_ms == 500.0
    assert result.attempts == (4 if kind == "http" else 1)


class Grpc(Enum):
    UNAVAILABLE = 14
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (lambda _: Grpc.UNAVAILABLE, "connection"),
        (lambda _: Grpc.DEADLINE_EXCEEDED, "timeout"),
        (lambda _: Grpc.NOT_FOUND, "raised"),
        (None, "raised"),
    ],
)
def test_the_status_of_a_grpc_error_tells_its_kind(code: object, kind: str) -> None:
    base = type("RpcError", (Exception,), {"__module__": "grpc", "code": code})
    raised = type("_InactiveRpcError", (base,), {"__module__": "grpc._channel"})

    def client(request: AskRequest) -> AskResponse:
        raise ApiTimeoutError("search failed") from raised()

    assert error_of(call(client))[0] == kind


def test_the_cause_of_an_error_tells_its_kind() -> None:
    def client(request: AskRequest) -> AskResponse:
        try:
            raise TimeoutError("read timed out")
        except TimeoutError as error:
            raise ApiTimeoutError("Request failed") from error

    assert error_of(call(client)) == ("timeout", "ApiTimeoutError: Request failed")


@pytest.mark.parametrize(
    ("package", "cause", "kind"),
    [
        ("botocore.exceptions", ConnectionRefusedError(111, "refused"), "connection"),
        ("botocore.exceptions", TimeoutError("timed out"), "timeout"),
        ("qdrant_client.http.exceptions", TimeoutError("timed out"), "timeout"),
        ("redis.exceptions", ConnectionRefusedError(111, "refused"), "connection"),
        ("requests.exceptions", TimeoutError("timed out"), "timeout"),
        ("my_engine", TimeoutError("timed out"), "raised"),
    ],
)
def test_the_error_that_a_client_library_replaces_tells_the_kind(
    package: str, cause: OSError, kind: str
) -> None:
    replacing = type("LibraryError", (Exception,), {"__module__": package})

    def client(request: AskRequest) -> AskResponse:
        try:
            raise cause
        except OSError:
            raise replacing("no reply")  # noqa: B904

    assert error_of(call(client)) == (kind, "LibraryError: no reply")


def test_wrong_settings_stop_the_run_instead_of_failing_each_case() -> None:
    def client(request: AskRequest) -> AskResponse:
        raise ConfigError("the variable RAG_KEY is not set")

    with pytest.raises(ConfigError, match="RAG_KEY"):
        call(client)


def test_ctrl_c_in_a_client_is_not_swallowed() -> None:
    def client(request: AskRequest) -> AskResponse:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(client)


class _Refused(OSError):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} Client Error")
        self.response = type("Response", (), {"status_code": status, "text": text})()


def test_an_exception_with_the_status_of_a_reply_is_an_http_error() -> None:
    def refuse(status: int, text: str) -> AskResult:
        def ask(request: AskRequest) -> None:
            raise _Refused(status, text)

        return call(ask)

    kind, message = error_of(refuse(429, '{"detail": "slow down"}'))
    assert (kind, message) == ("http", "_Refused: 429 Client Error; the reply says: slow down")
    assert error_of(refuse(500, "plain"))[1].endswith("; the reply says: plain")
    assert error_of(refuse(502, "<h1>Bad Gateway</h1>"))[1].endswith(
        "; the reply says: Bad Gateway"
    )
    assert error_of(refuse(200, "fine"))[0] == "connection"


def test_an_exception_whose_reply_cannot_be_read_any_more_keeps_the_kind_of_its_status() -> None:
    import httpx

    def closed(request: AskRequest) -> None:
        error = HTTPError("http://x.example", 429, "Too Many Requests", Message(), BytesIO(b"slow"))
        error.close()
        raise error

    def streamed(request: AskRequest, *, status: int) -> None:
        asked = httpx.Request("POST", "http://x.example")
        reply = httpx.Response(status, request=asked, content=iter([b"slow"]))
        raise httpx.HTTPStatusError("no", request=asked, response=reply)

    assert error_of(call(closed)) == ("http", "HTTPError: HTTP Error 429: Too Many Requests")
    assert error_of(call(partial(streamed, status=429))) == ("http", "HTTPStatusError: no")
    assert error_of(call(partial(streamed, status=200)))[0] == "raised"


def test_the_page_about_a_status_that_httpx_names_is_left_out() -> None:
    import httpx

    def refused(request: AskRequest) -> None:
        asked = httpx.Request("POST", "http://x.example")
        httpx.Response(403, request=asked).raise_for_status()

    expected = "HTTPStatusError: Client error '403 Forbidden' for url 'http://x.example'"
    assert error_of(call(refused)) == ("http", expected)


def test_a_refused_connection_of_httpx_is_a_connection_error() -> None:
    import httpx

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        assert error_of(call(lambda request: httpx.get(url)))[0] == "connection"


def test_a_secret_across_the_cut_of_a_reason_leaves_no_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushed" * 5)
    text = "x " * 145 + "hushed" * 5

    def ask(request: AskRequest) -> None:
        raise _Refused(401, json.dumps({"detail": text}))

    assert "hush" not in error_of(call(ask))[1]
    assert "hush" not in error_of(call(lambda request: {"error": text}))[1]
    assert "hush" not in str(call(lambda request: {"error": text, "answer": ""}).error)


def test_a_secret_across_the_end_of_what_is_read_of_a_page_leaves_no_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_API_KEY", "hushed" * 5)
    page = f"<style>{'x' * 4000}</style>"

    def ask(request: AskRequest) -> None:
        raise _Refused(401, f"{page}{'- ' * 32}{'hushed' * 5}")

    kind, message = error_of(call(ask))
    assert (kind, message.endswith("- ***")) == ("http", True)


def test_the_message_of_an_endpoint_error_is_cleaned_and_cut() -> None:
    def ask(request: AskRequest) -> None:
        raise EndpointError("http", "\x1b[31mred\n::error::no " + "x" * 5000)

    message = error_of(call(ask))[1]
    assert message.startswith("red ")
    assert "::error::" not in message
    assert len(message) <= 400


class Unprintable(Exception):
    def __str__(self) -> str:
        raise self.args[0]

    @property
    def response(self) -> object:
        raise self.args[0]


@pytest.mark.parametrize("fault", [RuntimeError, SystemExit, GeneratorExit])
def test_an_exception_whose_text_raises_is_still_an_error_of_the_target(
    fault: type[BaseException],
) -> None:
    def ask(request: AskRequest) -> None:
        raise ValueError("outer") from Unprintable(fault)

    def alone(request: AskRequest) -> None:
        raise Unprintable(fault)

    for client, name in ((ask, "ValueError: outer"), (alone, "Unprintable: (its text cannot be")):
        error = ask_client(client, AskRequest(question="q")).error
        assert error is not None
        assert error.message.startswith(name)


@pytest.mark.parametrize("fault", [SystemExit(3), asyncio.CancelledError(), StopAsyncIteration()])
def test_whatever_an_async_client_raises_is_an_error_of_the_target(fault: BaseException) -> None:
    async def ask(request: AskRequest) -> None:
        await asyncio.sleep(0)
        raise fault

    assert error_of(call(ask)) == ("raised", repr(fault).removesuffix("()").replace("(3)", ": 3"))


def test_a_client_that_cancels_its_own_task_fails_its_case_alone() -> None:
    async def ask(request: AskRequest) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)

    assert error_of(call(ask)) == ("raised", "CancelledError")
