"""One limit for a whole request: resolving, connecting, reading."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from pytest_rageval.support.http.deadline import mind_deadlines, within
from tests.build.targets import fake_target, http_reply

GOOD = http_reply(b"{}")


@pytest.fixture
def over() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def client_of(**options: Any) -> Any:
    return mind_deadlines(httpx.Client(trust_env=False, **options))


def test_a_request_within_its_deadline_is_as_any_other() -> None:
    with fake_target(GOOD, GOOD) as target, client_of() as client:
        with within(5) as deadline:
            assert client.post(target.url, content=b"{}").text == "{}"
        assert not deadline.passed
        assert client.post(target.url, content=b"{}").text == "{}"


def test_no_single_wait_outlasts_the_deadline(over: threading.Event) -> None:
    def drip(connection: Any) -> None:
        for byte in http_reply(b" " * 1000):
            if over.wait(0.02):
                return
            connection.sendall(bytes([byte]))

    # The whole reply would take 20 s.
    with (
        fake_target(drip) as target,
        client_of(timeout=10) as client,
        within(0.2) as deadline,
        pytest.raises(httpx.ReadTimeout),
    ):
        client.post(target.url, content=b"{}")
    assert deadline.passed


def test_a_resolver_that_hangs_is_a_connect_timeout(
    monkeypatch: pytest.MonkeyPatch, over: threading.Event
) -> None:
    def hang(*_: object, **__: object) -> object:
        over.wait(5)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with (
        client_of(timeout=10) as client,
        within(0.1),
        pytest.raises(httpx.ConnectTimeout),
    ):
        client.post("http://target.test/", content=b"{}")


def test_a_host_without_an_address_is_a_connect_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with client_of() as client, pytest.raises(httpx.ConnectError, match="not known"):
        client.post("http://target.test/", content=b"{}")


def test_the_next_address_is_tried_where_the_first_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_target(GOOD) as target, client_of() as client:
        port = httpx.URL(target.url).port
        with socket.socket() as taken:
            taken.bind(("127.0.0.2", 0))  # bound and not listening: refused
            found = [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
                for address in ("127.0.0.2", "127.0.0.1")
            ]
            monkeypatch.setattr(socket, "getaddrinfo", resolver(found))
            assert client.post(f"http://target.test:{port}/", content=b"{}").text == "{}"


def resolver(found: list[Any]) -> Any:
    real = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        return found if host == "target.test" else real(host, *arguments, **options)

    return resolve


def test_each_thread_has_its_own_deadline() -> None:
    answers: list[str] = []

    def ask(url: str, client: Any) -> None:
        answers.append(client.post(url, content=b"{}").text)

    with fake_target(GOOD) as target, client_of() as client, within(0):
        other = threading.Thread(target=ask, args=(target.url, client))
        other.start()
        other.join(5)
    assert answers == ["{}"]
