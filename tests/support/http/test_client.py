"""Requests and replies as bytes: what is sent, and how each kind of reply is read."""

from __future__ import annotations

import gzip
import select
import socket
import threading
import zlib
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_rageval.support.http import pool
from pytest_rageval.support.http.address import join_url
from pytest_rageval.support.http.connection import Socket
from pytest_rageval.support.http.exchange import Reply, Request, open_client, send
from tests.build.targets import Received, fake_target, http_reply, read_request, reset

Served = Callable[[socket.socket], None]
BODY = b'{"answer": "Monthly."}'


def got(reply: bytes | Served, **options: Any) -> Reply:
    with fake_target(reply) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            return send(http, Request(address=address, content=b"{}", **options))


def head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head("Transfer-Encoding: chunked") + body + end


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
            assert send(http, request).status == 200
    return target.received[0]


def test_headers_of_a_request_replace_those_of_its_client_in_any_case() -> None:
    received = sent(**{"x-own": "request"})
    assert received.headers["x-own"] == "request"
    assert received.headers["accept"] == "a/b"
    assert received.headers["accept-encoding"] == "gzip, deflate"
    assert received.headers["content-length"] == "2"


def test_a_request_without_a_body_names_no_length() -> None:
    assert "content-length" not in sent(method="GET").headers


def test_what_no_url_may_hold_is_encoded_and_what_is_encoded_stays() -> None:
    received = sent("/é{a}/%2F?q=50%&r=ü")
    assert received.line == "POST /%C3%A9%7Ba%7D/%2F?q=50%25&r=%C3%BC HTTP/1.1"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "ü", "\0"])
def test_a_header_that_would_change_the_request_is_not_sent(value: str) -> None:
    with fake_target(http_reply(b"{}")) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            request = Request(address=address, content=b"", headers={"X-Key": value})
            reply = send(http, request)
    assert reply.fault is not None
    assert reply.fault.name == "LocalProtocolError"
    assert value not in str(reply.fault)
    assert target.received == []


# --- how replies are read ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "delimited"),
    [
        (http_reply(BODY), True),
        (chunked(BODY[:5], BODY[5:]), True),
        (chunked(BODY, end=b"0\r\nX-Trailer: 1\r\n\r\n"), True),
        (head("Connection: close") + BODY, False),
        (b"HTTP/1.0 200 OK\r\n\r\n" + BODY, False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + http_reply(BODY), True),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + http_reply(BODY), True),
        (http_reply(gzip.compress(BODY), content_encoding="gzip"), True),
        (http_reply(zlib.compress(BODY), content_encoding="deflate"), True),
        (http_reply(zlib.compress(BODY, wbits=-15), content_encoding="Deflate"), True),
        (http_reply(gzip.compress(zlib.compress(BODY)), content_encoding="deflate, gzip"), True),
        (http_reply(BODY, content_encoding="identity"), True),
    ],
)
def test_a_whole_body_is_read_in_every_form(reply: bytes, delimited: bool) -> None:
    found = got(reply)
    assert (found.status, found.body, found.fault) == (200, BODY, None)
    assert found.delimited == delimited


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Type: te",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        http_reply(BODY, length=500),
        head("Transfer-Encoding: chunked") + b"zz\r\n",
        chunked(BODY, end=b""),
        chunked(BODY, end=b"0"),
        head("Transfer-Encoding: gzip") + BODY,
    ],
)
def test_a_reply_that_is_not_complete_http_is_a_fault(reply: bytes) -> None:
    found = got(reply)
    assert found.fault is not None
    assert found.fault.name == "RemoteProtocolError"


@pytest.mark.parametrize("lines", [["X-Long: " + "x" * 70_000], [f"X-{n}: 1" for n in range(200)]])
def test_a_head_that_is_too_large_is_a_fault_of_its_own(lines: list[str]) -> None:
    found = got(head(*lines))
    assert found.fault is not None
    assert found.fault.name == "HeadTooLarge"


def test_a_compressed_body_is_unpacked_no_further_than_its_limit() -> None:
    bomb = gzip.compress(gzip.compress(b" " * 2**26))
    found = got(http_reply(bomb, content_encoding="gzip, gzip"), max_bytes=1000)
    assert found.too_large
    assert found.body == b" " * 1000


def test_pieces_are_handed_on_as_they_are_received() -> None:
    seen: list[bytes] = []
    step = threading.Semaphore(0)

    def reply(connection: socket.socket) -> None:
        connection.sendall(head("Transfer-Encoding: chunked", "Content-Type: text/plain"))
        for piece in (b"one", b"two", b"three"):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            step.acquire(timeout=5)  # until the piece was handed on
        connection.sendall(b"0\r\n\r\n")

    def on_piece(kind: str, piece: bytes) -> bool:
        assert kind == "text/plain"
        seen.append(piece)
        step.release()
        return False

    assert got(reply, on_piece=on_piece).body == b"onetwothree"
    assert seen == [b"one", b"two", b"three"]


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
                assert send(http, Request(address=address, content=b"{}")).body == b"{}"
    assert len(received) == 3


def test_a_request_that_was_read_before_the_server_hung_up_is_not_sent_again() -> None:
    with keeping(1, 2) as (url, received):
        address = join_url(url, "/ask")
        with open_client(address, headers={}) as http:
            replies = [send(http, Request(address=address, content=b"%d" % n)) for n in range(4)]
    assert [reply.status for reply in replies] == [200, None, 200, 200]
    assert [one.body for one in received] == [b"0", b"1", b"2", b"3"]


def test_a_request_that_cannot_be_sent_on_a_closed_connection_is_sent_on_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reply(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        taken.wait(5)  # until the connection was found open
        reset(connection)
        connection.close()
        closed.set()

    def found_open(sock: Socket) -> bool:
        taken.set()
        closed.wait(5)
        select.select([sock], [], [], 5)  # until the reset arrived
        return True

    taken, closed = threading.Event(), threading.Event()
    monkeypatch.setattr(pool, "_is_silent", found_open)
    with fake_target(reply, http_reply(BODY)) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            assert send(http, Request(address=address, content=b"1")).body == b"{}"
            assert send(http, Request(address=address, content=b"2")).body == BODY
    assert [one.body for one in target.received] == [b"1", b"2"]


def test_a_request_on_a_new_connection_is_sent_once() -> None:
    with keeping(0, 1) as (url, received):
        address = join_url(url, "/ask")
        with open_client(address, headers={}) as http:
            found = send(http, Request(address=address, content=b"{}"))
            assert found.fault is not None
            assert len(received) == 1
            assert send(http, Request(address=address, content=b"{}")).status == 200


def test_a_connection_with_an_unread_rest_is_not_used_again() -> None:
    def reply(connection: socket.socket) -> None:
        connection.sendall(head("Content-Length: 500000") + b" " * 500000)
        read_request(connection)

    with fake_target(reply, http_reply(BODY)) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            assert send(http, Request(address=address, content=b"1", max_bytes=10)).too_large
            assert send(http, Request(address=address, content=b"2")).body == BODY
