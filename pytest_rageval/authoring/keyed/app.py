"""A session in a full-screen terminal app; imported only on request."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.widgets import Static

from pytest_rageval.authoring.keyed.session import EARLY, KeySession
from pytest_rageval.support.text import clean

_NAMED: Final = frozenset({
    "up", "down", "left", "right", "home", "end", "space", "enter", "escape", "backspace",
})  # fmt: skip
_MOVES: Final = frozenset({"up", "down", "j", "k", "backspace"})
"""Keys that can be held."""
_TYPED: Final = 200
"""Characters of a long input that are shown: its end."""
_REPEAT_S: Final = 0.06
"""Time between two events of a key that is held, at most; nobody presses one so fast."""
_PATIENCE_S: Final = 0.3
"""Delay before the screen says that it waits."""
_INTERRUPTED: Final = 130


class Pane(VerticalScroll, can_focus=False):
    """A part of the screen that scrolls, and handles no keys."""


Part = tuple[bool, RenderableType]
"""Whether keys act on it, and what is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One state of a session as it is drawn."""

    head: Sequence[str]
    """Lines: the title, the question and what is known; made harmless as they are drawn."""
    table: RenderableType = ""
    """Rows of one line each; empty: no such part."""
    row: int = 0
    """Index of the row that keys act on."""
    body: Sequence[Part]
    """The longest part, from top to bottom; without control characters."""
    prompt: str
    """Name of the text that is typed; empty: none is."""
    typed: str
    notice: str
    """Shown while nothing is typed."""
    keys: str
    """The keys that are always shown."""


class KeyApp(App[None]):
    """Shows a session and passes it every key.

    Keys are processed in order on a separate thread, so that a slow one does not freeze the screen.

    Args:
        session: that the keys drive.
        look: returns what the session shows now; called on the separate thread.
    """

    CSS = """
    Screen { overflow: hidden; }
    #head, #rows, #table, #said, #keys { height: auto; }
    #head { text-style: bold; max-height: 30%; }
    #rows { border-top: solid gray; max-height: 35%; scrollbar-size: 0 0; }
    #said { max-height: 3; min-height: 1; }
    #detail { height: 1fr; border-top: solid gray; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [  # noqa: RUF012 - the type is Textual's
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "interrupt", show=False, priority=True),
        Binding("pagedown", "scroll_detail(1)", show=False, priority=True),
        Binding("pageup", "scroll_detail(-1)", show=False, priority=True),
    ]

    def __init__(self, session: KeySession, look: Callable[[], Screen]) -> None:
        super().__init__()
        self._key_session = session
        self._look = look
        self._keys: queue.SimpleQueue[tuple[str, str, str]] = queue.SimpleQueue()
        self._last = ("", 0.0)
        self._place = ""
        self._pending = 0
        self._shown: Screen | None = None
        self._scrolled_to: tuple[str, int] = ("", 0)
        self.failure: BaseException | None = None
        """Error that ended the session."""

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static(id="head")
        with Pane(id="rows"):
            yield Static(id="table")
        with Pane(id="detail"):
            yield Static(id="body")
        yield Static(id="said")
        yield Static(id="keys")

    def on_mount(self) -> None:
        """Start processing keys."""
        self._take("", "")
        threading.Thread(target=self._work, name="rageval-keys", daemon=True).start()

    @property
    def waiting(self) -> bool:
        """Whether keys are still to be processed."""
        return self._pending > 0

    # --- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Pass a key to the session."""
        event.stop()
        event.prevent_default()
        (last, then), self._last = self._last, (event.key, event.time)
        held = event.key == last and event.time - then < _REPEAT_S
        # While keys are to be processed, this one may belong to a text that one of them begins.
        if held and event.key not in _MOVES and not (self._pending or self._key_session.typing):
            return
        if event.key in _NAMED:
            self._take("key", event.key)
        elif event.character is not None and event.is_printable:
            self._take("key", event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Pass pasted text to the session."""
        event.stop()
        self._take("text", event.text)

    def _take(self, kind: str, what: str) -> None:
        self._pending += 1
        self._keys.put((kind, what, self._place))
        self.set_timer(_PATIENCE_S, self._say_busy)

    def _say_busy(self) -> None:
        if self._pending and self.is_running:
            self.update("said", Text(self._key_session.waiting))

    def _work(self) -> None:
        session = self._key_session
        while not session.closed:
            kind, what, place = self._keys.get()
            try:
                if kind and place != session.place:
                    session.notice = EARLY
                elif kind == "key":
                    session.press(what)
                elif kind == "text":
                    session.type(what)
                news = None if session.closed else (session.place, self._look())
            except BaseException as error:  # report every end on the thread that can show it
                self._tell(error)
                return
            if not self._tell(news):
                return

    def _tell(self, news: tuple[str, Screen] | BaseException | None) -> bool:
        """Show a new state on the screen; False: the screen is closed."""
        try:
            self.call_from_thread(self._hear, news)
        except RuntimeError:  # the app has ended in the meantime
            return False
        return True

    def _hear(self, news: tuple[str, Screen] | BaseException | None) -> None:
        self._pending -= 1
        if news is None or isinstance(news, BaseException):
            self.failure = news
            self.exit()
            return
        self._place, self._shown = news
        self._show()

    def action_interrupt(self) -> None:
        """Leave without saving what is not saved yet."""
        self.exit(return_code=_INTERRUPTED)

    def action_scroll_detail(self, pages: int) -> None:
        """Scroll the longest part."""
        detail = self.query_one("#detail", Pane)
        detail.scroll_relative(y=pages * max(detail.size.height - 1, 1), animate=False)

    # --- screen --------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Lay out the screen again, once the new size is known everywhere."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        shown = self._shown
        if shown is None or not self.is_running:
            return
        self.update("head", Text("\n".join(map(clean, shown.head))))
        self.query_one("#rows", Pane).display = shown.table != ""
        self.update("table", shown.table)
        self.update("body", Group(*(drawn for _, drawn in shown.body)))
        typed = f"{shown.prompt}: {shown.typed}_"[-_TYPED:]
        self.update("said", Text(clean(typed if shown.prompt else shown.notice)))
        self.update("keys", Text(shown.keys, no_wrap=True, overflow="ellipsis"))
        self._scroll(shown)

    def _scroll(self, shown: Screen) -> None:
        """Scroll to what keys act on, if that is another than before."""
        current = next((i for i, (acted_on, _) in enumerate(shown.body) if acted_on), -1)
        detail = self.query_one("#detail", Pane)
        self.query_one("#rows", Pane).scroll_to_region(Region(0, shown.row, 1, 1), animate=False)
        (place, _), self._scrolled_to = self._scrolled_to, (self._place, current)
        if (place, _) == self._scrolled_to:
            return
        if place != self._place or current < 0:
            detail.scroll_home(animate=False)
            return
        # One column is for the scroll bar.
        options = self.console.options.update(width=max(self.size.width - 2, 10))
        *before, height = (
            len(self.console.render_lines(drawn, options)) for _, drawn in shown.body[: current + 1]
        )
        region = Region(0, sum(before), 1, height)
        detail.scroll_to_region(region, top=height > detail.size.height, animate=False)

    def update(self, name: str, content: RenderableType) -> None:
        """Show something in the ``Static`` of a name."""
        self.query_one(f"#{name}", Static).update(content)


# Texts are cleaned, as they may hold control characters. Colour is never needed.


def lines(text: str) -> Text:
    """Return the lines of a text."""
    return Text("\n".join(map(clean, text.splitlines())))


def grid(*rows: Sequence[str | Text], style: str = "") -> Table:
    """Return rows of short texts, the last of which is wrapped beside them."""
    found = Table.grid(padding=(0, 1, 0, 0))
    for row in rows[:1]:
        for last in (*[False] * (len(row) - 1), True):
            found.add_column(no_wrap=not last, overflow="fold" if last else "ellipsis")
    for row in rows:
        cells = (Text(clean(cell)) if isinstance(cell, str) else cell for cell in row)
        found.add_row(*cells, style=style)
    return found
