"""Slow clients and floods of connections at the server of every local page."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pytest_rageval.server import loopback
from pytest_rageval.server.loopback import LoopbackServer, listen

HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


async def length(request: Request) -> Response:
    await asyncio.sleep(float(request.query_params.get("takes", 0)))
    if n_chars := int(request.query_params.get("chars", 0)):
        return PlainTextResponse("x" * n_chars)
    return PlainTextResponse(str(len(await request.body())))


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(loopback, "SLOW_S", 0.2)
    started = threading.Event()
    app = Starlette(routes=[Route("/", length, methods=["GET", "POST"])])
    server = LoopbackServer(app, started.set)
    # Its backlog is that of more: what exceeds one is tried again after 1, 2, 4 and 8 seconds.
    monkeypatch.setattr(loopback, "MOST_CONNECTIONS", 20)
    with listen(0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        assert started.wait(10)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(10)


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server has ended a connection."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def refuses_at_last(connection: socket.socket, more: bytes) -> bool:
    """Send again and again; whether the server ends the connection within ten seconds."""
    with contextlib.suppress(ConnectionError):
        for _ in range(200):
            connection.sendall(more)
            threading.Event().wait(0.05)
        return False
    return True


@pytest.mark.parametrize(
    "begun",
    [b"", b"P", HEAD, HEAD + b"X-Slow: ", HEAD + b"Content-Length: 9\r\n\r\nabc"],
    ids=["nothing", "a letter", "a line", "a header", "a part of a body"],
)
def test_a_request_that_does_not_go_on_is_ended(port: int, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(begun)
        assert is_closed(connection)


def test_a_request_that_drips_is_ended(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD)
        assert refuses_at_last(connection, b"x")


def test_a_client_that_asks_and_never_reads_is_ended(port: int) -> None:
    asked = b"GET /?chars=1000000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(asked)
        assert refuses_at_last(connection, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def test_a_reply_that_is_read_slowly_arrives(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(10)
        asked = b"GET /?chars=9000000 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        connection.sendall(asked)
        n_read = 0
        while block := connection.recv(1 << 18):
            n_read += len(block)
            threading.Event().wait(0.03)
    assert n_read > 9_000_000


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 50\r\n\r\n{}",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"no header\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
    ],
)
def test_a_client_that_breaks_http_leaves_no_line(
    port: int, body: bytes, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD + body)
        connection.shutdown(socket.SHUT_WR)
        is_closed(connection)
    assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "0"
    printed = "".join([*capfd.readouterr(), caplog.text])
    assert "Traceback" not in printed
    assert "Invalid HTTP" not in printed


def test_an_answer_may_take_its_time(port: int) -> None:
    reply = httpx.post(f"http://127.0.0.1:{port}/?takes=1", content=b"abc", timeout=30)
    assert reply.text == "3"


def test_a_flood_of_connections_ends_and_the_next_request_is_answered(port: int) -> None:
    flood = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
    try:
        assert all(map(is_closed, flood))
    finally:
        for connection in flood:
            connection.close()
    assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "0"


@pytest.mark.skipif(os.name != "posix", reason="the system has no such limit")
@pytest.mark.parametrize(("files", "most"), [(24, 12), (256, 128), (4096, 512)])
def test_a_process_that_may_open_few_files_keeps_fewer_connections(files: int, most: int) -> None:
    code = (
        "import resource; hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1];"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, hard));"
        "from pytest_rageval.server.loopback import most_connections; print(most_connections())"
    )
    command = [sys.executable, "-c", code]
    assert int(subprocess.run(command, capture_output=True, check=True).stdout) == most
