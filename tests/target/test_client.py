"""The HTTP client against targets that misbehave, over real sockets."""

from __future__ import annotations

import gzip
import random
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.support.http import exchange as http_exchange
from pytest_rageval.support.http.exchange import MAX_BODY_BYTES
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import AskRequest, AskResult
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import (
    FakeTarget,
    Pauses,
    Reply,
    drip,
    fake_target,
    hang_up,
    http_reply,
    json_reply,
    kept_seconds,
    reset,
    silence,
    unused_port,
)

QUESTION = AskRequest(question="How often does the pump need oil?")
GOOD = json_reply({"answer": "Monthly."})


def ask(
    target: FakeTarget,
    *,
    pauses: Pauses | None = None,
    environ: Mapping[str, str] | None = None,
    request: AskRequest = QUESTION,
    **settings: Any,
) -> AskResult:
    client = HttpRagClient(
        TargetSettings(**{"url": target.url, **settings}),
        environ=environ or {},
        sleep=Pauses() if pauses is None else pauses,
        rng=random.Random(7),
    )
    try:
        return client.ask_result(request)
    finally:
        client.close()


def ask_once(*replies: Reply, **settings: Any) -> AskResult:
    with fake_target(*replies) as target:
        return ask(target, **settings)


def failure(*replies: Reply, **settings: Any) -> tuple[str, str, int]:
    result = ask_once(*replies, **settings)
    assert result.response is None
    assert result.error is not None
    assert result.attempts == result.error.attempts
    return result.error.kind, result.error.message, result.attempts


# --- the request ---------------------------------------------------------------------------


def test_a_question_is_posted_as_json_to_the_path_of_the_contract() -> None:
    with fake_target(GOOD) as target:
        result = ask(target, request=AskRequest(question="Wo ist das Öl?", k=3))
    assert result.response is not None
    assert result.response.answer == "Monthly."
    assert (result.error, result.attempts) == (None, 1)
    [received] = target.received
    assert received.line == "POST /api/v1/ask?debug=true HTTP/1.1"
    assert received.headers["content-type"] == "application/json"
    assert received.json == {"question": "Wo ist das Öl?", "k": 3}


def test_a_job_whose_answer_comes_later_is_named_as_such() -> None:
    job = {"id": "j1", "status": "queued"}
    kind, message, _ = failure(json_reply(job, "202 Accepted"))
    assert kind == "protocol"
    assert message == (
        "answer: expected a string, got nothing (fields: id, status); "
        "HTTP 202: the answer comes later; wait for it in a client in Python"
    )
    assert "202" not in failure(json_reply(job))[1]
    assert ask_once(json_reply({"answer": "Monthly."}, "202 Accepted")).error is None


def test_a_lone_surrogate_in_a_question_is_sent_escaped() -> None:
    with fake_target(GOOD) as target:
        ask(target, request=AskRequest(question="a\ud800"))
    assert target.received[0].body == b'{"question": "a\\ud800"}'


@pytest.mark.parametrize("base", ["", "/", "/rag", "/rag/"])
def test_a_base_url_is_joined_with_and_without_a_slash(base: str) -> None:
    with fake_target(GOOD) as target:
        ask(target, url=target.url + base, path="ask")
    assert target.received[0].line == f"POST {base.rstrip('/')}/ask HTTP/1.1"


def test_a_request_that_is_no_json_is_a_protocol_error_and_nothing_is_sent() -> None:
    with fake_target(GOOD) as target:
        result = ask(target, request=AskRequest(question="q", params={"weight": float("nan")}))
    assert result.error is not None
    assert (result.error.kind, result.attempts, result.total_ms) == ("protocol", 0, None)
    assert target.received == []


def test_cookies_of_one_case_are_not_sent_with_the_next() -> None:
    with fake_target(json_reply({"answer": "a"}, set_cookie="session=1; Path=/")) as target:
        client = HttpRagClient(TargetSettings(url=target.url))
        client.ask(QUESTION)
        client.ask(QUESTION)
        client.close()
    assert len(target.received) == 2
    assert "cookie" not in target.received[1].headers


