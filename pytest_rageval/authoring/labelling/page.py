"""The labelling page: controls of each mode, announcements, rendering and keys."""

from __future__ import annotations

from typing import Any, Final

from pytest_rageval.authoring.keyed.page import KeyPage, key_bar
from pytest_rageval.authoring.keyed.session import EXCERPT, WHOLE
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.view import SessionView, help_of, view_of
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


class WebFace(KeyPage[SessionView]):
    """Page of a labelling session."""

    command = "label"
    session: LabelSession

    def look(self) -> SessionView:
        """Return what the session shows now; it may ask the target."""
        return view_of(self.session)

    def announcement(self, view: SessionView, seen: SessionView | None) -> str:
        """Describe what a key changed, for screen readers; the list itself says the cursor."""
        if seen is None:
            return view.notice
        said = [view.notice] if view.notice else []
        if (view.position, view.case.id) != (seen.position, seen.case.id):
            question = shortened(view.case.question, _MOST)
            said.append(f"case {view.position} of {view.total}: {question}")
        if view.passages and view.part != seen.part:
            said.append(view.part or "all sentences")
        before = {passage.number: passage.marked for passage in seen.passages}
        said += [
            f"sentence {passage.number} {'picked' if passage.marked else 'dropped'}"
            for passage in view.passages
            if before.get(passage.number, passage.marked) != passage.marked
        ]
        return "; ".join(said)

    def alarm(self, view: SessionView) -> str:
        """Return the conflict with another program, if any."""
        return CONFLICT if view.conflict else ""

    def values(self, view: SessionView) -> dict[str, Any]:
        """Return the values of the templates."""
        further = view.reviewing and view.mode == "browse"
        controls = (_REVIEW if further else {}) | CONTROLS[view.keys]
        return {
            "view": view,
            "title": f"{view.position}/{view.total} {view.case.id}",
            **key_bar(controls, _FIRST if view.keys == "browse" else ()),
            "help_keys": help_of(view),
            # Only fields that the page uses: all of it is sent again with each key.
            "texts": [shortened(row.text, WHOLE if row.current else EXCERPT) for row in view.rows],
            "golds": [shortened(gold, EXCERPT) for gold in view.golds],
        }
