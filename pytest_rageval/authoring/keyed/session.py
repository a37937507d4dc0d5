"""A session as its interfaces see it, and the text that is typed into it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from pytest_rageval.support.text import part
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.reply import RetrievedChunk

WHOLE: Final = 50_000
EXCERPT: Final = 280
"""Most characters that a screen shows of the text with the cursor, and of another; it is laid out
again with each key."""
EARLY: Final = "keys pressed before this was shown did nothing"
MAX_INPUT: Final = 10_000
"""Longest text that can be typed, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    """One row of a list, such as a retrieved passage."""

    number: int
    """From 1."""
    current: bool
    """Whether keys act on it."""
    marked: bool
    place: str = ""
    """Path and heading, or another name."""
    golds: tuple[int, ...] = ()
    """Numbers of its golds, from 1."""
    tags: tuple[str, ...] = ()
    """Such as ``not retrieved``, ``irrelevant`` or the names of annotators who marked it."""
    scores: tuple[tuple[str, float], ...] = ()
    """Name and value as the target reports them."""
    text: str

    @property
    def gold(self) -> str:
        """Its golds in words; empty: it has none."""
        return part("gold {}", ", ".join(map(str, self.golds)))


def place_of(one: Anchor | RetrievedChunk) -> str:
    """Name document and section on one line."""
    where = f"{one.vault}: {one.rel_path}" if one.vault else one.rel_path
    return f"{where}  {one.heading_path or '(whole document)'}"


class KeySession(Protocol):
    """Anything that keys drive."""

    waiting: str
    """Said while a key takes long."""
    notice: str
    """Effect of the last key, in one sentence."""

    @property
    def closed(self) -> bool:
        """Whether the session is over."""

    @property
    def place(self) -> str:
        """Name of the case or answer on the screen; keys pressed before it was shown do nothing."""

    @property
    def typing(self) -> bool:
        """Whether a line of text is typed, ended with ``enter`` or ``escape``."""

    @property
    def result(self) -> str:
        """Numbers of saved things, in words, for the end."""

    @property
    def unsaved(self) -> Sequence[str]:
        """Names of what has unsaved changes."""

    def press(self, key: str) -> None:
        """Take one key: a character, or a name such as ``enter``; unknown ones do nothing."""

    def type(self, text: str) -> None:
        """Take pasted text while text is typed; otherwise it is ignored."""


@dataclass(slots=True)
class TypedLine:
    """A line of text as it is typed."""

    text: str = ""
    ends: Callable[[str | None], None] = field(default=lambda _: None)
    """Called with the whole text after ``enter``, its blanks folded, or with None after
    ``escape``."""

    def add(self, text: str) -> None:
        """Add text at the end, as far as there is room."""
        self.text = (self.text + text)[:MAX_INPUT]

    def press(self, key: str) -> None:
        """Take one key."""
        if key == "escape":
            self.ends(None)
        elif key == "enter":
            self.ends(" ".join(self.text.split()))
        elif key == "backspace":
            self.text = self.text[:-1]
        elif key == "space":
            self.add(" ")
        elif len(key) == 1:
            self.add(key)
