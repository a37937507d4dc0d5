"""What can be done in each mode, and what is to be said aloud of a change. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_rageval.authoring.labelling.view import SessionView
from pytest_rageval.report.html.texts import shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One button; it stands for a key."""

    key: str
    label: str
    shown: str
    """The key as it is written on keyboards."""


def _control(key: str, label: str, shown: str = "") -> Control:
    return Control(key=key, label=label, shown=shown or key)


_BROWSE: Final = (
    _control("space", "Mark or unmark"),
    _control("s", "Quote sentences"),
    _control("a", "Answerable or not"),
    _control("g", "Groups"),
    _control("t", "Note"),
    _control("/", "Filter rows"),
    _control("u", "Undo"),
    _control("r", "Redo"),
    _control("enter", "Save and next"),
    _control("w", "Save and stay"),
    _control("p", "Previous case"),
    _control("n", "Next case"),
    _control("R", "Ask the target again"),
    _control("?", "Keys"),
    _control("q", "Save and leave"),
    _control("Q", "Leave without saving"),
)
_TEXT: Final = (_control("enter", "Keep"), _control("escape", "Leave as it was"))
CONTROLS: Final = {
    "browse": _BROWSE,
    "snippet": (
        _control("space", "Pick or drop"),
        _control("enter", "Keep what is picked"),
        _control("escape", "Leave as it was"),
    ),
    "note": _TEXT,
    "groups": _TEXT,
    "search": (_control("enter", "Filter"), _control("escape", "Leave as it was")),
    "conflict": (
        _control("m", "Write mine over it"),
        _control("t", "Take theirs"),
        _control("escape", "Decide later"),
    ),
}
"""By mode, the most used first."""

_MOST: Final = 200
"""Characters of a question that are said aloud."""
CONFLICT: Final = (
    "Conflict: another program changed the line of this case. Nothing was written. "
    "m writes yours over it, t takes theirs, escape decides later."
)
STALE: Final = (
    "Conflict: this session was worked on in another tab or window meanwhile, so what you did here "
    "last did nothing. This is how it stands now; escape goes on from here."
)


def announcement(view: SessionView, seen: SessionView | None) -> str:
    """Return what changed, in words; where the cursor went is told by the list itself.

    Args:
        view: of the session now.
        seen: what was seen before; None: nothing.
    """
    if seen is None:
        return view.notice
    said = [view.notice] if view.notice else []
    if view.position != seen.position:
        said.append(f"case {view.position} of {view.total}: {shortened(view.question, _MOST)}")
    before = {passage.number: passage.marked for passage in seen.passages}
    said += [
        f"sentence {passage.number} {'picked' if passage.marked else 'dropped'}"
        for passage in view.passages
        if before.get(passage.number, passage.marked) != passage.marked
    ]
    return "; ".join(said)
