"""The labelling page: controls of each mode, announcements, rendering and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.authoring.labelling.session import TEXT_MODES, LabelSession
from pytest_rageval.authoring.labelling.view import (
    WHOLE,
    RowView,
    SessionView,
    help_of,
    view_of,
)
from pytest_rageval.report.html.assets import content_policy, page_asset
from pytest_rageval.report.html.markup import visible
from pytest_rageval.support.text import shortened

_BROWSE: Final = {
    "space": "Mark or unmark",
    "s": "Quote sentences",
    "a": "Answerable or not",
    "g": "Groups",
    "t": "Note",
    "/": "Filter rows",
    "u": "Undo",
    "r": "Redo",
    "enter": "Save and next",
    "w": "Save and stay",
    "p": "Previous case",
    "n": "Next case",
    "R": "Ask the target again",
    "?": "Keys",
    "q": "Leave",
    "Q": "Leave without saving",
}
_FIRST: Final = ("space", "s", "enter")
"""Keys of the bar that a phone always shows."""
_REVIEW: Final = {"d": "Reject the case", "e": "How to edit the case"}
_TEXT: Final = {"enter": "Keep", "escape": "Leave as it was"}
_SNIPPET: Final = {
    "space": "Pick or drop",
    "/": "Search",
    "enter": "Keep what is picked",
    "escape": "Leave as it was",
}
CONTROLS: Final = {
    "browse": _BROWSE,
    "snippet": _SNIPPET,
    "found": _SNIPPET | {"escape": "Show all sentences"},
    "note": _TEXT,
    "groups": _TEXT,
    "search": {"enter": "Filter", "escape": "Leave as it was"},
    "remove": {"y": "Remove the case", "escape": "Keep it"},
    "leave": {"y": "Save and leave", "n": "Leave without saving", "escape": "Stay"},
    "conflict": {"m": "Write mine over it", "t": "Take theirs", "escape": "Decide later"},
}
"""By ``SessionView.keys``: the key that each button presses and its label, most used first."""

_MOST: Final = 200
"""Maximum characters of a question in an announcement."""
CONFLICT: Final = (
    "Conflict: another program changed the line of this case. Nothing was written. "
    "m writes yours over it, t takes theirs, escape decides later."
)
STALE: Final = (
    "Conflict: this session was worked on in another tab or window meanwhile, so what you did here "
    "last did nothing. This is how it stands now; escape goes on from here."
)


def announcement(view: SessionView, seen: SessionView | None) -> str:
    """Describe the changes for screen readers; the list itself announces the cursor."""
    if seen is None:
        return view.notice
    said = [view.notice] if view.notice else []
    if (view.position, view.case.id) != (seen.position, seen.case.id):
        said.append(f"case {view.position} of {view.total}: {shortened(view.case.question, _MOST)}")
    if view.passages and view.part != seen.part:
        said.append(view.part or "all sentences")
    before = {passage.number: passage.marked for passage in seen.passages}
    said += [
        f"sentence {passage.number} {'picked' if passage.marked else 'dropped'}"
        for passage in view.passages
        if before.get(passage.number, passage.marked) != passage.marked
    ]
    return "; ".join(said)


_EXCERPT: Final = 280
"""Maximum characters of a gold, and of a row without the cursor."""


def _render(name: str, **values: Any) -> str:
    """Render a page, or a part of one; texts are escaped and hidden characters made visible."""
    # Imported here, since jinja2 is slow to import.
    from pytest_rageval.report.html.templating import page_environment

    return page_environment().get_template(f"label/{name}.html.j2").render(values)


def _assets() -> dict[str, str]:
    return {
        "style": page_asset("design.css", "label/label.css"),
        "script": page_asset("label/label.js"),
    }


def page_policy() -> str:
    """Return the content security policy: only the page's script, style and server."""
    return f"{content_policy(**_assets(), served=True)}; frame-ancestors 'none'"


def _context(view: SessionView, revision: int) -> dict[str, Any]:
    further = view.reviewing and view.mode == "browse"
    controls = (_REVIEW if further else {}) | CONTROLS[view.keys]
    first = {key: controls[key] for key in _FIRST if view.keys == "browse"} or controls
    return {
        "view": view,
        "revision": revision,
        "first": first,
        "rest": {key: label for key, label in controls.items() if key not in first},
        "help_keys": help_of(view),
        "row_text": _row_text,
        "golds": [shortened(gold, _EXCERPT) for gold in view.golds],
    }


def _row_text(row: RowView) -> str:
    # Only fields that the page uses: all of it is sent again with each key.
    return shortened(row.text, WHOLE if row.current else _EXCERPT)


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


class WebFace:
    """Drives a session; not thread-safe."""

    def __init__(self, session: LabelSession) -> None:
        self._session = session
        self._revision = 0
        self._seen: SessionView | None = None

    def page(self) -> str:
        """Return the current page; it may ask the target."""
        if self._session.closed:
            return self._end()
        view = self._look()
        alarm = CONFLICT if view.conflict else ""
        return _render("page", **_assets(), alarm=alarm, **_context(view, self._revision))

    def press(self, key: Key) -> Shown:
        """Pass a key to the session, unless the sending page is out of date."""
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
            _render("session", **_context(view, self._revision)),
            said=said,
            alarm=STALE if stale else CONFLICT if view.conflict else "",
            stale=stale,
        )

    def _look(self) -> SessionView:
        self._seen = view_of(self._session)
        return self._seen

    def _end(self) -> str:
        return _render("end", result=self._session.result, unsaved=self._session.unsaved)

    def _shown(self, html: str, *, said: str = "", alarm: str = "", stale: bool) -> Shown:
        return Shown(
            html=html, revision=self._revision, said=visible(said), alarm=alarm, stale=stale
        )
