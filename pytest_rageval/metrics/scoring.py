"""From case and response to every metric: the one entry point of scoring. Pure.

Each metric family scores its keys; here they are put together, ``retrieval_only`` is applied,
and outcome and failure stage are decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pytest_rageval.metrics.abstention import score_abstention
from pytest_rageval.metrics.answer import score_citations
from pytest_rageval.metrics.citations import read_citations
from pytest_rageval.metrics.embedding_scores import score_embeddings
from pytest_rageval.metrics.judged import score_judged
from pytest_rageval.metrics.matching import decide_chunks, norm_path
from pytest_rageval.metrics.outcomes import decide_outcome, find_failure_stage
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.metrics.rerank import RerankDelta, compute_rerank
from pytest_rageval.metrics.retrieval import score_lists, score_retrieval
from pytest_rageval.metrics.scope import score_scope
from pytest_rageval.metrics.view import FAILED, CaseView, NotApplicable, Score, Scores, Verdicts
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, is_empty_answer

_FAMILIES: Final[tuple[Callable[[CaseView], Scores], ...]] = (
    score_retrieval,
    score_lists,
    score_scope,
    score_embeddings,
    score_citations,
    score_abstention,
    score_judged,
)
_ANSWER_SIDE: Final = tuple(key for key, info in METRICS.items() if info.answer_side)
_RETRIEVAL_ONLY: Final = NotApplicable("The run measures retrieval only.")


def score_case(
    case: Case,
    response: AskResponse | None,
    settings: ScoreSettings,
    *,
    error: ErrorInfo | None = None,
    verdicts: Verdicts | None = None,
    known: Mapping[str, Score] | None = None,
) -> CaseScores:
    """Score one case.

    Args:
        case: the question and its evidence.
        response: what the target gave; None where it gave nothing. With an empty answer
            (whitespace, not flagged as an abstention) the answer-side metrics are errors, while
            retrieval and scope stand.
        settings: cutoff, matching and what the run is about. Chunks without full text keep an
            earlier decision in ``matched_golds`` and ``irrelevant``: clear both before scoring
            with other matching settings or another case.
        error: why the target failed; needed where ``response`` is None.
        verdicts: what the judge said. Pass it for failed cases too, with ``judged_keys``, or
            their judged metrics are not applicable instead of errors.
        known: scores that stand as they are, by key of ``METRICS``, such as those whose vectors
            or verdicts are no longer at hand.

    Returns:
        Every key of ``METRICS``: a number, or None with a reason in ``not_applicable``, or None
        without one (error).

    Raises:
        ValueError: ``response`` and ``error`` are both None.
    """
    if response is None and error is None:
        raise ValueError(f"case {case.id!r}: expected a response or an error, got neither")
    view = _view(case, response, settings, error=error, verdicts=verdicts)
    scores = {**_all_scores(view), **(known or {})}
    # In the order of the registry, so that every face lists metrics alike.
    metrics: dict[str, float | None] = dict.fromkeys(METRICS)
    not_applicable: dict[str, str] = {}
    for key in METRICS:
        score = scores[key]
        if isinstance(score, float):
            metrics[key] = score
        elif score is not FAILED:
            not_applicable[key] = score.reason
    outcome, unchecked = decide_outcome(case, metrics, failed=view.failed)
    rerank = compute_rerank(view)
    return CaseScores(
        metrics=metrics,
        not_applicable=not_applicable,
        outcome=outcome,
        failure_stage=find_failure_stage(view, metrics),
        chunks=view.chunks,
        citations=view.citations,
        unchecked=unchecked,
        metrics_before_rerank=None if rerank is None else rerank.before,
    )


def rerank_case(case: Case, response: AskResponse, settings: ScoreSettings) -> RerankDelta | None:
    """Compare the retrieval metrics of one case before and after reranking.

    Returns:
        None where not every chunk reports ``rank_before_rerank``.
    """
    return compute_rerank(_view(case, response, settings, error=None, verdicts=None))


def case_cluster(case: Case) -> str | None:
    """Return the document of the first gold, by which cases cluster in statistics.

    Returns:
        Normalised path, with its vault where the case names one; None where the case has no gold
        and is its own cluster.
    """
    if not case.gold_supports:
        return None
    gold = case.gold_supports[0]
    path = norm_path(gold.rel_path)
    return path if gold.vault is None else f"{gold.vault}:{path}"


def _view(
    case: Case,
    response: AskResponse | None,
    settings: ScoreSettings,
    *,
    error: ErrorInfo | None,
    verdicts: Verdicts | None,
) -> CaseView:
    chunks = citations = None
    if response is not None:
        if response.retrieved_chunks is not None:
            chunks = decide_chunks(case, response.retrieved_chunks, settings)
        citations = read_citations(response, settings.path_case)
    return CaseView(
        case=case,
        settings=settings,
        response=response,
        failed=error is not None or response is None or is_empty_answer(response),
        chunks=chunks,
        citations=citations,
        verdicts=verdicts,
    )


def _all_scores(view: CaseView) -> dict[str, Score]:
    found: dict[str, Score] = {}
    for family in _FAMILIES:
        found.update(family(view))
    if view.settings.retrieval_only:
        found |= dict.fromkeys(_ANSWER_SIDE, _RETRIEVAL_ONLY)
    return found
