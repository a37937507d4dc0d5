"""Scoring of a record again, once the whole run is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_rageval.metrics.matching import has_heading_anchor
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.metrics.scoring import score_case
from pytest_rageval.metrics.view import FAILED, NotApplicable, Score, view_case
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from pytest_rageval.values.settings import Settings


def score_settings(settings: Settings, *, headings_reported: bool = True) -> ScoreSettings:
    """Select what scoring depends on from the settings of a run."""
    return ScoreSettings(
        k=settings.k,
        path_case=settings.path_case,
        snippets=settings.snippets,
        coarse_chunks=settings.coarse_chunks,
        headings_reported=headings_reported,
        folder_mode=settings.folder_mode,
        retrieval_only=settings.retrieval_only,
        judge_configured=settings.judge != "none",
    )


def any_heading(chunks: Iterable[RetrievedChunk]) -> bool | None:
    """Say whether any chunk has a heading; None: there is no chunk."""
    found = None
    for chunk in chunks:
        if chunk.heading_path is not None:
            return True
        found = False
    return found


def headings_reported(records: Iterable[CaseRecord]) -> bool:
    """Say whether the target of a run reports headings, which is a fact about the whole run.

    Without a single chunk nothing is known of it, and True stands.
    """
    chunks = (chunk for record in records for chunk in record.retrieved_chunks or ())
    return any_heading(chunks) is not False


def seems_to_report_headings(chunks: Sequence[RetrievedChunk] | None) -> bool:
    """Guess by one response, while the run goes on, whether its target reports headings.

    ``settle_headings`` mends the guess at the end.
    """
    return any_heading(chunks or ()) is not False


def settle_headings(
    record: CaseRecord,
    case: Case,
    settings: Settings,
    *,
    headings_reported: bool,
    settled_before: bool = False,
) -> CaseRecord:
    """Score a record again if what the whole run says of headings is not what was guessed.

    Failed cases too: whether their metrics are errors or not applicable depends on it. Besides
    the metrics of anchors only ``similarity_margin`` does, which then has no relevant chunks to
    speak of; the others stand, whose vectors or verdicts a record may no longer hold.

    Args:
        record: as it was scored when it was made.
        case: that was asked.
        settings: of the run.
        headings_reported: what the whole run says.
        settled_before: whether the record may have been settled by what a part of the run said,
            which shows only in records without a chunk to guess from.
    """
    guess = seems_to_report_headings(record.retrieved_chunks)
    if guess == headings_reported and not (settled_before and not record.retrieved_chunks):
        return record
    known = {
        key: _stored_score(record, key)
        for key, info in METRICS.items()
        if info.level != "anchor" and key in record.metrics
    }
    if not headings_reported and has_heading_anchor(case):
        known.pop("similarity_margin", None)

    scoring = score_settings(settings, headings_reported=headings_reported)
    view = view_case(case, response_of(record), scoring, error=record.error)
    scores = score_case(view, known=known)
    response = record.response and replace(record.response, retrieved_chunks=view.chunks)
    metrics = {**scores.metrics, **_own_metrics(record)}
    # The citations stand: what is stored of the answer may be only its beginning.
    settled = replace(scores, metrics=metrics, citations=record.citations)
    return replace(record, response=response, scores=settled)


def _own_metrics(record: CaseRecord) -> dict[str, float | None]:
    """Return the scores of the user's own rubrics, which no registry knows."""
    return {key: value for key, value in record.metrics.items() if key not in METRICS}


def _stored_score(record: CaseRecord, key: str) -> Score:
    value = record.metrics[key]
    if value is not None:
        return value
    reason = record.not_applicable.get(key)
    return FAILED if reason is None else NotApplicable(reason)


def response_of(record: CaseRecord) -> AskResponse | None:
    """Return a stored response as it is scored again; None: there was none."""
    # The citations read from the text are references here: what is stored of the text may be
    # only its beginning.
    return record.response and replace(record.response, references=record.citations)
