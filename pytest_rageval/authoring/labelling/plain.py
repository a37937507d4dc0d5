"""Labelling line by line, for pipes, screen readers and simple terminals."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Final

from pytest_rageval.authoring.labelling import view as screen
from pytest_rageval.authoring.labelling.session import TEXT_MODES, LabelSession, Mode
from pytest_rageval.authoring.labelling.view import SessionView, view_of
from pytest_rageval.support.text import clean

Echo = Callable[[str], object]

INTRODUCTION: Final = (
    "Type keys, several with blanks between them, and end the line. A number marks a row, "
    "v and a number shows all of its text, an empty line saves and goes on, ? shows the keys."
)
_EXCERPT_LINES: Final = 3
_OPENING: Final = frozenset({"g", "s", "t", "/"})
"""Keys whose argument is the rest of the line."""
_FACTS: Final = attrgetter("draft.answerable", "groups", "draft.notes", "draft.review", "problem")
_PLACE: Final = attrgetter("position", "case.id", "filter")
_WORD: Final = re.compile(r"\S+")


def run_plain(session: LabelSession, lines: Iterable[str], echo: Echo, *, width: int = 80) -> None:
    """Drive a session by the lines of a user, until it is closed or they end."""
    face = _PlainFace(session, echo, width)
    for line in *screen.wrap_text(INTRODUCTION, width), "":
        echo(line)
    face.show()
    for line in lines:
        face.take(line.rstrip("\r\n"))
        if session.closed:
            return
        face.show()


class _PlainFace:
    """Reads lines as keys, and prints what changed."""

    def __init__(self, session: LabelSession, echo: Echo, width: int) -> None:
        self._session = session
        self._echo = echo
        self._width = width
        self._seen: SessionView | None = None
        self._left_out = ""
        """Part of the last line that was skipped."""

    # --- in ------------------------------------------------------------------------------------

    def take(self, line: str) -> None:
        """Process one line of keys, or of text if text is expected."""
        session = self._session
        if session.mode in TEXT_MODES:
            self._take_text(line)
            return
        words = deque(_WORD.finditer(line))
        if not words:
            session.press("enter")
        while words and not session.closed:
            word = words.popleft()[0]
            if word == "v" and session.mode is Mode.BROWSE:
                if words and words[0][0].isdigit():
                    session.press(f"goto:{words.popleft()[0]}")
                self._show_text()
            elif not self._press(word) and words:
                self._left_out = line[words[0].start() :]
                return
            if session.mode in TEXT_MODES and words:
                self._take_text(line[words[0].start() :])
                return

    def _press(self, key: str) -> bool:
        """Press a key; False: the rest of its line does not fit the current mode."""
        before = self._session.mode
        self._session.press(key)
        after = self._session.mode
        refused = before is Mode.BROWSE and key in _OPENING and after is Mode.BROWSE
        return not refused and (after is not Mode.CONFLICT or before is Mode.CONFLICT)

    def _take_text(self, line: str) -> None:
        self._session.type(line)
        self._session.press("enter")

    # --- out -----------------------------------------------------------------------------------

    def show(self) -> None:
        """Print the changes since the last call."""
        view, seen = view_of(self._session), self._seen
        self._seen = view
        lines = list(self._news(view, seen))
        if view.notice:
            said, *commands = view.notice.split("\n")  # a command is copied whole
            lines += [*screen.wrap_text(said, self._width), *map(clean, commands)]
        if self._left_out:
            lines += screen.wrap_text(f"left out: {self._left_out}", self._width)
            self._left_out = ""
        if view.prompt:
            lines += screen.wrap_text(f"{view.prompt}:", self._width)
        for line in lines:
            self._echo(line)

    def _news(self, view: SessionView, seen: SessionView | None) -> Iterator[str]:
        if view.conflict:
            yield from screen.conflict_lines(view, self._width)
            yield screen.key_line(view, self._width)
        elif view.passages:
            before = seen.passages if seen and seen.passage_filter == view.passage_filter else ()
            for passage in view.passages:
                if passage not in before:
                    yield from screen.passage_lines(passage, self._width)
            if not before:
                if view.part:
                    yield from screen.wrap_text(view.part, self._width)
                yield screen.key_line(view, self._width)
        elif seen is None or _PLACE(view) != _PLACE(seen):
            yield from self._whole(view)
        else:
            yield from self._changes(view, seen)

    def _whole(self, view: SessionView) -> Iterator[str]:
        yield from screen.head_lines(view, self._width)
        for row in view.rows:
            yield screen.row_line(row, self._width)
            for line in screen.excerpt_lines(row, self._width - 8, _EXCERPT_LINES):
                yield f"        {line}".rstrip()
        yield from screen.gold_lines(view, self._width)

    def _changes(self, view: SessionView, seen: SessionView) -> Iterator[str]:
        if view.help and not seen.help:
            yield from screen.help_lines(view, self._width)
        before = {row.number: row for row in seen.rows}
        for row in view.rows:
            if row != before.get(row.number):
                yield screen.row_line(row, self._width)
        if _FACTS(view) != _FACTS(seen):
            yield from screen.head_lines(view, self._width)
        if view.golds != seen.golds:
            yield from screen.gold_lines(view, self._width)

    def _show_text(self) -> None:
        row = view_of(self._session).current
        for line in screen.row_text(row, self._width) if row is not None else ():
            self._echo(line)
