"""A client of one server over HTTP/1.1: requests as bytes, replies as far as their heads, bodies.

``http.client`` reads the replies. vcrpy, which records and replays, puts its own classes into that
module; requests are then sent through those.
"""

from __future__ import annotations

import http.client
import re
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import Message
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, urlsplit

from pytest_rageval.support.http.address import HEADER_NAME
from pytest_rageval.support.http.connection import Route, Socket, TransportError, faults
from pytest_rageval.support.http.pool import Pool
from pytest_rageval.values.dataclass import dataclass

_HEADERS: Final = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "User-Agent": "pytest-rageval",
}
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE"})
_PIECE_BYTES: Final = 64 * 1024
_WBITS: Final = {
    "gzip": 16 + zlib.MAX_WBITS,
    "x-gzip": 16 + zlib.MAX_WBITS,
    "deflate": zlib.MAX_WBITS,
}
"""Format of each compression for zlib."""
_CLOSED: Final = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_LONE_PERCENT: Final = "%(?![0-9A-Fa-f]{2})"
_NOT_IN_PATH: Final = re.compile(rf"{_LONE_PERCENT}|[^!$-;=@-_a-z|~]")
_NOT_IN_QUERY: Final = re.compile(rf"{_LONE_PERCENT}|[^!$-;=?-~]")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A reply as far as its head, with the pieces of its body to come."""

    status: int
    headers: Message
    pieces: Iterator[bytes]
    """Pieces of the body as they are received, compressed as they come."""
    live: bool = True
    """Whether the body comes from the network, and was not read before."""

    @property
    def content_type(self) -> str:
        """Value of the header; empty: there is none."""
        return str(self.headers.get("content-type", ""))

    @property
    def is_delimited(self) -> bool:
        """Whether HTTP marks the end of the body."""
        named = ("content-length", "transfer-encoding")
        return not self.live or any(name in self.headers for name in named)

    def decoded(self) -> Iterator[bytes]:
        """Return the pieces of the body without compression.

        They raise ``TransportError`` where the body breaks off or cannot be decoded.
        """
        pieces = self.pieces
        codings = ",".join(self.headers.get_all("content-encoding", []))
        for coding in reversed(codings.split(",")):
            if wbits := _WBITS.get(coding.strip().lower()):
                pieces = _inflated(pieces, wbits)
        return pieces


class Client:
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
        self._headers = _merged(own, headers)
        self._authorization = {"Authorization": authorization} if authorization else {}
        self._pool = Pool(keepalive_s)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    @contextmanager
    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Iterator[Incoming]:
        """Send a request, and yield its reply as far as its head.

        Raises:
            TransportError: there is no such reply.
        """
        own = self._authorization
        if content or method not in _WITHOUT_BODY:
            own = {**own, "Content-Length": str(len(content))}
        headers = _merged(self._headers, headers, own)
        if http.client.HTTPConnection.__module__ != "http.client":
            yield self._recorded(method, url, headers, content)
            return
        target = _target(url, absolute=self._route.forwards)
        message = _message(method, target, headers, content)
        generation = self._pool.generation
        sock, reply = self._sent(method, message)
        whole = False
        try:
            yield Incoming(reply.status, reply.headers, _pieces(sock, reply))
            whole = reply.isclosed() or reply.length == 0
        finally:
            reply.close()
            if whole and not reply.will_close:
                self._pool.give(sock, generation)
            else:
                sock.close()

    def _sent(self, method: str, message: bytes) -> tuple[Socket, http.client.HTTPResponse]:
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
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Incoming:
        """Send a request by the class that vcrpy put in place of the library's, or replay it."""
        route = self._route
        # Of other addresses than these vcrpy makes a wrong URL.
        target = _target(url, absolute=route.forwards or ":" in route.host)
        kind: Any = http.client.HTTPSConnection if route.tls else http.client.HTTPConnection
        options = {"context": route.tls} if route.tls else {}
        place = route.first_place if route.forwards else (route.host, route.port)
        connection = kind(*place, **options)

        def connect() -> None:
            connection.sock = route.connect()

        connection.connect = connect
        try:
            with faults("Read"):
                connection.request(method, target, body=content, headers=headers)
                reply = connection.getresponse()
                return Incoming(reply.status, reply.headers, iter([reply.read()]), live=False)
        finally:
            connection.close()


def _reply(sock: Socket, method: str, message: bytes) -> http.client.HTTPResponse:
    """Send a message and return its reply as far as its head."""
    sock.heard = sock.ended = False
    reply = http.client.HTTPResponse(sock, method=method)
    try:
        with faults("Write"), suppress(ConnectionError):  # the reply may tell the reason
            sock.sendall(message)
        with faults("Read"):
            reply.begin()
            while 102 <= reply.status < 200:  # such as early hints, before the reply itself
                reply.headers = None  # type: ignore[assignment]
                reply.begin()
            if sock.ended:  # which the library takes for the end of the head
                raise http.client.IncompleteRead(b"")
        coding = reply.headers.get("transfer-encoding", "chunked")
        if coding.lower() != "chunked":
            raise TransportError(
                "RemoteProtocolError", f"unknown Transfer-Encoding {coding[:40]!r}"
            )
    except BaseException:
        reply.close()
        sock.close()
        raise
    return reply


def _pieces(sock: Socket, reply: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the pieces of a body as they are received."""
    with faults("Read"):
        while reply.length != 0 and (piece := reply.read1(_PIECE_BYTES)):
            yield piece
        if reply.length or (reply.chunked and sock.ended):
            raise http.client.IncompleteRead(b"", reply.length)


def _inflated(pieces: Iterator[bytes], wbits: int) -> Iterator[bytes]:
    inflater, at_start = zlib.decompressobj(wbits), True
    for piece in pieces:
        while piece:
            try:
                # In bounded parts, of which the caller takes no more than it wants.
                yield inflater.decompress(piece, _PIECE_BYTES)
            except zlib.error as error:
                if not at_start or wbits != zlib.MAX_WBITS:
                    raise TransportError("DecodingError", str(error)) from error
                inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave out the header
                at_start = False
                continue
            at_start = False
            piece = inflater.unconsumed_tail
    yield inflater.flush()


def _merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Return headers, of which later ones replace earlier ones of the same name in any case."""
    found = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(found.values())


def _message(method: str, target: str, headers: Mapping[str, str], content: bytes) -> bytes:
    """Return a whole request as bytes."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable() and HEADER_NAME.fullmatch(name)):
            text = f"Illegal header {name!r}, or its value"  # which may be secret
            raise TransportError("LocalProtocolError", text)
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + content


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
