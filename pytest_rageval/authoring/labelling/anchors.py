"""Gold anchors made from chunks, and chunks matched with them. Pure.

An anchor is a dictionary as in the case file, so that unknown keys are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_rageval.metrics.matching import anchor_segments, matches_anchor, norm_path, norm_text
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

Gold = Mapping[str, Any]
"""One of ``gold_supports`` as in the line."""

_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_KNOWN: Final = ("rel_path", "heading_path", "snippets", "grade", "vault")


def anchor_of(gold: Gold) -> Anchor:
    """Return the anchor of a gold, without unknown keys."""
    known = {key: gold[key] for key in _KNOWN if key in gold}
    if "snippets" in known:
        known["snippets"] = tuple(known["snippets"])
    return Anchor(**known)


def matches(gold: Gold, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Whether a chunk contains the evidence of a gold, including its snippets.

    If the text of the chunk is not known completely, the section decides.

    Args:
        gold: the anchor.
        chunk: as retrieved.
        settings: only ``path_case`` is used; snippets are always compared here, to distinguish two
            chunks of one section.
    """
    known = chunk.text is not None and not chunk.text_truncated
    strict = ScoreSettings(
        path_case=settings.path_case,
        snippets="all" if known else "off",
        coarse_chunks=known and settings.coarse_chunks,
    )
    return matches_anchor(anchor_of(gold), chunk, strict)


def unusable(chunk: RetrievedChunk) -> str | None:
    """Return the reason why an anchor cannot refer to a chunk; None: it can."""
    if not norm_path(chunk.rel_path):
        return "the target reports no path for this chunk"
    place = chunk.rel_path + (chunk.heading_path or "") + (chunk.vault or "")
    if _HALF_CHARACTER.search(place):
        return "its path or heading holds half of a character, which no file can"
    return None


def gold_for(chunk: RetrievedChunk, snippets: Sequence[str] = ()) -> dict[str, Any]:
    """Return the anchor of a chunk: path, heading path and quotes."""
    gold: dict[str, Any] = {"rel_path": chunk.rel_path}
    if chunk.heading_path is not None:
        gold["heading_path"] = chunk.heading_path
    if snippets:
        gold["snippets"] = list(snippets)
    if chunk.vault is not None:
        gold["vault"] = chunk.vault
    return gold


def same_section(gold: Gold, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Whether a gold names exactly the section of a chunk, ignoring snippets."""
    own = anchor_of(gold_for(chunk))
    section = RetrievedChunk(
        rel_path=gold["rel_path"],
        heading_path=gold.get("heading_path", ""),
        vault=gold.get("vault"),
    )
    plain = ScoreSettings(path_case=settings.path_case)
    without = {key: value for key, value in gold.items() if key != "snippets"}
    return matches_anchor(anchor_of(without), chunk, plain) and matches_anchor(own, section, plain)


def equal(one: Gold, other: Gold) -> bool:
    """Whether two golds are equal, which a case file must not contain."""
    a, b = anchor_of(one), anchor_of(other)
    return (
        (norm_path(a.rel_path), anchor_segments(a), a.vault)
        == (norm_path(b.rel_path), anchor_segments(b), b.vault)
    ) and set(map(norm_text, a.snippets)) == set(map(norm_text, b.snippets))


def quoted(snippet: str, passage: str) -> bool:
    """Whether a passage contains a snippet, ignoring spelling."""
    return norm_text(snippet) in norm_text(passage)


def quotable(chunk: RetrievedChunk, snippet: str) -> bool:
    """Whether a snippet of a chunk matches that chunk under every setting."""
    if _HALF_CHARACTER.search(snippet) or not norm_text(snippet):
        return False
    anchor = anchor_of(gold_for(chunk, [snippet]))
    return all(
        matches_anchor(anchor, chunk, ScoreSettings(snippets=kind))
        for kind in ("off", "any", "all")
    )


def place_of(gold: Gold | RetrievedChunk) -> str:
    """Name document and section on one line."""
    if isinstance(gold, RetrievedChunk):
        path, heading, vault = gold.rel_path, gold.heading_path, gold.vault
    else:
        path, heading, vault = gold["rel_path"], gold.get("heading_path"), gold.get("vault")
    where = f"{vault}: {path}" if vault else path
    return f"{where}  {heading}" if heading else f"{where}  (whole document)"
