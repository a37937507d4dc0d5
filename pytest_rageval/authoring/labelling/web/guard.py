"""Who may speak to the page: only the browser that was shown the address in the terminal.

A name that somebody else points at 127.0.0.1 is refused (``Host``), so is a request that another
page makes (``Origin``, ``Sec-Fetch-Site``), and whoever has not the cookie, which is given out once
for each token. Every reply carries the headers that keep other pages from reading or framing it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Any port: behind a tunnel the browser knows another one than we do.
_HOST: Final = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?", re.IGNORECASE)
HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A stricter policy would take the Origin away from forms, which is what the guard looks at.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every reply."""
_NO_CONTENT: Final = "default-src 'none'; frame-ancestors 'none'"
"""Policy of a reply that brings none of its own."""
_SECRET_BYTES: Final = 32

WRONG_HOST: Final = "This name is not served here: open the address that the terminal shows.\n"
FOREIGN_PAGE: Final = "Another page asked for this; only the page that is served here may.\n"
NOT_KNOWN: Final = "Open the address that the terminal shows: its token is missing or wrong.\n"
USED_UP: Final = "This address was used already. The terminal shows a new one.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request is not answered."""

    status: HTTPStatus
    sentence: str


@dataclass(slots=True)
class Entrance:
    """The tokens that let a browser in, each once, and the cookie that it is then known by."""

    cookie_name: str
    """Browsers send the cookies of one host to all of its ports: the name tells servers apart."""
    on_used: Callable[[str], None]
    """Called with a new token when somebody brings one that was used."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES))
    _used: set[str] = field(default_factory=set)

    def knows(self, cookie: str | None) -> bool:
        """Tell whether a browser was let in before."""
        return cookie is not None and _equal(cookie, self.cookie)

    def spend(self, token: str | None) -> None:
        """Use up a token that a browser brings which is known already."""
        if token is not None and _equal(token, self.token):
            self._used.add(self.token)

    def exchange(self, token: str | None) -> Refusal | None:
        """Use up a token; None: it was good, and the browser gets the cookie."""
        if token is None:
            return Refusal(status=HTTPStatus.UNAUTHORIZED, sentence=NOT_KNOWN)
        if any(_equal(token, used) for used in self._used):
            if self.token in self._used:  # else the terminal shows one that is still good
                self.token = secrets.token_urlsafe(_SECRET_BYTES)
                self.on_used(self.token)
            return Refusal(status=HTTPStatus.UNAUTHORIZED, sentence=USED_UP)
        if not _equal(token, self.token):
            return Refusal(status=HTTPStatus.UNAUTHORIZED, sentence=NOT_KNOWN)
        self._used.add(self.token)
        return None

    def cookie_header(self) -> str:
        """Return the value of ``Set-Cookie`` that makes a browser known until it is closed."""
        return f"{self.cookie_name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"


def _equal(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode("utf-8"))


class Guard:
    """Stands before an app and lets nobody else in.

    Args:
        app: answers whoever may ask.
        entrance: knows who may.
    """

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._entrance = entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":  # the server offers nothing else
            return
        request = Request(scope, receive)
        refusal, cookie = self._decide(request)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                _harden(MutableHeaders(scope=message), cookie)
            await send(message)

        answer: ASGIApp = self._app
        if refusal is not None:
            answer = PlainTextResponse(refusal.sentence, status_code=refusal.status)
        await answer(scope, receive, send_safely)

    def _decide(self, request: Request) -> tuple[Refusal | None, str | None]:
        """Return why a request is refused, if it is, and the cookie to set, if one is."""
        refusal = foreign(request.method, request.headers)
        if refusal is not None:
            return refusal, None
        entrance = self._entrance
        asks_for_page = request.method == "GET" and request.url.path == "/"
        token = request.query_params.get("token") if asks_for_page else None
        if entrance.knows(request.cookies.get(entrance.cookie_name)):
            entrance.spend(token)
            return None, None
        refusal = entrance.exchange(token)
        return refusal, entrance.cookie_header() if refusal is None else None


def foreign(method: str, headers: Mapping[str, str]) -> Refusal | None:
    """Say why a request comes from elsewhere than the page; None: it does not.

    Args:
        method: of the request.
        headers: of the request, looked up in lower case.
    """
    host = headers.get("host", "")
    if _HOST.fullmatch(host) is None:
        return Refusal(status=HTTPStatus.BAD_REQUEST, sentence=WRONG_HOST)
    origin = headers.get("origin")
    refusal = Refusal(status=HTTPStatus.FORBIDDEN, sentence=FOREIGN_PAGE)
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return refusal
    if method in {"GET", "HEAD"}:
        # A link in a terminal that is itself a page comes from elsewhere: the token decides.
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
