"""The server without the pages of a command."""

from __future__ import annotations

import threading

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pytest_rageval.authoring.loopback import GuardedServer, json_body
from pytest_rageval.values.errors import ConfigError


async def length(request: Request) -> Response:
    if request.method == "GET":
        return PlainTextResponse("0")
    body = await json_body(request, 10, str)
    return body if isinstance(body, Response) else PlainTextResponse(str(len(body)))


def test_a_body_is_read_up_to_a_length_and_two_servers_do_not_share_a_port() -> None:
    app = Starlette(routes=[Route("/", length, methods=["GET", "POST"])])
    started, addresses = threading.Event(), list[str]()

    def announce(address: str) -> None:
        addresses.append(address)
        started.set()

    server = GuardedServer(app, name="test", port=0, announce=announce)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(10)
    base = addresses[0].partition("/?")[0]
    origin = base.rpartition("/")[0]
    headers = {"Origin": origin, "Content-Type": "application/json; charset=utf-8"}
    with httpx.Client(headers=headers) as client:
        assert client.get(addresses[0]).text == "0"
        assert client.post(f"{base}/", content=b'"12345678"').text == "8"
        long = client.post(f"{base}/", content=b"x" * 11)
        assert (long.status_code, long.text) == (413, "the text is too long\n")
        odd = client.post(f"{base}/", content=b"[]")
        assert (odd.status_code, odd.text.startswith("not a request of this page")) == (400, True)
        other = client.post(f"{base}/", headers={"Content-Type": "text/plain"})
        assert (other.status_code, other.text) == (415, "expected application/json\n")
    with pytest.raises(ConfigError, match=r"--port: .*cannot be used"):
        GuardedServer(app, name="other", port=server.port, announce=print)
    server.stop()
    thread.join(10)
    assert server.stopping
    assert not thread.is_alive()
