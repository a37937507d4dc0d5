"""One case through the house: case in, record out.

The only room that puts asking, scoring and recording in order. It knows neither pytest nor
files; the client it is handed is whatever the ``rag_client`` fixture returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_rageval.judges.asking import Judged, judge_case, judge_ms, judged_fields
from pytest_rageval.metrics.citations import read_citations
from pytest_rageval.metrics.rescoring import _seems_to_report_headings, score_settings
from pytest_rageval.metrics.scoring import case_cluster, score_case
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.support.slots import Slots
from pytest_rageval.target.calling import call_client
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import (
    AskRequest,
    AskResponse,
    AskResult,
    ErrorInfo,
)
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judge


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
