"""A session in a full-screen terminal app; imported only on request."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Final

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from pytest_rageval.authoring.keyed.session import EARLY, KeySession

_NAMED: Final = frozenset({
    "up", "down", "left", "right", "home", "end", "space", "enter", "escape", "backspace",
})  # fmt: skip
_MOVES: Final = frozenset({"up", "down", "j", "k", "backspace"})
"""Keys that can be held."""
_REPEAT_S: Final = 0.06
"""Time between two events of a key that is held, at most; nobody presses one so fast."""
_PATIENCE_S: Final = 0.3
"""Delay before the screen says that it waits."""
_INTERRUPTED: Final = 130


class Pane(VerticalScroll, can_focus=False):
    """A part of the screen that scrolls, and handles no keys."""


class KeyApp(App[None]):
    """Shows a session and passes it every key.

    Keys are processed in order on a separate thread, so that a slow one does not freeze the screen.
    A subclass lays out the screen, with a ``Static`` of the id ``said`` and a ``Pane`` of the id
    ``detail``.

    Args:
        session: that the keys drive.
        look: returns what the session shows now; called on the separate thread.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [  # noqa: RUF012 - the type is Textual's
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "interrupt", show=False, priority=True),
        Binding("pagedown", "scroll_detail(1)", show=False, priority=True),
        Binding("pageup", "scroll_detail(-1)", show=False, priority=True),
    ]
    WAITING: ClassVar[str] = "working ..."

    def __init__(self, session: KeySession, look: Callable[[], object]) -> None:
        super().__init__()
        self._key_session = session
        self._look = look
        self._keys: queue.SimpleQueue[tuple[str, str, str]] = queue.SimpleQueue()
        self._last = ("", 0.0)
        self._place = ""
        self._pending = 0
        self._view: Any = None
        self.failure: BaseException | None = None
        """Error that ended the session."""

    def show_view(self, view: Any) -> None:
        """Lay out what the session shows."""
        raise NotImplementedError

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
        if held and event.key not in _MOVES and not self._key_session.typing:
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
            self.update("said", Text(self.WAITING))

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

    def _tell(self, news: tuple[str, object] | BaseException | None) -> bool:
        """Show a new state on the screen; False: the screen is closed."""
        try:
            self.call_from_thread(self._hear, news)
        except RuntimeError:  # the app has ended in the meantime
            return False
        return True

    def _hear(self, news: tuple[str, object] | BaseException | None) -> None:
        self._pending -= 1
        if news is None or isinstance(news, BaseException):
            self.failure = news
            self.exit()
            return
        self._place, self._view = news
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
        if self._view is not None and self.is_running:
            self.show_view(self._view)

    def update(self, name: str, content: RenderableType) -> None:
        """Show something in the ``Static`` of a name."""
        self.query_one(f"#{name}", Static).update(content)
