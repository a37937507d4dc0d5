"""The server without the pages of a command."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pytest_rageval.authoring.loopback import GuardedServer, json_body
from pytest_rageval.values.errors import ConfigError
from tests.authoring.labelling.builders import file_session, serving, write_cases
from tests.build.key_pages import Served, admitted


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


# --- admission of browsers, over HTTP on the loopback interface

PRESS = {"key": "space", "revision": 0}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(file_session(write_cases(tmp_path / "cases.jsonl"))) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, httpx.Client]]:
    """A page and a browser that was let in, for what changes nothing."""
    path = write_cases(tmp_path_factory.mktemp("page") / "cases.jsonl")
    with serving(file_session(path)) as found, admitted(found) as client:
        yield found, client
        assert found.session.marking.draft.golds == ()


def post(client: httpx.Client, **headers: str) -> httpx.Response:
    """Press a key as the page does, but for some headers; an empty one is left out."""
    given = {"Origin": "/".join(str(client.base_url).split("/")[:3])}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in given.items() if value}
    return client.post("/key", json=PRESS, headers=sent)


# --- token and cookie ----------------------------------------------------------------------------


def test_a_token_is_exchanged_for_a_strict_cookie(served: Served) -> None:
    reply = httpx.get(served.address)
    assert reply.status_code == 200
    assert "How often does the queue retry?" in reply.text
    name, *attributes = reply.headers["Set-Cookie"].split("; ")
    folder = served.base.removeprefix(served.origin)
    assert len(folder) == 44
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", f"Path={folder}/"}
    assert name.startswith(f"rageval-label-{served.port}=")
    assert served.address.rpartition("=")[2] not in reply.headers["Set-Cookie"]


def test_the_cookie_is_not_sent_outside_the_folder_and_admits_nobody_there(served: Served) -> None:
    with admitted(served) as client:
        cookie = client.get("/").request.headers["Cookie"]
        elsewhere = client.get(f"{served.origin}/")
    assert "Cookie" not in elsewhere.request.headers
    for path in ("", "/", "/x/", "/key"):
        reply = httpx.get(f"{served.origin}{path}", headers={"Cookie": cookie})
        assert (reply.status_code, "Open the address" in reply.text) == (401, True)


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=%C3%A9%00", "?Token=x"])
def test_without_the_token_there_is_nothing(served: Served, query: str) -> None:
    reply = httpx.get(f"{served.base}/{query}")
    assert reply.status_code == 401
    assert "Set-Cookie" not in reply.headers
    assert "queue" not in reply.text
    assert "Open the address that the terminal shows" in reply.text
    assert len(served.addresses) == 1
    assert httpx.get(served.address).status_code == 200


def test_a_used_token_is_refused_and_the_terminal_shows_one_new_one(served: Served) -> None:
    first = served.address
    assert httpx.get(first).status_code == 200
    for _ in range(3):
        reply = httpx.get(first)
        assert reply.status_code == 401
        assert "used already" in reply.text
    assert len(served.addresses) == 2
    assert served.address != first
    assert httpx.get(served.address).status_code == 200
    assert httpx.get(served.addresses[1]).status_code == 401
    assert len(served.addresses) == 3


@pytest.mark.parametrize("path", ["/", "/key", "/nothing"])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT"])
def test_without_the_cookie_nothing_is_answered(
    untouched: tuple[Served, httpx.Client], method: str, path: str
) -> None:
    served, _ = untouched
    token = served.address.partition("?")[2] if (method, path) != ("GET", "/") else ""
    cookie = {"Cookie": f"rageval-label-{served.port}=wrong; rageval-label={'x' * 43}"}
    for headers in ({}, cookie):
        reply = httpx.request(
            method, f"{served.base}{path}?{token}", headers={"Origin": served.origin, **headers}
        )
        assert reply.status_code == 401


# --- other names and other pages -----------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.2",
     "evil@127.0.0.1", "127.0.0.1:80:80", "127.0.0.1:x", "[::1]", "127.0.0.1,evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused(untouched: tuple[Served, httpx.Client], host: str) -> None:
    served, client = untouched
    for path in ("/", served.address):
        reply = client.get(path, headers={"Host": host})
        assert (reply.status_code, "Set-Cookie" in reply.headers) == (400, False)
    assert post(client, Host=host, Origin=f"http://{host}").status_code == 400


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:1", "http://localhost", "file://"],
)
def test_a_page_of_another_origin_is_refused(
    untouched: tuple[Served, httpx.Client], origin: str
) -> None:
    assert post(untouched[1], Origin=origin).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_page_of_another_site_is_refused(
    untouched: tuple[Served, httpx.Client], site: str
) -> None:
    assert post(untouched[1], Sec_Fetch_Site=site).status_code == 403


# --- replies -------------------------------------------------------------------------------------


def test_every_reply_keeps_other_pages_out(served: Served) -> None:
    with admitted(served) as client:
        replies = [
            client.get("/"),
            post(client),
            client.get("/nothing"),
            httpx.get(served.origin),
            client.get("/", headers={"Host": "evil.example"}),
        ]
    assert [reply.status_code for reply in replies] == [200, 200, 404, 401, 400]
    for reply in replies:
        headers = reply.headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "Server" not in headers


def test_the_policy_allows_the_script_and_style_of_the_page_alone(
    untouched: tuple[Served, httpx.Client],
) -> None:
    reply = untouched[1].get("/")
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", reply.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in reply.headers["Content-Security-Policy"]
    assert "unsafe" not in reply.headers["Content-Security-Policy"]
    assert re.findall(r"\s(?:on\w+|style|src|action)=", reply.text) == []


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b"x", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"key": 1, "revision": 0}', "application/json", 400),
        (b'{"key": "j", "revision": true}', "application/json", 400),
        (b'{"key": "j", "revision": 0, "text": null}', "application/json", 400),
        (b'{"key": "j", "revision": 0}', "text/plain", 415),
        (b'{"key": "j", "revision": 0}', "application/x-www-form-urlencoded", 415),
        (b'{"key": "' + b"x" * 200_000 + b'", "revision": 0}', "application/json", 413),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_key_changes_nothing(
    untouched: tuple[Served, httpx.Client], content: bytes, kind: str, status: int
) -> None:
    served, client = untouched
    reply = client.post(
        "/key", content=content, headers={"Origin": served.origin, "Content-Type": kind}
    )
    assert reply.status_code == status
    assert reply.text.count("\n") == 1
    assert served.session.marking.draft.golds == ()


# --- the socket ----------------------------------------------------------------------------------


def test_only_the_loopback_address_listens(untouched: tuple[Served, httpx.Client]) -> None:
    served, _ = untouched
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", served.port), timeout=5)
    with pytest.raises(OSError, match=r"refused|not supported|assign|unreachable"):
        socket.create_connection(("::1", served.port), timeout=5)
