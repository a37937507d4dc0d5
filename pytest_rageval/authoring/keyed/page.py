"""The page of a session that keys drive, and the server that shows it.

There are two requests: the page itself, and one per key.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, Final, Generic, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from pytest_rageval.authoring.keyed.session import EARLY, MAX_INPUT, KeySession
from pytest_rageval.authoring.loopback import GuardedServer, json_body, refused
from pytest_rageval.report.html.markup import visible
from pytest_rageval.report.html.templating import content_policy, page_asset, page_environment
from pytest_rageval.support.threads import computed

STALE: Final = (
    "Conflict: this session was worked on in another tab or window meanwhile, so what you did here "
    "last did nothing. This is how it stands now; escape goes on from here."
)
_ASSETS: Final = {
    "style": page_asset("design.css"),
    "script": page_asset("keyed/keyed.js"),
}

View = TypeVar("View")


def page_policy() -> str:
    """Return the content security policy: only the page's script, style and server."""
    return f"{content_policy(**_ASSETS, served=True)}; frame-ancestors 'none'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key as the page sends it."""

    key: str
    revision: int
    """Revision that the page showed when the key was pressed."""
    text: str = ""
    """Content of the text field; used only if the key ends the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Content of the page after a key."""

    html: str
    revision: int
    said: str
    """Change, for the status line."""
    alarm: str
    """Alert; empty: none."""
    stale: bool
    """Whether the key was refused because the page was out of date."""


def key_bar(controls: Mapping[str, str], first: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Return the buttons of a page: those that a phone always shows, and the rest."""
    shown = {key: controls[key] for key in first if key in controls} or controls
    return {"first": shown, "rest": {k: v for k, v in controls.items() if k not in shown}}


class KeyPage(ABC, Generic[View]):
    """Drives a session; not thread-safe."""

    command: ClassVar[str]
    """Name of the command, and of the folder of its templates ``head`` and ``work``."""

    def __init__(self, session: KeySession) -> None:
        self.session = session
        self._revision = 0
        self._seen: View | None = None

    @abstractmethod
    def look(self) -> View:
        """Return what the session shows now."""

    @abstractmethod
    def values(self, view: View) -> dict[str, Any]:
        """Return the values of the templates, with the ``title`` of the page."""

    @abstractmethod
    def announcement(self, view: View, seen: View | None) -> str:
        """Describe what a key changed, for screen readers."""

    def alarm(self, view: View) -> str:
        """Return what needs attention; empty: nothing."""
        return ""

    def page(self) -> str:
        """Return the current page; it may take as long as a key."""
        if self.session.closed:
            return self._end()
        view = self._seen = self.look()
        return self._render("page", view, alarm=self.alarm(view), **_ASSETS)

    def press(self, key: Key) -> Shown:
        """Pass a key to the session, unless the sending page is out of date."""
        session, seen = self.session, self._seen
        stale = key.revision != self._revision
        if not stale and not session.closed:
            self._revision += 1
            if session.typing and key.key == "enter":
                session.type(key.text)
            session.press(key.key)
        if session.closed:
            return self._shown(self._end(), stale=stale)
        view = self._seen = self.look()
        return self._shown(
            self._render("session", view),
            said="" if stale else self.announcement(view, seen),
            alarm=STALE if stale else self.alarm(view),
            stale=stale,
        )

    def _render(self, name: str, view: View, **values: Any) -> str:
        given = {
            "revision": self._revision,
            "place": self.session.place,
            "waiting": self.session.waiting,
            "early": EARLY,
            **self.values(view),
        }
        return self._template(name, **given, **values)

    def _end(self) -> str:
        return self._template("end", result=self.session.result, unsaved=self.session.unsaved)

    def _template(self, name: str, **values: Any) -> str:
        """Render a page or a part; texts are escaped and hidden characters made visible."""
        # Imported here, since jinja2 is slow to import.

        found = page_environment().get_template(f"keyed/{name}.html.j2")
        return found.render(command=self.command, **values)

    def _shown(self, html: str, *, said: str = "", alarm: str = "", stale: bool) -> Shown:
        return Shown(
            html=html, revision=self._revision, said=visible(said), alarm=alarm, stale=stale
        )


_MAX_BODY: Final = 16 * MAX_INPUT
"""Maximum bytes of a request: a character takes up to twelve in JSON."""
_POLL_S: Final = 0.1
_GRACE_S: Final = 2.0
"""Time for the current key to finish when the command ends: enough for a save."""
_ENDED: Final = "The command in the terminal has ended.\n"
_FAILED: Final = "An error ended the session; the terminal says which.\n"

_Result = TypeVar("_Result")


class _EndedError(Exception):
    """The command ended before an answer was available."""


def _create_app(face: KeyPage[Any], running: KeyServer) -> Starlette:
    """Build the app; only jobs of the server touch the face of the session."""

    async def page(request: Request) -> Response:
        html = await _result(running, face.page)
        return HTMLResponse(html, headers={"Content-Security-Policy": page_policy()})

    async def press(request: Request) -> Response:
        key = await json_body(request, _MAX_BODY, Key)
        if isinstance(key, Response):
            return key
        shown = await _result(running, partial(face.press, key))
        status = HTTPStatus.CONFLICT if shown.stale else HTTPStatus.OK
        return JSONResponse(asdict(shown), status_code=status)

    async def ended(request: Request, error: Exception) -> Response:
        return refused(HTTPStatus.SERVICE_UNAVAILABLE, _ENDED)

    async def failed(request: Request, error: Exception) -> Response:
        running.fail(error)
        return refused(HTTPStatus.INTERNAL_SERVER_ERROR, _FAILED)

    routes = [Route("/", page, methods=["GET"]), Route("/key", press, methods=["POST"])]
    return Starlette(routes=routes, exception_handlers={_EndedError: ended, _JobError: failed})


class _JobError(Exception):
    """A job raised an error, which is the cause."""


async def _result(running: KeyServer, job: Callable[[], _Result]) -> _Result:
    """Wait for a job, but not for a slow target when the command ends.

    Raises:
        _EndedError: the command ended first.
        _JobError: the job raised an error, which is the cause.
    """
    future = asyncio.create_task(running.do(job))
    left_s = _GRACE_S
    while not future.done():
        await asyncio.wait({future}, timeout=_POLL_S)
        left_s -= _POLL_S if running.stopping else 0
        if left_s <= 0 and not future.done():
            future.cancel()
            raise _EndedError
    error = future.exception()
    if error is not None:
        raise _JobError from error
    return future.result()


class KeyServer(GuardedServer):
    """Serves the page of one session; port and announcement are as for ``GuardedServer``.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(
        self, face: KeyPage[Any], *, port: int = 0, announce: Callable[[str], None]
    ) -> None:
        self._session = face.session
        self._failure: BaseException | None = None
        app = _create_app(face, self)
        super().__init__(app, name=face.command, port=port, announce=announce)

    def run(self) -> None:
        """Serve until the session is closed.

        Raises:
            KeyboardInterrupt: Ctrl-C, after a running save is complete.
            Exception: the error that ended the session.
        """
        super().run()
        if self._failure is not None:
            raise self._failure

    # --- interface for the app ----------------------------------------------------------------

    async def do(self, job: Callable[[], _Result]) -> _Result:
        """Do a job after those before it, and end once the session is closed."""
        try:
            return await computed(job)
        finally:
            if self._session.closed:
                self.stop()

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._failure = error.__cause__ or error
        self.stop()
