"""One limit for a whole request: resolving, connecting, reading."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest

from pytest_rageval.support.http import connection
from pytest_rageval.support.http.address import Address
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.deadline import Deadline, check, wait, waited
from pytest_rageval.support.http.exchange import Reply, Request, open_client, send
from pytest_rageval.support.slots import Turns
from tests.build.targets import fake_target, http_reply, unused_port

GOOD = http_reply(b"{}")


def at(url: str) -> Address:
    return Address(url=url, shown=url, loopback=True)


def post(url: str, client: Client | None = None, **limits: Any) -> Reply:
    address = at(url)
    opened = open_client(address, headers={}, **limits) if client is None else nullcontext(client)
    with opened as http:
        return send(http, Request(address=address, content=b"{}"))


def fault_of(reply: Reply) -> str:
    assert reply.fault is not None
    return reply.fault.name


def test_a_request_within_its_deadline_is_as_any_other() -> None:
    with fake_target(GOOD, GOOD) as target:
        with Deadline(5) as deadline:
            assert post(target.url).body == b"{}"
        assert not deadline.passed
        assert post(target.url).body == b"{}"


def test_no_single_wait_outlasts_the_deadline(over: threading.Event) -> None:
    def drip(connection: Any) -> None:
        for byte in http_reply(b" " * 1000):
            if over.wait(0.02):
                return
            connection.sendall(bytes([byte]))

    # The whole reply would take 20 s.
    with fake_target(drip) as target, Deadline(0.2) as deadline:
        assert fault_of(post(target.url, connect_s=10, read_s=10)) == "ReadTimeout"
    assert deadline.passed


def test_a_resolver_that_hangs_is_a_connect_timeout(
    monkeypatch: pytest.MonkeyPatch, over: threading.Event
) -> None:
    def hang(*_: object, **__: object) -> object:
        over.wait(5)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with Deadline(0.1):
        assert fault_of(post("http://target.test/", connect_s=10, read_s=10)) == "ConnectTimeout"


def test_a_host_without_an_address_is_a_connect_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    reply = post("http://target.test/")
    assert fault_of(reply) == "ConnectError"
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


def test_each_thread_has_its_own_deadline() -> None:
    answers: list[bytes] = []
    with (
        fake_target(GOOD) as target,
        open_client(at(target.url), headers={}) as client,
        Deadline(0),
    ):
        other = threading.Thread(target=lambda: answers.append(post(target.url, client).body))
        other.start()
        other.join(5)
    assert answers == [b"{}"]


# --- what counts ---------------------------------------------------------------------------


def test_the_wait_of_a_thread_for_its_turn_counts_for_no_limit_and_no_duration() -> None:
    turns, held_s = Turns(), 1.6
    computing, free = threading.Event(), threading.Event()

    def compute() -> None:
        with turns.computing():
            computing.set()
            free.wait(held_s)  # nobody sets it

    def reply(connection: socket.socket) -> None:
        # The asking thread waits for this reply, and must wait for its turn afterwards.
        threading.Thread(target=compute).start()
        computing.wait(5)
        connection.sendall(GOOD)

    with fake_target(reply) as target, turns.computing():
        with Deadline(held_s) as deadline:
            found = post(target.url, connect_s=held_s / 2, read_s=held_s / 2)
            assert not deadline.passed
    assert found.body == b"{}"
    assert deadline.elapsed_ms < held_s * 1000


@pytest.mark.parametrize(("cpu_s", "left_out_s"), [(0.02, 60.0), (0.2, 0.5)])
def test_a_thread_that_computes_long_for_a_reply_has_no_more_than_its_limit(
    monkeypatch: pytest.MonkeyPatch, cpu_s: float, left_out_s: float
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(time, "thread_time", lambda: 7.0)
    deadline = Deadline(3)
    deadline.leave_out(20)
    assert deadline.at_s == 1023
    monkeypatch.setattr(time, "thread_time", lambda: 7 + cpu_s)
    deadline.leave_out(40)
    assert deadline.at_s == 1003 + left_out_s


def test_a_thread_that_computes_long_for_a_reply_lets_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, computed = Turns(), threading.Event()

    def compute() -> None:
        with turns.computing():
            computed.set()

    with turns.computing(), Deadline(60):
        other = threading.Thread(target=compute)
        other.start()
        check()
        assert not computed.wait(0.1)
        computed_s = time.thread_time()
        monkeypatch.setattr(time, "thread_time", lambda: computed_s + 0.05)
        # As long as the other needs to wake up; the length of the pause is beside the point.
        monkeypatch.setattr(time, "sleep", lambda _: computed.wait(5))
        check()
        assert computed.is_set()
    other.join(5)
    with Deadline(0), pytest.raises(TimeoutError):
        check()
    check()  # without a deadline, nothing


def test_a_wait_that_ends_after_the_deadline_reads_nothing() -> None:
    with Deadline(0.05), pytest.raises(TimeoutError), wait(None):
        time.sleep(0.1)


def test_the_connect_limit_does_not_run_while_a_thread_waits_for_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, held_s = Turns(), 0.3

    def compute(computing: threading.Event) -> None:
        with turns.computing():
            computing.set()
            threading.Event().wait(held_s)

    ready = connection.Socket.is_ready

    def busy(sock: connection.Socket, limit_s: float | None, *, to_send: bool = False) -> bool:
        if to_send:
            computing = threading.Event()
            threading.Thread(target=compute, args=(computing,)).start()
            computing.wait(5)
        return ready(sock, limit_s, to_send=to_send)

    monkeypatch.setattr(connection.Socket, "is_ready", busy)
    refused = unused_port()
    with fake_target(GOOD) as target:
        places = [("127.0.0.1", refused), ("127.0.0.1", target.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", resolver(found))
        # Two waits for the turn, each longer than the limit, after an address that refuses.
        with turns.computing(), Deadline(60):
            assert post("http://target.test/", connect_s=held_s / 2).body == b"{}"


def test_time_in_which_a_thread_waits_for_a_core_uses_up_no_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, waits = [0.0], 0
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def once(seconds: float) -> bool:
        nonlocal waits
        waits += 1
        now[0] += 60  # asked for a tenth of a second
        return waits == 5

    assert waited(0.95, once) == pytest.approx(0.45)
    waits = 5
    with pytest.raises(TimeoutError):
        waited(0.95, once)
    assert waits == 15


@pytest.mark.parametrize("limit_s", [None, 5.0])
def test_parts_of_a_wait_end_with_the_deadline(limit_s: float | None) -> None:
    began = time.monotonic()
    with Deadline(0.25), pytest.raises(TimeoutError):
        waited(limit_s, threading.Event().wait)
    assert 0.2 < time.monotonic() - began < 5


def test_a_reply_is_no_older_than_its_request() -> None:
    now = Deadline(5)
    now.sending()
    now.received(age_s=3600)  # the system's clock was set back or forth
    assert now.elapsed_ms == 0
    now.received(age_s=-3600)
    assert 0 <= now.elapsed_ms < 5000


def test_a_reply_ends_when_it_arrives_and_not_when_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if connection._SO_TIMESTAMPNS is None:
        pytest.skip("the system notes no times of arrival")
    arrived = threading.Event()
    receive = connection.Socket._receive

    def reply(to: socket.socket) -> None:
        to.sendall(GOOD)
        arrived.set()

    def late(*arguments: Any) -> Any:
        arrived.wait(5)
        threading.Event().wait(0.3)  # such as a thread that computes and holds the interpreter
        return receive(*arguments)

    monkeypatch.setattr(connection.Socket, "_receive", late)
    took_ms: list[float] = []
    with fake_target(reply) as target:
        while not took_ms or (took_ms[-1] >= 300 and len(took_ms) < 10):
            arrived.clear()
            with Deadline(60) as deadline:
                assert post(target.url).body == b"{}"
            took_ms.append(deadline.elapsed_ms)
    # The first ones may lack their time, which the system begins to note a little later.
    assert took_ms[-1] < 300
