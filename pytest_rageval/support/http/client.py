"""A client of one server over HTTP/1.1: requests as bytes, replies as far as their heads, bodies.

vcrpy, which records and replays, puts its own classes into the library's ``http.client``; requests
are then sent through those.
"""

from __future__ import annotations

import re
import socket
import ssl
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, urlsplit

from pytest_rageval.support.closing import Closing
from pytest_rageval.support.http.address import HEADER_NAME, is_sendable
from pytest_rageval.support.http.connection import Socket, TransportError, faults
from pytest_rageval.support.http.pool import Pool
from pytest_rageval.support.http.reading import MAX_HEAD_BYTES, Incoming, Reader, named, parts
from pytest_rageval.support.http.route import Route

_HEADERS: Final = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "User-Agent": "pytest-rageval",
}
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE"})
_CLOSED: Final = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_LONE_PERCENT: Final = "%(?![0-9A-Fa-f]{2})"
_NOT_IN_PATH: Final = re.compile(rf"{_LONE_PERCENT}|[^!$-;=@-_a-z|~]")
_NOT_IN_QUERY: Final = re.compile(rf"{_LONE_PERCENT}|[^!$-;=?-~]")


class Client(Closing):
    """Client of one server; safe to share between threads, and usable again after it was closed.

    Redirects are not followed: one turns POST into GET (301 to 303) or carries headers to another
    host. Cookies are not kept, which would make scores depend on the order of requests.

    Args:
        route: way to the server.
        headers: sent with every request.
        authorization: value of this header, which replaces any other; empty: there is none.
        keepalive_s: time after which an idle connection is closed.
    """

    def __init__(
        self, route: Route, headers: Mapping[str, str], authorization: str, keepalive_s: float
    ) -> None:
        self._route = route
        own = {"Host": route.authority, **_HEADERS}
        if route.forwards and route.proxy_authorization:
            own["Proxy-Authorization"] = route.proxy_authorization
        self._headers = _by_name(own, headers)
        self._authorization = {"Authorization": authorization} if authorization else {}
        self._pool = Pool(keepalive_s)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes, max_bytes: int
    ) -> Incoming:
        """Send a request, and return its reply as far as its head.

        Args:
            method: of the request.
            url: with path and query.
            headers: in addition to those of the client.
            content: its body.
            max_bytes: maximum of a reply that is read here, since it is recorded as a whole.

        Raises:
            TransportError: there is no such reply.
        """
        own = self._authorization
        if content or method not in _WITHOUT_BODY:
            own = {**own, "Content-Length": str(len(content))}
        headers = dict({**self._headers, **_by_name(headers, own)}.values())
        library = sys.modules.get("http.client")
        if library is not None and library.HTTPConnection.__module__ != "http.client":
            return self._recorded(method, url, headers, content, max_bytes)
        message = _message(method, _target(url, absolute=self._route.forwards), headers, content)
        generation = self._pool.generation
        sock, reader = self._sent(method, message)

        def close() -> None:
            if reader.is_whole:
                self._pool.give(sock, generation)
            else:
                sock.close()

        return Incoming(reader.status, reader.headers, reader.pieces(), close)

    def _sent(self, method: str, message: bytes) -> tuple[Socket, Reader]:
        sock = self._pool.take()
        if sock is not None:
            try:
                return sock, _reply(sock, method, message)
            except TransportError as error:
                # The server may have read and answered what was sent, before it hung up.
                if sock.heard or sock.delivered or not isinstance(error.__cause__, _CLOSED):
                    raise
        sock = self._route.connect()
        return sock, _reply(sock, method, message)

    def _recorded(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes, max_bytes: int
    ) -> Incoming:
        """Send a request by the class that vcrpy put in place of the library's, or replay it."""
        route = self._route
        # Of other addresses than these vcrpy makes a wrong URL.
        target = _target(url, absolute=route.forwards or ":" in route.host)
        library: Any = sys.modules["http.client"]
        kind = library.HTTPSConnection if route.tls else library.HTTPConnection
        options = {"context": route.tls} if route.tls else {}
        place = route.first_place if route.forwards else (route.host, route.port)
        connection = kind(*place, **options)

        sock: Socket | None = None

        def connect() -> None:
            nonlocal sock
            connection.sock = sock = route.connect()
            sock.room = max_bytes + MAX_HEAD_BYTES

        connection.connect = connect
        try:
            with faults("Read"):
                connection.request(method, target, body=content, headers=headers)
                reply = connection.getresponse()
                return Incoming(reply.status, named(reply.headers.items()), parts(reply.read()))
        finally:
            connection.close()
            if sock is not None and sock.fileno() != -1:  # held by a reply that broke off
                socket.close(sock.detach())


def _reply(sock: Socket, method: str, message: bytes) -> Reader:
    """Send a message and return its reply as far as its head."""
    sock.heard = False
    reader = Reader(sock, method)
    try:
        with faults("Write"), suppress(ConnectionError):  # the reply may tell the reason
            sock.sendall(message)
        reader.read_head()
    except BaseException:
        sock.close()
        raise
    return reader


def _by_name(*parts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return headers by name in lower case: later ones replace earlier ones of the same name."""
    return {name.lower(): (name, value) for part in parts for name, value in part.items()}


def _message(method: str, target: str, headers: Mapping[str, str], content: bytes) -> bytes:
    """Return a whole request as bytes."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += map(_line, headers.keys(), headers.values())
    return "\r\n".join([*lines, "", ""]).encode("ascii") + content


@lru_cache(maxsize=64)
def _line(name: str, value: str) -> str:
    if not (is_sendable(value) and HEADER_NAME.fullmatch(name)):
        text = f"Illegal header {name!r}, or its value"  # which may be secret
        raise TransportError("LocalProtocolError", text)
    return f"{name}: {value}"


@lru_cache(maxsize=64)
def _target(url: str, *, absolute: bool) -> str:
    """Return path and query of a URL, or all of it, with what no request may hold encoded."""
    parts = urlsplit(url)
    path = _NOT_IN_PATH.sub(_percent, parts.path or "/")
    if parts.query:
        path += f"?{_NOT_IN_QUERY.sub(_percent, parts.query)}"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}" if absolute else path


def _percent(match: re.Match[str]) -> str:
    return quote(match[0], safe="", errors="replace")
