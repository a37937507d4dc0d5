"""Ways to a server: TLS, proxies, and their faults, over real sockets."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pytest_rageval.support.http.address import Address, join_url
from pytest_rageval.support.http.exchange import Reply, Request, open_client
from pytest_rageval.values.errors import ConfigError
from tests.build.asking import exchanged
from tests.build.targets import Received, accepting, fake_target, http_reply, read_request

TLS = Path(__file__).parents[2] / "data" / "tls"
"""A certificate for localhost and rag.test, signed by itself, its key, and one that has expired."""
BODY = b'{"answer": "Monthly."}'


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "certificate.pem"))


def server_context(certificate: str = "localhost.pem") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@contextmanager
def tls_target(
    reply: bytes = http_reply(BODY), certificate: str = "localhost.pem"
) -> Iterator[tuple[int, list[Received]]]:
    """Serve over TLS: connections stay open for two requests."""
    received: list[Received] = []
    context = server_context(certificate)

    def answer(connection: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
            for _ in range(2):
                received.append(read_request(secured))
                secured.sendall(reply)

    with accepting(answer) as port:
        yield port, received


def asked(address: Address, content: bytes = b"{}") -> Reply:
    with open_client(address, headers={}, connect_s=10, read_s=10) as http:
        return exchanged(http, Request(address=address, content=content, limit_s=30))


def fault_of(reply: Reply) -> tuple[str, str]:
    assert reply.fault is not None
    return reply.fault.name, str(reply.fault)


# --- TLS -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 2**20])
def test_a_request_and_its_reply_pass_through_tls(size: int) -> None:
    body = b"b" * size
    with tls_target(http_reply(body).replace(b"Connection: close\r\n", b"")) as (port, received):
        address = join_url(f"https://localhost:{port}", "/ask")
        with open_client(address, headers={}) as http:
            for content in (b"q" * size, b"again"):
                request = Request(address=address, content=content, limit_s=30)
                reply = exchanged(http, request)
                assert (reply.status, reply.body, reply.fault) == (200, body, None)
                assert request.watch.elapsed_ms > 0
    assert [one.body for one in received] == [b"q" * size, b"again"]
    assert received[0].headers["host"] == f"localhost:{port}"


def test_a_certificate_of_nobody_known_is_a_connect_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with tls_target() as (port, received):
        name, text = fault_of(asked(join_url(f"https://localhost:{port}", "/ask")))
    assert name == "ConnectError"
    assert "CERTIFICATE_VERIFY_FAILED" in text
    assert received == []


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_an_error_of_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(ConfigError) as caught:
        open_client(join_url("https://localhost:1", "/ask"), headers={})
    assert str(caught.value).startswith(f"SSL_CERT_FILE: {file}: cannot be read: ")


def test_a_certificate_for_another_host_is_a_connect_error() -> None:
    with tls_target() as (port, _):
        name, text = fault_of(asked(join_url(f"https://sub.localhost:{port}", "/ask")))
    assert name in {"ConnectError", "ResolveError"}
    assert "CERTIFICATE_VERIFY_FAILED" in text or "not known" in text


def test_a_server_without_tls_is_a_connect_error() -> None:
    def refuse(connection: socket.socket) -> None:
        with connection:
            connection.recv(1)
            connection.sendall(http_reply(b"", "400 Bad Request"))

    with accepting(refuse) as port:
        name, _ = fault_of(asked(join_url(f"https://127.0.0.1:{port}", "/ask")))
    assert name == "ConnectError"


def test_a_server_that_never_shakes_hands_is_a_connect_timeout() -> None:
    over = threading.Event()

    def silent(connection: socket.socket) -> None:
        with connection:
            over.wait(5)

    with accepting(silent) as port:
        address = join_url(f"https://127.0.0.1:{port}", "/ask")
        with open_client(address, headers={}, connect_s=0.1) as http:
            name, _ = fault_of(exchanged(http, Request(address=address, content=b"")))
        over.set()
    assert name == "ConnectTimeout"


# --- proxies -------------------------------------------------------------------------------


@contextmanager
def tunnel(port: int, status: str = "200 OK") -> Iterator[tuple[int, list[Received]]]:
    """A proxy that connects every CONNECT to one port."""
    received: list[Received] = []

    def pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def answer(connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", port)) as server:
            received.append(read_request(connection))
            connection.sendall(f"HTTP/1.1 {status}\r\nX-Proxy: 1\r\n\r\n".encode())
            back = threading.Thread(target=pass_on, args=(server, connection), daemon=True)
            back.start()
            pass_on(connection, server)
            back.join(5)

    with accepting(answer) as proxy_port:
        yield proxy_port, received


def test_tls_goes_through_a_tunnel_of_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with tls_target() as (port, received), tunnel(port) as (proxy_port, asked_for):
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:pa%40ss@127.0.0.1:{proxy_port}")
        assert asked(join_url("https://rag.test", "/ask?q=1")).body == BODY
    assert asked_for[0].line == "CONNECT rag.test:443 HTTP/1.1"
    credentials = base64.b64encode(b"ann:pa@ss").decode()
    assert asked_for[0].headers["proxy-authorization"] == f"Basic {credentials}"
    assert received[0].line == "POST /ask?q=1 HTTP/1.1"
    assert received[0].headers["host"] == "rag.test"
    assert "proxy-authorization" not in received[0].headers


def test_a_proxy_that_refuses_a_tunnel_is_named_with_its_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tls_target() as (port, received), tunnel(port, "407 Who are you") as (proxy_port, _):
        monkeypatch.setenv("ALL_PROXY", f"127.0.0.1:{proxy_port}")
        assert fault_of(asked(join_url("https://rag.test", "/ask"))) == (
            "ProxyError",
            "407 Who are you",
        )
    assert received == []


def test_a_proxy_that_does_not_answer_meets_the_limit_of_connecting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()

    def silent(connection: socket.socket) -> None:
        with connection:
            over.wait(5)

    with accepting(silent) as proxy_port:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy_port}")
        address = join_url("https://rag.test", "/ask")
        with open_client(address, headers={}, connect_s=0.1) as http:
            name, _ = fault_of(exchanged(http, Request(address=address, content=b"")))
        over.set()
    assert name == "ConnectTimeout"


def test_plain_http_is_handed_to_the_proxy_with_its_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with fake_target(http_reply(BODY)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://ann:pass@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://ann:pass@127.0.0.1:{proxy.port}")
        assert asked(join_url("http://bob:word@rag.test:8000", "/ask")).body == BODY
    (one,) = proxy.received
    assert one.line == "POST http://rag.test:8000/ask HTTP/1.1"
    assert one.headers["host"] == "rag.test:8000"
    assert base64.b64decode(one.headers["proxy-authorization"].split()[1]) == b"ann:pass"
    assert base64.b64decode(one.headers["authorization"].split()[1]) == b"bob:word"


@pytest.mark.parametrize("spared", ["rag.test", ".test", "*", "other.test, rag.test:8000"])
def test_no_proxy_is_used_for_a_host_that_is_spared(
    monkeypatch: pytest.MonkeyPatch, spared: str
) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    with fake_target(http_reply(BODY)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", spared)
        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        assert fault_of(asked(join_url("http://rag.test:8000", "/ask")))[0] == "ResolveError"
    assert proxy.received == []
