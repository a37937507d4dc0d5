"""One case through the house: case in, record out.

The only room that puts asking, scoring and recording in order. It knows neither pytest nor
files; the client it is handed is whatever the ``rag_client`` fixture returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from pytest_rageval.adapters import call_client
from pytest_rageval.citations import read_citations
from pytest_rageval.dataset import LocatedCase
from pytest_rageval.judgements import Judge
from pytest_rageval.judging import Judged, judge_case, judge_ms, judged_fields
from pytest_rageval.matching import has_heading_anchor
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.metrics.view import FAILED, NotApplicable, Score
from pytest_rageval.models import (
    AskRequest,
    AskResponse,
    AskResult,
    Case,
    CaseRecord,
    ErrorInfo,
    RetrievedChunk,
    ScoreSettings,
    Settings,
)
from pytest_rageval.scoring import case_cluster, score_case
from pytest_rageval.slots import Slots


def ask_request(case: Case, settings: Settings) -> AskRequest:
    """Build what is sent for a case under the settings of the run."""
    return AskRequest(
        question=case.question,
        vaults=case.vaults,
        folders=case.folders,
        k=case.k if case.k is not None else settings.k,
        folder_mode=settings.folder_mode,
        vector_weight=settings.vector_weight,
        lexical_weight=settings.lexical_weight,
        params=settings.params,
    )


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


def _seems_to_report_headings(chunks: Sequence[RetrievedChunk] | None) -> bool:
    # One response is the best guess while the run goes on; ``settle_headings`` mends it at the end.
    return any_heading(chunks or ()) is not False


def measure(
    located: LocatedCase,
    file: str,
    client: object,
    settings: Settings,
    *,
    clock: Callable[[], float],
    judge: Judge | None = None,
    second_judge: Judge | None = None,
    slots: Slots | None = None,
    repeat: int = 0,
) -> CaseRecord:
    """Ask the target one case of a file and score what came back; failures become data."""
    request = ask_request(located.case, settings)
    result = call_client(client, request, clock=clock, slots=slots)
    return record_of(
        located,
        file,
        result,
        settings,
        repeat=repeat,
        judge=judge,
        second_judge=second_judge,
        slots=slots,
    )


def not_attempted(
    located: LocatedCase,
    file: str,
    settings: Settings,
    reason: str,
    *,
    repeat: int = 0,
    headings_reported: bool | None = None,
    judge: Judge | None = None,
) -> CaseRecord:
    """Record a case that was given up before it was asked; a judge's metrics are errors, too."""
    error = ErrorInfo(kind="not_attempted", message=reason, attempts=0)
    result = AskResult(response=None, error=error, total_ms=None, attempts=0)
    return record_of(
        located,
        file,
        result,
        settings,
        repeat=repeat,
        headings_reported=headings_reported,
        judge=judge,
    )


