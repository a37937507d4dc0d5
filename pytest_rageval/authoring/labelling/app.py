"""Labelling in a full-screen terminal app; imported only on request."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from pytest_rageval.authoring.labelling import view as screen
from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.authoring.labelling.view import (
    PassageView,
    RowView,
    SessionView,
    view_of,
)
from pytest_rageval.support.text import clean, shortened

_NAMED: Final = frozenset({
    "up", "down", "home", "end", "space", "enter", "escape", "backspace",
})  # fmt: skip
_PATIENCE_S: Final = 0.3
"""Delay before the screen says that it waits for the target."""
_INTERRUPTED: Final = 130
_TYPED: Final = 200
"""Characters of a long input that are shown: its end."""
_HEADING: Final = 32
_TAGS: Final = 30
"""Columns of a row."""


class Pane(VerticalScroll, can_focus=False):
    """A part of the screen that scrolls, and handles no keys."""


class LabelApp(App[None]):
    """Shows a session and passes it every key.

    Keys are processed in order on a separate thread, so that a slow target does not freeze the
    screen.
    """

    CSS = """
    Screen { overflow: hidden; }
    #head, #rows, #table, #said, #keys { height: auto; }
    #head { text-style: bold; max-height: 25%; }
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
        with Pane(id="rows"):
            yield Static(id="table")
        with Pane(id="detail"):
            yield Static(id="body")
        yield Static(id="said")
        yield Static(id="keys")

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
            self._update("said", Text("asking the target ..."))

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
        detail = self.query_one("#detail", Pane)
        detail.scroll_relative(y=pages * max(detail.size.height - 1, 1), animate=False)

    # --- screen --------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Lay out the screen again, once the new size is known everywhere."""
        self.call_after_refresh(self._show)

    def _update(self, name: str, content: RenderableType) -> None:
        self.query_one(f"#{name}", Static).update(content)

    def _show(self) -> None:
        view = self._view
        if view is None or not self.is_running:
            return
        self._update("head", _head(view))
        self._update("table", "" if view.help else _rows(view))  # the help needs the space
        self._update("said", _said(view))
        self._update("keys", Text(screen.key_line(view), no_wrap=True, overflow="ellipsis"))
        body = [*_body(view)]
        self._update("body", Group(*body))
        # One column is for the scroll bar.
        before, options = 0, self.console.options.update(width=max(self.size.width - 2, 10))
        for passage, shown in zip(view.passages, body, strict=False):
            if passage.current:
                break
            before += len(self.console.render_lines(shown, options))
        place = next((i for i, row in enumerate(view.rows) if row.current), 0)
        for name, line in (("rows", place), ("detail", before)):
            part = self.query_one(f"#{name}", Pane)
            part.scroll_to(y=max(line - part.size.height // 2, 0), animate=False)


# Marked rows show [x] and the cursor is >, so that colour is never needed. All texts are cleaned,
# as they may hold control characters.


def _head(view: SessionView) -> Text:
    state = ["answerable" if view.draft.answerable else "UNANSWERABLE"]
    state += ["NOT REVIEWED"] if view.draft.review == "generated" else []
    state += ["not saved"] if view.unsaved else []
    title = f"{view.position}/{view.total} {clean(view.case.id)}  [{', '.join(state)}]"
    facts = (f"{label}: {text}" if label else text for label, text in screen.facts_of(view))
    return Text("\n".join([title, *map(clean, facts)]))


def _said(view: SessionView) -> Text:
    if view.prompt:
        return Text(clean(f"{view.prompt}: {view.typed}_")[-_TYPED:])
    return Text(
        clean(view.notice or view.part or (f"filter: {view.filter}" if view.filter else ""))
    )


def _marked(row: RowView | PassageView) -> str:
    return f"{'>' if row.current else ' '} [{'x' if row.marked else ' '}] {row.number:>2}"


def _grid(*rows: tuple[str, str]) -> Table:
    """Return rows of a short text, and a long one that is wrapped beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for short, text in rows:
        grid.add_row(Text(short), Text(clean(text)))
    return grid


def _rows(view: SessionView) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    # Heading paths of one document begin alike: the last heading distinguishes them.
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_HEADING)
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_TAGS)
    grid.add_column(no_wrap=True, justify="right")
    for row in view.rows:
        golds = [f"gold {', '.join(map(str, row.golds))}"] if row.golds else []
        tags = "; ".join([*golds, *(clean(tag, 30) for tag in row.tags)])
        path, over, last = clean(row.place, 400).rpartition(" > ")
        score = f"{row.scores[0][1]:.3f}" if row.scores else ""
        cells = (
            _marked(row),
            path or last,
            f"> {last}" if over else "",
            tags and f"({tags})",
            score,
        )
        style = " ".join(["reverse"] * row.current + ["bold"] * row.marked)
        grid.add_row(*map(Text, cells), style=style)
    return grid if view.rows else Text("-")


def _body(view: SessionView) -> Iterator[RenderableType]:
    """Yield what the lower half shows; sentences to quote first, one by one."""
    if view.conflict:
        yield Text("CONFLICT: another program changed the line of this case. It is now:")
        yield Text(clean(view.conflict))
    elif view.help:
        yield _grid(*screen.help_of(view))
    elif view.passages:
        yield from (_grid((_marked(one), one.text)) for one in view.passages)
    else:
        if (row := view.current) is not None:
            yield Text(clean(row.place))
            if row.scores:
                yield Text(clean(", ".join(f"{name} {value:.4f}" for name, value in row.scores)))
            yield Text("\n".join(map(clean, shortened(row.text, screen.WHOLE).splitlines())))
        yield Text("\ngolds:" if view.golds else "\ngolds: none")
        yield _grid(*((f"  {number}", gold) for number, gold in enumerate(view.golds, 1)))
