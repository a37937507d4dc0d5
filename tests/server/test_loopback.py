"""Slow and faulty clients of the server of every local page."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pytest_rageval.server.loopback import LoopbackServer, listen

HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


async def length(request: Request) -> Response:
    await asyncio.sleep(float(request.query_params.get("takes", 0)))
    if n_chars := int(request.query_params.get("chars", 0)):
        return PlainTextResponse("x" * n_chars)
    return PlainTextResponse(str(len(await request.body())))


@pytest.fixture
def port() -> Iterator[int]:
    started = threading.Event()
    app = Starlette(routes=[Route("/", length, methods=["GET", "POST"])])
    server = LoopbackServer(app, started.set)
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
