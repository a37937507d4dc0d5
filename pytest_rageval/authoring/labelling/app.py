"""Labelling in a full-screen terminal app; imported only on request."""

from __future__ import annotations

import queue
import threading
from typing import Final

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from pytest_rageval.authoring.labelling import view as screen
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.view import SessionView, view_of

_NAMED: Final = frozenset({
    "up", "down", "home", "end", "space", "enter", "escape", "backspace",
})  # fmt: skip
_PATIENCE_S: Final = 0.3
"""Delay before the screen says that it waits for the target."""
_MOST_HEAD: Final = 6
_MOST_FOOT: Final = 3
_INTERRUPTED: Final = 130


class Detail(VerticalScroll, can_focus=False):
    """Details of the current row; it scrolls, and handles no keys."""


class LabelApp(App[None]):
    """Shows a session and passes it every key.

    Keys are processed in order on a separate thread, so that a slow target does not freeze the
    screen.
    """

    CSS = """
    Screen { overflow: hidden; }
    #head, #rows, #foot { height: auto; }
    #head { text-style: bold; }
    #rows { border-top: solid gray; }
    #detail { height: 1fr; border-top: solid gray; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [  # noqa: RUF012 - the type is Textual's
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "interrupt", show=False, priority=True),
        Binding("pagedown", "scroll_detail(1)", show=False, priority=True),
        Binding("pageup", "scroll_detail(-1)", show=False, priority=True),
    ]

    def __init__(self, session: LabelSession) -> None:
        super().__init__()
        self._label_session = session
        self._keys: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._pending = 0
        self._view: SessionView | None = None
        self.failure: BaseException | None = None
        """Error that ended the session."""

    def compose(self) -> ComposeResult:
        """Lay out the screen: the case, its rows, the current row, the last effect."""
        yield Static(id="head")
        yield Static(id="rows")
        with Detail(id="detail"):
            yield Static(id="body")
        yield Static(id="foot")

    def on_mount(self) -> None:
        """Start processing keys."""
        self._take("", "")
        threading.Thread(target=self._work, name="rageval-label", daemon=True).start()

    @property
    def waiting(self) -> bool:
        """Whether keys are still to be processed."""
        return self._pending > 0

    # --- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Pass a key to the session."""
        event.stop()
        event.prevent_default()
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
        self._keys.put((kind, what))
        self.set_timer(_PATIENCE_S, self._say_busy)

    def _say_busy(self) -> None:
        if self._pending and self.is_running:
            self.query_one("#foot", Static).update(_plain(["asking the target ..."]))

    def _work(self) -> None:
        while not self._label_session.closed:
            kind, what = self._keys.get()
            try:
                if kind == "key":
                    self._label_session.press(what)
                elif kind == "text":
                    self._label_session.type(what)
                view = None if self._label_session.closed else view_of(self._label_session)
            except BaseException as error:  # report every end on the thread that can show it
                self._tell(error)
                return
            if not self._tell(view):
                return

    def _tell(self, news: SessionView | BaseException | None) -> bool:
        """Show a new state on the screen; False: the screen is closed."""
        try:
            self.call_from_thread(self._hear, news)
        except RuntimeError:  # the app has ended in the meantime
            return False
        return True

    def _hear(self, news: SessionView | BaseException | None) -> None:
        self._pending -= 1
        if isinstance(news, SessionView):
            self._view = news
            self._show()
            return
        self.failure = news
        self.exit()

    def action_interrupt(self) -> None:
        """Leave without saving the current case."""
        self.exit(return_code=_INTERRUPTED)

    def action_scroll_detail(self, pages: int) -> None:
        """Scroll the text of the current row."""
        detail = self.query_one(Detail)
        detail.scroll_relative(y=pages * max(detail.size.height - 1, 1), animate=False)

    # --- screen --------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Lay out the screen again, once the new size is known everywhere."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        view = self._view
        if view is None or not self.is_running:
            return
        width, height = self.size
        head = screen.head_lines(view, width, most=max(min(_MOST_HEAD, height // 4), 2))
        foot = _foot(view, width)
        # Two borders; the remaining height is split between the rows and the text of the row.
        room = max((height - len(head) - len(foot) - 2) // 2, 2)
        rows = screen.window(view.rows, min(len(view.rows), room)) if view.rows else ()
        if view.help:  # it needs the space
            rows = ()
        shown = [screen.row_line(row, width) for row in rows]
        marks = [_row_style(row.current, row.marked) for row in rows]
        self.query_one("#head", Static).update(_plain(head))
        self.query_one("#rows", Static).update(_styled(shown, marks) if shown else _plain(["-"]))
        self.query_one("#foot", Static).update(_plain(foot))
        # One column for the scroll bar.
        body, current = _body(view, max(width - 2, 10))
        self.query_one("#body", Static).update(_plain(body))
        detail = self.query_one(Detail)
        detail.scroll_to(y=max(current - detail.size.height // 2, 0), animate=False)


def _foot(view: SessionView, width: int) -> list[str]:
    if view.prompt:
        said = f"{view.prompt}: {view.typed}_"
        return [*screen.wrap_text(said, width)[-2:], screen.key_line(view, width)]
    said = view.notice or view.part or (f"filter: {view.filter}" if view.filter else "")
    return [*(screen.wrap_text(said, width)[:_MOST_FOOT] or [""]), screen.key_line(view, width)]


def _body(view: SessionView, width: int) -> tuple[list[str], int]:
    """Return the lines of the lower half and the line that must be visible."""
    if view.conflict:
        return screen.conflict_lines(view, width), 0
    if view.help:
        return screen.help_lines(view, width), 0
    if view.passages:
        lines: list[str] = []
        seen = 0
        for passage in view.passages:
            if passage.current:
                seen = len(lines)
            lines += screen.passage_lines(passage, width)
        return lines, seen
    row = view.current
    known = screen.row_text(row, width, most=screen.WHOLE) if row is not None else []
    return [*known, "", *screen.gold_lines(view, width)], 0


def _row_style(current: bool, marked: bool) -> str:
    return " ".join(style for style, wanted in (("reverse", current), ("bold", marked)) if wanted)


def _plain(lines: list[str]) -> Text:
    return Text("\n".join(lines), no_wrap=True, overflow="crop", end="")


def _styled(lines: list[str], styles: list[str]) -> Text:
    found = Text(no_wrap=True, overflow="crop", end="")
    for index, (line, style) in enumerate(zip(lines, styles, strict=True)):
        found.append("\n" if index else "")
        found.append(line, style=style or None)
    return found
