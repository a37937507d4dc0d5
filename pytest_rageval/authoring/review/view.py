"""The visible state of a reader's session as plain values. Pure.

The values hold texts unchanged from the target, the case file and the user: each interface escapes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.review import ReviewFigures
from pytest_rageval.authoring.keyed.session import ListRow, place_of
from pytest_rageval.authoring.review.items import ReadAnswer, hidden
from pytest_rageval.authoring.review.session import ReviewMode, ReviewSession
from pytest_rageval.report.explain.verdict import expected_answer
from pytest_rageval.support.text import format_value
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import AnswerReview

READ_HELP: Final = (
    ("p", "pass: the answer is good enough; goes on"),
    ("f", "fail: then the first thing that is wrong, in a few words; enter keeps it"),
    ("s", "skip: you cannot tell; goes on"),
    ("enter", "go on to the first answer without a verdict"),
    ("t", "change the note"),
    ("c", "category of what is wrong, which fails the answer"),
    ("w", "where the fault lies: retrieval, answer, not said"),
    ("u", "take the verdict back"),
    ("n b right left", "next, previous answer"),
    ("j k up down", "next, previous passage"),
    ("g", "group what failed into categories"),
    ("q", "leave; every verdict is written already"),
)
GROUP_HELP: Final = (
    ("j k up down", "move"),
    ("space, 1 to 9", "mark answers that belong together"),
    ("c", "give the marked ones, or this one, a category: a name or a number"),
    ("r", "rename the category of this one; the name of another merges both"),
    ("enter", "read this answer"),
    ("g escape", "back to reading"),
    ("q", "leave"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """Everything that a user interface shows."""

    mode: str
    position: int
    """Position of the answer, from 1."""
    total: int
    n_read: int
    answer: ReadAnswer
    """Without what we say about it, if the reader is blind."""
    review: AnswerReview | None
    facts: tuple[tuple[str, str], ...]
    """Expected answer, our stage and scores, each with its label."""
    passages: tuple[ListRow, ...]
    rows: tuple[ListRow, ...]
    """Failed answers, while they are grouped, each with its category as tag.

    Their text is the note, or the question of an answer without a note."""
    categories: tuple[tuple[str, int], ...]
    figures: ReviewFigures
    order: str
    """Choice of the answers, in a sentence."""
    prompt: str
    typed: str
    notice: str
    help: tuple[tuple[str, str], ...]
    """Keys and their actions; empty: not asked for."""


def view_of(session: ReviewSession) -> ReviewView:
    """Return the visible state of a session."""
    grouping = session.mode is ReviewMode.GROUP
    answer = hidden(session.answer) if session.blind else session.answer
    share, n = session.source.random_share, len(session.source.answers)
    keys = GROUP_HELP if grouping else READ_HELP
    return ReviewView(
        mode=session.mode.value,
        position=session.index + 1,
        total=n,
        n_read=len(session.reviews),
        answer=answer,
        review=session.review,
        facts=tuple(_facts(answer)),
        passages=tuple(
            _passage(i, one, i == session.passage) for i, one in enumerate(answer.passages)
        ),
        rows=tuple(_rows(session)) if grouping else (),
        categories=tuple(session.categories.items()),
        figures=session.figures,
        order=f"at least {share:.0%} of the answers are drawn at random, the others promise more",
        prompt=session.prompt,
        typed=session.typed,
        notice=session.notice,
        help=keys if session.help else (),
    )


def _facts(answer: ReadAnswer) -> Iterator[tuple[str, str]]:
    yield from answer.history
    if expected := expected_answer(answer.case):
        yield "expected", expected
    if answer.stage_name:
        yield "our stage", answer.stage_name
    if answer.scores:
        yield "scores", ", ".join(f"{key} {format_value(value)}" for key, value in answer.scores)
    if answer.reasons:
        yield "doubts", ", ".join(answer.reasons)


def _passage(index: int, chunk: RetrievedChunk, current: bool) -> ListRow:
    golds = tuple(gold + 1 for gold in chunk.matched_golds or ())
    return ListRow(
        number=index + 1,
        current=current,
        marked=bool(golds),
        place=place_of(chunk),
        golds=golds,
        tags=("irrelevant",) if chunk.irrelevant else (),
        text=chunk.text or "",
    )


def _rows(session: ReviewSession) -> Iterator[ListRow]:
    questions = {one.key: one.case.question for one in session.source.answers}
    for number, one in enumerate(session.failed, 1):
        yield ListRow(
            number=number,
            current=one.key == session.cursor,
            marked=one.key in session.marked,
            place=one.case_id,
            tags=(one.category or "no category yet",),
            text=one.note or questions[one.key],
        )


_KEYS: Final = {
    "read": "p pass  f fail  s skip  c category  enter next  g group  ? help  q leave",
    "group": "space mark  c category  r rename  enter read  escape back  ? help  q leave",
}


def key_line(view: ReviewView) -> str:
    """Return the keys that are always shown."""
    return "enter keep  escape leave" if view.prompt else _KEYS[view.mode]


def verdict_text(review: AnswerReview | None) -> str:
    """Return a verdict in a few words; empty: none yet."""
    if review is None:
        return ""
    parts = (review.verdict, review.category, review.part and f"in {review.part}", review.note)
    return " · ".join(filter(None, parts))
