"""Verdicts of people on answers, and the categories of what they found wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from pytest_rageval.values.record import SCHEMA_VERSION, FailureStage

ReviewVerdict = Literal["pass", "fail", "skip"]
VERDICTS: Final[tuple[ReviewVerdict, ...]] = get_args(ReviewVerdict)
Part = Literal["retrieval", "answer"]
"""Part of a system in which a person sees the fault."""
RETRIEVAL_STAGES: Final[frozenset[FailureStage]] = frozenset(
    {
        "not_indexed",
        "out_of_scope",
        "lost_context",
        "not_retrieved",
        "lost_in_rerank",
        "irrelevant_retrieved",
    }
)
FAILURE_TAG: Final = "failure:"
"""Beginning of the tags that name what a reader found wrong with the answer to a case."""
ReviewKey = tuple[str, str, int]
"""Case file, name of the case and repeat."""


def part_of(stage: FailureStage) -> Part:
    """Return the part of a system in which a stage lies."""
    return "retrieval" if stage in RETRIEVAL_STAGES else "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReview:
    """One person's verdict on one answer; a later one on the same answer replaces it."""

    file: str
    case_id: str
    """Name of the case in its run, or id in its file."""
    repeat: int = 0
    answer_hash: str
    """Hash of the answer that was read: of another answer the verdict says nothing."""
    verdict: ReviewVerdict | None
    """``skip``: the reader cannot tell; None: an earlier verdict is taken back."""
    note: str = ""
    """The first thing that is wrong, in the reader's words."""
    category: str = ""
    """Empty: none yet."""
    part: Part | None = None
    """Part in which the reader sees the fault; None: not said."""
    blind: bool = False
    """Whether our stage and scores were hidden."""

    @property
    def key(self) -> ReviewKey:
        """The answer that is meant."""
        return self.file, self.case_id, self.repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryChange:
    """A category gets another name; one that is in use already merges both."""

    before: str
    after: str
    """Empty: its answers have none again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """One line of a reviewer's file: exactly one of its two parts."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    at: str
    """Time, UTC, ISO 8601."""
    review: AnswerReview | None = None
    category: CategoryChange | None = None
