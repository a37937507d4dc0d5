"""Explanation per retrieved chunk: the anchor that it matches and the rule, or the nearest miss."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple, get_args

from pytest_rageval.metrics.deciding import (
    anchors_of,
    has_whole_text,
    is_at,
    matches_by,
    reads_snippets,
    rule_for,
)
from pytest_rageval.metrics.matching import (
    Segments,
    anchor_segments,
    document_key,
    duplicate_flags,
    in_scope,
    matches_anchor,
    norm_heading,
    norm_path,
    same_document,
    starts_with,
)
from pytest_rageval.report.explain.values import ChunkReason, MatchingRule, Role, Rule, indices
from pytest_rageval.support.text import counted, part
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import MatchRule, RetrievedChunk

LIES_THERE: Final[frozenset[str]] = frozenset(get_args(MatchingRule))
_CLOSENESS: Final[tuple[Rule, ...]] = get_args(Rule)[::-1]
_NUMBER: Final = re.compile(r"\d+")
_SIMILAR: Final = 0.8
_LONGEST_COMPARED: Final = 200
"""Maximum characters of names compared for similarity, which takes quadratic time."""


class Relation(NamedTuple):
    """Relation of a chunk to an anchor, with a text such as ``... gold [0] ...``."""

    rule: Rule
    text: str
    shared: int = 0
    """Leading heading segments in common."""
    irrelevant: tuple[int, ...] = ()
    """The ``irrelevant_supports`` that win the chunk."""

    @property
    def closeness(self) -> tuple[int, int]:
        """Larger is nearer."""
        return _CLOSENESS.index(self.rule), self.shared

    @property
    def lies_there(self) -> bool:
        """Whether the chunk matches the anchor."""
        return self.rule in LIES_THERE


def relate(anchor: Anchor, name: str, chunk: RetrievedChunk, settings: ScoreSettings) -> Relation:
    """Return the relation of a chunk to an anchor.

    Args:
        anchor: gold or irrelevant support.
        name: of the anchor in the text, such as ``gold [0]``.
        chunk: as stored. If snippets are used and its text is cut, it is assumed to contain them;
            only the stored decision is exact.
        settings: matching settings of the run.
    """
    case = settings.path_case
    if not same_document(document_key(anchor, case), document_key(chunk, case)):
        return _other_document(anchor, name, chunk, settings)
    rule = _deciding_rule(anchor, chunk, settings)
    if rule != "heading":
        return _without_heading(anchor, name, chunk, rule, settings)
    wanted, found = anchor_segments(anchor), norm_heading(chunk.heading_path) or ()
    if starts_with(found, wanted):
        if has_whole_text(chunk) and not matches_anchor(anchor, chunk, settings):
            return Relation("no_snippet", f"in {name}'s section, without its snippets")
        return _inside(anchor, name, wanted, found, settings)
    return _other_section(anchor, name, chunk, settings)


def _deciding_rule(
    anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings
) -> MatchRule | None:
    rule = rule_for(anchor, chunk, settings)
    # The text that decided may have been cut for storage.
    read = "snippet" in (chunk.matched_by or ()) and bool(anchor.snippets)
    return "snippet" if read and rule != "heading" else rule


def _without_heading(
    anchor: Anchor,
    name: str,
    chunk: RetrievedChunk,
    rule: MatchRule | None,
    settings: ScoreSettings,
) -> Relation:
    """Return the relation of a chunk of the anchor's document by another rule than headings."""
    matches = rule is not None and matches_by(rule, anchor, chunk, settings)
    why = "no heading reported" if chunk.heading_path is None else "the anchor names no heading"
    if rule == "snippet":
        if not has_whole_text(chunk) or matches:  # only the stored decision on a cut text is exact
            which = "all snippets" if settings.snippets == "all" else "a snippet"
            return Relation("quoted", f"holds {which} of {name} ({why})")
        return Relation("no_snippet", f"document of {name}; its text lacks the snippets ({why})")
    if rule == "pages":
        own = ", ".join(map(str, chunk.pages or ()))
        if matches:
            return Relation("same_page", f"on page {own}, as {name} ({why})")
        wanted = ", ".join(map(str, anchor.pages))
        return Relation("other_page", f"document of {name}; page {own}, not {wanted} ({why})")
    if rule == "document":
        return Relation("whole_document", f"{name} is the whole document")
    return Relation(
        "undecided", f"document of {name}; no heading, full text or page to compare it by"
    )


