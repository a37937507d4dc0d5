"""The arithmetic behind the metrics of a case in words, from the counts of a ranking or a verdict.

No value is computed here: the modules of ``metrics`` do that, and a sentence shows their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from pytest_rageval.metrics.built_in import FIVE_WEIGHTS
from pytest_rageval.metrics.context import SUFFICIENCY_METRICS, gold_key
from pytest_rageval.metrics.retrieval import (
    RANKING_MEASURES,
    Groups,
    Ranking,
    dcg,
    group_recall_at_k,
    ideal_dcg,
)
from pytest_rageval.metrics.scoring import abstention_verdict
from pytest_rageval.metrics.view import says_it_abstains
from pytest_rageval.report.explain.values import (
    AnchorReason,
    ChunkReason,
    CitationReason,
    indices,
    join,
    ranks,
)
from pytest_rageval.support.text import counted, format_value, part, plural
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.verdict import Verdict
from pytest_rageval.values.words import ABSTAINED

_BY_RUBRIC: Final = {
    "groundedness": "groundedness",
    "claim_support_rate": "groundedness",
    "correctness": "correctness",
    "key_fact_recall": "correctness",
}
_ABSTENTION: Final = (
    "abstention_accuracy",
    "hallucination_rate_unanswerable",
    "over_abstention_rate",
)
_TERMS: Final = 6
"""Most fractions or groups that one sentence lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Words for one level of the ranking metrics."""

    unit: str
    """Unit of a rank: ``chunk`` or ``document``."""
    gold: str
    """``gold`` or ``gold document``."""
    names: tuple[str, ...]
    """One per gold of the ranking."""
    place: str
    """Such as ``the first 5 chunks``."""

    @property
    def rank(self) -> str:
        """Word for a position in the list."""
        return "rank" if self.unit == "chunk" else f"{self.unit} rank"

    def name(self, golds: Sequence[int] | frozenset[int]) -> str:
        """Name some golds."""
        return join([self.names[index] for index in sorted(golds)])


def cut_text(n_chunks: int, k: int) -> str:
    """Name the cut: ``the first 5 chunks``, ``the 3 chunks returned (k = 5)``."""
    if n_chunks >= k:
        return plural(k, "the first chunk", f"the first {k} chunks")
    if not n_chunks:
        return "an empty list"
    return f"the {counted(n_chunks, 'chunk')} returned (k = {k})"


def ranking_sentences(ranking: Ranking, terms: Terms) -> dict[str, str]:
    """Explain the ranking metrics of one level by their plain keys."""
    n, found, gains = len(ranking.grades), ranking.found, ranking.gains
    first = next((rank for rank, golds in enumerate(ranking.matched, start=1) if golds), None)
    places = [rank for rank, gain in enumerate(gains, start=1) if gain]
    recall = f"{len(found)} of {counted(n, terms.gold)} in {terms.place}"
    if missing := frozenset(range(n)) - found if found else None:
        recall += f"; missing {terms.name(missing)}"
    hit = f"no {terms.gold} in {terms.place}"
    reciprocal = f"no relevant {terms.unit} in {terms.place}"
    if first is not None:
        hit = f"{terms.name(ranking.matched[first - 1])} at {terms.rank} {first}"
        reciprocal = f"1 / {terms.rank} {first}, the first relevant {terms.unit}"
    returned = "nothing was returned"
    if ranking.matched:
        returned = _precision(ranking, f"{counted(len(ranking.matched), terms.unit)} returned")
    ndcg = f"DCG {format_value(dcg(gains))}"
    ndcg += f" / ideal {format_value(ideal_dcg(ranking.grades, ranking.k))}"
    average = f"no {terms.rank} in the cut gains anything"
    if places:
        graded = f"gain {join([f'{gains[rank - 1]} at rank {rank}' for rank in places])}"
        ndcg += f" ({ranks(places) if max(ranking.grades) == 1 else graded})"
        parts = [f"{nth}/{rank}" for nth, rank in enumerate(places, start=1)]
        text = " + ".join(parts if len(parts) <= _TERMS else [*parts[: _TERMS - 1], "..."])
        average = f"{text if len(places) == 1 else f'({text})'} / {counted(n, terms.gold)}"
    matched = [f"{terms.rank} {n}" for n, golds in enumerate(ranking.matched, start=1) if golds]
    relevant = f"relevant: {join(matched)} of {terms.place}" if matched else reciprocal
    return {
        **dict.fromkeys(RANKING_MEASURES, relevant),
        "hit_at_k": hit,
        "recall_at_k": recall,
        "mrr": reciprocal,
        "precision_at_k": _precision(ranking, f"k = {ranking.k}"),
        "precision_returned_at_k": returned,
        "ndcg_at_k": ndcg,
        "map": average,
    }


def group_sentences(ranking: Ranking, groups: Groups, terms: Terms) -> dict[str, str]:
    """Explain the metrics over ``required_support_groups``."""
    return {
        "recall_all_at_k": _whole_group(ranking, groups, terms),
        "group_recall_at_k": _best_group(ranking, groups, terms),
    }


def _precision(ranking: Ranking, of: str) -> str:
    pairs = zip(ranking.matched, ranking.duplicate, strict=True)
    copies = sum(again and bool(golds) for golds, again in pairs)
    text = f"{ranking.n_relevant} relevant of {of}"
    if copies:
        text += f"; {plural(copies, '1 copy', f'{copies} copies')} not counted"
    return text


def _group(golds: Iterable[int]) -> str:
    return " ".join(f"[{index}]" for index in sorted(set(golds)))


def _whole_group(ranking: Ranking, groups: Groups, terms: Terms) -> str:
    lacking = []
    for group in groups:
        missing = frozenset(group) - ranking.found
        if not missing:
            return f"all of group {_group(group)} in {terms.place}"
        lacking.append(f"{_group(group)} lacks {terms.name(missing)}")
    return f"no group is whole: {'; '.join(lacking[:_TERMS])}"


def _best_group(ranking: Ranking, groups: Groups, terms: Terms) -> str:
    first_best = max(groups, key=lambda group: group_recall_at_k(ranking, [group]))
    best = frozenset(first_best)
    n = len(best & ranking.found)
    text = f"{n} of {counted(len(best), terms.gold)} of group {_group(best)}"
    return f"{text}, the best" if len(groups) > 1 else text


# --- lists, scope, citations, abstention, vectors, verdicts ------------------------------------


def list_sentences(chunks: Sequence[ChunkReason], k: int) -> dict[str, str]:
    """Explain the metrics about unwanted chunks."""
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
    selection = record.reply.folder_selection
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
        text += _except([c.number for c in citations if not c.ranks])
        sentences["citation_in_context_rate"] = text
    return sentences


def _except(numbers: Sequence[int]) -> str:
    return part("; not {}", [f"#{number}" for number in numbers])


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
        precision += _except([c.number for c in citations if not c.golds])
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
    return f"{rule}: every gold is cited; the judge says if the answer states it"


def abstention_sentences(record: CaseRecord, settings: ScoreSettings) -> dict[str, str]:
    """Explain the metrics about abstention."""
    abstained, source = record.reply.abstained, "the target says"
    if abstained is None and record.response is not None:
        abstained, source = says_it_abstains(record.response, settings), "by abstention_texts"
    if abstained is None:
        abstained, source = abstention_verdict(record), "the judge says"
    if abstained is None:
        return dict.fromkeys(_ABSTENTION, "whether it abstained is not stored")
    text = f"{source} it {ABSTAINED[abstained]}"
    if record.reply.abstain_reason and abstained:
        text += f" ({record.reply.abstain_reason})"
    return dict.fromkeys(_ABSTENTION, text)


def sufficiency_sentences(record: CaseRecord) -> dict[str, str]:
    """Explain the metrics about sufficient context by those that decide it."""
    metrics = record.scores.metrics
    shown = {key: metrics.get(key) for key in (gold_key(record.case), "fact_recall_in_context")}
    known = [f"{key} {format_value(one)}" for key, one in shown.items() if one is not None]
    enough = metrics.get("sufficient_context")
    text = f"{join(known)}: {'' if enough else 'not '}sufficient"
    return {} if enough is None else dict.fromkeys(SUFFICIENCY_METRICS, text)


EMBEDDING_SENTENCES: Final = {
    "query_chunk_similarity": "mean cosine of question and cut, at capture",
    "similarity_margin": "mean cosine to relevant minus to other, at capture",
}
"""Of metrics about vectors, which are measured at capture and never stored."""


def judged_sentences(record: CaseRecord) -> dict[str, str]:
    """Explain judged scores by the judge's verdicts."""
    weights = ", ".join(f"{name} {weight:g}" for name, weight in FIVE_WEIGHTS.items())
    return {
        **{
            key: _reasoning(found.verdict)
            for found in record.verdicts.judgements.values()
            for key in (found.verdict.scores if found.verdict is not None else ())
        },
        **{key: _verdict(record, key) for key in record.scores.metrics if key in _BY_RUBRIC},
        "five.composite": f"weighted mean: {weights}",
    }


