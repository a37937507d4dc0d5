"""One attempt over a real socket, and its failures."""

from __future__ import annotations

import pytest

from pytest_rageval.support.http.address import join_url
from pytest_rageval.support.http.exchange import Attempt, Request, attempt, open_client
from pytest_rageval.support.threads import session_loop
from tests.build.targets import fake_target, http_reply


def tried(reply: bytes, max_bytes: int | None = None, secrets: tuple[str, ...] = ()) -> Attempt:
    with fake_target(reply) as target:
        address = join_url(target.url, "/ask")
        request = Request(address=address, content=b"{}", max_bytes=max_bytes, secrets=secrets)
        with open_client(address, headers={}) as http:
            return session_loop().run(attempt(http, request))


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("", "HTTP 304"),
        ("Location: /there?key=s3cret\r\n", "/there; redirects are not followed"),
        ("Location: http://[\r\n", "redirects to http://[; redirects are not followed"),
    ],
)
def test_a_redirect_is_an_error_whether_or_not_it_names_a_place(location: str, said: str) -> None:
    status = 307 if location else 304
    found = tried(f"HTTP/1.1 {status} So\r\n{location}Connection: close\r\n\r\n".encode())
    assert found.error is not None
    assert said in found.error.message
    assert "s3cret" not in found.error.message
    assert (found.error.kind, found.status) == ("http", status)


@pytest.mark.parametrize("kept", range(4, 12))
def test_a_secret_that_a_limit_cuts_in_two_is_not_shown(kept: int) -> None:
    body = b" " * (4096 - kept) + b"s3cret-of-all"
    found = tried(http_reply(body, "500 So"), secrets=("s3cret-of-all",))
    assert found.error is not None
    assert found.error.message.endswith("HTTP 500; the reply begins: ***")


def test_a_secret_is_not_shown_as_the_place_of_a_redirect_spells_it() -> None:
    reply = b"HTTP/1.1 307 So\r\nLocation: /a%2Fs3cret\r\nConnection: close\r\n\r\n"
    found = tried(reply, secrets=("a/s3cret",))
    assert found.error is not None
    assert "redirects to " in found.error.message
    assert "s3cret" not in found.error.message


def test_a_body_is_read_up_to_its_limit() -> None:
    assert tried(http_reply(b"x" * 100), max_bytes=100).body == b"x" * 100
    found = tried(http_reply(b"x" * 101), max_bytes=100)
    assert found.error is not None
    assert found.error.kind == "protocol"
    assert "the reply is larger than" in found.error.message


def test_a_failure_names_the_address_without_its_secrets_and_keeps_its_cause() -> None:
    address = join_url("http://ann:pa55word@127.0.0.1:1", "/ask?api_key=s3cret")
    with open_client(address, headers={}) as http:
        request = Request(address=address, content=b"{}")
        error = session_loop().run(attempt(http, request)).error
    assert error is not None
    assert (error.kind, error.code) == ("connection", "connection_refused")
    assert error.facts == {"address": "http://127.0.0.1:1/ask"}
    assert error.message.startswith("http://127.0.0.1:1/ask: connection refused")
    assert error.__cause__ is not None


@pytest.mark.parametrize(
    ("status", "body", "code", "facts"),
    [
        (422, b'{"detail": "q is missing"}', "http_fields", {"reason": "q is missing"}),
        (403, b"CSRF verification failed.", "http_csrf", {"begins": "CSRF verification failed."}),
        (503, b"", "http_server", {}),
    ],
)
def test_a_status_is_a_code_with_the_reason_that_the_reply_gives(
    status: int, body: bytes, code: str, facts: dict[str, str]
) -> None:
    error = tried(http_reply(body, f"{status} So")).error
    assert error is not None
    assert (error.kind, error.code) == ("http", code)
    assert {**error.facts, "address": ""} == {"address": "", "status": status, **facts}