def record_of(
    located: LocatedCase,
    file: str,
    result: AskResult,
    settings: Settings,
    *,
    repeat: int = 0,
    headings_reported: bool | None = None,
    judge: Judge | None = None,
    second_judge: Judge | None = None,
    slots: Slots | None = None,
) -> CaseRecord:
    """Score an ask, have it judged, and build its record (full text; storage cuts it).

    Args:
        located: the case and its line.
        file: its case file as stored.
        result: what came of asking.
        settings: of the run.
        repeat: which repeat of the case this is, from 0.
        headings_reported: whether any chunk of the run has a heading; None: not known yet.
        judge: of the answers; None: there is none, or only retrieval is measured.
        second_judge: repeats the judge's scores; None: the case is judged once.
        slots: of requests in flight; None: no limit.

    Raises:
        ConfigError: the judge cannot work as it is set up.
    """
    case, response = located.case, result.response
    if headings_reported is None:
        chunks = response.retrieved_chunks if response is not None else None
        headings_reported = _seems_to_report_headings(chunks)
    judged = _judged(case, response, judge, second_judge, settings, repeat, slots)
    scores = score_case(
        case,
        response,
        score_settings(settings, headings_reported=headings_reported),
        error=result.error,
        verdicts=None if judged is None else judged.verdicts,
    )
    latency: dict[str, float] = dict(response.latency) if response else {}
    if result.total_ms is not None:
        latency["total_ms"] = result.total_ms
    else:
        latency.pop("total_ms", None)
    judging_ms = None if judged is None else judge_ms(judged.judgements)
    if judging_ms is not None:
        latency["judge_ms"] = judging_ms
    return CaseRecord(
        case_id=case.id,
        file=file,
        lineno=located.lineno,
        case_hash=located.case_hash,
        repeat=repeat,
        status="error" if result.error is not None else "ok",
        error=result.error,
        category=case.category,
        difficulty=case.difficulty,
        tags=case.tags,
        vaults=case.vaults,
        answerable=case.answerable,
        required=case.required,
        cluster=case_cluster(case),
        k=case.k if case.k is not None else settings.k,
        question=case.question,
        latency=latency,
        outcome=scores.outcome,
        failure_stage=scores.failure_stage,
        unchecked=scores.unchecked,
        metrics=scores.metrics if judged is None else {**scores.metrics, **judged.extra_scores},
        not_applicable=scores.not_applicable,
        metrics_before_rerank=scores.metrics_before_rerank,
        retrieved_chunks=scores.chunks,
        citations=scores.citations,
        case=case,
        **({} if response is None else _response_fields(response)),
        **_judged_fields(case, response, judged),
    )


def _judged(
    case: Case,
    response: AskResponse | None,
    judge: Judge | None,
    second_judge: Judge | None,
    settings: Settings,
    repeat: int,
    slots: Slots | None,
) -> Judged | None:
    if judge is None or settings.retrieval_only:
        return None
    return judge_case(
        case,
        response,
        () if response is None else read_citations(response, settings.path_case) or (),
        judge,
        rubrics=settings.judging.rubrics,
        k=case.k if case.k is not None else settings.k,
        repeat=repeat,
        second_judge=second_judge,
        slots=slots,
    )


def _judged_fields(
    case: Case, response: AskResponse | None, judged: Judged | None
) -> dict[str, Any]:
    if judged is None or response is None:
        return {}
    return judged_fields(
        judged, question=case.question, answer=response.answer, unanswerable=not case.answerable
    )


def settle_headings(
    record: CaseRecord,
    located: LocatedCase,
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
        located: its case.
        settings: of the run.
        headings_reported: what the whole run says.
        settled_before: whether the record may have been settled by what a part of the run said,
            which shows only in records without a chunk to guess from.
    """
    guess = _seems_to_report_headings(record.retrieved_chunks)
    if guess == headings_reported and not (settled_before and not record.retrieved_chunks):
        return record
    known = {
        key: _stored_score(record, key)
        for key, info in METRICS.items()
        if info.level != "anchor" and key in record.metrics
    }
    if not headings_reported and has_heading_anchor(located.case):
        known.pop("similarity_margin", None)

    scores = score_case(
        located.case,
        response_of(record),
        score_settings(settings, headings_reported=headings_reported),
        error=record.error,
        known=known,
    )
    return replace(
        record,
        metrics={**scores.metrics, **_own_metrics(record)},
        not_applicable=scores.not_applicable,
        metrics_before_rerank=scores.metrics_before_rerank,
        outcome=scores.outcome,
        failure_stage=scores.failure_stage,
        unchecked=scores.unchecked,
        retrieved_chunks=scores.chunks,
    )


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
    """Return what a stored record keeps of the response; None: there was none."""
    if record.answer is None:
        return None
    return AskResponse(
        answer=record.answer,
        # Those read from the text included: what is stored of it may be only its beginning.
        references=record.citations,
        abstained=record.abstained,
        retrieved_chunks=record.retrieved_chunks,
        folder_selection=record.folder_selection,
        indexing_coverage=record.indexing_coverage,
    )


def _response_fields(response: AskResponse) -> dict[str, Any]:
    return {
        "answer": response.answer,
        "answer_chars": len(response.answer),
        "references": response.references,
        "abstained": response.abstained,
        "abstain_reason": response.abstain_reason,
        "folder_selection": response.folder_selection,
        "indexing_coverage": response.indexing_coverage,
        "models": response.models,
    }
