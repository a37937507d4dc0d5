"""HTTP clients on the session's event loop: httpx over aiohttp, and the times of an exchange.

Both libraries are imported with this module, and this module with the first request.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import httpx
import yarl
from aiohttp.http_exceptions import LineTooLong
from httpx_aiohttp import AiohttpTransport

from pytest_rageval.support.http.bodies import Decoder, TransportError
from pytest_rageval.support.http.route import Route

if TYPE_CHECKING:
    pass


class Stopwatch:
    """Times of one exchange, noted on the loop.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._ended = clock()
        self.sent_at = time.time()
        """Time at which the request was sent, in seconds since 1970."""
        self.ends_at: float | None = None
        """Monotonic time at which the limit of the exchange has passed; None: no limit."""
        self.reply: httpx.Response | None = None
        """Reply of which the head was received, also where a library reads its body."""
        self.is_live = False
        """Whether a connection was used: the reply is not one from a cassette."""
        self.is_recorded = False
        """Whether the whole reply was received for a cassette before its first piece is read."""

    @property
    def elapsed_ms(self) -> float:
        """Time from sending the request to the last byte received."""
        return (self._ended - self._started) * 1000

    def check(self) -> None:
        """Raise a TimeoutError if the limit has passed: while the loop computes, no timer ends."""
        if self.ends_at is not None and time.monotonic() > self.ends_at:
            raise TimeoutError

    def sending(self) -> None:
        """Note that the request is sent now, after the connection was made."""
        self._started = self._ended = self._clock()
        self.sent_at = time.time()
        self.is_live = True

    def received(self) -> None:
        """Note that something was received, or that the exchange failed."""
        self._ended = self._clock()


WATCH: Final[ContextVar[Stopwatch]] = ContextVar("rageval_exchange")
"""Of the exchange that this task carries out."""
_url: Final[ContextVar[str]] = ContextVar("rageval_url")
"""That this task sends its request to."""
MAX_RECORDED_BYTES: Final = 16 * 1024 * 1024
_MAX_HEAD_LINE_BYTES: Final = 64 * 1024
_PIECE_BYTES: Final = 64 * 1024
_MAX_ERROR_BYTES: Final = 8 * 1024 * 1024
"""Of an error page, which the client of openai reads to its end."""
_MAX_WHOLE_BYTES: Final = 1024 * 1024

# Such a record holds the URL, and that may hold a key.
logging.getLogger("httpx").addFilter(lambda _: WATCH.get(None) is None)

_NAMES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TransportError, ""),
    (aiohttp.ConnectionTimeoutError, "ConnectTimeout"),
    (aiohttp.ServerTimeoutError, "ReadTimeout"),
    (aiohttp.ClientHttpProxyError, "ProxyError"),
    (aiohttp.ClientConnectorDNSError, "ResolveError"),
    (aiohttp.ClientConnectorError, "ConnectError"),
    (aiohttp.ClientPayloadError, "RemoteProtocolError"),
    (aiohttp.ServerDisconnectedError, "RemoteProtocolError"),
    (aiohttp.ClientResponseError, "RemoteProtocolError"),
    (aiohttp.InvalidURL, "InvalidURL"),
    (httpx.InvalidURL, "InvalidURL"),
    (httpx.UnsupportedProtocol, "UnsupportedProtocol"),
    (ssl.SSLError, "ConnectError"),
    (OSError, "ReadError"),
    (aiohttp.ClientError, "RemoteProtocolError"),
    (httpx.TimeoutException, "ReadTimeout"),
    (httpx.HTTPError, "RemoteProtocolError"),
    (UnicodeError, "ConnectError"),  # no name of a host can be encoded so
)
"""Name of a fault for the first type that an error, or what caused it, is of."""


def fault_of(error: BaseException) -> TransportError | None:
    """Return an error of either library, or its cause, as ours; None: it is another's."""
    causes, cause = [], error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__  # type: ignore[assignment]
    for kind, name in _NAMES:
        for found in causes:
            if isinstance(found, TransportError):
                return found
            if isinstance(found, kind):
                return _named(name, found)
    return None