def same_place(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Whether a chunk matches an anchor, by headings without regard to snippets."""
    if rule_for(anchor, chunk, settings) != "heading":
        return is_at(anchor, chunk, settings) is True
    return matches_anchor(anchor, chunk, replace(settings, snippets="off", coarse_chunks=False))


def _inside(
    anchor: Anchor, name: str, wanted: Segments, found: Segments, settings: ScoreSettings
) -> Relation:
    rule: Rule
    if not wanted:
        rule, text = "whole_document", f"{name} is the whole document"
    elif found == wanted:
        rule, text = "same_section", f"the section of {name}"
    else:
        rule, text = "below_section", f"below the section of {name}"
    if settings.snippets != "off" and anchor.snippets:
        text += f", with {'all its snippets' if settings.snippets == 'all' else 'a snippet of it'}"
    elif not wanted and anchor.snippets:
        text += '; with snippets = "any" in [tool.rageval.matching] its quotes decide'
    return Relation(rule, text, len(wanted))


def _other_section(
    anchor: Anchor, name: str, chunk: RetrievedChunk, settings: ScoreSettings
) -> Relation:
    wanted, found = anchor_segments(anchor), norm_heading(chunk.heading_path) or ()
    pairs = zip(found, wanted, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    missing = wanted[shared]
    if shared == len(found):
        return _above(anchor, name, chunk, shared, settings)
    text = f'document of {name}; heading {shared + 1} is "{found[shared]}", not "{missing}"'
    if _alike(found[shared], missing):
        text += " (nearly the same: is the anchor up to date?)"
    return Relation("other_section", text, shared)


def _above(
    anchor: Anchor, name: str, chunk: RetrievedChunk, shared: int, settings: ScoreSettings
) -> Relation:
    """Describe a chunk whose heading path ends above the anchor's section."""
    missing = anchor_segments(anchor)[shared]
    if settings.coarse_chunks and anchor.snippets:
        if has_whole_text(chunk) and not matches_anchor(anchor, chunk, settings):
            return Relation(
                "above_section", f"a coarser chunk that lacks snippets of {name}", shared
            )
        return Relation("coarse_chunk", f"a coarser chunk with all snippets of {name}", shared)
    if chunk.heading_path is None:
        return Relation(
            "no_heading", f'document of {name}; no heading reported, "{missing}" needed'
        )
    found = norm_heading(chunk.heading_path)
    where = part('its headings end at "{}"', found and found[-1]) or "before the first heading"
    text = f'document of {name}; {where}, above "{missing}"'
    if anchor.snippets and matches_anchor(anchor, chunk, replace(settings, coarse_chunks=True)):
        text += " (it holds the snippets: coarse_chunks = true would count it)"
    return Relation("above_section", text, shared)


def _other_document(
    anchor: Anchor, name: str, chunk: RetrievedChunk, settings: ScoreSettings
) -> Relation:
    wanted = norm_path(anchor.rel_path, settings.path_case)
    found = norm_path(chunk.rel_path, settings.path_case)
    if found == wanted:
        return Relation(
            "other_vault",
            f'the path of {name} in another vault: "{chunk.vault}", not "{anchor.vault}"',
        )
    if norm_path(found, "insensitive") == norm_path(wanted, "insensitive"):
        return Relation(
            "path_case", f'the path of {name} but for case (path_case = "insensitive" would match)'
        )
    if found.endswith(f"/{wanted}") or wanted.endswith(f"/{found}"):
        return Relation(
            "path_prefix",
            f'other document; one path ends with the other: "{anchor.rel_path}" is {name}',
        )
    if _alike(found, wanted):
        return Relation("similar_path", f'other document; similar: "{anchor.rel_path}" is {name}')
    return Relation("other_document", "other document")


@lru_cache(maxsize=4096)
def _alike(one: str, other: str) -> bool:
    # Cached: a page explains many cases over the few documents of one index.
    if max(len(one), len(other)) > _LONGEST_COMPARED:
        return False
    if _NUMBER.sub("0", one) == _NUMBER.sub("0", other):  # numbered names are not misspelt
        return False
    matcher = difflib.SequenceMatcher(a=one, b=other)
    return matcher.quick_ratio() >= _SIMILAR and matcher.ratio() >= _SIMILAR


# --- chunks of a record ---------------------------------------------------------------------


def explain_chunks(record: CaseRecord, settings: ScoreSettings) -> tuple[ChunkReason, ...] | None:
    """Explain every chunk of a record in rank order; None: chunks are not reported.

    Args:
        record: its chunks are decided against the anchors.
        settings: matching settings of the run.
    """
    chunks, selection = record.reply.retrieved_chunks, record.reply.folder_selection
    if chunks is None:
        return None
    folders = None if selection is None else selection.selected_folders
    found = []
    copies = _earlier_copies(chunks, settings)
    for rank, (chunk, copy_of) in enumerate(zip(chunks, copies, strict=True), start=1):
        ruling = _rule(record.case, chunk, chunks, settings)
        inside = None if folders is None else in_scope(chunk.rel_path, folders, settings.path_case)
        text = ruling.text
        if copy_of is not None:
            text += f"; a copy of rank {copy_of}"
        if inside is False:
            text += "; outside the selected folders"
        found.append(
            ChunkReason(
                rank=rank,
                in_cut=rank <= record.k,
                chunk=chunk,
                role=_role(chunk),
                irrelevant=ruling.irrelevant,
                duplicate_of=copy_of,
                in_scope=inside,
                rule=ruling.rule,
                reason=text,
            )
        )
    return tuple(found)


def _earlier_copies(
    chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> Iterator[int | None]:
    """Yield for each chunk the rank of the earlier one that it repeats, None if it is new."""
    flags = duplicate_flags(chunks, settings.path_case)
    originals = [place for place, again in enumerate(flags) if not again]
    for chunk, again in zip(chunks, flags, strict=True):
        copied = (
            place + 1
            for place in originals
            if duplicate_flags((chunks[place], chunk), settings.path_case)[1]
        )
        yield next(copied) if again else None


def _role(chunk: RetrievedChunk) -> Role:
    if chunk.matched_golds is None:
        return "undecided"
    return "irrelevant" if chunk.irrelevant else "relevant" if chunk.matched_golds else "other"


def _rule(
    case: Case,
    chunk: RetrievedChunk,
    chunks: Sequence[RetrievedChunk],
    settings: ScoreSettings,
) -> Relation:
    if chunk.matched_golds is None:
        lacks = "snippets are read, and its full text was not reported"
        if not reads_snippets(case, settings):
            lacks = "it has no heading, full text or page to compare with an anchor"
            if has_whole_text(chunk) and not any(a.snippets or a.pages for a in anchors_of(case)):
                lacks = "it has no heading, and no anchor has snippets to look for"
        return Relation("undecided", f"undecided: {lacks}")
    if chunk.irrelevant:
        return _irrelevant(case, chunk, settings)
    if chunk.matched_golds:
        return _matched(case, chunk, settings)
    return _other(case, chunk, chunks, settings)


def _matched(case: Case, chunk: RetrievedChunk, settings: ScoreSettings) -> Relation:
    golds = chunk.matched_golds or ()
    known = [index for index in golds if 0 <= index < len(case.gold_supports)]
    relations = [_to_gold(case, index, chunk, settings) for index in known]
    there = [relation for relation in relations if relation.lies_there]
    if len(there) < len(golds):  # other settings now, or a record from another tool
        return Relation(
            "decided_at_capture", f"matches gold {indices(golds)}, as decided when it was scored"
        )
    text = "; ".join(relation.text for relation in there)
    deepest = max(there, key=lambda relation: relation.shared)
    return Relation(deepest.rule, text)


def _to_gold(case: Case, index: int, chunk: RetrievedChunk, settings: ScoreSettings) -> Relation:
    return relate(case.gold_supports[index], f"gold [{index}]", chunk, settings)


def _lying(
    anchors: Sequence[Anchor], chunk: RetrievedChunk, settings: ScoreSettings
) -> dict[int, Relation]:
    relations = {i: relate(a, f"irrelevant [{i}]", chunk, settings) for i, a in enumerate(anchors)}
    return {index: relation for index, relation in relations.items() if relation.lies_there}


def _irrelevant(case: Case, chunk: RetrievedChunk, settings: ScoreSettings) -> Relation:
    bad = _lying(case.irrelevant_supports, chunk, settings)
    if not bad:
        return Relation("decided_at_capture", "irrelevant evidence, as decided when it was scored")
    depth = {index: len(anchor_segments(case.irrelevant_supports[index])) for index in bad}
    deepest = max(depth.values())
    winners = tuple(index for index in bad if depth[index] == deepest)
    text = bad[winners[0]].text
    golds = _lying(case.gold_supports, chunk, settings)
    if not golds:
        return Relation("irrelevant_only", text, irrelevant=winners)
    rival = max(golds, key=lambda index: len(anchor_segments(case.gold_supports[index])))
    reach = len(anchor_segments(case.gold_supports[rival]))
    if reach == deepest:
        text += f", as deep as gold [{rival}]: on a tie the irrelevant anchor wins"
        return Relation("irrelevant_tie", text, irrelevant=winners)
    text += f", which wins with {counted(deepest, 'heading')} against {reach} of gold [{rival}]"
    return Relation("irrelevant_deeper", text, irrelevant=winners)


def _other(
    case: Case, chunk: RetrievedChunk, chunks: Sequence[RetrievedChunk], settings: ScoreSettings
) -> Relation:
    if not case.gold_supports:
        return Relation("no_anchor", "the case has no golds to match")
    relations = [_to_gold(case, i, chunk, settings) for i in range(len(case.gold_supports))]
    nearest = max(range(len(relations)), key=lambda i: relations[i].closeness)
    relation, gold = relations[nearest], case.gold_supports[nearest]
    if relation.rule == "quoted":
        text = f"document of gold [{nearest}]; its full text lacks the snippets"
        return Relation("no_snippet", text)
    if relation.lies_there and same_place(gold, chunk, settings):
        text = f"in gold [{nearest}]'s section, but its full text lacks the snippets"
        return Relation("no_snippet", text)
    if relation.lies_there:
        return Relation("above_section", f"a coarser chunk that lacks snippets of gold [{nearest}]")
    key = document_key(gold, settings.path_case)[1]
    known = (document_key(one, settings.path_case)[1] for one in chunks)
    # If the gold's document was returned under its exact path, nothing is misspelt.
    misspelt = relation.rule in {"path_prefix", "similar_path"} and key in known
    return Relation("other_document", "other document") if misspelt else relation


def chunk_facts(chunk: RetrievedChunk, rank: int) -> Iterator[str]:
    """Yield what a target reports of a chunk beside its place and text, without its words."""
    if chunk.pages:
        yield f"page{'s' * (len(chunk.pages) > 1)} {', '.join(map(str, chunk.pages))}"
    if chunk.matched_by and chunk.matched_by != ("heading",):
        yield f"compared by {', '.join(chunk.matched_by)}"
    if chunk.start_line is not None:
        yield f"lines {chunk.start_line}-{chunk.end_line or chunk.start_line}"
    scores = (chunk.score_final, chunk.score_vector, chunk.score_lexical)
    for name, score in zip(("score", "vector", "lexical"), scores, strict=True):
        if score is not None:
            yield f"{name} {score:.4g}"
    if chunk.rank_before_rerank not in (None, rank):
        yield f"rank {chunk.rank_before_rerank} before reranking"