def _verdict(record: CaseRecord, key: str) -> str:
    if key in {"correctness", "key_fact_recall"} and record.reply.abstained:
        return "abstained on an answerable case: 0 without asking the judge"
    grounded = _BY_RUBRIC[key] == "groundedness"
    verdict = record.verdicts.claimed if grounded else record.verdicts.of("correctness")
    if key == "claim_support_rate" and verdict is not None:
        supported = sum(claim.supported for claim in verdict.claims)
        return f"{supported} of {counted(len(verdict.claims), 'claim')} supported"
    return _reasoning(verdict)


def _reasoning(verdict: Verdict | None) -> str:
    return part("judge: {}", verdict and verdict.reasoning) or "the judge's verdict"


def judge_failure(record: CaseRecord, key: str) -> str:
    """Return the kind of failure that left a judged metric without a score, if stored."""
    verdicts = record.verdicts.judgements
    own = [name for name in verdicts if _gives(name, key)]
    for name in own or verdicts:
        if (failure := verdicts[name].failure) is not None:
            return f"no valid verdict of the judge ({failure.kind})"
    return "no valid verdict of the judge"


def _gives(rubric: str, key: str) -> bool:
    """Whether a rubric gives a metric; a user's rubric gives metrics prefixed by its file name."""
    if key in _BY_RUBRIC:
        return rubric == _BY_RUBRIC[key] or (rubric == "claims" and key == "claim_support_rate")
    if key in _ABSTENTION:
        return rubric == "abstention"
    family = key.split(".", 1)[0]
    return PurePath(rubric).stem == {"five": "five_dimensions"}.get(family, family)
