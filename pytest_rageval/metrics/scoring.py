"""Scoring of one case by every metric, and again once the whole run is known. Pure.

Combines the scores of the metric families, applies ``retrieval_only``, and decides the outcome and
the failure stage.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from pytest_rageval.metrics.answer import (
    CITED_METRICS,
    SUPPORT_METRICS,
    score_abstention,
    score_citation_support,
    score_citations,
    score_rules,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import (
    CONTEXT_CARRY,
    SUFFICIENCY_METRICS,
    clarifies,
    facts_held,
    gold_key,
    score_carry,
    score_context,
    score_sufficiency,
    score_tokens,
    unused_facts,
)
from pytest_rageval.metrics.deciding import (
    ReportedParts,
    needed_parts,
    relevant_facts,
    unreadable_anchor,
)
from pytest_rageval.metrics.embedding_scores import score_embeddings
from pytest_rageval.metrics.judged import PASS_SHARE, score_judged, valid_score
from pytest_rageval.metrics.matching import norm_heading, norm_path
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.retrieval import (
    score_leaks,
    score_lists,
    score_retrieval,
    score_scope,
    scores_before_rerank,
)
from pytest_rageval.metrics.view import (
    FAILED,
    NO_JUDGE,
    CaseView,
    NotApplicable,
    Score,
    Scores,
    Verdicts,
    view_case,
)
from pytest_rageval.values.case import Case
from pytest_rageval.values.lenient import number
from pytest_rageval.values.record import (
    ANSWER_STAGES,
    CaseRecord,
    CaseScores,
    CitationMarkers,
    FailureStage,
    Outcome,
    Reported,
    ScoreSettings,
)
from pytest_rageval.values.reply import AskResponse, Citation, ErrorInfo, RetrievedChunk
from pytest_rageval.values.settings import Aspect, MatchingMode, Settings

FAMILIES: Final[tuple[Callable[[CaseView], Scores], ...]] = (
    score_retrieval,
    score_lists,
    score_scope,
    score_embeddings,
    score_carry,
    score_leaks,
    score_tokens,
    score_context,
    score_citations,
    score_citation_support,
    score_rules,
    score_abstention,
    score_judged,
)
"""Functions that score a case, by the kind of their metrics."""
_ANSWER_SIDE: Final = tuple(key for key, info in BUILT_IN.cases.items() if info.answer_side)
_RETRIEVAL_ONLY: Final = NotApplicable("The run measures retrieval only.")
_ASKS_BACK: Final = NotApplicable("The answer asks back, which the case allows.")


def score_case(
    view: CaseView, verdicts: Verdicts | None = None, *, known: Mapping[str, Score] | None = None
) -> CaseScores:
    """Score one case.

    Args:
        view: the case with its response (``view_case``).
        verdicts: verdicts of the judge. Pass them for failed cases too, with ``judged_keys``, or
            their judged metrics are not applicable instead of errors.
        known: scores to keep unchanged, by key of ``METRICS``, such as those whose vectors or
            verdicts are not available any more.

    Returns:
        Every key of ``METRICS``: a number, or None with a reason in ``not_applicable``, or None
        without one (error).
    """
    if verdicts is not None:
        view = replace(view, verdicts=verdicts)
    scores = {**_scores(view), **(known or {})}
    metrics = {key: one if isinstance(one, float) else None for key, one in scores.items()}
    reasons = {key: one.reason for key, one in scores.items() if isinstance(one, NotApplicable)}
    before = scores_before_rerank(view)
    stage = find_failure_stage(view, metrics, before)
    asks_back = clarifies(view)
    judged_on = view.settings.judged_on
    met = metrics[evidence_key(view.case, metrics)] in (None, 1.0) and all(
        metrics[key] in (None, want) for key, want in EXPECTED.items()
    )
    met = met or asks_back
    expected: Outcome = "error" if view.failed else "passed" if met else "missed"
    outcome = _outcome_by_stage(expected, stage, judged_on)
    unsure = view.verdicts is not None and "correctness" in view.verdicts.unsure
    unsure = unsure and "answer" in judged_on
    unchecked = outcome == "passed" and (unsure or not _is_checked(view.case, metrics, judged_on))
    return CaseScores(
        metrics=metrics,
        not_applicable=reasons,
        outcome=outcome,
        failure_stage=stage,
        citations=view.citations,
        unchecked=unchecked and not asks_back,
        clarifies=asks_back,
        metrics_before_rerank=before,
    )


def _scores(view: CaseView) -> dict[str, Score | None]:
    # In the order of the registry, so that all outputs list metrics in the same order.
    scores: dict[str, Score | None] = dict.fromkeys(BUILT_IN.cases)
    for family in FAMILIES:
        scores.update(family(view))
    scores.update(score_sufficiency(view.case, cast("Scores", scores), facts_held(view)))
    if view.settings.retrieval_only:
        scores |= dict.fromkeys(_ANSWER_SIDE, _RETRIEVAL_ONLY)
    elif clarifies(view):
        scores |= dict.fromkeys(_ANSWER_SIDE, _ASKS_BACK)
    return scores


_NO_REPLY: Final = ErrorInfo(kind="timeout", message="not asked", attempts=1)


def outside_population(
    case: Case, settings: ScoreSettings, known_by: Container[str]
) -> frozenset[str]:
    """Return the metrics that do not apply to a case, as it or the settings alone tell.

    Args:
        case: which keeps its place among the cases of each other metric, whatever the reply.
        settings: of the scores.
        known_by: some of ``case`` and ``settings``.
    """
    found = _scores(view_case(case, None, settings, error=_NO_REPLY)).items()
    return frozenset(
        key for key, one in found if isinstance(one, NotApplicable) and one.known_by in known_by
    )


def with_own_scores(
    scores: CaseScores, found: Mapping[str, Score], registry: Registry, settings: ScoreSettings
) -> CaseScores:
    """Return scores with those of own metrics, in the order of the registry.

    Args:
        scores: of the built-in metrics, and own ones that are known already.
        found: scores of own metrics. One outside its scale is an error; those of other keys are
            left out.
        registry: the metrics. An own one that nothing scored is not applicable.
        settings: with the reason why nothing did.
    """
    if not registry.own_cases:
        return scores
    metrics, reasons = dict(scores.metrics), dict(scores.not_applicable)
    for key, info in registry.own_cases.items():
        if key not in found and key in metrics:
            continue
        unscored = NotApplicable("The run did not compute this metric.")
        if info.judged:
            unscored = _RETRIEVAL_ONLY if settings.retrieval_only else NO_JUDGE
        score = found.get(key, unscored)
        metrics[key] = valid_score(score, info.bounds)
        reasons.pop(key, None)  # of an earlier judge, or of none
        if isinstance(score, NotApplicable):
            reasons[key] = score.reason
    return replace(scores, metrics=metrics, not_applicable=reasons)


def with_stored_own(scores: CaseScores, record: CaseRecord) -> CaseScores:
    """Return scores of a case with the own metrics that its record holds."""
    own = [key for key in record.scores.metrics if key not in BUILT_IN.cases]
    reasons = {
        key: record.scores.not_applicable[key] for key in own if key in record.scores.not_applicable
    }
    return replace(
        scores,
        metrics={**scores.metrics, **{key: record.scores.metrics[key] for key in own}},
        not_applicable={**scores.not_applicable, **reasons},
        metric_details=record.scores.metric_details,
    )


def case_cluster(case: Case) -> str | None:
    """Return the conversation or the document of the first gold: the cluster in statistics.

    Returns:
        For a document its normalised path, with its vault if the case names one; None if the case
        has no gold and is its own cluster.
    """
    if case.talk is not None:
        return f"conversation:{case.talk.conversation}"
    if not case.gold_supports:
        return None
    gold = case.gold_supports[0]
    path = norm_path(gold.rel_path)
    return path if gold.vault is None else f"{gold.vault}:{path}"


def case_weight(case: Case) -> float | None:
    """Return the requests that a case stands for, ``metadata.weight``; None: none above 0."""
    found = number(case.metadata, "weight")
    return found if found is not None and found > 0 else None


Metrics = Mapping[str, float | None]

EXPECTED: Final = {
    "specificity_accuracy": 1.0,
    "leak_rate": 0.0,
    "recency_conflict_accuracy": 1.0,
    "abstention_accuracy": 1.0,
    "over_abstention_rate": 0.0,
}
ANSWER_KEYS: Final = (
    "attribution_hit_rate",
    "answer_rules_pass_rate",
    "groundedness",
    "correctness",
)
"""Metrics behind the stages of a flawed answer."""


def evidence_key(case: Case, metrics: Metrics) -> str:
    """Return the metric that shows whether a case got the evidence that it needs.

    Where anchors cannot be decided, documents can.
    """
    key = gold_key(case)
    return "doc_hit_at_k" if metrics.get(key) is None else key


def _outcome_by_stage(
    outcome: Outcome, stage: FailureStage | None, judged_on: Sequence[Aspect]
) -> Outcome:
    """Decide a case by its failure stage: it passes only if no stage failed that it is judged on.

    Args:
        outcome: by the expectations, or by another ``judged_on``.
        stage: the first that failed.
        judged_on: the rule of thresholds.toml.
    """
    if outcome in {"missed", "error"} or stage is None:
        return outcome
    if stage not in ANSWER_STAGES:
        return "missed"
    return "flawed" if "answer" in judged_on else "passed"


def _is_checked(case: Case, metrics: Metrics, judged_on: Sequence[Aspect]) -> bool:
    """Return whether a passed case met anything: its evidence, an abstention, its answer.

    Not to have abstained does not show that a case with golds was answered from them, as where the
    target reports no chunks.
    """
    keys = {evidence_key(case, metrics), *EXPECTED, *(ANSWER_KEYS if "answer" in judged_on else ())}
    if case.gold_supports:
        keys.discard("over_abstention_rate")
    return any(metrics.get(key) is not None for key in keys)


def is_unsure(record: CaseRecord) -> bool:
    """Return whether the judge could not tell whether an answer states what is expected."""
    found = record.verdicts.of("correctness")
    return found is not None and "correctness" in found.unsure


def decided_by(record: CaseRecord, judged_on: Sequence[Aspect]) -> CaseRecord:
    """Return a stored record with its outcome by another rule, or by that of today."""
    scores, metrics = record.scores, record.scores.metrics
    outcome = _outcome_by_stage(scores.outcome, scores.failure_stage, judged_on)
    unsure = is_unsure(record) and "answer" in judged_on
    unchecked = outcome == "passed" and (unsure or not _is_checked(record.case, metrics, judged_on))
    if not any(metrics.get(key) is not None for key in ANSWER_KEYS):
        unchecked = unchecked and scores.unchecked
    if (outcome, unchecked) == (scores.outcome, scores.unchecked):
        return record
    scores = replace(scores, outcome=outcome, unchecked=unchecked)
    return replace(record, scores=scores)


def find_failure_stage(
    view: CaseView, metrics: Metrics, before_rerank: Metrics | None
) -> FailureStage | None:
    """Return the first stage at which a case failed; None if none did or the target failed.

    Every miss has one. A case that met its expectation of retrieval and abstention can have one
    of ``ANSWER_STAGES``.
    """
    if view.failed:
        return None
    trapped: FailureStage | None = None
    if metrics["specificity_accuracy"] == 0 or metrics["leak_rate"] == 1:
        trapped = "irrelevant_retrieved"
    if clarifies(view):
        return trapped
    if not view.case.answerable:
        if metrics["hallucination_rate_unanswerable"] == 1:
            return "hallucinated"
        return trapped or _broken_rule(metrics)
    return _lost_evidence(view, metrics, before_rerank) or trapped or _bad_answer(view, metrics)


def _lost_evidence(
    view: CaseView, metrics: Metrics, before_rerank: Metrics | None
) -> FailureStage | None:
    key = evidence_key(view.case, metrics)
    found = metrics[key]
    if found == 1 or not view.case.gold_supports:
        return None
    if _index_is_empty(view):
        return "not_indexed"
    if metrics["scope_miss_rate"] == 1:
        return "out_of_scope"
    if found is None:
        return None
    if metrics[CONTEXT_CARRY] == 0:
        return "lost_context"
    return "lost_in_rerank" if before_rerank and before_rerank[key] == 1 else "not_retrieved"


def _index_is_empty(view: CaseView) -> bool:
    # The contract reports counts of the index, not its paths: only an empty one certainly lacks
    # the gold.
    coverage = view.response.indexing_coverage if view.response is not None else None
    counts = [(coverage or {}).get(name) for name in ("docs_processed", "chunks_embedded")]
    return any(not isinstance(count, bool) and count == 0 for count in counts)


def _bad_answer(view: CaseView, metrics: Metrics) -> FailureStage | None:
    if metrics["over_abstention_rate"] == 1:
        return "wrongly_abstained"
    if "answer" not in view.case.expected_behavior:
        return "incorrect"
    conflict, recall = metrics["recency_conflict_accuracy"], metrics["attribution_recall"]
    uncited = conflict == 0 and recall is not None and recall < 1
    if metrics["attribution_hit_rate"] == 0 or uncited:
        return "not_cited"
    if below_pass_line("groundedness", metrics):
        return "ungrounded"
    # All sources cited, and the answer hides that they differ.
    if conflict == 0:
        return "incorrect"
    if below_pass_line("correctness", metrics):
        return "not_used" if unused_facts(view) else "incorrect"
    return _broken_rule(metrics)


def _broken_rule(metrics: Metrics) -> FailureStage | None:
    return "incorrect" if metrics["answer_rules_pass_rate"] == 0 else None


def below_pass_line(key: str, metrics: Metrics) -> bool:
    """Return whether a judged metric was scored below 4 of 5."""
    value = metrics.get(key)
    return value is not None and value < pass_line(key) - 1e-9


def pass_line(key: str) -> float:
    """Return the lowest score with which an answer passes: 4 of 5 for judged metrics, else 1."""
    info = BUILT_IN.cases[key]
    return PASS_SHARE * info.width if info.judged else 1.0


def _citation_markers(settings: Settings) -> CitationMarkers | None:
    """Return the forms of citations besides the usual ones; None: none."""
    if not settings.citation_presets and settings.citation_pattern is None:
        return None
    return CitationMarkers(
        presets=settings.citation_presets,
        pattern=settings.citation_pattern,
        first=settings.citation_first,
        counts=settings.citation_counts,
    )


def score_settings(settings: Settings, reported: Reported | None = None) -> ScoreSettings:
    """Select the settings of a run that scoring depends on."""
    reported = reported or Reported()
    return ScoreSettings(
        k=settings.k,
        ranked=settings.ranked,
        strip_root=settings.strip_root,
        path_case=settings.path_case,
        matching_mode=settings.matching_mode,
        snippets=settings.snippets,
        coarse_chunks=settings.coarse_chunks,
        headings_reported=reported.headings,
        texts_reported=reported.texts,
        pages_reported=reported.pages,
        citations_reported=reported.citations,
        citations_in_text=reported.citations_in_text,
        token_budget=settings.token_budget,
        markers=_citation_markers(settings),
        abstention_texts=settings.abstention_texts,
        folder_mode=settings.folder_mode,
        retrieval_only=settings.retrieval_only,
        history_supports=settings.judging.history_supports,
        judge_configured=settings.judge != "none",
        judged_on=settings.judged_on,
    )


def reported_by(records: Iterable[CaseRecord]) -> Reported:
    """Return the parts of replies that the target of a run reports."""
    parts = ReportedParts()
    for record in records:
        parts.add(record.reply.retrieved_chunks or ())
        parts.citations = parts.citations or record.scores.citations is not None
        parts.citations_in_text = parts.citations_in_text or cites_in_text(record)
    return parts.found()


def settled_together(records: Sequence[CaseRecord], settings: Settings) -> list[CaseRecord]:
    """Return records as the end of one run would score them (``settle``), in the order of a run."""
    facts = reported_by(records)
    found = [settle(one, one.case, settings, facts, settled_before=True) for one in records]
    return sorted(found, key=lambda one: one.place)


def cites_in_text(record: CaseRecord) -> bool:
    """Return whether a claim of the answer has a citation, as far as claims were looked at."""
    claims = record.verdicts.evidence.claims if record.verdicts.evidence is not None else None
    return any(claim.citations for claim in claims or ())


def seems_reported(
    case: Case,
    chunks: Sequence[RetrievedChunk] | None,
    citations: Sequence[Citation] | None,
    mode: MatchingMode,
    *,
    citations_in_text: bool = False,
) -> Reported:
    """Guess from one response during the run which parts of replies its target reports.

    ``settle`` corrects the guess at the end. Parts that the case does not need count as reported.
    """
    headings = not chunks or any(norm_heading(chunk.heading_path) for chunk in chunks)
    facts = Reported(
        headings=headings, citations=citations is not None, citations_in_text=citations_in_text
    )
    if not any(needed_parts(case, headings, mode)):
        return facts
    parts = ReportedParts()
    parts.add(chunks or ())
    found = parts.found()
    return relevant_facts(case, replace(facts, texts=found.texts, pages=found.pages), mode)


def settle(
    record: CaseRecord,
    case: Case,
    settings: Settings,
    reported: Reported,
    *,
    settled_before: bool = False,
) -> CaseRecord:
    """Score a record again if the guess about its target differs from the facts of the whole run.

    This includes failed cases, whose metrics become errors or not applicable. Only metrics of
    anchors and ``similarity_margin``, which then lacks relevant chunks, depend on headings, texts
    and pages, and only ``CITED_METRICS`` and ``SUPPORT_METRICS`` on citations; the others are kept,
    since a record may not contain their vectors or verdicts any more.

    Args:
        record: the record as first scored.
        case: the case of the record.
        settings: settings of the run.
        reported: facts of the whole run.
        settled_before: whether the record may have been settled for a part of the run, which
            matters only where it has nothing to guess from: no chunks, or no citations.
    """
    if record.response is None and record.error is None:  # a line that lost its response
        return record
    in_text, mode = cites_in_text(record), settings.matching_mode
    guess = seems_reported(
        case,
        record.reply.retrieved_chunks,
        record.scores.citations,
        mode,
        citations_in_text=in_text,
    )
    reported = relevant_facts(case, reported, mode)
    if record.response is None:
        guess = replace(
            guess, citations=reported.citations, citations_in_text=reported.citations_in_text
        )
    seen = record.reply.retrieved_chunks and record.scores.citations is not None and in_text
    if guess == reported and not (settled_before and not seen):
        return record
    by_chunk = [c for c in record.scores.citations or () if c.chunk_rank is not None]
    changed = set(CITED_METRICS) if record.scores.citations is None or by_chunk else set()
    if by_chunk and record.scores.metrics.get("recency_conflict_accuracy") is not None:
        changed.discard("recency_conflict_accuracy")  # it may need the verdict of a judge
    changed |= {*SUFFICIENCY_METRICS, *(() if in_text else SUPPORT_METRICS)}
    known = {
        key: stored_score(record, key)
        for key, info in BUILT_IN.cases.items()
        if info.level != "anchor" and key in record.scores.metrics and key not in changed
    }
    scoring = score_settings(settings, reported)
    if unreadable_anchor(case, scoring) is not None:
        known.pop("similarity_margin", None)
    view = view_record(replace(record, case=case), scoring)
    verdicts = Verdicts(abstained=abstention_verdict(record), evidence=record.verdicts.evidence)
    scores = score_case(view, verdicts, known=known)
    response = record.response and replace(record.response, retrieved_chunks=view.chunks)
    # The citations are kept, since the stored answer may be truncated.
    settled = _of_stored_metrics(with_stored_own(scores, record), record)
    settled = replace(settled, citations=record.scores.citations)
    return replace(record, response=response, scores=settled)


def _of_stored_metrics(scores: CaseScores, record: CaseRecord) -> CaseScores:
    """Leave out metrics that a record of an older version lacks."""
    had = record.scores.metrics
    return replace(
        scores,
        metrics={key: value for key, value in scores.metrics.items() if key in had},
        not_applicable={key: why for key, why in scores.not_applicable.items() if key in had},
    )


def view_record(record: CaseRecord, scoring: ScoreSettings) -> CaseView:
    """Return the view of a stored case."""
    view = view_case(record.case, response_of(record), scoring, error=record.error)
    view.history, view.alone = record.history, record.alone
    return view


def abstention_verdict(record: CaseRecord) -> bool | None:
    """Return the judge's verdict on abstention; None: not asked, or no valid verdict."""
    verdict = record.verdicts.of("abstention")
    return None if verdict is None else verdict.abstained


def stored_score(record: CaseRecord, key: str) -> Score:
    """Return what a record holds of a metric: a number, why it is absent, or that it failed."""
    value = record.scores.metrics[key]
    if value is not None:
        return value
    reason = record.scores.not_applicable.get(key)
    return FAILED if reason is None else NotApplicable(reason)


def response_of(record: CaseRecord) -> AskResponse | None:
    """Return a stored response in the form to score again; None without a response."""
    # Citations read from the text become references, since the stored text may be truncated.
    return record.response and replace(record.response, references=record.scores.citations)
