"""One limit for a whole request: resolving, connecting, reading."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from pytest_rageval.support.http.address import Address
from pytest_rageval.support.http.exchange import Reply, Request, open_client
from tests.build.asking import exchanged
from tests.build.targets import fake_target, http_reply

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
