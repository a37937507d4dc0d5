"""Short ways to say a case, a response and its scores in tests of metrics."""

from __future__ import annotations

from typing import Any

from pytest_rageval.metrics.scoring import score_case
from pytest_rageval.metrics.view import CaseView, Verdicts, view_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, ErrorInfo, RetrievedChunk

TIMEOUT = ErrorInfo(kind="timeout", message="no reply within 60 s", attempts=1)


def gold(where: str, **fields: Any) -> Anchor:
    """Anchor from ``path`` or ``path | heading path``."""
    path, _, heading = where.partition(" | ")
    return Anchor(rel_path=path, heading_path=heading, **fields)


def chunk(where: str, **fields: Any) -> RetrievedChunk:
    """Chunk from ``path`` (no heading reported) or ``path | heading path``."""
    path, bar, heading = where.partition(" | ")
    return RetrievedChunk(rel_path=path, heading_path=heading if bar else None, **fields)


def cite(where: str) -> Citation:
    """Citation from ``path`` (whole document) or ``path | heading path``."""
    path, bar, heading = where.partition(" | ")
    return Citation(rel_path=path, heading_path=heading if bar else None)


def case(*golds: str, **fields: Any) -> Case:
    """Case over golds written as for ``gold``."""
    return Case(id="x", question="?", **{"gold_supports": tuple(map(gold, golds)), **fields})


def response(*chunks: str, **fields: Any) -> AskResponse:
    """Response over chunks written as for ``chunk``."""
    given = {"answer": "text", "retrieved_chunks": tuple(map(chunk, chunks)), **fields}
    return AskResponse(**given)


def score_reply(
    of: Case,
    reply: AskResponse | None,
    settings: ScoreSettings,
    *,
    error: ErrorInfo | None = None,
    verdicts: Verdicts | None = None,
) -> CaseScores:
    """Score a reply to a case."""
    return score_case(view_case(of, reply, settings, error=error), verdicts)


def score(
    of: Case,
    reply: AskResponse | None,
    *,
    error: ErrorInfo | None = None,
    verdicts: Verdicts | None = None,
    **settings: Any,
) -> CaseScores:
    """Score with settings given by name."""
    return score_reply(of, reply, ScoreSettings(**settings), error=error, verdicts=verdicts)


def view(of: Case, reply: AskResponse, **settings: Any) -> CaseView:
    """View a case with settings given by name."""
    return view_case(of, reply, ScoreSettings(**settings))


def rerank_delta(scores: CaseScores) -> dict[str, float | None] | None:
    """Gain of every retrieval metric by reranking; None: not every chunk reports its rank."""
    if scores.metrics_before_rerank is None:
        return None
    pairs = {k: (was, scores.metrics[k]) for k, was in scores.metrics_before_rerank.items()}
    return {k: None if was is None or now is None else now - was for k, (was, now) in pairs.items()}


def status(scores: CaseScores, key: str) -> str:
    """Name the state of a metric: scored, not_applicable or error."""
    if scores.metrics[key] is not None:
        return "scored"
    return "not_applicable" if key in scores.not_applicable else "error"
