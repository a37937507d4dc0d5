"""The arithmetic behind what is not a ranking: lists, scope, citations, abstention, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_rageval.explain.figures import Figure, cut_text
from pytest_rageval.explain.values import AnchorReason, ChunkReason, CitationReason
from pytest_rageval.explain.wording import count, indices, join, ranks
from pytest_rageval.metrics.judged import claim_support, composite
from pytest_rageval.metrics.registry import FIVE_WEIGHTS
from pytest_rageval.models import Case, CaseRecord

_BY_RUBRIC: Final = {
    "groundedness": "groundedness",
    "claim_support_rate": "groundedness",
    "correctness": "correctness",
    "key_fact_recall": "correctness",
}
_TWO_RULES: Final = "cite_both"


def list_figures(chunks: Sequence[ChunkReason], k: int) -> dict[str, Figure]:
    """Explain the metrics about what should not be in the list."""
    bad = [chunk for chunk in chunks if chunk.role == "irrelevant" and chunk.in_cut]
    place = cut_text(len(chunks), k)
    specific = Figure(1.0, f"no irrelevant chunk in {place}")
    if bad:
        which = indices({index for chunk in bad for index in chunk.irrelevant})
        places = ranks([chunk.rank for chunk in bad])
        specific = Figure(
            0.0, f"irrelevant {which} at {places}" if which else f"irrelevant evidence at {places}"
        )
    negative = Figure(1.0, "nothing was returned")
    if chunks:
        negative = Figure(0.0, f"{count(len(chunks), 'chunk')} returned for no answer")
    return {"specificity_accuracy": specific, "negative_accuracy": negative}


def scope_figures(record: CaseRecord, golds: Sequence[AnchorReason]) -> dict[str, Figure]:
    """Explain the metrics about folder selection."""
    selection = record.folder_selection
    if selection is None:
        return {}
    used = selection.fallback_used
    figures = {}
    if used is not None:
        text = "the target searched everything after all" if used else "no fallback was used"
        figures["fallback_rate"] = Figure(float(used), text)
    if selection.selected_folders is None or not golds:
        return figures
    inside = frozenset(gold.index for gold in golds if gold.in_scope)
    outside = frozenset(gold.index for gold in golds if not gold.in_scope)
    folders = join([f'"{name}"' for name in selection.selected_folders]) or "no folder"
    selected = f"gold {indices(inside)} in {folders}" if inside else f"no gold in {folders}"
    if used:
        effective = Figure(0.0, "the fallback searched everything")
        excluded = effective
    else:
        effective = Figure(float(not inside), selected)
        text = f"gold {indices(outside)} outside {folders}" if outside else selected
        excluded = Figure(float(bool(outside)), text)
    return figures | {
        "scope_miss_rate": effective,
        "scope_selection_miss_rate": Figure(float(not inside), selected),
        "scope_any_excluded_rate": excluded,
    }


def citation_figures(
    case: Case, golds: Sequence[AnchorReason], citations: Sequence[CitationReason]
) -> dict[str, Figure]:
    """Explain attribution, citations in context and the rule about recency."""
    figures: dict[str, Figure] = {}
    n = len(citations)
    if golds:
        figures |= _attribution(golds, citations)
        figures["recency_conflict_accuracy"] = _recency(case, golds)
    if n and citations[0].ranks is not None:
        inside = [citation for citation in citations if citation.ranks]
        text = f"{len(inside)} of {count(n, 'citation')} retrieved"
        text += _numbers("; not", [c.number for c in citations if not c.ranks])
        figures["citation_in_context_rate"] = Figure(len(inside) / n, text)
    return figures


def _numbers(before: str, numbers: Sequence[int]) -> str:
    return f"{before} {join([f'#{number}' for number in numbers])}" if numbers else ""


def _attribution(
    golds: Sequence[AnchorReason], citations: Sequence[CitationReason]
) -> dict[str, Figure]:
    cited = frozenset(gold.index for gold in golds if gold.cited_by)
    missing = frozenset(gold.index for gold in golds) - cited
    n, pointing = len(citations), [citation for citation in citations if citation.golds]
    if pointing:
        first = pointing[0]
        hit = Figure(1.0, f"citation #{first.number} points into gold {indices(first.golds)}")
    elif n:
        hit = Figure(0.0, f"{count(n, 'citation')}, none into a gold")
    else:
        hit = Figure(0.0, "the answer cites nothing")
    text = f"{len(cited)} of {count(len(golds), 'gold')} cited"
    text += f"; {indices(missing)} not" if cited and missing else ""
    figures = {
        "attribution_hit_rate": hit,
        "attribution_recall": Figure(len(cited) / len(golds), text),
    }
    if n:
        text = f"{len(pointing)} of {count(n, 'citation')} into a gold"
        text += _numbers("; not", [c.number for c in citations if not c.golds]) if pointing else ""
        figures["attribution_precision"] = Figure(len(pointing) / n, text)
    return figures


def _recency(case: Case, golds: Sequence[AnchorReason]) -> Figure:
    rule = case.recency_conflict_rule
    missing = [gold.index for gold in golds if not gold.cited_by]
    if rule == "cite_newer":
        cited = 0 not in missing
        text = f"{rule}: gold [0], the newer, is {'' if cited else 'not '}cited"
        return Figure(float(cited), text)
    if missing:
        return Figure(0.0, f"{rule}: gold {indices(missing)} not cited")
    if rule == _TWO_RULES:
        return Figure(1.0, f"{rule}: every gold is cited")
    return Figure(None, f"{rule}: every gold is cited; the judge says if the answer tells it")


def abstention_figures(record: CaseRecord) -> dict[str, Figure]:
    """Explain the metrics about refusing to answer."""
    abstained, source = record.abstained, "the target says"
    if abstained is None:
        verdict = (record.abstention or {}).get("abstained")
        abstained, source = (verdict if isinstance(verdict, bool) else None), "the judge says"
    if abstained is None:
        unknown = Figure(None, "whether it abstained is not stored")
        return dict.fromkeys(_ABSTENTION, unknown)
    text = f"{source} it {'abstained' if abstained else 'answered'}"
    if record.abstain_reason and abstained:
        text += f" ({record.abstain_reason})"
    figure = Figure(float(abstained), text)
    inverse = Figure(1.0 - float(abstained), text)
    return {
        "abstention_accuracy": figure,
        "hallucination_rate_unanswerable": inverse,
        "over_abstention_rate": figure,
    }


_ABSTENTION: Final = (
    "abstention_accuracy",
    "hallucination_rate_unanswerable",
    "over_abstention_rate",
)


def embedding_figures() -> dict[str, Figure]:
    """Explain the figures about vectors, which are measured at capture and never stored."""
    return {
        "query_chunk_similarity": Figure(None, "mean cosine of question and cut, at capture"),
        "similarity_margin": Figure(None, "mean cosine to relevant minus to other, at capture"),
    }


def judged_figures(record: CaseRecord) -> dict[str, Figure]:
    """Explain judged scores by what the judge said."""
    figures = {key: _verdict(record, key) for key in record.metrics if key in _BY_RUBRIC}
    return figures | _five(record.metrics)


def _verdict(record: CaseRecord, key: str) -> Figure:
    verdict = getattr(record, _BY_RUBRIC[key]) or {}
    if key in {"correctness", "key_fact_recall"} and record.abstained:
        return Figure(0.0, "abstained on an answerable case: 0 without asking the judge")
    if key == "claim_support_rate":
        supported, unsupported = (_size(verdict, f"{name}_claims") for name in _CLAIMS)
        if supported is not None and unsupported is not None:
            text = f"{supported} of {count(supported + unsupported, 'claim')} supported"
            return Figure(claim_support(supported, unsupported), text)
    return Figure(None, _reasoning(verdict) or "the judge's verdict")


_CLAIMS: Final = ("supported", "unsupported")


def _size(verdict: Mapping[str, Any], name: str) -> int | None:
    claims = verdict.get(name)
    if isinstance(claims, list | tuple):
        return len(claims)
    return claims if isinstance(claims, int) and not isinstance(claims, bool) else None


def _reasoning(verdict: Mapping[str, Any]) -> str:
    reasoning = verdict.get("reasoning")
    return f"judge: {reasoning}" if isinstance(reasoning, str) and reasoning else ""


def _five(metrics: Mapping[str, float | None]) -> dict[str, Figure]:
    parts = {name: metrics.get(f"five.{name}") for name in FIVE_WEIGHTS}
    value = composite(parts, FIVE_WEIGHTS)
    if value is None:
        return {}
    weights = ", ".join(f"{name} {weight:g}" for name, weight in FIVE_WEIGHTS.items())
    return {"five.composite": Figure(value, f"weighted mean: {weights}")}


def judge_failure(record: CaseRecord) -> str:
    """Say what kind of failure left a judged metric without a score, where it is stored."""
    for verdict in (record.groundedness, record.correctness, record.abstention):
        error = (verdict or {}).get("error")
        if error:
            kind = error.get("kind", "") if isinstance(error, Mapping) else str(error)
            return f"no valid verdict of the judge ({kind})"
    return "no valid verdict of the judge"
