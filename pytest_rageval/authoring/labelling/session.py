"""A labelling session: a queue of cases and one function that takes a key. Pure.

The session moves through the queue, saves and leaves; `CaseMarking` has the rows and marks of one
case. Every user interface passes its keys to ``LabelSession.press`` and shows the result of
``view.view_of``, so the same keys write the same bytes in each. A `Desk` asks and saves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from pytest_rageval.authoring.keyed.session import TypedLine
from pytest_rageval.authoring.labelling.draft import Desk, Fetched, LabelCase, ReviewDesk
from pytest_rageval.authoring.labelling.marking import CaseMarking
from pytest_rageval.support.text import part, plural
from pytest_rageval.values.record import ScoreSettings


class Mode(Enum):
    """Current meaning of the keys."""

    BROWSE = "browse"
    SNIPPET = "snippet"
    SEARCH = "search"
    NOTE = "note"
    GROUPS = "groups"
    REMOVE = "remove"
    LEAVE = "leave"
    CONFLICT = "conflict"
    CLOSED = "closed"


TEXT_MODES: Final = frozenset({Mode.SEARCH, Mode.NOTE, Mode.GROUPS})
"""Modes with a line of text input, ended with ``enter`` or ``escape``."""


class LabelSession:
    """Labels the cases of a queue, one at a time.

    Args:
        queue: the cases, at least one.
        desk: asks and saves.
        settings: ``path_case`` and ``coarse_chunks`` decide which chunk a gold names.
        review: for generated cases: ``enter`` marks them as reviewed, and this desk, the same
            one, removes bad ones.
    """

    def __init__(
        self,
        queue: Sequence[LabelCase],
        desk: Desk,
        *,
        settings: ScoreSettings | None = None,
        review: ReviewDesk | None = None,
    ) -> None:
        self._desk = desk
        self._settings = settings or ScoreSettings()
        self._review = review
        self._markings = [CaseMarking(item, self._settings) for item in queue]
        self.index = 0
        self.mode = Mode.BROWSE
        self.waiting = "asking the target ..."
        self.notice = ""
        """Effect of the last key, in one sentence."""
        self._line = TypedLine()
        self.help = False
        self.conflict = ""
        self._after_save: Callable[[], None] = lambda: None
        self._written: set[str] = set()
        self._n_removed = 0
        self._keys: dict[Mode, Callable[[str], None]] = {
            Mode.BROWSE: self._browse,
            Mode.SNIPPET: self._snippet,
            Mode.CONFLICT: self._in_conflict,
            Mode.REMOVE: self._remove,
            Mode.LEAVE: self._in_leave,
            **dict.fromkeys(TEXT_MODES, lambda key: self._line.press(key)),
        }
        self._browse_keys = self._bindings()
        if review is not None:
            self._browse_keys |= {"d": self._reject, "e": self._show_edit}

    def _bindings(self) -> dict[str, Callable[[], None]]:
        def move(step: int) -> Callable[[], None]:
            return lambda: self.marking.move_to(self.marking.cursor + step)

        def change(act: Callable[[CaseMarking], str]) -> Callable[[], None]:
            return lambda: self._say(act(self.marking))

        return {
            "down": move(1), "j": move(1), "up": move(-1), "k": move(-1),
            "home": lambda: self.marking.move_to(0),
            "end": lambda: self.marking.move_to(len(self.marking.rows) - 1),
            "space": change(CaseMarking.toggle),
            "a": change(CaseMarking.toggle_answerable),
            "s": self._open_snippet,
            "g": self._open_groups,
            "t": lambda: self._open(Mode.NOTE, self.marking.note),
            "/": lambda: self._open(Mode.SEARCH, self.marking.search),
            "u": change(CaseMarking.undo),
            "r": change(CaseMarking.redo),
            "w": lambda: self._save(confirmed=False, then=lambda: None),
            "enter": self._confirm,
            "n": lambda: self._save(confirmed=False, then=lambda: self._go(1)),
            "p": lambda: self._save(confirmed=False, then=lambda: self._go(-1)),
            "R": self._ask_again,
            "?": self._toggle_help,
            "escape": self._escape,
            "q": self._leave,
            "Q": self._close,
        }  # fmt: skip

    def _say(self, notice: str) -> None:
        self.notice = notice

    # --- state ----------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Cases of the queue."""
        return len(self._markings)

    @property
    def marking(self) -> CaseMarking:
        """Rows and marks of the current case; the target is asked on first access."""
        marking = self._markings[self.index]
        if marking.fetched is None:
            marking.show(self._desk.fetch(marking.item))
        return marking

    @property
    def closed(self) -> bool:
        """Whether the session is over."""
        return self.mode is Mode.CLOSED

    @property
    def place(self) -> str:
        """The case that keys act on."""
        return self._markings[self.index].item.case.id if self._markings else ""

    @property
    def typed(self) -> str:
        """Text typed so far in one of ``TEXT_MODES``."""
        return self._line.text

    @property
    def typing(self) -> bool:
        """Whether a line of text is typed."""
        return self.mode in TEXT_MODES

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Ids of the cases with unsaved changes, including picked sentences."""
        return tuple(
            one.item.case.id
            for one in self._markings
            if one.changed or (one.choice is not None and one.choice.changed)
        )

    @property
    def n_saved(self) -> int:
        """Number of cases with saved changes, each counted once."""
        return len(self._written)

    @property
    def result(self) -> str:
        """Numbers of saved and removed cases, in words."""
        removed = part(", {} removed", self._n_removed)
        return f"{self.n_saved} saved{removed}"

    @property
    def reviewing(self) -> bool:
        """Whether generated cases are reviewed."""
        return self._review is not None

    # --- keys ----------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        """Take one key.

        Args:
            key: a character such as ``a`` or ``/``, one of ``up``, ``down``, ``home``, ``end``,
                ``space``, ``enter``, ``escape``, ``backspace``, the number of a row, which marks or
                unmarks it, or ``goto:N``, which only moves to it. Unknown keys are ignored.
        """
        if self.closed:
            return
        self.notice = ""
        self._keys[self.mode](key)

    def type(self, text: str) -> None:
        """Take pasted text in a text mode; otherwise it is ignored."""
        if self.typing:
            self._line.add(text)

    def _browse(self, key: str) -> None:
        bound = self._browse_keys.get(key)
        if bound is not None:
            bound()
        elif key.isascii() and key.isdigit():
            self.notice = self.marking.goto(key) or self.marking.toggle()
        elif key.startswith("goto:"):
            self.notice = self.marking.goto(key.removeprefix("goto:"))
        else:
            self.notice = f"no key {key[:20]!r} (? shows the keys)"

    def _escape(self) -> None:
        self.help = False
        if self.marking.filter:
            self.marking.search("")

    def _toggle_help(self) -> None:
        self.help = not self.help

    # --- text ----------------------------------------------------------------------------------

    def _open(self, mode: Mode, take: Callable[[str], str]) -> None:
        before = self.mode

        def end(text: str | None) -> None:
            self.mode, self._line = before, TypedLine()
            if text is not None:
                self.notice = take(text)

        self.mode, self._line = mode, TypedLine(ends=end)

    def _open_groups(self) -> None:
        if len(self.marking.draft.golds) < 2:
            self.notice = "groups need at least two golds"
        else:
            self._open(Mode.GROUPS, self.marking.group)

    def _open_snippet(self) -> None:
        self.notice = self.marking.open_choice()
        if self.marking.choice is not None:
            self.mode = Mode.SNIPPET

    def _snippet(self, key: str) -> None:
        marking, choice = self.marking, self.marking.choice
        assert choice is not None
        if key in {"enter", "s"}:
            self.mode = Mode.BROWSE
            self.notice = marking.quote()
        elif key == "/":
            self._open(Mode.SEARCH, choice.search)
        elif key == "escape" and choice.filter:
            choice.search("")
        elif key in {"escape", "q"}:
            self.mode, marking.choice = Mode.BROWSE, None
            if choice.changed:
                self.notice = "the quotes stay as they were: enter keeps what is picked"
        elif not choice.press(key):
            known = "space picks, enter keeps, escape leaves"
            wrong = f"sentence {key[:6]}" if key.isdigit() else f"key {key[:20]!r}: {known}"
            self.notice = f"no {wrong}"

    # --- the queue -------------------------------------------------------------------------------

    def _go(self, step: int) -> None:
        place = self.index + step
        if 0 <= place < self.total:
            self._show(place)
        else:
            which = "last" if step > 0 else "first"
            said = part("{}; ", self.notice)
            place_of = plural(self.total, "only case", f"{which} of {self.total} cases")
            self.notice = f"{said}this is the {place_of} (q leaves)"

    def _show(self, place: int) -> None:
        self.index, self.help = place, False
        if self._markings:
            self._markings[place].show(self._markings[place].fetched)

    def _ask_again(self) -> None:
        marking = self.marking
        if self.reviewing and not marking.changed:  # it may have been edited elsewhere
            self._renew(self._desk.reload(marking.item))
        else:
            marking.show(None)
        self.notice = "asked again"

    def _renew(self, item: LabelCase, fetched: Fetched | None = None) -> None:
        self._markings[self.index] = CaseMarking(item, self._settings, fetched)

    def _show_edit(self) -> None:
        assert self._review is not None
        command = self._review.edit_command(self.marking.item)
        self.notice = f"edit it in another terminal, then press R:\n{command}"

    def _reject(self) -> None:
        self.mode = Mode.REMOVE
        self.notice = (
            f"remove {self.marking.item.case.id} from the file? y removes it, escape keeps it"
        )

    def _remove(self, key: str) -> None:
        if key != "y":
            kept = key == "escape"
            self.mode = Mode.BROWSE if kept else Mode.REMOVE
            self.notice = "kept" if kept else "y removes the case, escape keeps it"
            return
        assert self._review is not None
        self.mode = Mode.BROWSE
        case = self.marking.item
        result = self._review.remove(case)
        if result.ok:
            self._written.discard(case.case.id)
            self._n_removed += 1
            del self._markings[self.index]
            self._show(max(min(self.index, self.total - 1), 0))
            self.mode = Mode.BROWSE if self._markings else Mode.CLOSED
        self.notice = result.message

    def _leave(self) -> None:
        # Marks may be a slip or half done: only a key that says so saves them.
        if not self.marking.changed:
            self._close()
            return
        self.mode = Mode.LEAVE
        case_id = self.marking.item.case.id
        self.notice = f"{case_id} is not saved: y saves and leaves, n leaves, escape stays"

    def _in_leave(self, key: str) -> None:
        if key not in {"y", "n", "Q", "escape"}:
            self.notice = "y saves and leaves, n leaves without saving, escape stays"
            return
        self.mode = Mode.BROWSE
        if key == "y":
            self._save(confirmed=False, then=self._close)
        elif key != "escape":
            self._close()

    def _close(self) -> None:
        self.mode = Mode.CLOSED

    # --- saving ----------------------------------------------------------------------------------

    def _confirm(self) -> None:
        work = self.marking
        doubt = work.doubt
        if doubt and work.doubted != work.draft:
            work.doubted = work.draft
            self.notice = f"{doubt}; enter again saves it so"
        else:
            self._save(confirmed=True, then=lambda: self._go(1))

    def _save(self, *, confirmed: bool, then: Callable[[], None], over: bool = False) -> None:
        work = self.marking
        if confirmed and self.reviewing and work.draft.review == "generated":
            work.decide(replace(work.draft, review="reviewed"))
        if not work.changed and not confirmed:
            then()
            return
        result = self._desk.save(work.item, work.saved, work.draft, over=over)
        self.notice = result.message
        if result.conflict:
            self.mode, self.conflict = Mode.CONFLICT, result.conflict
            self._after_save = lambda: self._save(confirmed=confirmed, then=then, over=True)
        elif result.ok:
            if result.written:
                self._written.add(work.item.case.id)
            work.saved = work.untouched = work.draft
            then()

    def _in_conflict(self, key: str) -> None:
        if key not in {"m", "t", "escape"}:
            return
        self.mode, self.conflict = Mode.BROWSE, ""
        if key == "m":
            self._after_save()
        elif key == "t":
            self._take_theirs()
        else:
            self.notice = "not saved"

    def _take_theirs(self) -> None:
        old = self._markings[self.index]
        item = self._desk.reload(old.item)
        same_question = item.case.question == old.item.case.question
        self._renew(item, old.fetched if same_question else None)
        self.notice = "taken as the file has it now"
