"""A server on a loopback socket that only a browser with the address from the terminal can use.

Refused are requests with another host name that resolves to 127.0.0.1 (``Host``), requests from
another page (``Origin``, ``Sec-Fetch-Site``), and requests without the cookie, which is issued once
per token. All pages are below a folder that nobody can guess, and so is the cookie: browsers send
those of a host to all of its ports, where another user may listen. Every reply carries headers that
keep other pages from reading or framing it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pytest_rageval.report.html.markup import visible
from pytest_rageval.server.loopback import HOST, LoopbackServer, listen
from pytest_rageval.values.errors import ConfigError

# Any port: behind a tunnel the browser uses another one.
_HOST: Final = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?", re.IGNORECASE)
HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A stricter policy would remove the Origin from forms, which the guard checks.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every reply."""
_NO_CONTENT: Final = "default-src 'none'; frame-ancestors 'none'"
"""Policy of a reply without one."""
_SECRET_BYTES: Final = 32

WRONG_HOST: Final = "This name is not served here: open the address that the terminal shows.\n"
FOREIGN_PAGE: Final = "Another page asked for this; only the page that is served here may.\n"
NOT_KNOWN: Final = "Open the address that the terminal shows: its token is missing or wrong.\n"
USED_UP: Final = "This address was used already. The terminal shows a new one.\n"


@dataclass(slots=True)
class Entrance:
    """The single-use tokens that admit a browser, and the cookie that identifies it afterwards."""

    cookie_name: str
    """Unique per server."""
    on_used: Callable[[str], None]
    """Called with a new token when a used one is presented."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES))
    folder: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES))
    """Of all pages, between two slashes."""
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES))
    _used: set[str] = field(default_factory=set)

    def knows(self, cookie: str | None) -> bool:
        """Whether a browser was admitted before."""
        return cookie is not None and _equal(cookie, self.cookie)

    def spend(self, token: str | None) -> None:
        """Use up a token presented by a browser that is already known."""
        if token is not None and _equal(token, self.token):
            self._used.add(self.token)

    def exchange(self, token: str | None) -> PlainTextResponse | None:
        """Use up a token, or refuse it; None: it was valid, and the browser gets the cookie."""
        if token is not None and any(_equal(token, used) for used in self._used):
            if self.token in self._used:  # otherwise the terminal shows one that is still valid
                self.token = secrets.token_urlsafe(_SECRET_BYTES)
                self.on_used(self.token)
            return PlainTextResponse(USED_UP, HTTPStatus.UNAUTHORIZED)
        if token is None or not _equal(token, self.token):
            return PlainTextResponse(NOT_KNOWN, HTTPStatus.UNAUTHORIZED)
        self._used.add(self.token)
        return None

    def cookie_header(self) -> str:
        """Return the ``Set-Cookie`` value that identifies a browser until it is closed."""
        return f"{self.cookie_name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/{self.folder}/"


def _equal(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode("utf-8"))


class Guard:
    """Wraps an app and refuses all other browsers."""

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._entrance = entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":  # the server supports nothing else
            return
        request = Request(scope, receive)
        refusal, cookie = self._decide(request)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                _harden(MutableHeaders(scope=message), cookie)
            await send(message)

        below = {**scope, "root_path": f"/{self._entrance.folder}"}
        await (refusal or self._app)(below, receive, send_safely)

    def _decide(self, request: Request) -> tuple[PlainTextResponse | None, str | None]:
        """Return the refusal of a request, if any, and the cookie to set, if any."""
        refusal = foreign(request.method, request.headers)
        if refusal is not None:
            return refusal, None
        entrance = self._entrance
        _, folder, *page = [*request.url.path.split("/", 2), ""]
        if not _equal(folder, entrance.folder):
            return PlainTextResponse(NOT_KNOWN, HTTPStatus.UNAUTHORIZED), None
        asks_for_page = request.method == "GET" and page[0] == ""
        token = request.query_params.get("token") if asks_for_page else None
        if entrance.knows(request.cookies.get(entrance.cookie_name)):
            entrance.spend(token)
            return None, None
        refusal = entrance.exchange(token)
        return refusal, entrance.cookie_header() if refusal is None else None


def foreign(method: str, headers: Headers) -> PlainTextResponse | None:
    """Return the refusal of a request from outside the page; None: it is from the page.

    Args:
        method: of the request.
        headers: of the request. One of those looked at that is given twice is refused, since
            programs differ in which of both they read.
    """
    host = headers.get("host", "")
    if _HOST.fullmatch(host) is None or len(headers.getlist("host")) > 1:
        return PlainTextResponse(WRONG_HOST, HTTPStatus.BAD_REQUEST)
    origin = headers.get("origin")
    refusal = PlainTextResponse(FOREIGN_PAGE, HTTPStatus.FORBIDDEN)
    if any(len(headers.getlist(name)) > 1 for name in ("origin", "sec-fetch-site")):
        return refusal
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return refusal
    if method in {"GET", "HEAD"}:
        # A link in a browser-based terminal comes from another page: the token decides.
        return None
    if origin is None or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return refusal
    return None


def _harden(headers: MutableHeaders, cookie: str | None) -> None:
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Content-Security-Policy", _NO_CONTENT)
    if cookie is not None:
        headers["Set-Cookie"] = cookie


_Body = TypeVar("_Body")


class GuardedServer:
    """Serves an app on 127.0.0.1; the socket is open from the start.

    Args:
        app: to serve, behind the guard.
        name: of the command, for its cookie.
        port: to listen on; 0 takes a free one.
        announce: is called once with each address that admits a browser; a new one is made when a
            used one is presented.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(
        self, app: ASGIApp, *, name: str, port: int, announce: Callable[[str], None]
    ) -> None:
        try:
            self._listener = listen(port)
        except OSError as error:
            where = f"{HOST}:{port}"
            raise ConfigError.of(f"--port: {where}", "unusable", reason=error.strerror) from error
        self.port: int = self._listener.getsockname()[1]
        self._entrance = Entrance(
            cookie_name=f"rageval-{name}-{self.port}", on_used=lambda _: announce(self.address)
        )
        guarded = Guard(app, self._entrance)
        self._server = LoopbackServer(guarded, lambda: announce(self.address))

    @property
    def address(self) -> str:
        """The address that admits one browser."""
        return f"http://{HOST}:{self.port}/{self._entrance.folder}/?token={self._entrance.token}"

    @property
    def stopping(self) -> bool:
        """Whether the server is about to end."""
        return self._server.should_exit

    def run(self) -> None:
        """Serve until ``stop`` is called.

        Raises:
            KeyboardInterrupt: Ctrl-C, after the requests in flight.
        """
        try:
            self._server.run([self._listener])
        finally:
            self._listener.close()

    def stop(self) -> None:
        """Finish requests in flight, then stop."""
        self._server.should_exit = True


async def json_body(request: Request, most: int, kind: type[_Body]) -> _Body | Response:
    """Return the body of a request that says it is JSON, of ``most`` bytes, or the refusal."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > most:
                return refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the text is too long")
        return msgspec.convert(json.loads(found), kind)
    except ClientDisconnect:
        return refused(HTTPStatus.BAD_REQUEST, "the request was cut short")
    except (ValueError, RecursionError) as error:
        return refused(HTTPStatus.BAD_REQUEST, f"not a request of this page: {error}")


def refused(status: HTTPStatus, sentence: str) -> Response:
    """Return the answer to a request that cannot be carried out."""
    return PlainTextResponse(f"{visible(sentence).rstrip()}\n", status_code=status)
