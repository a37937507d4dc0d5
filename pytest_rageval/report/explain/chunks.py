"""Explanation per retrieved chunk: its match and the rule, or why it does not match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rageval.metrics.matching import (
    anchor_segments,
    document_key,
    duplicate_flags,
    in_scope,
)
from pytest_rageval.report.explain.anchors import Relation, relate, same_place
from pytest_rageval.report.explain.values import ChunkReason, Role, Rule, indices
from pytest_rageval.support.text import counted
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

_PATH_HINTS = frozenset({"path_prefix", "similar_path"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    role: Role
    rule: Rule
    text: str
    golds: tuple[int, ...] = ()
    irrelevant: tuple[int, ...] = ()


def explain_chunks(
    case: Case | None,
    chunks: Sequence[RetrievedChunk],
    k: int,
    settings: ScoreSettings,
    folders: Sequence[str] | None,
) -> tuple[ChunkReason, ...]:
    """Explain every chunk.

    Args:
        case: the case as asked; None: not known, so only decisions can be shown.
        chunks: decided against the anchors, in rank order.
        k: cutoff of the case.
        settings: matching settings of the run.
        folders: the selected folders; None: none are reported.
    """
    copies = earlier_copies(chunks, settings)
    return tuple(
        _reason(
            chunk,
            ruling=_rule(case, chunk, chunks, settings),
            rank=rank,
            k=k,
            copy_of=copies[rank - 1],
            inside=None
            if folders is None
            else in_scope(chunk.rel_path, folders, settings.path_case),
        )
        for rank, chunk in enumerate(chunks, start=1)
    )


def earlier_copies(
    chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> tuple[int | None, ...]:
    """Return for each chunk the rank of the earlier one that it repeats, None if it is new."""
    flags = duplicate_flags(chunks, settings.path_case)
    originals = [index for index, again in enumerate(flags) if not again]
    return tuple(
        _original(chunks, index, originals, settings) if again else None
        for index, again in enumerate(flags)
    )


def _original(
    chunks: Sequence[RetrievedChunk],
    index: int,
    originals: Sequence[int],
    settings: ScoreSettings,
) -> int:
    pairs = ((place, (chunks[place], chunks[index])) for place in originals if place < index)
    return next(place + 1 for place, pair in pairs if duplicate_flags(pair, settings.path_case)[1])


def _reason(
    chunk: RetrievedChunk,
    *,
    ruling: _Ruling,
    rank: int,
    k: int,
    copy_of: int | None,
    inside: bool | None,
) -> ChunkReason:
    text = ruling.text
    if copy_of is not None:
        text += f"; a copy of rank {copy_of}"
    if inside is False:
        text += "; outside the selected folders"
    return ChunkReason(
        rank=rank,
        in_cut=rank <= k,
        rel_path=chunk.rel_path,
        heading_path=chunk.heading_path,
        vault=chunk.vault,
        chunk_id=chunk.chunk_id,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        score=chunk.score_final,
        rank_before_rerank=chunk.rank_before_rerank,
        text=chunk.text,
        role=ruling.role,
        golds=ruling.golds,
        irrelevant=ruling.irrelevant,
        duplicate_of=copy_of,
        in_scope=inside,
        rule=ruling.rule,
        reason=text,
    )


def _rule(
    case: Case | None,
    chunk: RetrievedChunk,
    chunks: Sequence[RetrievedChunk],
    settings: ScoreSettings,
) -> _Ruling:
    if chunk.matched_golds is None:
        text = "undecided: snippets are read, and its full text was not reported"
        return _Ruling(role="undecided", rule="undecided", text=text)
    if case is None:
        return _unknown_case(chunk)
    if chunk.irrelevant:
        return _irrelevant(case, chunk, settings)
    if chunk.matched_golds:
        return _matched(case, chunk, settings)
    return _other(case, chunk, chunks, settings)


def _unknown_case(chunk: RetrievedChunk) -> _Ruling:
    golds = chunk.matched_golds or ()
    if chunk.irrelevant:
        return _Ruling(role="irrelevant", rule="decided_at_capture", text="irrelevant evidence")
    text = f"matches gold {indices(golds)}" if golds else "matches no gold"
    role: Role = "relevant" if golds else "other"
    return _Ruling(role=role, rule="decided_at_capture", text=text, golds=golds)


def _matched(case: Case, chunk: RetrievedChunk, settings: ScoreSettings) -> _Ruling:
    golds = chunk.matched_golds or ()
    relations = [_to_gold(case, index, chunk, settings) for index in golds]
    there = [relation for relation in relations if relation.lies_there]
    if len(there) < len(relations):  # other settings now, or a record from another tool
        text = f"matches gold {indices(golds)}, as decided when it was scored"
        return _Ruling(role="relevant", rule="decided_at_capture", text=text, golds=golds)
    text = "; ".join(relation.text for relation in there)
    deepest = max(there, key=lambda relation: relation.shared)
    return _Ruling(role="relevant", rule=deepest.rule, text=text, golds=golds)


def _to_gold(case: Case, index: int, chunk: RetrievedChunk, settings: ScoreSettings) -> Relation:
    return relate(case.gold_supports[index], f"gold [{index}]", chunk, settings)


def _lying(
    anchors: Sequence[Anchor], chunk: RetrievedChunk, settings: ScoreSettings
) -> dict[int, Relation]:
    relations = {i: relate(a, f"irrelevant [{i}]", chunk, settings) for i, a in enumerate(anchors)}
    return {index: relation for index, relation in relations.items() if relation.lies_there}


def _irrelevant(case: Case, chunk: RetrievedChunk, settings: ScoreSettings) -> _Ruling:
    bad = _lying(case.irrelevant_supports, chunk, settings)
    if not bad:
        text = "irrelevant evidence, as decided when it was scored"
        return _Ruling(role="irrelevant", rule="decided_at_capture", text=text)
    depth = {index: len(anchor_segments(case.irrelevant_supports[index])) for index in bad}
    deepest = max(depth.values())
    winners = tuple(index for index in bad if depth[index] == deepest)
    text = bad[winners[0]].text
    golds = _lying(case.gold_supports, chunk, settings)
    if not golds:
        return _Ruling(role="irrelevant", rule="irrelevant_only", text=text, irrelevant=winners)
    rival = max(golds, key=lambda index: len(anchor_segments(case.gold_supports[index])))
    reach = len(anchor_segments(case.gold_supports[rival]))
    if reach == deepest:
        text += f", as deep as gold [{rival}]: on a tie the irrelevant anchor wins"
        return _Ruling(role="irrelevant", rule="irrelevant_tie", text=text, irrelevant=winners)
    text += f", which wins with {counted(deepest, 'heading')} against {reach} of gold [{rival}]"
    return _Ruling(role="irrelevant", rule="irrelevant_deeper", text=text, irrelevant=winners)


def _other(
    case: Case, chunk: RetrievedChunk, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> _Ruling:
    if not case.gold_supports:
        return _Ruling(role="other", rule="no_anchor", text="the case has no golds to match")
    relations = [_to_gold(case, i, chunk, settings) for i in range(len(case.gold_supports))]
    nearest = max(range(len(relations)), key=lambda i: (*relations[i].closeness, -i))
    relation = relations[nearest]
    if relation.lies_there:
        if same_place(case.gold_supports[nearest], chunk, settings):
            text = f"in gold [{nearest}]'s section, but its full text lacks the snippets"
            return _Ruling(role="other", rule="no_snippet", text=text)
        text = f"a coarser chunk that lacks snippets of gold [{nearest}]"
        return _Ruling(role="other", rule="above_section", text=text)
    if relation.rule in _PATH_HINTS and _returned(case.gold_supports[nearest], chunks, settings):
        # The gold's document was returned under its exact path, so nothing is misspelt.
        return _Ruling(role="other", rule="other_document", text="other document")
    return _Ruling(role="other", rule=relation.rule, text=relation.text)


def _returned(anchor: Anchor, chunks: Sequence[RetrievedChunk], settings: ScoreSettings) -> bool:
    wanted = document_key(anchor, settings.path_case)[1]
    return any(document_key(chunk, settings.path_case)[1] == wanted for chunk in chunks)