def test_a_proxy_of_the_environment_is_not_used_for_a_loopback_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with fake_target(http_reply(b"I am a proxy", "502 Bad Gateway")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert ask_once(GOOD).error is None
    assert proxy.received == []


def test_a_proxy_of_the_environment_is_used_for_a_target_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with fake_target(GOOD) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert ask(proxy, url="http://rag.test").error is None
    assert proxy.received[0].line.startswith("POST http://rag.test/api/v1/ask?debug=true ")


def test_many_questions_are_in_flight_at_once() -> None:
    arrived = threading.Barrier(20, timeout=60)

    def reply(connection: Any) -> None:
        arrived.wait()  # broken, and no reply sent, unless twenty requests are here together
        connection.sendall(GOOD)

    with fake_target(reply) as target, ThreadPoolExecutor(20) as threads:
        client = HttpRagClient(TargetSettings(url=target.url, retries=0))
        results = list(threads.map(client.ask_result, [QUESTION] * 20))
        client.close()
    assert [result.error for result in results] == [None] * 20


# --- connection errors ---------------------------------------------------------------------


def test_a_refused_connection_is_tried_four_times_with_growing_pauses() -> None:
    pauses = Pauses()
    target = FakeTarget([], port=unused_port())
    result = ask(target, pauses=pauses)
    assert result.error is not None
    assert result.error.kind == "connection"
    assert "connection refused" in result.error.message
    assert f"127.0.0.1:{target.port}" in result.error.message
    assert result.attempts == result.error.attempts == 4
    assert [0.5 <= pauses[0] <= 1, 1 <= pauses[1] <= 2, 2 <= pauses[2] <= 4] == [True] * 3
    assert len(pauses) == 3


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(hang_up, id="closed without a word"),
        pytest.param(reset, id="reset"),
        pytest.param(http_reply(b'{"answer": "Mon', length=500), id="body cut short"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", id="chunk cut short"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-", id="headers cut short"),
    ],
)
def test_a_broken_connection_is_retried_and_the_answer_comes_through(broken: Reply) -> None:
    result = ask_once(broken, GOOD)
    assert result.error is None
    assert result.attempts == 2


@pytest.mark.parametrize("broken", [hang_up, reset, http_reply(b"{", length=9)])
def test_a_connection_that_keeps_breaking_is_a_connection_error(broken: Reply) -> None:
    kind, message, attempts = failure(broken, retries=1)
    assert (kind, attempts) == ("connection", 2)
    assert "(after 2 attempts)" in message


# --- timeouts ------------------------------------------------------------------------------


def test_a_silent_server_is_a_read_timeout_and_not_retried(over: threading.Event) -> None:
    result = ask_once(silence(over), read_timeout_s=0.1, timeout_s=4)
    assert result.error is not None
    assert result.error.kind == "timeout"
    assert "within 0.1 s (read_timeout in [tool.rageval.target])" in result.error.message
    assert result.attempts == 1
    assert result.total_ms is not None
    assert 90 <= result.total_ms < 2000


@pytest.mark.parametrize("part", ["body", "headers"])
def test_a_server_that_drips_bytes_meets_the_total_limit(over: threading.Event, part: str) -> None:
    dripping = drip(GOOD if part == "headers" else b" " * 1000, 0.02, over)

    def reply(connection: Any) -> None:
        if part == "body":
            connection.sendall(http_reply(b"", length=1000))
        dripping(connection)

    # The whole body or head would take 20 s, and no single wait that begins after the first byte
    # reaches a limit of its own that is as long as that of the whole.
    kind, message, attempts = failure(reply, timeout_s=0.2, read_timeout_s=0.2)
    assert (kind, attempts) == ("timeout", 1)
    assert "within 0.2 s (timeout in [tool.rageval.target])" in message


def test_a_stall_after_half_a_body_ends_at_the_total_limit(over: threading.Event) -> None:
    def reply(connection: Any) -> None:
        connection.sendall(http_reply(b'{"answer', length=100))
        over.wait(5)

    # The server closes after 5 s, which is a connection error.
    kind, message, _ = failure(reply, timeout_s=0.2, read_timeout_s=0.2)
    assert (kind, "(timeout in " in message) == ("timeout", True)


def test_a_connection_that_is_never_made_is_a_connect_timeout(
    monkeypatch: pytest.MonkeyPatch, over: threading.Event
) -> None:
    def never(*_: object, **__: object) -> object:
        over.wait(1)
        return []

    # No address of the loopback interface stays silent, so only the resolver is replaced.
    monkeypatch.setattr(socket, "getaddrinfo", never)
    kind, message, attempts = failure(
        GOOD, url="http://target.test", connect_timeout_s=0.1, timeout_s=4
    )
    assert (kind, attempts) == ("timeout", 1)
    assert "within 0.1 s (connect_timeout in [tool.rageval.target])" in message


