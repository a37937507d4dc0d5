"""Every client against servers that break HTTP: bounded time and memory, clear errors."""

from __future__ import annotations

import asyncio
import importlib
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_rageval.authoring.interchange import files
from pytest_rageval.engine.endpoint import EmbeddingsClient, ModelEndpoint
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.wire import Form
from pytest_rageval.server import upstream
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.errors import DatasetError, EndpointError
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import JudgeSettings, TargetSettings
from tests.build.hostile_server import (
    BEHAVIOURS,
    CHUNKED,
    GOOD,
    WHOLE,
    HostileServer,
    hostile_process,
    hostile_server,
)
from tests.build.load import OwnTime
from tests.build.targets import fake_target

SHORT_S = 0.6
"""Limit where the limit is what ends it."""
LONG_S = 20.0
MOST_BYTES = 150_000_000
KEY = "k3y-of-the-judge"


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with hostile_server() as served:
        yield served


@pytest.fixture(scope="module")
def hostile_url() -> Iterator[str]:
    with hostile_process() as url:
        yield url


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)


importlib.import_module("pytest_rageval.judges.model.chat_client")  # which counts for no limit


def limit_of(name: str) -> float:
    return SHORT_S if "timeout" in BEHAVIOURS[name].kinds else LONG_S


def asked(url: str, name: str) -> tuple[str, str]:
    """Return kind and message of the error of a target; empty: the answer was read."""
    settings = TargetSettings(url=url, timeout_s=limit_of(name), retries=0)
    client = HttpRagClient(settings)
    found = client.ask_result(AskRequest(question=f"hostile {name}"))
    client.close()
    return (found.error.kind, found.error.message) if found.error else ("", "")


def judged(url: str, name: str) -> tuple[str, str]:
    settings = JudgeSettings(
        base_url=url, api_key_env="MODEL_KEY", timeout_s=limit_of(name), retries=0
    )
    endpoint = ChatEndpoint("m", settings)
    answer = session_loop().run(endpoint.ask({"messages": f"hostile {name}"}, 10, Form()))
    endpoint.close()
    if answer.failure is None:
        # Its body is read by those that look for a verdict in it.
        good = isinstance(answer.body, dict) and answer.body.get("choices") == []
        return ("", "") if good else ("protocol", "")
    return answer.failure.kind, answer.failure.message


def embedded(url: str, name: str) -> tuple[str, str]:
    endpoint = ModelEndpoint(
        url=url, model="m", api_key_env="MODEL_KEY", timeout_s=limit_of(name), retries=0
    )
    with pytest.raises(EndpointError) as error:
        EmbeddingsClient(endpoint).embed([f"hostile {name}"])
    return error.value.kind, error.value.message


def embedded_by_the_server(url: str, name: str) -> tuple[str, str]:
    endpoint = upstream.Endpoint(url=url, model="m", api_key_env="MODEL_KEY")
    embedder = upstream.EndpointEmbedder(endpoint)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upstream, "TIMEOUT_S", limit_of(name))
        patch.setattr(upstream, "ATTEMPTS", 1)
        patch.setattr(upstream, "_run_apart", asyncio.run)  # on this thread, for its time
        with pytest.raises(upstream.UpstreamError) as error:
            embedder.embed([f"hostile {name}"])
    return "", str(error.value)


def fetched(url: str, name: str) -> tuple[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "WHOLE_S", limit_of(name))
        try:
            files.fetch_text(f"{url}/hostile/{name}")
        except DatasetError as error:
            return "", str(error)
    return "", ""


Ask = Callable[[str, str], tuple[str, str]]
CLIENTS: dict[str, Ask] = {
    "target": asked,
    "judge": judged,
    "embeddings": embedded,
    "embedder of the server": embedded_by_the_server,
    "import": fetched,
}
EXPECTED = {
    "timeout": {"unreachable"},
    "connection": {"unreachable"},
    "http": {"unreachable"},
    "protocol": {"unreachable", "protocol"},
}
"""Kinds of failures of a judge by those of a target."""


