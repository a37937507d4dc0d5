"""Entry point of this package: explains one record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import document_key
from pytest_rageval.metrics.prepared import Kind, PreparedAnswer
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.retrieval import anchor_ranking, document_ranking
from pytest_rageval.metrics.scoring import abstention_verdict
from pytest_rageval.metrics.view import CaseView, Verdicts, says_it_abstains
from pytest_rageval.report.explain.chunks import explain_chunks
from pytest_rageval.report.explain.figures import (
    EMBEDDING_SENTENCES,
    Terms,
    abstention_sentences,
    citation_sentences,
    cut_text,
    group_sentences,
    judge_failure,
    judged_sentences,
    list_sentences,
    ranking_sentences,
    scope_sentences,
    sufficiency_sentences,
)
from pytest_rageval.report.explain.golds import (
    evidence_sentences,
    explain_citations,
    explain_golds,
    explain_groups,
    explain_irrelevant,
    leak_sentence,
    rules_sentence,
    scored_citations,
    token_sentences,
)
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    Explanation,
    MetricReason,
    MetricStatus,
    UnreadPart,
)
from pytest_rageval.report.explain.verdict import (
    explain_expectations,
    explain_judgements,
    next_steps,
    stage_in_words,
)
from pytest_rageval.report.wording import scale_end
from pytest_rageval.values.record import CaseRecord, MetricDetail, ScoreSettings

_REASONS: Final[Mapping[Kind, str]] = {
    "thought": "a thought is no part of the answer",
    "greeting": "a courtesy claims nothing",
    "lead_in": "a courtesy claims nothing",
    "farewell": "a courtesy claims nothing",
}
_LISTED: Final = "a list of sources claims nothing; its entries are the citations of the answer"
_LISTED_APART: Final = (
    "a list of sources claims nothing, and adds no citations to those in the text"
)


def explain_record(
    record: CaseRecord, settings: ScoreSettings, *, registry: Registry = BUILT_IN
) -> Explanation:
    """Explain one record.

    Args:
        record: as stored; matches of its chunks were decided from their full text and are kept.
        settings: matching settings of the run.
        registry: the metrics of the run.
    """
    case = record.case
    chunks = explain_chunks(record, settings)
    golds = explain_golds(case, record, settings)
    groups = explain_groups(case, golds, reported=chunks is not None)
    irrelevant = explain_irrelevant(case, chunks, record.k) if chunks is not None else ()
    citations = explain_citations(case, record, settings)
    sentences = _sentences(record, settings, chunks, golds, citations)
    stage = stage_in_words(record)
    order = [key for key in registry.cases if key in record.scores.metrics]
    order += [key for key in record.scores.metrics if key not in registry.cases]
    metrics = tuple(_metric(key, registry.info(key), record, sentences.get(key)) for key in order)
    return Explanation(
        record=record,
        stage_meaning=stage.meaning if stage else None,
        next_steps=next_steps(record, golds, groups, irrelevant),
        expectations=explain_expectations(record, metrics, settings.judged_on),
        golds=golds,
        groups=groups,
        irrelevant=irrelevant,
        chunks=chunks,
        citations=citations,
        left_out=tuple(_left_out(record.answer or "")),
        judgements=explain_judgements(record),
        metrics=metrics,
    )


def _left_out(answer: str) -> Iterator[UnreadPart]:
    """Yield the parts of an answer that are not read as what it states."""
    prepared = PreparedAnswer(answer)
    cites = _LISTED_APART if prepared.cites_in_prose else _LISTED
    for one in prepared.spans:
        if reason := cites if one.kind == "sources" else _REASONS.get(one.kind):
            text = answer[one.start : one.end].strip()
            yield UnreadPart(kind=one.kind, text=text, reason=reason)


def _sentences(
    record: CaseRecord,
    settings: ScoreSettings,
    chunks: Sequence[ChunkReason] | None,
    golds: Sequence[AnchorReason],
    citations: Sequence[CitationReason] | None,
) -> dict[str, str]:
    """Return the arithmetic of metrics in words, by key."""
    case, view = record.case, _stored_view(record, settings)
    return {
        **abstention_sentences(record, settings),
        **sufficiency_sentences(record),
        **scope_sentences(record, golds),
        **({} if chunks is None else list_sentences(chunks, record.k)),
        **_retrieval_sentences(record, settings),
        **evidence_sentences(case, record),
        "leak_rate": leak_sentence(view),
        **token_sentences(view),
        "answer_rules_pass_rate": rules_sentence(case, record),
        **({} if citations is None else citation_sentences(case, golds, citations)),
        **EMBEDDING_SENTENCES,
        **judged_sentences(record),
    }


def _metric(
    key: str, info: MetricInfo | None, record: CaseRecord, sentence: str | None
) -> MetricReason:
    value = record.scores.metrics[key]
    status: MetricStatus = "scored"
    said = record.scores.metric_details.get(key, MetricDetail())
    if value is not None:
        text = _as_recorded(said, info) if sentence is None else sentence
    elif key in record.scores.not_applicable:
        status, text = "not_applicable", record.scores.not_applicable[key]
    elif record.error is not None:
        status, text = "error", f"{record.error.kind}: {record.error.message}"
    elif said.error or (info is not None and info.level == "own"):
        words = ": ".join(filter(None, (said.place, said.error)))
        status, text = "error", words or "its value is not known"
    else:
        status, text = "error", judge_failure(record, key)
    return MetricReason(
        key=key,
        level=info.level if info is not None else "other",
        status=status,
        value=value,
        before_rerank=(record.scores.metrics_before_rerank or {}).get(key),
        scale_end=scale_end(info),
        reason=text,
        population=info.population if info is not None else "",
        direction=info.direction if info is not None else "",
        best=info is not None
        and info.direction != "neutral"
        and value == info.bounds[info.direction == "higher"],
        traceback=said.traceback,
    )


def _as_recorded(said: MetricDetail, info: MetricInfo | None) -> str:
    if info is None or info.level != "own":
        return "as recorded; its arithmetic cannot be shown"
    return said.detail or f"by {info.source}"


def _retrieval_sentences(record: CaseRecord, settings: ScoreSettings) -> dict[str, str]:
    case, chunks, k = record.case, record.reply.retrieved_chunks, record.k
    if chunks is None or not case.gold_supports:
        return {}
    place = cut_text(len(chunks), k)
    names = tuple(f"[{index}]" for index in range(len(case.gold_supports)))
    terms = Terms(unit="chunk", gold="gold", names=names, place=place)
    ranking = anchor_ranking(case, chunks, k, settings)
    sentences = ranking_sentences(ranking, terms)
    if case.required_support_groups:
        sentences |= group_sentences(ranking, case.required_support_groups, terms)
    documents: dict[str, str] = {}  # as the case writes them: a URL is not read without its slashes
    for gold in case.gold_supports:
        documents.setdefault(document_key(gold, settings.path_case)[1], gold.rel_path)
    names = tuple(documents.values())
    ranking = document_ranking(case, chunks, k, settings)
    if len(names) != len(ranking.grades):  # two vaults may contain the same path
        names = tuple(f"document {index}" for index in range(len(ranking.grades)))
    terms = Terms(unit="document", gold="gold document", names=names, place=place)
    by_document = ranking_sentences(ranking, terms)
    return sentences | {f"doc_{key}": text for key, text in by_document.items()}


def _stored_view(record: CaseRecord, settings: ScoreSettings) -> CaseView:
    response = record.response
    if response is not None:
        response = replace(response, abstained=says_it_abstains(response, settings))
    return CaseView(
        case=replace(record.case, k=record.k),
        settings=settings,
        response=response,
        failed=record.error is not None,
        chunks=record.reply.retrieved_chunks,
        citations=scored_citations(record, settings),
        verdicts=Verdicts(abstained=abstention_verdict(record), evidence=record.verdicts.evidence),
    )
