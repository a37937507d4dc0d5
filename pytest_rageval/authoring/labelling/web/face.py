"""A session behind a page: keys in, the changed part of the page out."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_rageval.authoring.labelling.session import TEXT_MODES, LabelSession
from pytest_rageval.authoring.labelling.view import SessionView, view_of
from pytest_rageval.authoring.labelling.web.page import CONFLICT, STALE, announcement
from pytest_rageval.authoring.labelling.web.page_more import (
    render_end,
    render_page,
    render_session,
)
from pytest_rageval.report.html.texts import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key as the page sends it."""

    key: str
    text: str
    """What stands in the field where text is typed; kept only where the key ends it."""
    revision: int
    """Of what the page showed when the key was pressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the page is to show."""

    html: str
    revision: int
    said: str
    """What changed, for the status line."""
    alarm: str
    """What needs attention; empty: nothing."""
    stale: bool
    """Whether the key was refused, as the page showed something older."""


class WebFace:
    """Drives a session; not to be used from two threads at once.

    Args:
        session: to drive.
    """

    def __init__(self, session: LabelSession) -> None:
        self._session = session
        self._revision = 0
        self._seen: SessionView | None = None

    def page(self) -> str:
        """Return the whole page as it stands; it may ask the target."""
        if self._session.closed:
            return self._end()
        return render_page(self._look(), self._revision)

    def press(self, key: Key) -> Shown:
        """Hand a key to the session, unless the page that sends it shows an older state."""
        session, seen = self._session, self._seen
        stale = key.revision != self._revision
        if not stale and not session.closed:
            self._revision += 1
            if session.mode in TEXT_MODES and key.key == "enter":
                session.type(key.text)
            session.press(key.key)
        if session.closed:
            return self._shown(self._end(), stale=stale)
        view = self._look()
        said = "" if stale else announcement(view, seen)
        return self._shown(
            render_session(view, self._revision),
            said=said,
            alarm=STALE if stale else CONFLICT if view.conflict else "",
            stale=stale,
        )

    def _look(self) -> SessionView:
        self._seen = view_of(self._session)
        return self._seen

    def _end(self) -> str:
        return render_end(self._session.n_saved, self._session.unsaved)

    def _shown(self, html: str, *, said: str = "", alarm: str = "", stale: bool) -> Shown:
        return Shown(
            html=html, revision=self._revision, said=visible(said), alarm=alarm, stale=stale
        )