# --- statuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        ("429 Too Many Requests", {"retry_after": "7"}, 7.0),
        (
            "503 Service Unavailable",  # by the clock of the server
            {
                "date": "Fri, 31 Dec 1999 23:59:50 GMT",
                "retry_after": "Fri, 31 Dec 1999 23:59:59 GMT",
            },
            9.0,
        ),
    ],
)
def test_a_busy_server_is_asked_again_after_as_long_as_it_says(
    status: str, headers: dict[str, Any], seconds: float
) -> None:
    pauses = Pauses()
    result = ask_once(http_reply(b"slow down", status, **headers), GOOD, pauses=pauses)
    assert (result.error, result.attempts, pauses) == (None, 2, [seconds])


@pytest.mark.parametrize("status", ["408 Request Timeout", "500 Internal Server Error", "599 Odd"])
def test_a_passing_failure_is_retried(status: str) -> None:
    assert ask_once(http_reply(b"", status), GOOD).attempts == 2


def test_four_server_errors_are_an_http_error() -> None:
    page = b"<style>b {}</style><h1>Oh no</h1>"
    with fake_target(http_reply(page, "500 Internal Server Error")) as target:
        result = ask(target)
    assert result.error is not None
    assert result.error.kind == "http"
    assert "HTTP 500; the reply begins: Oh no (after 4 attempts)" in result.error.message
    assert len(target.received) == result.attempts == 4


def test_a_pause_of_hours_is_named_and_not_waited_for() -> None:
    pauses = Pauses()
    busy = http_reply(b"daily limit", "429 Too Many Requests", retry_after="7200")
    _, message, attempts = failure(busy, GOOD, pauses=pauses)
    assert "HTTP 429; asks to wait 7200 s; the reply begins: daily limit" in message
    assert (attempts, pauses) == (1, [])


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "404 Not Found"])
def test_a_lasting_failure_is_not_retried(status: str) -> None:
    kind, message, attempts = failure(json_reply({"detail": "no \u202eevil\x1b[2J"}, status))
    assert (kind, attempts) == ("http", 1)
    assert f"HTTP {status[:3]}" in message
    assert "\x1b" not in message


def test_a_redirect_is_not_followed_and_names_where_it_leads_and_headers_for_a_login() -> None:
    moved = http_reply(
        b"", "307 Temporary Redirect", location="https://ann:pw99@other.test/ask/?token=abc"
    )
    with fake_target(moved, GOOD) as target:
        result = ask(target)
    assert result.error is not None
    assert result.error.kind == "http"
    assert "HTTP 307 redirects to https://other.test/ask/" in result.error.message
    assert "pw99" not in result.error.message
    assert "token" not in result.error.message
    assert result.error.message.endswith("set the URL to the final address")
    assert len(target.received) == 1
    login = failure(http_reply(b"", "302 Found", location="/login"))[1]
    assert ("/login" in login, "headers" in login) == (True, True)


def test_the_time_is_that_of_the_last_attempt() -> None:
    times = (0.0, 100.0, 100.25)  # before the first request, between the two, after both
    with fake_target(http_reply(b"", "500 Oops"), GOOD) as target:
        client = HttpRagClient(
            TargetSettings(url=target.url),
            sleep=Pauses(),
            clock=lambda: times[len(target.received)],
        )
        result = client.ask_result(QUESTION)
        client.close()
    assert (result.attempts, result.total_ms) == (2, 250.0)


def test_the_time_begins_when_the_request_is_sent_and_not_at_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]

    def later(*arguments: Any, **options: Any) -> Any:
        now[0] += 5.0
        return resolve(*arguments, **options)

    def reply(connection: socket.socket) -> None:
        now[0] += 0.25
        connection.sendall(GOOD)

    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", later)
    with fake_target(reply) as target:
        url = target.url.replace("127.0.0.1", "localhost")
        client = HttpRagClient(TargetSettings(url=url), clock=lambda: now[0])
        result = client.ask_result(QUESTION)
        client.close()
    assert (now[0], result.total_ms) == (5.25, 250.0)


