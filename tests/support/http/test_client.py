"""Requests and replies as bytes: what is sent, and how each kind of reply is read."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_rageval.support.http.address import join_url
from pytest_rageval.support.http.exchange import Request, open_client
from tests.build.asking import exchanged
from tests.build.targets import Received, fake_target, http_reply, read_request

BODY = b'{"answer": "Monthly."}'


# --- what is sent --------------------------------------------------------------------------


def sent(path: str = "/ask", method: str = "POST", **headers: str) -> Received:
    with fake_target(http_reply(b"{}")) as target:
        address = join_url(target.url, path)
        with open_client(address, headers={"X-Own": "client", "Accept": "a/b"}) as http:
            request = Request(
                address=address,
                content=b"" if method == "GET" else b"{}",
                method=method,
                headers=headers,
            )
            assert exchanged(http, request).status == 200
    return target.received[0]


def test_headers_of_a_request_replace_those_of_its_client_in_any_case() -> None:
    received = sent(**{"x-own": "request"})
    assert received.headers["x-own"] == "request"
    assert received.headers["accept"] == "a/b"
    assert received.headers["accept-encoding"] == "gzip, deflate"
    assert received.headers["content-length"] == "2"


def test_what_no_url_may_hold_is_encoded_and_what_is_encoded_stays() -> None:
    received = sent("/é{a}/%2F?q=50%&r=ü")
    assert received.line == "POST /%C3%A9%7Ba%7D/%2F?q=50%25&r=%C3%BC HTTP/1.1"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "ü", "\0"])
def test_a_header_that_would_change_the_request_is_not_sent(value: str) -> None:
    with fake_target(http_reply(b"{}")) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            request = Request(address=address, content=b"", headers={"X-Key": value})
            reply = exchanged(http, request)
    assert reply.fault is not None
    assert reply.fault.name == "LocalProtocolError"
    assert value not in str(reply.fault)
    assert target.received == []


# --- connections ---------------------------------------------------------------------------


@contextmanager
def keeping(*plan: int) -> Any:
    """Serve connections that stay open for so many replies each, and count the requests."""
    received: list[Received] = []

    def serve() -> None:
        for n_replies in plan:
            connection, _ = listener.accept()
            with connection:
                for _ in range(n_replies):
                    received.append(read_request(connection))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                if n_replies != plan[-1]:
                    received.append(read_request(connection))  # and closed without a reply

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", received
        thread.join(5)


def test_a_connection_serves_many_requests() -> None:
    with keeping(3) as (url, received):
        address = join_url(url, "/ask")
        with open_client(address, headers={}) as http:
            for _ in range(3):
                assert exchanged(http, Request(address=address, content=b"{}")).body == b"{}"
    assert len(received) == 3


def test_a_request_that_was_read_before_the_server_hung_up_is_not_sent_again() -> None:
    with keeping(1, 2) as (url, received):
        address = join_url(url, "/ask")
        with open_client(address, headers={}) as http:
            replies = [
                exchanged(http, Request(address=address, content=b"%d" % n)) for n in range(4)
            ]
    assert [reply.status for reply in replies] == [200, None, 200, 200]
    assert [one.body for one in received] == [b"0", b"1", b"2", b"3"]


def test_a_connection_with_an_unread_rest_is_not_used_again() -> None:
    def reply(connection: socket.socket) -> None:
        connection.sendall(http_reply(b" " * 500000).replace(b"Connection: close\r\n", b""))
        read_request(connection)

    with fake_target(reply, http_reply(BODY)) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            one = Request(address=address, content=b"1", max_bytes=10)
            assert exchanged(http, one).too_large
            assert exchanged(http, Request(address=address, content=b"2")).body == BODY
