"""A reader's session: answers in the order of reading, and one function that takes a key. Pure.

Verdicts are written as they are given, so nothing is ever unsaved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, Protocol

from pytest_rageval.analysis.review import (
    ReviewFigures,
    categories_of,
    latest_reviews,
    review_figures,
)
from pytest_rageval.authoring.keyed.session import TypedLine
from pytest_rageval.authoring.review.items import ReadAnswer, ReadSource
from pytest_rageval.support.text import counted, part
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import (
    AnswerReview,
    CategoryChange,
    Part,
    ReviewKey,
    ReviewLine,
    ReviewVerdict,
)

_FAILS: Final = "this fails the answer"
_PARTS: Final[tuple[Part | None, ...]] = (None, "retrieval", "answer")


class ReviewMode(Enum):
    """Current meaning of the keys."""

    READ = "read"
    GROUP = "group"
    CLOSED = "closed"


class Writer(Protocol):
    """Writes one line to the reader's file, on the disk at once."""

    def __call__(self, what: AnswerReview | CategoryChange) -> ReviewLine:
        """Write it.

        Raises:
            StorageError: it cannot be written.
        """


class ReviewSession:
    """Reads the answers of a source, one at a time.

    Args:
        source: the answers, at least one.
        lines: that the reader wrote earlier.
        write: keeps a verdict.
        reviewer: name of the reader.
        blind: whether our stage and scores are hidden.
    """

    def __init__(
        self,
        source: ReadSource,
        lines: Sequence[ReviewLine],
        write: Writer,
        *,
        reviewer: str,
        blind: bool,
    ) -> None:
        self.source = source
        self.reviewer = reviewer
        self.blind = blind
        self.mode = ReviewMode.READ
        self.waiting = "writing ..."
        self.notice = ""
        self.prompt = ""
        """Name of the text that is typed; empty: none is."""
        self.help = False
        self.passage = 0
        """Index of the passage that is read."""
        self.marked: set[ReviewKey] = set()
        """Answers of the categories' list that the next category is for."""
        self.cursor: ReviewKey | None = None
        """Answer of that list that keys act on."""
        self._lines = list(lines)
        self._write = write
        self._line = TypedLine()
        self._hashes, self._readable = source.hashes, source.readable
        self.reviews = latest_reviews(self._lines, self._hashes)
        self.index = self._first_unread() or 0
        self._n_written = 0
        self._keys = {ReviewMode.READ: self._reading(), ReviewMode.GROUP: self._grouping()}

    # --- state ---------------------------------------------------------------------------------

    @property
    def answer(self) -> ReadAnswer:
        """The answer that is read."""
        return self.source.answers[self.index]

    @property
    def review(self) -> AnswerReview | None:
        """The verdict on it; None: none yet."""
        return self.reviews.get(self.answer.key)

    @property
    def categories(self) -> dict[str, int]:
        """Number of answers of each category, the largest first."""
        return categories_of(self.reviews)

    @property
    def figures(self) -> ReviewFigures:
        """Findings so far; without our stages, if the reader is blind."""
        known = self._readable
        if self.blind:
            known = {key: replace(one, stage="unscored") for key, one in known.items()}
        return review_figures(self.reviewer, self.reviews, known)

    @property
    def failed(self) -> list[AnswerReview]:
        """Failed answers: those without a category, then category by category."""
        failed = [one for one in self.reviews.values() if one.verdict == "fail"]
        place = {name: i for i, name in enumerate(self.categories, 1)} | {"": 0}
        return sorted(failed, key=lambda one: place[one.category])

    @property
    def place(self) -> str:
        """The mode and the answer, on which keys act."""
        return f"{self.mode.value} {self.index}"

    @property
    def typed(self) -> str:
        """Text typed so far."""
        return self._line.text

    @property
    def closed(self) -> bool:
        """Whether the session is over."""
        return self.mode is ReviewMode.CLOSED

    @property
    def typing(self) -> bool:
        """Whether a line of text is typed."""
        return bool(self.prompt)

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Nothing: every verdict is written at once."""
        return ()

    @property
    def result(self) -> str:
        """Numbers of what was read, in words."""
        n, total = len(self.reviews), len(self.source.answers)
        return f"{counted(self._n_written, 'verdict')} written, {n} of {total} answers read"

    # --- keys ----------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        """Take one key: a character, a name such as ``enter``, or ``goto:N``."""
        if self.closed:
            return
        self.notice = ""
        if self.typing:
            self._line.press(key)
            return
        bound = self._keys[self.mode].get(key)
        if bound is not None:
            bound()
        elif key.startswith("goto:"):
            self._goto(key.removeprefix("goto:"))
        elif key.isascii() and key.isdigit() and self.mode is ReviewMode.GROUP:
            self._goto(key)
            if not self.notice:
                self._mark()
        else:
            self.notice = f"no key {key[:20]!r} (? shows the keys)"

    def type(self, text: str) -> None:
        """Take pasted text while text is typed."""
        if self.typing:
            self._line.add(text)

    def _reading(self) -> dict[str, Callable[[], None]]:
        keys: dict[str, Callable[[], None]] = {
            "p": lambda: self._decide("pass"),
            "f": lambda: self._decide("fail"),
            "s": lambda: self._decide("skip"),
            "t": self._note,
            "c": self._category,
            "w": self._turn_part,
            "u": self._take_back,
            "b": lambda: self._go(self.index - 1),
            "g": self._group,
            **self._shared(),
        }
        onward = lambda: self._go(self.index + 1)  # noqa: E731
        keys |= {"n": onward, "enter": self._onward, "right": onward, "left": keys["b"]}
        return keys | self._moves(self._move_passage)

    def _grouping(self) -> dict[str, Callable[[], None]]:
        keys: dict[str, Callable[[], None]] = {
            "space": self._mark,
            "c": self._category,
            "r": self._rename,
            "enter": self._open,
            "g": self._read,
            "escape": self._read,
            **self._shared(),
        }
        return keys | self._moves(self._move_row)

    def _shared(self) -> dict[str, Callable[[], None]]:
        return {"?": self._toggle_help, "q": self._close}

    @staticmethod
    def _moves(move: Callable[[int], None]) -> dict[str, Callable[[], None]]:
        steps = {"down": 1, "j": 1, "up": -1, "k": -1}
        return {key: lambda step=step: move(step) for key, step in steps.items()}  # type: ignore[misc]

    def _toggle_help(self) -> None:
        self.help = not self.help

    def _close(self) -> None:
        self.mode = ReviewMode.CLOSED

    # --- moving --------------------------------------------------------------------------------

    def _first_unread(self) -> int | None:
        places = enumerate(self.source.answers)
        return next((i for i, one in places if one.key not in self.reviews), None)

    def _go(self, place: int) -> None:
        if 0 <= place < len(self.source.answers):
            self.index, self.passage, self.help = place, 0, False
        else:
            self.notice = f"this is the {'last' if place else 'first'} answer (q leaves)"

    def _onward(self) -> None:
        # Not to one after it: shares count the random order up to its first answer without verdict.
        place, before = self._first_unread(), self.index
        if place is None:
            self.notice = "every answer is read; g groups what failed, q leaves"
            return
        self._go(place)
        if place <= before:
            self.notice = "this answer has no verdict yet: p pass, f fail, s skip"

    def _move_passage(self, step: int) -> None:
        last = max(len(self.answer.passages) - 1, 0)
        self.passage = min(max(self.passage + step, 0), last)

    def _goto(self, number: str) -> None:
        place = int(number) - 1 if number.isascii() and number.isdigit() else -1
        rows = self.answer.passages if self.mode is ReviewMode.READ else self.failed
        if not 0 <= place < len(rows):
            self.notice = f"no row {number[:6]}"
        elif self.mode is ReviewMode.READ:
            self.passage = place
        else:
            self.cursor = self.failed[place].key

    # --- verdicts ------------------------------------------------------------------------------

    def _keep(self, what: AnswerReview | CategoryChange) -> bool:
        """Write a line; False: it could not be, and nothing changed."""
        before = self.reviews
        try:
            self._lines.append(self._write(what))
        except StorageError as error:
            self.notice = f"NOT WRITTEN: {error}"
            return False
        self.reviews = latest_reviews(self._lines, self._hashes)
        if isinstance(what, AnswerReview):
            verdict = before[what.key].verdict if what.key in before else None
            self._n_written += what.verdict not in {verdict, None}
        return True

    @property
    def _failed(self) -> AnswerReview:
        """The verdict on the answer, as one that fails it."""
        before = self.review
        if before is not None and before.verdict == "fail":
            return before
        return AnswerReview(
            file=self.answer.key[0],
            case_id=self.answer.key[1],
            repeat=self.answer.key[2],
            answer_hash=self.answer.answer_hash,
            verdict="fail",
            note=before.note if before else "",
            blind=self.blind,
        )

    def _decide(self, verdict: ReviewVerdict) -> None:
        one = self._failed
        if verdict != "fail":
            one = replace(one, verdict=verdict, category="", part=None)
        if not self._keep(one):
            return
        if verdict == "fail":
            self._note()
        else:
            self._onward()

    def _take_back(self) -> None:
        if self.review is None:
            self.notice = "there is no verdict to take back"
        elif self._keep(replace(self.review, verdict=None)):
            self.notice = "taken back"

    # A key that opens a line of text always does, as what is typed next would be keys otherwise.

    def _note(self) -> None:
        one = self.review or self._failed
        old = part(' (now "{}")', one.note) or part(" ({})", not self.review and _FAILS)

        def noted(text: str) -> None:
            if not text or self._keep(replace(one, note=text)):
                self.notice = "enter goes on, c gives a category" if self.review else ""

        self._ask(f"the first thing that is wrong{old}", noted)

    def _turn_part(self) -> None:
        if self.review is None or self.review.verdict != "fail":
            self.notice = "only a failed answer has a place of its fault"
            return
        part = _PARTS[(_PARTS.index(self.review.part) + 1) % len(_PARTS)]
        if self._keep(replace(self.review, part=part)):
            self.notice = f"the fault lies in: {part or 'not said'}"

    # --- categories ----------------------------------------------------------------------------

    def _ask(self, prompt: str, then: Callable[[str], None]) -> None:
        def end(text: str | None) -> None:
            self.prompt = ""
            if text is not None:
                then(text)

        self.prompt, self._line = prompt, TypedLine(ends=end)

    def _category(self) -> None:
        targets = [self._failed]
        if self.mode is ReviewMode.GROUP:
            marked = [one for one in self.failed if one.key in self.marked]
            targets = marked or [one for one in self.failed if one.key == self.cursor]
        fails = part("; {}", targets[0] != self.reviews.get(targets[0].key) and _FAILS)

        def give(text: str) -> None:
            name = self._category_name(text)
            if name is not None and all(self._keep(replace(o, category=name)) for o in targets):
                self.marked.clear()
                # The list has moved: on to what has no category yet, which is at its start.
                self.cursor = next((o.key for o in self.failed if not o.category), self.cursor)
                self.notice = f"{counted(len(targets), 'answer')}: {name or 'no category'}"

        self._ask(f"category, or the number of one (empty: no change, -: none{fails})", give)

    def _category_name(self, text: str) -> str | None:
        """Return the category that a text means; None: no change."""
        names = list(self.categories)
        if text.isascii() and text.isdigit():
            if 0 < int(text) <= len(names):
                return names[int(text) - 1]
            self.notice = f"no category {text[:6]}"
            return None
        return "" if text == "-" else text or None

    def _rename(self) -> None:
        before = next((one.category for one in self.failed if one.key == self.cursor), "")
        if not before:
            self._category()
            return

        def rename(text: str) -> None:
            after = self._category_name(text)
            merged = after in self.categories
            if after not in {None, before} and self._keep(
                CategoryChange(before=before, after=after or "")
            ):
                word = "merged into" if merged else "renamed"
                self.notice = f"{before}: " + (part(f"{word} {{}}", after) or "no category now")

        self._ask(f'new name of "{before}"; the name or number of another merges both', rename)

    def _group(self) -> None:
        if not self.failed:
            self.notice = "no answer has failed yet"
            return
        self.mode, self.help, self.marked = ReviewMode.GROUP, False, set()
        self.cursor = self.failed[0].key

    def _read(self) -> None:
        self.mode, self.help = ReviewMode.READ, False

    def _move_row(self, step: int) -> None:
        keys = [one.key for one in self.failed]
        at = keys.index(self.cursor) if self.cursor in keys else 0
        self.cursor = keys[min(max(at + step, 0), len(keys) - 1)]

    def _mark(self) -> None:
        if self.cursor is not None:
            self.marked ^= {self.cursor}

    def _open(self) -> None:
        places = {one.key: i for i, one in enumerate(self.source.answers)}
        self._read()
        if self.cursor is not None:
            self._go(places[self.cursor])
