"""What the kernels of ``metrics`` make of a stored record, to hold its recorded values against."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.metrics.abstention import score_abstention
from pytest_rageval.metrics.answer import score_citations
from pytest_rageval.metrics.retrieval import score_lists, score_retrieval
from pytest_rageval.metrics.scope import score_scope
from pytest_rageval.metrics.view import CaseView, Verdicts
from pytest_rageval.report.explain.answer_figures import abstention_verdict
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import AskResponse

_FAMILIES = (score_retrieval, score_lists, score_scope, score_citations, score_abstention)


def computed_scores(
    record: CaseRecord, case: Case | None, settings: ScoreSettings
) -> dict[str, float]:
    """Score what is stored; left out is what it does not tell, such as vectors and verdicts.

    Args:
        record: with chunks that were decided when their texts were at hand.
        case: None where it is no longer known, which leaves what no anchor plays a part in.
        settings: of the run; the cutoff is the record's own.
    """
    known = case or Case(id=record.case_id, question=record.question, answerable=record.answerable)
    view = CaseView(
        case=replace(known, k=record.k),
        settings=settings,
        response=_response(record),
        failed=record.error is not None,
        chunks=record.retrieved_chunks,
        citations=record.citations,
        verdicts=Verdicts(abstained=abstention_verdict(record)),
    )
    scores = {key: score for family in _FAMILIES for key, score in family(view).items()}
    return {key: score for key, score in scores.items() if isinstance(score, float)}


def _response(record: CaseRecord) -> AskResponse | None:
    if record.answer is None:
        return None
    return AskResponse(
        answer=record.answer,
        abstained=record.abstained,
        folder_selection=record.folder_selection,
    )
