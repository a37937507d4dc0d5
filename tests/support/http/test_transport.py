"""Replies of every form: heads, bodies, and what is not complete HTTP."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.support.http.address import Address, join_url
from pytest_rageval.support.http.bodies import TransportError, unpacked
from pytest_rageval.support.http.exchange import Reply, Request, open_client
from tests.build.asking import exchanged
from tests.build.targets import fake_target, http_reply, read_request

Served = Callable[[socket.socket], None]
BODY = b'{"answer": "Monthly."}'


def got(reply: bytes | Served, **options: Any) -> Reply:
    with fake_target(reply) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            return exchanged(http, Request(address=address, content=b"{}", **options))


def head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head("Transfer-Encoding: chunked") + body + end


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
        (http_reply(gzip.compress(BODY, mtime=0), content_encoding="gzip"), True),
        (http_reply(zlib.compress(BODY), content_encoding="deflate"), True),
        (http_reply(zlib.compress(BODY, wbits=-15), content_encoding="Deflate"), True),
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
        head("Content-Length: " + "9" * 5000) + BODY,
        head("Content-Length: -5") + BODY,
        head("Content-Length: 0x10") + BODY,
        head(f"Content-Length: {len(BODY)}", "Content-Length: 2") + BODY,
        head(f"Content-Length: {len(BODY)}, 2") + BODY,
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
    bomb = gzip.compress(b" " * 2**26)
    found = got(http_reply(bomb, content_encoding="gzip"), max_bytes=100_000)
    assert found.too_large
    assert found.body == b" " * 100_000


@pytest.mark.parametrize(
    ("codings", "body"),
    [
        ("deflate, gzip", gzip.compress(zlib.compress(BODY))),
        (", ".join(["gzip"] * 10_000), BODY),
        ("gzip", gzip.compress(BODY) + b"more"),
        ("gzip", gzip.compress(BODY) + b"x" * 7_000_000),
    ],
    ids=["twice", "ten thousand times", "and more", "and much more"],
)
def test_a_body_that_is_packed_to_take_time_or_memory_is_a_fault(codings: str, body: bytes) -> None:
    fault = got(http_reply(body, content_encoding=codings)).fault
    assert fault is not None
    assert fault.name == "DecodingError"


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip, br", gzip.compress(b" " * 2**20)),
        ("deflate", zlib.compress(b" " * 2**20)),
        ("deflate", zlib.compress(b" " * 2**20, wbits=-15)),
    ],
)
def test_a_whole_body_is_unpacked_up_to_its_limit(coding: str, packed: bytes) -> None:
    assert unpacked(coding, packed, 2**20) == b" " * 2**20
    with pytest.raises(TransportError, match="over 1,000 bytes"):
        unpacked(coding, packed, 1000)


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


@pytest.mark.parametrize(
    ("first", "stays"),
    [
        (http_reply(BODY), False),
        (head(f"Content-Length: {len(BODY)}") + BODY, True),
        (head("Content-Length: 0"), True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (chunked(BODY, end=b"0\r\nX-Trailer: 1\r\n\r\n"), True),
        (head(f"Content-Length: {len(BODY)}") + BODY + b"more", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", True),
    ],
)
def test_a_connection_is_kept_where_its_reply_ends_and_says_nothing_else(
    first: bytes, stays: bool
) -> None:
    def twice(connection: socket.socket) -> None:
        connection.sendall(first)
        if stays:
            read_request(connection)
            connection.sendall(http_reply(b"same"))

    with fake_target(twice, http_reply(b"other")) as target:
        address = join_url(target.url, "/ask")
        with open_client(address, headers={}) as http:
            for _ in range(2):
                found = exchanged(http, Request(address=address, content=b"{}"))
    assert found.body == (b"same" if stays else b"other")


# --- one limit for a whole request: resolving, connecting, reading

GOOD = http_reply(b"{}")


def at(url: str) -> Address:
    return Address(url=url, shown=url, loopback=True)


def post(url: str, limit_s: float | None = None, **limits: Any) -> Reply:
    address = at(url)
    with open_client(address, headers={}, **limits) as http:
        return exchanged(http, Request(address=address, content=b"{}", limit_s=limit_s))


def fault_of(reply: Reply) -> str:
    assert reply.fault is not None
    return reply.fault.name


def test_no_single_wait_outlasts_the_deadline(over: threading.Event) -> None:
    def drip(connection: Any) -> None:
        for byte in http_reply(b" " * 1000):
            if over.wait(0.02):
                return
            connection.sendall(bytes([byte]))

    # The whole reply would take 20 s.
    with fake_target(drip) as target:
        assert fault_of(post(target.url, 0.2, connect_s=10, read_s=10)) == "TotalTimeout"


def test_a_resolver_that_hangs_is_a_connect_timeout(
    monkeypatch: pytest.MonkeyPatch, over: threading.Event
) -> None:
    def hang(*_: object, **__: object) -> object:
        over.wait(5)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    reply = post("http://target.test/", 0.1, connect_s=10, read_s=10)
    assert fault_of(reply) == "ConnectTimeout"


def test_a_host_without_an_address_is_a_resolve_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    reply = post("http://target.test/")
    assert fault_of(reply) == "ResolveError"
    assert "not known" in str(reply.fault)


def test_the_next_address_is_tried_where_the_first_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_target(GOOD) as target, socket.socket() as taken:
        taken.bind(("127.0.0.2", 0))  # bound and not listening: refused
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, target.port))
            for address in ("127.0.0.2", "127.0.0.1")
        ]
        monkeypatch.setattr(socket, "getaddrinfo", resolver(found))
        assert post(f"http://target.test:{target.port}/").body == b"{}"


def resolver(found: list[Any]) -> Any:
    real = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        return found if host == "target.test" else real(host, *arguments, **options)

    return resolve