# --- bodies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>\n<body>Bad\x1b[31m gateway</body></html>", "HTML (line 1); it begins: <html>"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_protocol_error(body: bytes, message: str) -> None:
    kind, text, attempts = failure(http_reply(body))
    assert (kind, attempts) == ("protocol", 1)
    assert message in text
    assert "\x1b" not in text


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_of_17_mb_is_a_protocol_error_and_one_of_7_is_read(announced: bool) -> None:
    piece = b" " * 2**20
    pieces = 0

    def reply(connection: Any) -> None:
        nonlocal pieces
        length = f"Content-Length: {17 * 2**20}\r\n" if announced else ""
        connection.sendall(f"HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\n".encode())
        for _ in range(17):
            connection.sendall(piece)
            pieces += 1

    kind, message, attempts = failure(reply)
    assert (kind, attempts) == ("protocol", 1)
    assert ": the reply is larger than 8 MB" in message
    assert "127.0.0.1" in message
    assert ask_once(json_reply({"answer": "x" * 7_000_000})).error is None
    if announced:
        assert pieces < 9, "an announced length must be refused before it is read"


def test_the_limit_holds_for_what_a_compressed_body_becomes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_exchange, "MAX_BODY_BYTES", 2**20)
    bomb = gzip.compress(b" " * (2**20 + 1))
    assert len(bomb) < 2000
    assert failure(http_reply(bomb, content_encoding="gzip"))[0] == "protocol"
    assert MAX_BODY_BYTES == 8 * 2**20
    small = gzip.compress(b'{"answer": "a"}')
    assert ask_once(http_reply(small, content_encoding="gzip")).error is None


def test_a_body_that_is_not_compressed_as_it_says_is_a_protocol_error() -> None:
    kind, message, _ = failure(http_reply(b"{}", content_encoding="gzip"))
    assert kind == "protocol"
    assert "cannot be decoded" in message


# --- asking --------------------------------------------------------------------------------


def test_an_empty_answer_has_the_error_that_the_reply_reports() -> None:
    marked = {"message": "no credits", "code": 102}
    for more, reported in (({}, None), (marked, "no credits")):
        error = ask_once(json_reply({"answer": "", **more})).error
        assert error is not None
        assert (error.kind, error.facts.get("reported")) == ("empty", reported)
    assert ask_once(json_reply({"answer": "Yes.", **marked})).error is None


def test_ask_returns_the_response_or_raises_with_kind_and_attempts() -> None:
    with fake_target(GOOD, http_reply(b"", "404 Not Found")) as target:
        client = HttpRagClient(TargetSettings(url=target.url))
        assert client.ask(QUESTION).answer == "Monthly."
        with pytest.raises(EndpointError) as caught:
            client.ask(QUESTION)
        client.close()
    assert (caught.value.kind, caught.value.attempts) == ("http", 1)


@pytest.mark.parametrize(("limit", "set_"), [(1.9, 1.9), (2.0, None), (2.1, None)])
def test_a_limit_of_a_part_is_set_only_where_it_is_less_than_the_total_one(
    limit: float, set_: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    closed: list[bool] = []

    def open_client(address: object, **options: Any) -> SimpleNamespace:
        seen.append(options)
        return SimpleNamespace(close=lambda: closed.append(True))

    monkeypatch.setattr("pytest_rageval.target.client.open_client", open_client)
    limits: dict[str, Any] = {"connect_timeout_s": limit, "read_timeout_s": limit, "timeout_s": 2.0}
    client = HttpRagClient(TargetSettings(url="http://127.0.0.1:1", **limits))
    assert [(one["connect_s"], one["read_s"]) for one in seen] == [(set_, set_)]
    client.close()
    assert closed == [True]


@pytest.mark.parametrize("slots", [None, Slots(1)])
def test_a_client_takes_slots_itself_if_it_was_given_some(slots: Slots | None) -> None:
    client = HttpRagClient(TargetSettings(url="http://127.0.0.1:1"), slots=slots)
    assert client.takes_slots is (slots is not None)
    client.close()


def test_a_client_serves_again_after_it_was_closed() -> None:
    with fake_target(GOOD) as target:
        client = HttpRagClient(TargetSettings(url=target.url))
        for _ in range(2):
            assert client.ask(QUESTION).answer == "Monthly."
            client.close()


def test_idle_connections_are_closed_before_a_server_closes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = kept_seconds(monkeypatch)
    with fake_target(GOOD) as target:
        assert ask(target).response is not None
    assert kept == [2.0]
