"""Relation of a chunk to an anchor: the rule by which it matches, or how far off it is."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pytest_rageval.metrics.matching import (
    Segments,
    anchor_segments,
    document_key,
    matches_anchor,
    norm_heading,
    norm_path,
    same_document,
    starts_with,
)
from pytest_rageval.report.explain.values import Rule
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

LIES_THERE: Final = frozenset({"whole_document", "same_section", "below_section", "coarse_chunk"})
"""Rules by which a chunk matches an anchor."""
_CLOSENESS: Final[tuple[Rule, ...]] = (
    "other_document",
    "similar_path",
    "path_prefix",
    "path_case",
    "other_vault",
    "no_heading",
    "other_section",
    "above_section",
    "no_snippet",
    "coarse_chunk",
    "below_section",
    "same_section",
    "whole_document",
)
_SIMILAR: Final = 0.8
_LONGEST_COMPARED: Final = 200
"""Maximum characters of names compared for similarity, which takes quadratic time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Relation of a chunk to an anchor, with a text such as ``... gold [0] ...``."""

    rule: Rule
    text: str
    shared: int = 0
    """Leading heading segments in common."""

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
    wanted, found = anchor_segments(anchor), norm_heading(chunk.heading_path) or ()
    if starts_with(found, wanted):
        if _lacks_snippet(anchor, chunk, settings):
            return Relation(rule="no_snippet", text=f"in {name}'s section, without its snippets")
        return _inside(anchor, name, wanted, found, settings)
    return _other_section(anchor, name, chunk, settings)


def same_place(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Whether a chunk matches an anchor by document and headings."""
    return matches_anchor(anchor, chunk, replace(settings, snippets="off", coarse_chunks=False))


def _whole(chunk: RetrievedChunk) -> bool:
    return chunk.text is not None and not chunk.text_truncated


def _lacks_snippet(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    read = settings.snippets != "off" and bool(anchor.snippets)
    return read and _whole(chunk) and not matches_anchor(anchor, chunk, settings)


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
        which = "all its snippets" if settings.snippets == "all" else "a snippet of it"
        text = f"{text}, with {which}"
    return Relation(rule=rule, text=text, shared=len(wanted))


def _other_section(
    anchor: Anchor, name: str, chunk: RetrievedChunk, settings: ScoreSettings
) -> Relation:
    wanted, found = anchor_segments(anchor), norm_heading(chunk.heading_path) or ()
    shared = _shared(found, wanted)
    missing = wanted[shared]
    if shared == len(found):
        return _above(anchor, name, chunk, shared, settings)
    text = f'document of {name}; heading {shared + 1} is "{found[shared]}", not "{missing}"'
    if _alike(found[shared], missing):
        text += " (nearly the same: is the anchor up to date?)"
    return Relation(rule="other_section", text=text, shared=shared)


def _shared(found: Segments, wanted: Segments) -> int:
    """Count the leading segments that two heading paths have in common."""
    shared = 0
    while shared < min(len(found), len(wanted)) and found[shared] == wanted[shared]:
        shared += 1
    return shared


def _above(
    anchor: Anchor, name: str, chunk: RetrievedChunk, shared: int, settings: ScoreSettings
) -> Relation:
    """Describe a chunk whose heading path ends above the anchor's section."""
    missing = anchor_segments(anchor)[shared]
    if settings.coarse_chunks and anchor.snippets:
        if _whole(chunk) and not matches_anchor(anchor, chunk, settings):
            text = f"a coarser chunk that lacks snippets of {name}"
            return Relation(rule="above_section", text=text, shared=shared)
        text = f"a coarser chunk with all snippets of {name}"
        return Relation(rule="coarse_chunk", text=text, shared=shared)
    if chunk.heading_path is None:
        text = f'document of {name}; no heading reported, "{missing}" needed'
        return Relation(rule="no_heading", text=text)
    found = norm_heading(chunk.heading_path)
    where = f'its headings end at "{found[-1]}"' if found else "before the first heading"
    text = f'document of {name}; {where}, above "{missing}"'
    if anchor.snippets and matches_anchor(anchor, chunk, replace(settings, coarse_chunks=True)):
        text += " (it holds the snippets: coarse_chunks = true would count it)"
    return Relation(rule="above_section", text=text, shared=shared)


def _other_document(
    anchor: Anchor, name: str, chunk: RetrievedChunk, settings: ScoreSettings
) -> Relation:
    wanted = norm_path(anchor.rel_path, settings.path_case)
    found = norm_path(chunk.rel_path, settings.path_case)
    if found == wanted:
        text = f'the path of {name} in another vault: "{chunk.vault}", not "{anchor.vault}"'
        return Relation(rule="other_vault", text=text)
    if norm_path(found, "insensitive") == norm_path(wanted, "insensitive"):
        text = f'the path of {name} but for case (path_case = "insensitive" would match)'
        return Relation(rule="path_case", text=text)
    if found.endswith(f"/{wanted}") or wanted.endswith(f"/{found}"):
        text = f'other document; one path ends with the other: "{wanted}" is {name}'
        return Relation(rule="path_prefix", text=text)
    if _alike(found, wanted):
        return Relation(rule="similar_path", text=f'other document; similar: "{wanted}" is {name}')
    return Relation(rule="other_document", text="other document")


@lru_cache(maxsize=4096)
def _alike(one: str, other: str) -> bool:
    # Cached: a page explains many cases over the few documents of one index.
    if max(len(one), len(other)) > _LONGEST_COMPARED:
        return False
    matcher = difflib.SequenceMatcher(a=one, b=other)
    return matcher.quick_ratio() >= _SIMILAR and matcher.ratio() >= _SIMILAR
