"""The view of one case that judge and metrics share, and the three states of a score.

A score is a number, *not applicable* (outside the metric's population, with the reason) or
*failed* (the target or the judge failed where the metric applied). The population is decided
first, so that it never depends on how the case went.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from pytest_rageval.metrics.citations import read_citations
from pytest_rageval.metrics.matching import decide_chunks
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import (
    AskResponse,
    Citation,
    ErrorInfo,
    RetrievedChunk,
    is_empty_answer,
)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The case lies outside the metric's population."""

    reason: str
    """One short sentence for people."""


class Failed(Enum):
    """The metric applied, and the target or the judge failed."""

    FAILED = "failed"


FAILED = Failed.FAILED
Score = float | NotApplicable | Failed
Scores = Mapping[str, Score]

_NO_SCORES: Mapping[str, float | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Verdicts of a judge on one answer. None means: asked, and no valid verdict came."""

    abstained: bool | None = None
    """Whether the answer abstains; read only where the target does not say."""
    acknowledges_conflict: bool | None = None
    """Whether the answer states that its sources differ."""
    scores: Mapping[str, float | None] = field(default_factory=lambda: _NO_SCORES)
    """Judged metric key to raw score; None is a judge error."""
    judged_keys: frozenset[str] = frozenset()
    """Judged metric keys of the rubrics in use, besides those in ``scores``. A key in use without
    a score is an error where it applies, so pass this for failed cases too."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Judged metric key to the reason why the judge found it without object (no claims)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One case with its response, prepared once for the judge and every metric family."""

    case: Case
    settings: ScoreSettings
    response: AskResponse | None
    """None: the target gave none."""
    failed: bool
    """The target failed, or its answer was empty; what an empty answer comes with still counts
    for retrieval and scope."""
    chunks: tuple[RetrievedChunk, ...] | None
    """In rank order and decided against the anchors; None: not reported."""
    citations: tuple[Citation, ...] | None
    """From references and answer text, distinct; None: not reported."""
    verdicts: Verdicts | None = None

    @property
    def k(self) -> int:
        """Cutoff in delivered chunks: the case's, else the run's."""
        return self.case.k if self.case.k is not None else self.settings.k

    @property
    def cut(self) -> tuple[RetrievedChunk, ...]:
        """The first ``k`` chunks; empty where none are reported."""
        return (self.chunks or ())[: self.k]

    @property
    def abstained(self) -> bool | None:
        """Whether the answer abstains, by the target's flag, else by the judge; None: unknown."""
        if self.response is None:
            return None
        if self.response.abstained is not None:
            return self.response.abstained
        return self.verdicts.abstained if self.verdicts is not None else None


def view_case(
    case: Case,
    response: AskResponse | None,
    settings: ScoreSettings,
    *,
    error: ErrorInfo | None = None,
) -> CaseView:
    """Order and decide the chunks of a response and read its citations.

    Args:
        case: the question and its evidence.
        response: of the target; None where it gave none. With an empty answer (whitespace, not
            flagged as an abstention) the answer-side metrics are errors, while retrieval and
            scope stand.
        settings: cutoff, matching and the kind of run. Chunks without full text keep an earlier
            decision in ``matched_golds`` and ``irrelevant``: clear both before scoring with other
            matching settings or another case.
        error: why the target failed; needed where ``response`` is None.

    Raises:
        ValueError: ``response`` and ``error`` are both None.
    """
    if response is None and error is None:
        raise ValueError(f"case {case.id!r}: expected a response or an error, got neither")
    chunks = citations = None
    if response is not None:
        if response.retrieved_chunks is not None:
            chunks = decide_chunks(case, response.retrieved_chunks, settings)
        citations = read_citations(response, chunks, settings.path_case)
    return CaseView(
        case=case,
        settings=settings,
        response=response,
        failed=error is not None or response is None or is_empty_answer(response),
        chunks=chunks,
        citations=citations,
    )


def gold_population(case: Case) -> NotApplicable | None:
    """Return why a case lies outside the population "answerable, at least one gold", if it does."""
    if not case.answerable:
        return NotApplicable("The case is unanswerable.")
    if not case.gold_supports:
        return NotApplicable("The case has no gold_supports.")
    return None
