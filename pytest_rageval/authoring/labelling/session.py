"""A labelling session: a queue of cases and one function that takes a key. Pure.

Every user interface passes its keys to ``LabelSession.press`` and shows the result of
``view.view_of``, so the same keys write the same bytes in each. A `Desk` asks and saves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from pytest_rageval.authoring.labelling.draft import (
    Candidate,
    Desk,
    Draft,
    Gold,
    LabelCase,
    ReviewDesk,
    Work,
    gold_for,
    matches,
    parse_groups,
    place_of,
    quotable,
    same_section,
    unusable,
)
from pytest_rageval.authoring.labelling.snippets import SnippetChoice, split_passages
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.project.case_rules import anchor_identity
from pytest_rageval.support.text import counted
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

MAX_INPUT: Final = 10_000
"""Longest note or search in characters."""


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
        self.settings = settings or ScoreSettings()
        self._review = review
        self._works = [Work.on(item) for item in queue]
        self.index = 0
        self.cursor = 0
        """Index of the row that keys act on, among ``rows``."""
        self.mode = Mode.BROWSE
        self.notice = ""
        """Effect of the last key, in one sentence."""
        self.filter = ""
        self.typed = ""
        """Text typed so far in one of ``TEXT_MODES``."""
        self.help = False
        self.choice: SnippetChoice | None = None
        """Set while sentences of the current chunk are chosen."""
        self.conflict = ""
        self._after_save: Callable[[], None] = lambda: None
        self._written: set[str] = set()
        self._n_removed = 0
        self._loose: tuple[tuple[object, ...], tuple[Candidate, ...]] | None = None
        self._keys: dict[Mode, Callable[[str], None]] = {
            Mode.BROWSE: self._browse,
            Mode.SNIPPET: self._snippet,
            Mode.CONFLICT: self._in_conflict,
            Mode.REMOVE: self._remove,
            Mode.LEAVE: self._in_leave,
            **dict.fromkeys(TEXT_MODES, self._type_key),
        }
        self._browse_keys = self._bindings()
        if review is not None:
            self._browse_keys |= {"d": self._reject, "e": self._show_edit}

    def _bindings(self) -> dict[str, Callable[[], None]]:
        def move(step: int) -> Callable[[], None]:
            return lambda: self._move_to(self.cursor + step)

        return {
            "down": move(1), "j": move(1), "up": move(-1), "k": move(-1),
            "home": lambda: self._move_to(0), "end": lambda: self._move_to(len(self.rows) - 1),
            "space": self._toggle,
            "a": self._toggle_answerable,
            "s": self._open_snippet,
            "g": self._open_groups,
            "t": lambda: self._open(Mode.NOTE),
            "/": lambda: self._open(Mode.SEARCH),
            "u": lambda: self._step("undo", self.work.past, self.work.future),
            "r": lambda: self._step("redo", self.work.future, self.work.past),
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

    # --- state ----------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Cases of the queue."""
        return len(self._works)

    @property
    def work(self) -> Work:
        """The current case; the target is asked on first access."""
        work = self._works[self.index]
        if work.fetched is None:
            work.fetched = self._desk.fetch(work.item)
        return work

    @property
    def closed(self) -> bool:
        """Whether the session is over."""
        return self.mode is Mode.CLOSED

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Ids of the cases with unsaved changes, including picked sentences."""
        picking = self.index if self.choice is not None and self.choice.changed else None
        return tuple(
            work.item.case.id for i, work in enumerate(self._works) if work.changed or i == picking
        )

    @property
    def n_saved(self) -> int:
        """Number of cases with saved changes, each counted once."""
        return len(self._written)

    @property
    def result(self) -> str:
        """Numbers of saved and removed cases, in words."""
        removed = f", {self._n_removed} removed" if self._n_removed else ""
        return f"{self.n_saved} saved{removed}"

    @property
    def reviewing(self) -> bool:
        """Whether generated cases are reviewed."""
        return self._review is not None

    @property
    def loose_golds(self) -> tuple[Candidate, ...]:
        """Golds that match none of the retrieved chunks; kept unless removed."""
        work = self.work
        key = (work.item, work.fetched, work.draft)
        # Cached, because every row uses them; safe, because their inputs are never mutated.
        if self._loose is None or any(a is not b for a, b in zip(self._loose[0], key, strict=True)):
            self._loose = key, self._find_loose(work)
        return self._loose[1]

    def _find_loose(self, work: Work) -> tuple[Candidate, ...]:
        everything = (*work.known_golds, *(Candidate(gold=gold) for gold in work.draft.golds))
        golds = [candidate.gold for candidate in everything]
        return tuple(
            candidate
            for place, candidate in enumerate(everything)
            if candidate.gold not in golds[:place]
            and not any(matches(candidate.gold, chunk, self.settings) for chunk in work.chunks)
        )

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of the rows that are shown, from 0: the chunks, then the loose golds."""
        every = range(len(self.work.chunks) + len(self.loose_golds))
        wanted = norm_text(self.filter)
        # Texts may be whole documents, so they are read for a search alone.
        return tuple(i for i in every if not wanted or wanted in norm_text(self._searched(i)))

    def _searched(self, row: int) -> str:
        chunks = self.work.chunks
        if row < len(chunks):
            return f"{place_of(chunks[row])}\n{chunks[row].text or ''}"
        return place_of(self.loose_golds[row - len(chunks)].gold)

    @property
    def row(self) -> int | None:
        """The row that keys act on; None: nothing is shown."""
        rows = self.rows
        return rows[min(self.cursor, len(rows) - 1)] if rows else None

    def golds_of_row(self, row: int) -> tuple[int, ...]:
        """Return the indices of the marked golds of a row; empty: it is not marked."""
        work = self.work
        golds = enumerate(work.draft.golds)
        if row < len(work.chunks):
            chunk = work.chunks[row]
            return tuple(i for i, g in golds if matches(g, chunk, self.settings))
        wanted = self.loose_golds[row - len(work.chunks)].gold
        return tuple(i for i, gold in golds if gold == wanted)

    def irrelevant(self, row: int) -> bool:
        """Whether the case names a chunk as evidence that must not be retrieved."""
        work = self.work
        if row >= len(work.chunks):
            return False
        bad = work.item.case.irrelevant_supports
        return any(matches(anchor, work.chunks[row], self.settings) for anchor in bad)

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
        if self.mode in TEXT_MODES:
            self.typed = (self.typed + text)[:MAX_INPUT]

    def _browse(self, key: str) -> None:
        bound = self._browse_keys.get(key)
        if bound is not None:
            bound()
        elif key.isascii() and key.isdigit():
            if self._goto(key):
                self._toggle()
        elif key.startswith("goto:"):
            self._goto(key.removeprefix("goto:"))
        else:
            self.notice = f"no key {key[:20]!r} (? shows the keys)"

    def _goto(self, number: str) -> bool:
        row = int(number) - 1 if number.isascii() and number.isdigit() and len(number) < 6 else -1
        if row not in self.rows:
            self.notice = f"no row {number[:6]}"
            return False
        self.cursor = self.rows.index(row)
        return True

    def _move_to(self, place: int) -> None:
        self.cursor = max(0, min(place, len(self.rows) - 1))

    def _escape(self) -> None:
        self.help = False
        if self.filter:
            self.filter, self.cursor = "", 0

    def _toggle_help(self) -> None:
        self.help = not self.help

    # --- decisions -------------------------------------------------------------------------------

    def _decide(self, draft: Draft, notice: str) -> None:
        work = self.work
        if draft != work.draft:
            work.past.append(work.draft)
            work.future.clear()
            work.draft = draft
        self.notice = notice

    def _step(self, verb: str, source: list[Draft], other: list[Draft]) -> None:
        """Undo or redo: take the last draft of one list, and keep the current one in the other."""
        if not source:
            self.notice = f"nothing to {verb}"
            return
        other.append(self.work.draft)
        self.work.draft = source.pop()
        self.notice = f"{verb}ne"

    def _toggle_answerable(self) -> None:
        draft = self.work.draft
        answerable = not draft.answerable
        lost = f"; {counted(len(draft.golds), 'mark')} taken out" if draft.golds else ""
        self._decide(
            draft.with_answerable(answerable),
            "answerable" if answerable else f"unanswerable: the right answer is to abstain{lost}",
        )

    def _toggle(self) -> None:
        row = self.row
        if row is None:
            self.notice = "nothing to mark"
        elif marked := self.golds_of_row(row):
            self._unmark(row, marked)
        else:
            self._mark(row)

    def _unmark(self, row: int, marked: tuple[int, ...]) -> None:
        draft = self.work.draft
        others = [
            other + 1
            for other in range(len(self.work.chunks))
            if other != row and set(self.golds_of_row(other)) & set(marked)
        ]
        notice = f"row {row + 1} is no longer evidence"
        if others:
            rows = "row" if len(others) == 1 else "rows"
            notice += f", nor is {rows} {', '.join(map(str, others))} by the same anchor"
        if losses := draft.losses(marked):
            notice += f"; {'; '.join(losses)}; g sets groups again"
        if self.work.item.case.recency_conflict_rule is not None and 0 in marked:
            notice += "; gold 1, the newer source of recency_conflict_rule, is another one now"
        self._decide(draft.without_golds(marked), notice)

    def _mark(self, row: int) -> None:
        work = self.work
        draft, chunks = work.draft, work.chunks
        if row >= len(chunks):
            self._add([self.loose_golds[row - len(chunks)].gold], f"gold of row {row + 1} kept")
            return
        chunk = chunks[row]
        if (problem := self._problem(row)) is not None:
            self.notice = f"row {row + 1} cannot be marked: {problem}"
            return
        known = [c.gold for c in work.known_golds if matches(c.gold, chunk, self.settings)]
        distinct = [known[i] for i in dict.fromkeys(map(known.index, known))]
        golds = distinct or [gold_for(chunk)]
        notice = f"row {row + 1} is evidence"
        if not chunk.heading_path:
            notice += ", and so is its whole document: s narrows it to a sentence"
        if not draft.answerable:
            notice += "; the case is answerable again"
        self._add(golds, notice)

    def _add(self, golds: Sequence[Gold], notice: str) -> None:
        """Add golds, at their earlier position if they had one."""
        draft = self.work.draft
        start = self.work.item.start.golds
        for gold in golds:
            at = None
            if gold in start:
                earlier = start[: start.index(gold)]
                at = sum(other in earlier for other in draft.golds)
            draft = draft.with_golds([gold], at=at)
        self._decide(draft, notice)

    # --- text ----------------------------------------------------------------------------------

    def _open(self, mode: Mode) -> None:
        self.mode, self.typed = mode, ""

    def _open_groups(self) -> None:
        if len(self.work.draft.golds) < 2:
            self.notice = "groups need at least two golds"
        else:
            self._open(Mode.GROUPS)

    def _type_key(self, key: str) -> None:
        if key == "escape":
            self.mode, self.typed = Mode.BROWSE, ""
        elif key == "enter":
            mode, text = self.mode, " ".join(self.typed.split())
            self.mode, self.typed = Mode.BROWSE, ""
            {Mode.SEARCH: self._search, Mode.NOTE: self._note, Mode.GROUPS: self._group}[mode](text)
        elif key == "backspace":
            self.typed = self.typed[:-1]
        elif key == "space":
            self.type(" ")
        elif len(key) == 1:
            self.type(key)

    def _search(self, text: str) -> None:
        self.filter, self.cursor = text, 0
        if text:
            self.notice = f"{counted(len(self.rows), 'row')} with the text; escape shows all"

    def _note(self, text: str) -> None:
        if text == "-":
            self._decide(replace(self.work.draft, notes=""), "note taken out")
        elif text:
            clean = text.encode("utf-8", "ignore").decode()  # lone surrogates cannot be written
            self._decide(replace(self.work.draft, notes=clean), "noted")

    def _group(self, text: str) -> None:
        draft = self.work.draft
        if text == "-":
            self._decide(replace(draft, groups=None), "groups taken out")
        elif text:
            try:
                groups = parse_groups(text, len(draft.golds))
            except ValueError as error:
                self.notice = f"groups: {error}"
                return
            named = ", or ".join(
                " + ".join(f"{i + 1} {draft.golds[i]['rel_path']}" for i in group)
                for group in groups
            )
            self._decide(replace(draft, groups=groups), f"enough together: {named}")

    # --- snippets ------------------------------------------------------------------------------

    def _open_snippet(self) -> None:
        row, chunks = self.row, self.work.chunks
        if row is None or row >= len(chunks):
            self.notice = "no text here to quote from"
            return
        chunk = chunks[row]
        problem = self._problem(row)
        quotes = quotable(chunk, split_passages(chunk.text or ""))
        if problem is not None or not quotes:
            self.notice = f"row {row + 1}: {problem or 'no sentence to quote'}"
            return
        own = self._own_gold(chunk)
        held = () if own is None else self.work.draft.golds[own].get("snippets", ())
        self.choice = SnippetChoice(quotes, held)
        self.mode = Mode.SNIPPET

    def _problem(self, row: int) -> str | None:
        """Return the reason why no gold can name a chunk; None: one can."""
        against = "irrelevant_supports of the case names it as evidence against"
        return unusable(self.work.chunks[row]) or (against if self.irrelevant(row) else None)

    def _own_gold(self, chunk: RetrievedChunk) -> int | None:
        """Return the gold that quotes this chunk, or names its section without quotes."""
        golds = self.work.draft.golds
        own = [
            i
            for i, gold in enumerate(golds)
            if same_section(gold, chunk, self.settings) and matches(gold, chunk, self.settings)
        ]
        return max(own, key=lambda i: len(golds[i].get("snippets", ())), default=None)

    def _snippet(self, key: str) -> None:
        if key in {"enter", "s"}:
            self.mode = Mode.BROWSE
            self._quote()
        elif key in {"escape", "q"}:
            self.mode, self.choice = Mode.BROWSE, None
        elif self.choice is not None and not self.choice.press(key):
            known = "space picks, enter keeps, escape leaves"
            wrong = f"sentence {key[:6]}" if key.isdigit() else f"key {key[:20]!r}: {known}"
            self.notice = f"no {wrong}"

    def _quote(self) -> None:
        row, choice, self.choice = self.row, self.choice, None
        assert row is not None  # the cursor cannot move while sentences are chosen
        assert choice is not None
        chunk, draft = self.work.chunks[row], self.work.draft
        own, snippets = self._own_gold(chunk), choice.snippets()
        notice = f"row {row + 1}: {counted(len(snippets), 'sentence')} quoted"
        if own is not None:
            gold = dict(draft.golds[own])
            if snippets or "snippets" in gold:
                gold["snippets"] = snippets
            others = (g for i, g in enumerate(draft.golds) if i != own)
            same = anchor_identity(gold) in map(anchor_identity, others)
            if same and (losses := draft.losses([own])):
                notice += f"; {'; '.join(losses)}; g sets groups again"
            self._decide(draft.without_golds([own]) if same else draft.with_gold(own, gold), notice)
        elif snippets:
            self._add([gold_for(chunk, snippets)], notice)

    # --- the queue -------------------------------------------------------------------------------

    def _go(self, step: int) -> None:
        place = self.index + step
        if 0 <= place < self.total:
            self._show(place)
        else:
            which = "last" if step > 0 else "first"
            said = f"{self.notice}; " if self.notice else ""
            self.notice = f"{said}this is the {which} of {self.total} cases (q leaves)"

    def _show(self, place: int) -> None:
        self.index, self.cursor, self.filter, self.help = place, 0, "", False

    def _ask_again(self) -> None:
        work = self.work
        if self.reviewing and not work.changed:  # it may have been edited elsewhere
            self._works[self.index] = Work.on(self._desk.reload(work.item))
        else:
            work.fetched = None
        self.cursor, self.filter = 0, ""
        self.notice = "asked again"

    def _show_edit(self) -> None:
        assert self._review is not None
        command = self._review.edit_command(self.work.item)
        self.notice = f"edit it in another terminal, then press R:\n{command}"

    def _reject(self) -> None:
        self.mode = Mode.REMOVE
        self.notice = (
            f"remove {self.work.item.case.id} from the file? y removes it, escape keeps it"
        )

    def _remove(self, key: str) -> None:
        if key != "y":
            kept = key == "escape"
            self.mode = Mode.BROWSE if kept else Mode.REMOVE
            self.notice = "kept" if kept else "y removes the case, escape keeps it"
            return
        assert self._review is not None
        self.mode = Mode.BROWSE
        case = self.work.item
        result = self._review.remove(case)
        if result.ok:
            self._written.discard(case.case.id)
            self._n_removed += 1
            del self._works[self.index]
            self._show(max(min(self.index, self.total - 1), 0))
            self.mode = Mode.BROWSE if self._works else Mode.CLOSED
        self.notice = result.message

    def _leave(self) -> None:
        # Marks may be a slip or half done: only a key that says so saves them.
        if not self.work.changed:
            self._close()
            return
        self.mode = Mode.LEAVE
        case_id = self.work.item.case.id
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
        work = self.work
        doubt = work.doubt
        if doubt and work.doubted != work.draft:
            work.doubted = work.draft
            self.notice = f"{doubt}; enter again saves it so"
        else:
            self._save(confirmed=True, then=lambda: self._go(1))

    def _save(self, *, confirmed: bool, then: Callable[[], None], over: bool = False) -> None:
        work = self.work
        if confirmed and self.reviewing and work.draft.review == "generated":
            self._decide(replace(work.draft, review="reviewed"), "reviewed")
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
        old = self._works[self.index]
        item = self._desk.reload(old.item)
        same_question = item.case.question == old.item.case.question
        self._works[self.index] = Work.on(item, old.fetched if same_question else None)
        self.cursor = 0
        self.notice = "taken as the file has it now"
