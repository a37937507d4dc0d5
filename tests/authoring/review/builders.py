"""Answers to read, and a session over them that keeps what it writes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_rageval.analysis.review import OurStage, Readable
from pytest_rageval.authoring.review.items import ReadAnswer, ReadSource
from pytest_rageval.authoring.review.page import ReviewPage
from pytest_rageval.authoring.review.session import ReviewSession
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import AnswerReview, CategoryChange, ReviewLine
from tests.build.key_pages import Served, serving_page

STAGES: tuple[OurStage, ...] = ("not_retrieved", "passed", "incorrect")


@dataclass
class Written:
    """Keeps what a session writes, unless its disk is full."""

    lines: list[ReviewLine] = field(default_factory=list)
    full: bool = False

    def __call__(self, what: AnswerReview | CategoryChange) -> ReviewLine:
        if self.full:
            raise StorageError("no space left")
        review = what if isinstance(what, AnswerReview) else None
        change = None if isinstance(what, AnswerReview) else what
        self.lines.append(ReviewLine(at="", review=review, category=change))
        return self.lines[-1]


def answers(n: int = 4) -> tuple[ReadAnswer, ...]:
    """Answers in the order of their numbers, with two passages each."""
    return tuple(
        ReadAnswer(
            key=("evals/set.jsonl", f"c-{i}", 0),
            case=Case(id=f"c-{i}", question=f"Question {i}?", expected_answer=f"expected {i}"),
            answer=f"Answer {i}.",
            passages=(
                RetrievedChunk(
                    rel_path="a.md", heading_path="# A", text="The text of A.", matched_golds=(0,)
                ),
                RetrievedChunk(rel_path="b.md", text="The text of B."),
            ),
            figured=Readable(stage=STAGES[i % len(STAGES)]),
            stage_name=f"stage of {i}",
            scores=(("correctness", 2.5),),
            reasons=("flipped",),
        )
        for i in range(n)
    )


def session_of(
    n: int = 4, *, written: Written | None = None, blind: bool = False, reviewer: str = "ann"
) -> ReviewSession:
    """A session of one reader, which goes on from what was written."""
    kept = written or Written()
    source = ReadSource(place=Path("run"), name="run", answers=answers(n), random_share=0.5)
    return ReviewSession(source, tuple(kept.lines), kept, reviewer=reviewer, blind=blind)


def press(session: ReviewSession, *keys: str) -> ReviewSession:
    """Press keys; ``'words`` is typed letter by letter and ended."""
    for key in keys:
        if key.startswith("'"):
            for letter in key[1:]:
                session.press("space" if letter == " " else letter)
            session.press("enter")
        else:
            session.press(key)
    return session


def serving(session: ReviewSession) -> AbstractContextManager[Served]:
    """Serve the page of a session."""
    return serving_page(ReviewPage(session))
