"""What is not a ranking in words: lists, scope, citations, abstention, vectors, verdicts.

Values are those of the kernels in ``metrics``; sentences show what they count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from pytest_rageval.metrics.judged import claim_support, composite
from pytest_rageval.metrics.registry import FIVE_WEIGHTS
from pytest_rageval.report.explain.figures import Figure, cut_text
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    indices,
    join,
    ranks,
)
from pytest_rageval.support.text import counted
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord

_BY_RUBRIC: Final = {
    "groundedness": "groundedness",
    "claim_support_rate": "groundedness",
    "correctness": "correctness",
    "key_fact_recall": "correctness",
}
_CLAIMS: Final = ("supported", "unsupported")
_NO_REASONING: Final = "the judge's verdict"
_ABSTENTION: Final = (
    "abstention_accuracy",
    "hallucination_rate_unanswerable",
    "over_abstention_rate",
)


def list_sentences(chunks: Sequence[ChunkReason], k: int) -> dict[str, str]:
    """Explain the metrics about what should not be in the list."""
    bad = [chunk for chunk in chunks if chunk.role == "irrelevant" and chunk.in_cut]
    specific = f"no irrelevant chunk in {cut_text(len(chunks), k)}"
    if bad:
        which = indices({index for chunk in bad for index in chunk.irrelevant})
        places = ranks([chunk.rank for chunk in bad])
        specific = f"irrelevant {which or 'evidence'} at {places}"
    negative = "nothing was returned"
    if chunks:
        negative = f"{counted(len(chunks), 'chunk')} returned for no answer"
    return {"specificity_accuracy": specific, "negative_accuracy": negative}


def scope_sentences(record: CaseRecord, golds: Sequence[AnchorReason]) -> dict[str, str]:
    """Explain the metrics about folder selection."""
    selection = record.folder_selection
    if selection is None:
        return {}
    used = selection.fallback_used
    fallback = "the target searched everything after all" if used else "no fallback was used"
    sentences = {"fallback_rate": fallback}
    if selection.selected_folders is None or not golds:
        return sentences
    inside = frozenset(gold.index for gold in golds if gold.in_scope)
    outside = frozenset(gold.index for gold in golds if not gold.in_scope)
    folders = join([f'"{name}"' for name in selection.selected_folders]) or "no folder"
    selected = f"gold {indices(inside)} in {folders}" if inside else f"no gold in {folders}"
    excluded = f"gold {indices(outside)} outside {folders}" if outside else selected
    everything = "the fallback searched everything"
    return sentences | {
        "scope_miss_rate": everything if used else selected,
        "scope_selection_miss_rate": selected,
        "scope_any_excluded_rate": everything if used else excluded,
    }


def citation_sentences(
    case: Case, golds: Sequence[AnchorReason], citations: Sequence[CitationReason]
) -> dict[str, str]:
    """Explain attribution, citations in context and the rule about recency."""
    sentences: dict[str, str] = {}
    if golds:
        sentences |= _attribution(golds, citations)
        sentences["recency_conflict_accuracy"] = _recency(case, golds)
    if citations and citations[0].ranks is not None:
        n_inside = sum(bool(citation.ranks) for citation in citations)
        text = f"{n_inside} of {counted(len(citations), 'citation')} retrieved"
        text += _numbers("; not", [c.number for c in citations if not c.ranks])
        sentences["citation_in_context_rate"] = text
    return sentences


def _numbers(before: str, numbers: Sequence[int]) -> str:
    return f"{before} {join([f'#{number}' for number in numbers])}" if numbers else ""


def _attribution(
    golds: Sequence[AnchorReason], citations: Sequence[CitationReason]
) -> dict[str, str]:
    cited = frozenset(gold.index for gold in golds if gold.cited_by)
    missing = frozenset(gold.index for gold in golds) - cited
    n, pointing = len(citations), [citation for citation in citations if citation.golds]
    if pointing:
        first = pointing[0]
        hit = f"citation #{first.number} points into gold {indices(first.golds)}"
    elif n:
        hit = f"{counted(n, 'citation')}, none into a gold"
    else:
        hit = "the answer cites nothing"
    recall = f"{len(cited)} of {counted(len(golds), 'gold')} cited"
    recall += f"; {indices(missing)} not" if cited and missing else ""
    precision = f"{len(pointing)} of {counted(n, 'citation')} into a gold"
    if pointing:
        precision += _numbers("; not", [c.number for c in citations if not c.golds])
    return {
        "attribution_hit_rate": hit,
        "attribution_recall": recall,
        "attribution_precision": precision,
    }


def _recency(case: Case, golds: Sequence[AnchorReason]) -> str:
    rule = case.recency_conflict_rule
    missing = [gold.index for gold in golds if not gold.cited_by]
    if rule == "cite_newer":
        return f"{rule}: gold [0], the newer, is {'not ' if 0 in missing else ''}cited"
    if missing:
        return f"{rule}: gold {indices(missing)} not cited"
    if rule == "cite_both":
        return f"{rule}: every gold is cited"
    return f"{rule}: every gold is cited; the judge says if the answer tells it"


def abstention_sentences(record: CaseRecord) -> dict[str, str]:
    """Explain the metrics about refusing to answer."""
    abstained, source = record.abstained, "the target says"
    if abstained is None:
        abstained, source = abstention_verdict(record), "the judge says"
    if abstained is None:
        return dict.fromkeys(_ABSTENTION, "whether it abstained is not stored")
    text = f"{source} it {'abstained' if abstained else 'answered'}"
    if record.abstain_reason and abstained:
        text += f" ({record.abstain_reason})"
    return dict.fromkeys(_ABSTENTION, text)


def abstention_verdict(record: CaseRecord) -> bool | None:
    """Return what the judge said of abstention; None: it was not asked, or said nothing valid."""
    verdict = (record.abstention or {}).get("abstained")
    return verdict if isinstance(verdict, bool) else None


def embedding_figures() -> dict[str, Figure]:
    """Explain the figures about vectors, which are measured at capture and never stored."""
    return {
        "query_chunk_similarity": Figure(None, "mean cosine of question and cut, at capture"),
        "similarity_margin": Figure(None, "mean cosine to relevant minus to other, at capture"),
    }


def judged_figures(record: CaseRecord) -> dict[str, Figure]:
    """Explain judged scores by what the judge said."""
    figures = {
        key: Figure(None, _reasoning(verdict) or _NO_REASONING)
        for verdict in record.judgements.values()
        if isinstance(verdict, Mapping)
        for key in verdict.get("scores") or ()
    }
    figures |= {key: _verdict(record, key) for key in record.metrics if key in _BY_RUBRIC}
    return figures | _five(record.metrics)


def _verdict(record: CaseRecord, key: str) -> Figure:
    verdict = getattr(record, _BY_RUBRIC[key]) or {}
    if key in {"correctness", "key_fact_recall"} and record.abstained:
        return Figure(0.0, "abstained on an answerable case: 0 without asking the judge")
    if key == "claim_support_rate":
        supported, unsupported = (_size(verdict, f"{name}_claims") for name in _CLAIMS)
        if supported is not None and unsupported is not None:
            text = f"{supported} of {counted(supported + unsupported, 'claim')} supported"
            return Figure(claim_support(supported, unsupported), text)
    return Figure(None, _reasoning(verdict) or _NO_REASONING)


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


def judge_failure(record: CaseRecord, key: str) -> str:
    """Say what kind of failure left a judged metric without a score, where it is stored."""
    verdicts = dict(record.judgements)
    for rubric in ("groundedness", "correctness", "abstention"):
        verdicts.setdefault(rubric, getattr(record, rubric))
    own = [name for name in verdicts if _gives(name, key)]
    for name in own or verdicts:
        verdict = verdicts[name]
        error = verdict.get("error") if isinstance(verdict, Mapping) else None
        if error:
            kind = error.get("kind", "") if isinstance(error, Mapping) else str(error)
            return f"no valid verdict of the judge ({kind})"
    return "no valid verdict of the judge"


def _gives(rubric: str, key: str) -> bool:
    """Tell whether a metric is one of a rubric's; a user's own gives those under its file name."""
    if key in _BY_RUBRIC:
        return rubric == _BY_RUBRIC[key] or (rubric == "claims" and key == "claim_support_rate")
    if key in _ABSTENTION:
        return rubric == "abstention"
    family = key.split(".", 1)[0]
    return PurePath(rubric).stem == {"five": "five_dimensions"}.get(family, family)
