"""The page of a session: rendering, and keys that are refused where the page is out of date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from pytest_rageval.authoring.keyed.session import EARLY, KeySession
from pytest_rageval.report.html.assets import content_policy, page_asset
from pytest_rageval.report.html.markup import visible

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
        from pytest_rageval.report.html.templating import page_environment

        found = page_environment().get_template(f"keyed/{name}.html.j2")
        return found.render(command=self.command, **values)

    def _shown(self, html: str, *, said: str = "", alarm: str = "", stale: bool) -> Shown:
        return Shown(
            html=html, revision=self._revision, said=visible(said), alarm=alarm, stale=stale
        )