def _named(name: str, error: BaseException) -> TransportError:
    reason: BaseException = getattr(error, "os_error", None) or error
    text = str(reason) or type(reason).__name__
    if isinstance(error, aiohttp.ClientResponseError):
        text = f"{error.status} {error.message}" if name == "ProxyError" else error.message
        if isinstance(error.__cause__, LineTooLong) or "more than" in text or "Too many" in text:
            name = "HeadTooLarge"
    fault = TransportError(name, text)
    fault.__cause__ = reason
    return fault


def open_http(route: Route) -> httpx.AsyncClient:
    """Open a client on the running loop; close it there.

    Redirects are not followed: one turns POST into GET (301 to 303) or carries headers to another
    host. Cookies are not kept, which would make scores depend on the order of requests.
    """
    connector = aiohttp.TCPConnector(
        limit=0, ssl=route.tls or False, keepalive_timeout=route.keepalive_s
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        request_class=_Request,
        response_class=_Response,
        trace_configs=[_tracing()],
        max_line_size=_MAX_HEAD_LINE_BYTES,
        max_field_size=_MAX_HEAD_LINE_BYTES,
    )
    proxy = httpx.Proxy(route.proxy, headers=route.proxy_headers) if route.proxy else None
    return httpx.AsyncClient(
        transport=_Transport(client=session, proxy=proxy, verify=False),
        headers=route.headers,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(
            route.read_s, connect=route.connect_s, write=None, pool=route.connect_s
        ),
        trust_env=False,
    )


class _Request(aiohttp.ClientRequest):
    """A request to a URL as it was given: aiohttp would decode some escapes, such as ``%3F``."""

    def __init__(self, method: str, url: yarl.URL, **options: Any) -> None:
        super().__init__(method, yarl.URL(_url.get(), encoded=True), **options)


def _tracing() -> aiohttp.TraceConfig:
    async def connected(_: object, context: SimpleNamespace, __: object) -> None:
        WATCH.get().sending()

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_create_end.append(connected)
    tracing.on_connection_reuseconn.append(connected)
    return tracing


class _Response(aiohttp.ClientResponse):
    """A response of which vcrpy, which records it as a whole, reads no more than a limit."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        await super().start(connection)
        # One of other letters than those of UTF-8 could not be encoded by httpx-aiohttp.
        self.reason = (self.reason or "").encode("ascii", "replace").decode()
        return self

    async def read(self) -> bytes:
        WATCH.get().is_recorded = True
        body = bytearray()
        async for piece in self.content.iter_chunked(_PIECE_BYTES):
            body += piece
            if len(body) > MAX_RECORDED_BYTES:
                self.close()
                raise TransportError("ReplyTooLarge", "more than is recorded")
        self._body = bytes(body)
        return self._body


class _Transport(AiohttpTransport):
    """Unpacks bodies in bounded pieces."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        _url.set(str(request.url))
        if len(request.content) > _MAX_WHOLE_BYTES:  # aiohttp warns of more in one piece
            request = httpx.Request(
                request.method,
                request.url,
                headers=request.headers,
                content=_pieces(request.content),
                extensions=request.extensions,
            )
        reply = await super().handle_async_request(request)
        codings = ",".join(reply.headers.get_list("content-encoding"))
        reply.headers.pop("content-encoding", None)
        assert isinstance(reply.stream, httpx.AsyncByteStream)
        reply.stream = _Body(reply.stream, codings, None if reply.is_success else _MAX_ERROR_BYTES)
        WATCH.get().reply = reply
        return reply


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(content), _PIECE_BYTES):
        yield content[at : at + _PIECE_BYTES]


class _Body(httpx.AsyncByteStream):
    def __init__(self, packed: httpx.AsyncByteStream, codings: str, limit: int | None) -> None:
        self._packed, self._codings, self._limit = packed, codings, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder, n_read = Decoder(self._codings), 0
        async for packed in self._packed:
            WATCH.get().received()
            for piece in decoder.feed(packed):
                yield piece
                n_read += len(piece)
                if self._limit is not None and n_read > self._limit:
                    return
                await asyncio.sleep(0)  # others have their turn, where gigabytes follow from little

    async def aclose(self) -> None:
        await self._packed.aclose()
