"""A client of one server, whose exchanges run on the session's event loop."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from pytest_rageval.support.http.address import HEADER_NAME, is_sendable
from pytest_rageval.support.http.bodies import TransportError
from pytest_rageval.support.http.route import Route
from pytest_rageval.support.process import Closing

if TYPE_CHECKING:
    import httpx

_LONE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_keeping: Final[set[asyncio.Task[None]]] = set()
"""One task for each open client: a loop that ends cancels it, and so closes the client."""


class Client(Closing):
    """Client of one server; usable again after it was closed.

    Args:
        route: way to the server.
        authorization: value of this header, which replaces any other; empty if absent.
    """

    def __init__(self, route: Route, authorization: str = "") -> None:
        self.route: Final = route
        self.authorization: Final = authorization
        self._open: tuple[asyncio.AbstractEventLoop, asyncio.Event, httpx.AsyncClient] | None = None

    async def opened(self) -> httpx.AsyncClient:
        """Return the client of the running loop, opened at first.

        Raises:
            TransportError: there is no way to the server.
        """
        if self.route.fault is not None:
            raise self.route.fault
        from pytest_rageval.support.http.transport import open_http

        loop = asyncio.get_running_loop()
        # A process that was forked, or a session after another, has a loop of its own.
        if self._open is None or self._open[0] is not loop or self._open[1].is_set():
            http, closed = open_http(self.route), asyncio.Event()
            task = loop.create_task(_keep(http, closed))
            _keeping.add(task)
            task.add_done_callback(_keeping.discard)
            self._open = loop, closed, http
        return self._open[2]

    @asynccontextmanager
    async def asked(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx.Response]:
        """Send one request, and open its reply.

        Raises:
            TransportError: it cannot be sent.
        """
        for name, value in (*self.route.headers.items(), *headers.items()):
            if not (is_sendable(value) and HEADER_NAME.fullmatch(name)):
                text = f"Illegal header {name!r}, or its value"  # which may be secret
                raise TransportError("LocalProtocolError", text)
        http = await self.opened()
        url = _LONE_PERCENT.sub("%25", url)  # the rest is encoded by httpx
        request = http.build_request(method, url, headers=headers, content=content)
        if self.authorization:
            request.headers["Authorization"] = self.authorization
        reply = await http.send(request, stream=True)
        try:
            yield reply
        finally:
            await reply.aclose()

    def close(self) -> None:
        """Close the connections."""
        opened, self._open = self._open, None
        if opened is not None:
            with suppress(RuntimeError):  # the loop has ended, and closed them
                opened[0].call_soon_threadsafe(opened[1].set)

    __del__ = close


async def _keep(http: httpx.AsyncClient, closed: asyncio.Event) -> None:
    try:
        await closed.wait()
    finally:
        await http.aclose()