@pytest.mark.slow
@pytest.mark.parametrize("who", CLIENTS)
def test_no_behaviour_outlasts_the_limit_or_takes_much_memory(hostile_url: str, who: str) -> None:
    for name in BEHAVIOURS:
        tracemalloc.start()
        took = OwnTime()
        kind, message = CLIENTS[who](hostile_url, name)
        took_s, (_, peak) = took(), tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # aiohttp reads all interim replies that were received at once, traced here one by one.
        late_s = 6 if name == "endless-interim-replies" else 1
        assert took_s < limit_of(name) + late_s, name
        assert peak < MOST_BYTES, name
        assert KEY not in message, name
        assert message.isprintable(), name
        kinds = BEHAVIOURS[name].kinds
        if who == "target":
            assert kind in (kinds or {""}), (name, message)
        elif who == "judge":
            allowed = set().union(*(EXPECTED[one] for one in kinds)) if kinds else {""}
            assert kind in allowed, (name, message)
        elif who == "embeddings":
            assert kind in (kinds or {"protocol"}), (name, message)


@pytest.mark.parametrize("who", CLIENTS)
def test_a_redirect_is_asked_for_nothing(server: HostileServer, who: str) -> None:
    names = [name for name in BEHAVIOURS if "redirect" in name]
    for name in names:
        CLIENTS[who](server.url, name)
    asked = [f"{got.line}{got.body!r}" for got in server.received]
    assert [name in text for name, text in zip(names, asked, strict=True)] == [True] * len(names)


CUT = CHUNKED + b"5\r\n" + GOOD[:5] + b"\r\n%x\r\n" % len(GOOD[5:]) + GOOD[5:] + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize("whole", [WHOLE, CUT], ids=["length", "chunks"])
@pytest.mark.parametrize("how", ["closes", "resets"])
def test_a_reply_that_drops_at_any_byte_is_no_answer(whole: bytes, how: str) -> None:
    def cut(at: int) -> Callable[[socket.socket], None]:
        def reply(connection: socket.socket) -> None:
            connection.sendall(whole[:at])
            if how == "resets":
                linger = (1).to_bytes(4, "little") + bytes(4)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

        return reply

    offsets = range(len(whole))
    with fake_target(*map(cut, offsets)) as target:
        client = HttpRagClient(TargetSettings(url=target.url, retries=0))
        for at in offsets:
            error = client.ask_result(AskRequest(question="q")).error
            assert error is not None, whole[:at]
            assert error.kind == "connection", whole[:at]
        client.close()


def test_a_server_that_restarts_in_the_middle_is_asked_again() -> None:
    good = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(GOOD), GOOD)

    def leaves(connection: socket.socket) -> None:
        connection.sendall(good)
        # Kept open for the next request, which it does not answer any more.
        connection.recv(65536)

    with fake_target(good, leaves, good[:30], good) as target:
        client = HttpRagClient(TargetSettings(url=target.url, retries=2), sleep=lambda _: None)
        found = [client.ask_result(AskRequest(question="q")) for _ in range(3)]
        client.close()
    assert [result.error for result in found] == [None] * 3


@pytest.mark.parametrize("jump_s", [-86400.0, 86400.0])
def test_a_clock_that_jumps_changes_no_limit_and_no_duration(
    monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    now = time.time

    def reply(connection: socket.socket) -> None:
        monkeypatch.setattr(time, "time", lambda: now() + jump_s)
        connection.sendall(WHOLE)

    with fake_target(reply) as target:
        client = HttpRagClient(TargetSettings(url=target.url, retries=0))
        found = client.ask_result(AskRequest(question="q"))
        client.close()
    assert found.error is None
    assert found.total_ms is not None
    assert 0 <= found.total_ms < 10_000


def test_many_hostile_replies_at_once_leave_no_thread_and_no_connection() -> None:
    before = threading.active_count()
    with hostile_server() as server:
        found: dict[str, Any] = {}
        threads = [
            threading.Thread(target=lambda n=name: found.update({n: asked(server.url, n)[0]}))
            for name in BEHAVIOURS
            if "timeout" in BEHAVIOURS[name].kinds
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG_S)
        assert set(found.values()) <= {"timeout", "protocol", "connection"}
        assert len(found) == len(threads)
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    assert threading.active_count() <= before
