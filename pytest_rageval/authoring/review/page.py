"""The page of a reader's session; imported only for ``--web``."""

from __future__ import annotations

from typing import Any, Final

from pytest_rageval.authoring.keyed.page import KeyPage, key_bar
from pytest_rageval.authoring.keyed.session import EXCERPT, WHOLE
from pytest_rageval.authoring.review.session import ReviewSession
from pytest_rageval.authoring.review.view import ReviewView, verdict_text, view_of
from pytest_rageval.report.html.parts import draw
from pytest_rageval.report.view.judging import figures_blocks
from pytest_rageval.support.text import shortened

_READ: Final = {
    "p": "Pass",
    "f": "Fail",
    "s": "Skip",
    "enter": "Go on",
    "t": "Note",
    "c": "Category",
    "w": "Where the fault lies",
    "u": "Take back",
    "n": "Next answer",
    "b": "Previous answer",
    "g": "Group what failed",
    "?": "Keys",
    "q": "Leave",
}
_GROUP: Final = {
    "space": "Mark",
    "c": "Category",
    "r": "Rename or merge",
    "enter": "Read this answer",
    "escape": "Back to reading",
    "?": "Keys",
    "q": "Leave",
}
_TEXT: Final = {"enter": "Keep", "escape": "Leave as it was"}
_FIRST: Final = ("p", "f", "space", "c", "enter")
"""Keys of the bar that a phone always shows."""
_SAID: Final = 200
"""Maximum characters of a question in an announcement."""


class ReviewPage(KeyPage[ReviewView]):
    """Page of a reader's session."""

    command = "review"
    session: ReviewSession

    def look(self) -> ReviewView:
        """Return what the session shows now."""
        return view_of(self.session)

    def announcement(self, view: ReviewView, seen: ReviewView | None) -> str:
        """Describe what a key changed, for screen readers."""
        said = [view.notice] if view.notice else []
        if seen is not None and view.mode == "read" and view.position != seen.position:
            question = shortened(view.answer.case.question, _SAID)
            said.append(f"answer {view.position} of {view.total}: {question}")
        return "; ".join(said)

    def values(self, view: ReviewView) -> dict[str, Any]:
        """Return the values of the templates."""
        controls = _TEXT if view.prompt else _GROUP if view.mode == "group" else _READ
        title = f"{view.position}/{view.total} {view.answer.case.id}"
        return {
            "view": view,
            "title": title if view.mode == "read" else "Categories",
            **key_bar(controls, _FIRST),
            "verdict": verdict_text(view.review),
            "answer": shortened(view.answer.answer, WHOLE),
            "texts": [
                shortened(row.text, WHOLE if row.current else EXCERPT)
                for row in view.rows or view.passages
            ],
            "figures": draw(figures_blocks(view.figures) if view.mode == "group" else ()),
        }
